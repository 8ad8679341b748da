//! The socket of the fake herdr: one question for each connection, closed after the answer.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::DeskFile;
use super::listeners::Listeners;
use crate::herdr::{Mode, Typed, answer};

/// The longest question that is read; herdr itself closes at 1 MiB.
const MAX_LINE: u64 = 1024 * 1024;
/// How long herdr waits for the end of a question.
const PATIENCE: Duration = Duration::from_secs(5);

/// A socket that is served until this is dropped.
#[derive(Debug)]
pub struct Server {
    socket: PathBuf,
    over: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    listeners: Listeners,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `socket`, a path at which nothing lies yet.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn start(socket: &Path, desk: DeskFile) -> io::Result<Self> {
        Self::start_session(socket, desk, None)
    }

    /// The same for a named session.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn start_session(socket: &Path, desk: DeskFile, session: Option<&str>) -> io::Result<Self> {
        let session = session.map(str::to_owned);
        let listener = UnixListener::bind(socket)?;
        let over = Arc::new(AtomicBool::new(false));
        let asked = Arc::new(AtomicUsize::new(0));
        let listeners = Listeners::default();
        let thread = thread::spawn({
            let (over, asked, listeners) = (Arc::clone(&over), Arc::clone(&asked), listeners.clone());
            move || accept(&listener, (&desk, session.as_deref()), &over, (&asked, &listeners))
        });
        Ok(Self { socket: socket.into(), over, asked, listeners, thread: Some(thread) })
    }

    /// Connections that were made to it.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Tells all who listen to its events; by itself it tells nothing.
    pub fn tell(&self, event: &str) {
        self.listeners.tell(event);
    }

    /// Hangs up on all who listen.
    pub fn hang_up(&self) {
        self.listeners.hang_up();
    }

    /// Waits until so many listen; `false` if that takes longer than `within`.
    #[must_use]
    pub fn has_listeners(&self, listeners: usize, within: Duration) -> bool {
        self.listeners.wait_for(listeners, within)
    }

    /// Waits for its end, which only the end of the process brings.
    pub fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The listener is woken by a last connection, and its name is taken away, as a server that stops does. If the name is
/// gone already, nobody can reach it any more, and it is left to the end of the process.
impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.listeners.hang_up();
        let woken = UnixStream::connect(&self.socket).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn accept(
    listener: &UnixListener,
    desk: (&DeskFile, Option<&str>),
    over: &AtomicBool,
    (asked, listeners): (&AtomicUsize, &Listeners),
) {
    let mut silent = Vec::new();
    for stream in listener.incoming() {
        if over.load(Ordering::Relaxed) {
            return;
        }
        asked.fetch_add(1, Ordering::Relaxed);
        if let Ok(stream) = stream {
            silent.extend(converse(stream, desk, listeners).ok().flatten());
        }
    }
}

/// Answers the one question; a connection that is never answered is given back, to be kept open.
fn converse(
    stream: UnixStream,
    (desk, session): (&DeskFile, Option<&str>),
    listeners: &Listeners,
) -> io::Result<Option<UnixStream>> {
    let file = desk;
    let mut desk = file.read()?;
    if let Some(session) = session {
        desk = desk.sessions.remove(session).unwrap_or_default();
    }
    if desk.socket == Mode::Wedged {
        return Ok(Some(stream));
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = Vec::new();
    io::Read::take(BufReader::new(&stream), MAX_LINE).read_until(b'\n', &mut line)?;
    let question = line.strip_suffix(b"\n").and_then(|line| core::str::from_utf8(line).ok());
    if let Some(typed) = question.and_then(|question| Typed::by_line(&desk, question)) {
        file.take(session, typed)?;
    }
    if desk.socket == Mode::Silent {
        return Ok(Some(stream));
    }
    thread::sleep(Duration::from_millis(desk.takes_ms));
    if let Some(answer) = question.and_then(|question| answer::to_line(&desk, question)) {
        (&stream).write_all(format!("{answer}\n").as_bytes())?;
        if answer.contains(r#""type":"subscription_started""#) {
            listeners.add(stream)?;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::herdr::{Desk, Pane};

    fn ask(socket: &Path, line: &str) -> String {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn each_connection_is_answered_once_from_what_the_file_says_then() {
        let dir = tempfile::tempdir().unwrap();
        let desk = DeskFile::at(dir.path().join("herdr.json"));
        desk.write(&Desk::default()).unwrap();
        let socket = dir.path().join("herdr.sock");
        let server = Server::start(&socket, desk.clone()).unwrap();
        let question = "{\"id\":\"q\",\"method\":\"agent.get\",\"params\":{\"target\":\"w1:p1\"}}\n";
        assert!(ask(&socket, question).contains("agent_not_found"));
        desk.change(|desk| desk.panes.push(Pane::claude("w1:p1", "/srv/x"))).unwrap();
        let answer = ask(&socket, &question.repeat(2));
        assert!(answer.contains("agent_info") && answer.ends_with("}\n"), "{answer}");
        assert_eq!(answer.lines().count(), 1);
        assert_eq!(server.asked(), 2);
        drop(server);
        assert!(UnixStream::connect(&socket).is_err());
    }

    #[test]
    fn a_wedged_server_takes_the_question_and_stays_silent() {
        let dir = tempfile::tempdir().unwrap();
        let desk = DeskFile::at(dir.path().join("herdr.json"));
        desk.write(&Desk { socket: Mode::Wedged, ..Desk::default() }).unwrap();
        let socket = dir.path().join("herdr.sock");
        let _server = Server::start(&socket, desk).unwrap();
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(b"{}\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let error = stream.read(&mut [0; 1]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn who_listens_is_told_until_it_says_something() {
        let dir = tempfile::tempdir().unwrap();
        let desk = DeskFile::at(dir.path().join("herdr.json"));
        desk.write(&Desk::default()).unwrap();
        let socket = dir.path().join("herdr.sock");
        let server = Server::start(&socket, desk).unwrap();
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // As captured: `raw/subscribe-then-write`.
        let question = r#"{"id":"a","method":"events.subscribe","params":{"subscriptions":[{"type":"pane.closed"}]}}"#;
        stream.write_all(format!("{question}\n").as_bytes()).unwrap();
        assert!(server.has_listeners(1, Duration::from_secs(10)));
        server.tell("{}");
        let heard: Vec<String> = BufReader::new(&stream).lines().take(2).map(Result::unwrap).collect();
        assert_eq!(heard, [r#"{"id":"a","result":{"type":"subscription_started"}}"#, "{}"]);
        stream.write_all(b"x").unwrap();
        assert!(server.has_listeners(0, Duration::from_secs(10)));
    }
}
