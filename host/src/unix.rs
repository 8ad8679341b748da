//! One question over a fresh connection to a Unix socket, and its answer, or as many lines as come.

use std::convert::Infallible;
use std::io::{self, Read as _, Write as _};
use std::mem;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use panewire_core::io::FailureKind;
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, FdFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::answer::Answer;
use crate::limit::Limit;

/// Time between two tries to connect to a socket whose queue is full, and the longest single wait.
const STEP: Duration = Duration::from_millis(50);

/// [`Op::Call`](panewire_core::io::Op::Call): connects and sends the line in one write in the same moment, because
/// herdr looks once and then sleeps 100 ms; then reads one line and ignores what follows.
#[must_use]
pub fn call(socket: &str, line: &[u8], answer_cap: usize, within: Duration, limit: &Limit) -> Answer {
    ask(socket, line, answer_cap, within, limit).unwrap_or_else(|failed| failed)
}

/// [`Op::Listen`](panewire_core::io::Op::Listen): the same, and every line that comes is handed to `hear`, which comes back when
/// there is room for the next. Gives back why there are no more.
pub fn listen(
    (socket, line): (&str, &[u8]),
    line_cap: usize,
    within: Duration,
    limit: &Limit,
    mut hear: impl FnMut(Vec<u8>),
) -> Answer {
    let listened = (|| {
        let mut stream = send(socket, line, within, limit)?;
        let mut rest = Vec::new();
        hear(next_line(&mut stream, &mut rest, line_cap, within, limit)?);
        // From here on nothing but the other side or a cancel ends the wait, and nothing wakes this thread.
        limit.shuts(stream.try_clone()?);
        stream.set_nonblocking(false)?;
        loop {
            hear(next_line(&mut stream, &mut rest, line_cap, within, limit)?);
        }
    })();
    let Err(ended): Result<Infallible, Answer> = listened;
    ended
}

fn ask(socket: &str, line: &[u8], answer_cap: usize, within: Duration, limit: &Limit) -> Result<Answer, Answer> {
    let mut stream = send(socket, line, within, limit)?;
    next_line(&mut stream, &mut Vec::new(), answer_cap, within, limit).map(Answer::Line)
}

/// Connects and sends.
fn send(socket: &str, line: &[u8], within: Duration, limit: &Limit) -> Result<UnixStream, Answer> {
    let address = SocketAddrUnix::new(socket)?;
    let mut stream = loop {
        match connect(&address) {
            Ok(stream) => break stream,
            // The queue of the listener is full (Linux), or the connection is on its way.
            Err(Errno::AGAIN | Errno::INPROGRESS | Errno::INTR) => {
                if !limit.wait(within, STEP, &mut []) {
                    return Err(Answer::timed_out());
                }
            }
            Err(error) => return Err(error.into()),
        }
    };
    let mut rest = line;
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) => {
                wait_after(&error, &stream, PollFlags::OUT, within, limit).ok_or_else(|| lost(&error.to_string()))??
            }
        }
    }
    Ok(stream)
}

/// The next line, of what was read before and what comes; `read` keeps what was read beyond it.
fn next_line(
    stream: &mut UnixStream,
    read: &mut Vec<u8>,
    cap: usize,
    within: Duration,
    limit: &Limit,
) -> Result<Vec<u8>, Answer> {
    let mut buffer = [0; 8192];
    let mut searched = 0;
    loop {
        let end = read.iter().skip(searched).position(|byte| *byte == b'\n').map(|end| searched + end);
        if end.unwrap_or(read.len()) > cap {
            return Err(Answer::Failed(FailureKind::TooLarge, format!("answer of over {cap} bytes")));
        }
        if let Some(end) = end {
            let rest = read.split_off(end + 1);
            let mut line = mem::replace(read, rest);
            line.truncate(end);
            return Ok(line);
        }
        searched = read.len();
        match stream.read(&mut buffer) {
            Ok(0) => return Err(lost("closed without an answer")),
            Ok(count) => read.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) => {
                wait_after(&error, stream, PollFlags::IN, within, limit).ok_or_else(|| lost(&error.to_string()))??
            }
        }
    }
}

fn connect(address: &SocketAddrUnix) -> Result<UnixStream, Errno> {
    let socket: OwnedFd = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::net::connect(&socket, address)?;
    Ok(socket.into())
}

/// Waits where the error says only that nothing moved. `None`: it says more.
fn wait_after(
    error: &io::Error,
    stream: &UnixStream,
    flags: PollFlags,
    within: Duration,
    limit: &Limit,
) -> Option<Result<(), Answer>> {
    match error.kind() {
        io::ErrorKind::Interrupted => Some(Ok(())),
        io::ErrorKind::WouldBlock => {
            let mut fds = [PollFd::from_borrowed_fd(stream.as_fd(), flags)];
            Some(if limit.wait(within, STEP, &mut fds) { Ok(()) } else { Err(Answer::timed_out()) })
        }
        _ => None,
    }
}

