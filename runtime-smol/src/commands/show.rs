//! `panewire show`

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use panewire_core::agent::claude::{ClaudeReader, Selection};
use panewire_core::agent::locate::{Locate, LocateError, Wanted, is_session_id};
use panewire_core::agent::{AgentKind, Caps, Line, Reader, State};
use panewire_core::config::Roots;
use panewire_core::ids::{PaneId, Seq, SessionId};
use panewire_core::limits::{Limits, MAX_READ_BYTES, PROBE_BYTES};
use panewire_core::mobile::frames;
use panewire_core::pane::PaneName;
use panewire_core::source::lines::LineSplitter;
use panewire_core::source::records;
use panewire_host::arguments::Places;
use panewire_host::problem::quiet;
use panewire_host::surroundings::Surroundings;
use panewire_host::{Problem, blocking};

use panewire_host::render::{Renderer, View};

/// Prints the conversation of a file or of a session.
pub(crate) fn run(json: bool, what: &str, places: &Places) -> Result<(), Problem> {
    let path = find(what, places)?;
    let unreadable = |error| Problem::new(format_args!("cannot read {}: {error}", path.display()));
    let (reader, is_one_line) = reader_of(&path).map_err(unreadable)?;
    let mut printer = Printer {
        reader,
        state: State::default(),
        printed: 0,
        json,
        renderer: Renderer::for_stdout(),
        out: BufWriter::new(io::stdout().lock()),
    };
    match each_line(&path, is_one_line, |line| printer.line(line)).map_err(unreadable)? {
        ControlFlow::Continue(()) => {
            if printer.printed == 0 {
                // Who closed our standard error does not want to read it.
                let _ = writeln!(io::stderr(), "panewire: there are no entries in {}", path.display());
            }
            quiet(printer.out.flush())
        }
        ControlFlow::Break(error) => quiet(Err(error)),
    }
}

/// Reads a transcript line by line, or as one, until there are no more, or `each` fails.
pub(crate) fn each_line<E>(
    path: &Path,
    is_one_line: bool,
    mut each: impl FnMut(&Line<'_>) -> Result<(), E>,
) -> io::Result<ControlFlow<E>> {
    if is_one_line {
        let whole = each(&Line { offset: 0, bytes: &fs::read(path)?, over_cap: None });
        return Ok(whole.map_or_else(ControlFlow::Break, ControlFlow::Continue));
    }
    let mut file = File::open(path)?;
    let mut lines = LineSplitter::new(0, Limits::default().line_bytes);
    let mut buffer = vec![0; MAX_READ_BYTES];
    let mut flow = |line: &Line<'_>| match each(line) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    };
    loop {
        let read = match file.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if read == 0 {
            break;
        }
        if let ControlFlow::Break(error) = lines.push(buffer.get(..read).unwrap_or_default(), |line| flow(&line)) {
            return Ok(ControlFlow::Break(error));
        }
    }
    let whole = records::is_whole(lines.tail());
    Ok(if whole { flow(&lines.tail_line()) } else { ControlFlow::Continue(()) })
}

/// A path is a path; what is none may be a session, or the pane of one.
fn find(what: &str, places: &Places) -> Result<PathBuf, Problem> {
    let (kinds, session) = match PaneName::of(&PaneId::from(what)) {
        PaneName::Session(kind, session) => (vec![kind], session),
        _ => (AgentKind::ALL.to_vec(), SessionId::from(what)),
    };
    match fs::metadata(what) {
        Ok(metadata) if metadata.is_file() => return Ok(what.into()),
        Ok(_) => {
            return Err(Problem::new(format_args!(
                "{what} is not a file: show wants a transcript (*.jsonl) or a session"
            )));
        }
        Err(error) if !is_session_id(session.as_str()) => {
            return Err(Problem::new(format_args!(
                "cannot read {what}: {error}; show wants a transcript (*.jsonl) or a session, 'panewire tail' a pane"
            )));
        }
        Err(_) => {}
    }
    let surroundings = Surroundings::find(places)?;
    let wanted = Wanted::Session(session);
    for kind in kinds {
        let mut locate = Locate::new(kind, &surroundings.roots, None, &wanted);
        match blocking::settle(&mut locate, Locate::take_result) {
            // Its messages are rows of a database or a file each: there is no transcript to read.
            Some(Ok(located)) if located.exists && kind == AgentKind::Opencode => {
                let pane = PaneName::of_session(kind, &located.session);
                return Err(Problem::new(format_args!(
                    "opencode keeps no transcript that show could read: 'panewire tail {pane}' follows the session, \
                     with a daemon"
                )));
            }
            Some(Ok(located)) if located.exists => return Ok(located.path.into()),
            Some(Err(LocateError::Unreadable(error))) => {
                return Err(Problem::new(format_args!("cannot read the session {what}: {error}")));
            }
            _ => {}
        }
    }
    Err(Problem::new(format_args!(
        "there is no file {what} and no such session below {}: 'panewire panes' lists what there is",
        places_of(&surroundings.roots)
    )))
}

/// The directories in which agents keep their sessions, as a list for a person.
pub(crate) fn places_of(roots: &Roots) -> String {
    let all: Vec<String> = AgentKind::ALL.iter().flat_map(|kind| kind.session_roots(roots)).collect();
    all.join(", ")
}

/// The reader of a file, told by its beginning, and for children by its name; and whether the file is one line to it.
pub(crate) fn reader_of(path: &Path) -> io::Result<(Box<dyn Reader>, bool)> {
    let mut head = Vec::new();
    File::open(path)?.take(PROBE_BYTES as u64).read_to_end(&mut head)?;
    Ok(match AgentKind::that_wrote(&head) {
        AgentKind::Claude => (Box::new(ClaudeReader { selection: selection(path) }), false),
        kind => kind.file_reader(&head),
    })
}

/// Children of a session have files of their own, named so.
fn selection(path: &Path) -> Selection {
    let is_child = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    if is_child { Selection::Child } else { Selection::Main }
}

struct Printer<W: Write> {
    reader: Box<dyn Reader>,
    state: State,
    printed: u64,
    json: bool,
    renderer: Renderer,
    out: W,
}

impl<W: Write> Printer<W> {
    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        let mut written = Ok(());
        self.reader.read_after(&self.state, line, &Caps::WIRE, 0, &mut |entry| {
            let seq = Seq::after(self.printed);
            self.printed = seq.get();
            written = if self.json {
                self.out.write_all(&frames::bare_entry(seq, &entry)).and_then(|()| self.out.write_all(b"\n"))
            } else {
                self.renderer.entry(&mut self.out, &View::of(seq, &entry))
            };
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if self.reader.is_stateful() {
            self.reader.counted_after(&mut self.state, line);
        }
        written
    }
}
