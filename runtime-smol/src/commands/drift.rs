//! `panewire drift`

use std::convert::Infallible;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use panewire_core::agent::drift::Drift;
use panewire_core::agent::table::{Became, Table};
use panewire_core::agent::{AgentKind, Line, State};
use panewire_core::config::Roots;
use panewire_host::Problem;
use panewire_host::arguments::Places;
use panewire_host::problem::quiet;
use panewire_host::surroundings::Surroundings;

use super::show::{each_line, places_of, reader_of};

/// Directories inside each other that are searched.
const MAX_DEPTH: usize = 16;

/// Reads every transcript there in full, and says what no reader knew, or what became of it.
pub(crate) fn run(json: bool, table: bool, what: Option<&Path>, places: &Places) -> Result<(), Problem> {
    let files = match what {
        Some(path) => find_in(path)?,
        None => find_everywhere(&Surroundings::find(places)?.roots)?,
    };
    let mut survey = Survey::default();
    for file in &files {
        survey.file(file, table).map_err(|error| unreadable(file, &error))?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match (json, table) {
        (true, true) => json_line(&mut out, &survey.table),
        (true, false) => json_line(&mut out, &survey.drift),
        (false, true) => write_table(&mut out, &survey),
        (false, false) => write_drift(&mut out, &survey, files.len()),
    };
    quiet(written.and_then(|()| out.flush()))
}

fn find_in(root: &Path) -> Result<Vec<PathBuf>, Problem> {
    let mut files = Vec::new();
    find(root, 0, &mut files).map_err(|error| unreadable(root, &error))?;
    Ok(files)
}

/// The transcripts of every kind of agent.
fn find_everywhere(roots: &Roots) -> Result<Vec<PathBuf>, Problem> {
    let mut files = Vec::new();
    let mut some = false;
    for root in AgentKind::ALL.iter().flat_map(|kind| kind.session_roots(roots)) {
        let root = Path::new(&root);
        match find(root, 0, &mut files) {
            Ok(()) => some = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(root, &error)),
        }
    }
    if some {
        return Ok(files);
    }
    Err(Problem::new(format_args!(
        "there are no sessions: none of {} exists; name a DIR or a FILE, or another home by --home DIR",
        places_of(roots)
    )))
}

#[derive(Default)]
struct Survey {
    drift: Drift,
    table: Table,
    lines: u64,
    entries: u64,
}

impl Survey {
    fn file(&mut self, path: &Path, table: bool) -> io::Result<()> {
        let (reader, is_one_line) = reader_of(path)?;
        let mut state = State::default();
        let name = path.to_string_lossy();
        let mut each = |line: &Line<'_>| {
            self.lines += 1;
            if table {
                reader.tabulate(&mut state, line, &mut self.table);
            } else {
                self.entries += reader.counted_after(&mut state, line).entries;
                reader.drift(line, &name, &mut self.drift);
            }
            Ok::<(), Infallible>(())
        };
        each_line(path, is_one_line, &mut each).map(drop)
    }
}

/// Every transcript below a directory, in the order of names; links are not followed.
fn find(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth < MAX_DEPTH {
            find(&path, depth + 1, files)?;
        } else if kind.is_file() && is_transcript(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// A run log of children lies beside their transcripts.
fn is_transcript(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    // Of documents only those of Gemini CLI are sessions.
    let is_document = name.starts_with("session-") && name.ends_with(".json");
    is_document || (name.ends_with(".jsonl") && name != "journal.jsonl")
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format_args!("cannot read {}: {error}", path.display()))
}

fn json_line(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn write_drift(out: &mut impl Write, survey: &Survey, files: usize) -> io::Result<()> {
    let files = u64::try_from(files).unwrap_or(u64::MAX);
    let (lines, entries) = (counted(survey.lines, "line", "lines"), counted(survey.entries, "entry", "entries"));
    writeln!(out, "{}, {lines}, {entries}", counted(files, "file", "files"))?;
    if survey.drift.is_empty() {
        return writeln!(out, "nothing unknown");
    }
    writeln!(out, "\n{:<10}  {:>7}  {:<10}  {:<40}  first seen", "what", "count", "version", "name")?;
    for row in survey.drift.rows() {
        let version = if row.version.is_empty() { "-" } else { row.version };
        let what = row.what.label();
        let (file, offset) = (row.first.file.escape_debug(), row.first.offset);
        writeln!(out, "{what:<10}  {:>7}  {version:<10}  {:<40}  {file}:{offset}", row.count, row.name)?;
    }
    match survey.drift.omitted() {
        0 => Ok(()),
        more => writeln!(out, "… {more} more of other names"),
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn write_table(out: &mut impl Write, survey: &Survey) -> io::Result<()> {
    let table = &survey.table;
    writeln!(out, "{:<36}  {:>9}  {:>9}  became", "record", "records", "entries")?;
    for (kind, detail, became) in table.rows() {
        let name = if detail.is_empty() { kind.to_owned() } else { format!("{kind} {detail}") };
        write_row(out, &name, became)?;
    }
    let total = table.total();
    write_row(out, "all", &total)?;
    let share = if total.entries == 0 { 0 } else { total.unparsed.saturating_mul(10_000).div_ceil(total.entries) };
    writeln!(out, "\nnot parsed: {} ({}.{:02} %), blank: {}", total.unparsed, share / 100, share % 100, total.blank)
}

fn write_row(out: &mut impl Write, name: &str, became: &Became) -> io::Result<()> {
    let parts: Vec<String> =
        became.kinds.iter().chain(&became.silent).map(|(what, count)| format!("{what} {count}")).collect();
    writeln!(out, "{name:<36}  {:>9}  {:>9}  {}", became.records, became.entries, parts.join(", "))
}