/// The question is on its way, and nobody will say what became of it.
fn lost(text: &str) -> Answer {
    Answer::Failed(FailureKind::Lost, text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::thread;

    use super::*;
    use crate::limit::Cancel;

    const LONG: Duration = Duration::from_secs(30);

    fn question(socket: &Path, within: Duration) -> Answer {
        call(socket.to_str().unwrap(), b"{\"id\":\"1\"}\n", 100, within, &Limit::begin(Cancel::default()))
    }

    fn failure(answer: &Answer) -> FailureKind {
        match answer {
            Answer::Failed(kind, _) => *kind,
            other => panic!("not a failure: {other:?}"),
        }
    }

    /// Answers one connection with `pieces` and closes it; gives back the line it was sent.
    fn server(listener: UnixListener, pieces: Vec<Vec<u8>>) -> thread::JoinHandle<String> {
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            for piece in pieces {
                // The client may have had enough.
                let _ = (&stream).write_all(&piece);
            }
            line
        })
    }

    #[test]
    fn one_line_goes_out_and_one_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let served = server(UnixListener::bind(&path).unwrap(), vec![b"{\"a\"".into(), b":1}\nmore".into()]);
        let Answer::Line(answer) = question(&path, LONG) else { panic!("no answer") };
        assert_eq!(answer, b"{\"a\":1}");
        assert_eq!(served.join().unwrap(), "{\"id\":\"1\"}\n");
    }

    #[test]
    fn every_way_to_fail_has_its_kind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        assert_eq!(failure(&question(&path, LONG)), FailureKind::NotFound);

        let served = server(UnixListener::bind(&path).unwrap(), vec![b"no newline".into()]);
        assert_eq!(failure(&question(&path, LONG)), FailureKind::Lost);
        served.join().unwrap();
        assert_eq!(failure(&question(&path, LONG)), FailureKind::Unreachable, "nobody listens any more");

        std::fs::remove_file(&path).unwrap();
        let served = server(UnixListener::bind(&path).unwrap(), vec![vec![b'x'; 1000]]);
        assert_eq!(failure(&question(&path, LONG)), FailureKind::TooLarge);
        served.join().unwrap();

        std::fs::remove_file(&path).unwrap();
        let _wedged = UnixListener::bind(&path).unwrap();
        assert_eq!(failure(&question(&path, Duration::from_millis(100))), FailureKind::TimedOut);

        let long = directory.path().join("x".repeat(200));
        assert!(matches!(question(&long, LONG), Answer::Failed(..)));
    }

    #[test]
    fn a_listener_whose_queue_is_full_is_not_waited_for_longer_than_allowed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&socket, 0).unwrap();
        let mut waiting = Vec::new();
        let address = SocketAddrUnix::new(&path).unwrap();
        while let Ok(stream) = connect(&address) {
            waiting.push(stream);
            assert!(waiting.len() < 100, "the queue does not fill");
        }
        let kind = failure(&question(&path, Duration::from_millis(100)));
        assert!(matches!(kind, FailureKind::TimedOut | FailureKind::Unreachable), "{kind:?}");
    }

    #[test]
    fn every_line_is_heard_until_the_other_side_or_nobody_waits_any_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let (sender, heard) = std::sync::mpsc::channel();
        let listen_at = |cancel: &Cancel| {
            let (path, sender, limit) = (path.clone(), sender.clone(), Limit::begin(cancel.clone()));
            thread::spawn(move || {
                let hear = |line| sender.send(String::from_utf8(line).unwrap()).unwrap();
                listen((path.to_str().unwrap(), b"hello\n"), 10, LONG, &limit, hear)
            })
        };
        let next = || heard.recv_timeout(LONG).unwrap();

        let listening = listen_at(&Cancel::default());
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"one\ntwo\n\nth").unwrap();
        assert_eq!([next(), next(), next()], ["one", "two", ""]);
        stream.write_all(b"ree\n").unwrap();
        assert_eq!(next(), "three");
        drop(stream);
        assert_eq!(failure(&listening.join().unwrap()), FailureKind::Lost);

        let listening = listen_at(&Cancel::default());
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"0123456789\n0123456789a").unwrap();
        assert_eq!(next(), "0123456789");
        assert_eq!(failure(&listening.join().unwrap()), FailureKind::TooLarge);

        let cancel = Cancel::default();
        let listening = listen_at(&cancel);
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"one\n").unwrap();
        assert_eq!(next(), "one");
        cancel.cancel();
        assert_eq!(failure(&listening.join().unwrap()), FailureKind::Lost);
        let mut said = Vec::new();
        stream.read_to_end(&mut said).unwrap();
        assert_eq!(said, b"hello\n", "nothing more is ever sent");
    }
}
