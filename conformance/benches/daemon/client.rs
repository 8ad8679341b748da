//! A WebSocket client that costs little: it reads frames, and looks into as few of them as it can.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use crate::daemon::Daemon;

/// One client of a pane's transcript.
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    /// Entries of the session when it came, and those that came since.
    pub(crate) total: u64,
    /// Entries of the opening.
    pub(crate) opened: u64,
    hello: Value,
    newest: Vec<u8>,
    oldest: u64,
}

/// For so long these clients do nothing but answer pings.
pub(crate) fn rest(clients: &mut [Client], span: Duration) {
    let until = Instant::now() + span;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let mut sockets: Vec<PollFd<'_>> =
            clients.iter().map(|client| PollFd::new(client.reader.get_ref(), PollFlags::IN)).collect();
        let left = Timespec::try_from(left).unwrap();
        poll(&mut sockets, Some(&left)).unwrap();
        let ready: Vec<bool> = sockets.iter().map(|socket| !socket.revents().is_empty()).collect();
        for (client, _) in clients.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            client.attend();
        }
    }
}

impl Client {
    /// Connects and takes the opening.
    pub(crate) fn open(daemon: &Daemon, pane: &str, cursor: &str) -> Self {
        let mut stream = TcpStream::connect(daemon.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!(
            "GET /agent-transcript?pane={pane}{cursor} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: cGFuZXdpcmUgYmVuY2htYQ==\r\n\r\n",
            daemon.address, daemon.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            assert!(!line.starts_with("HTTP") || line.contains(" 101 "), "{line}");
            line.clear();
        }
        let mut client = Self { reader, total: 0, opened: 0, hello: Value::Null, newest: Vec::new(), oldest: 0 };
        let hello = client.frame();
        client.hello = serde_json::from_slice(&hello).unwrap();
        client.total = client.hello["total"].as_u64().unwrap();
        client.oldest = client.hello["oldest_loaded_seq"].as_u64().unwrap();
        loop {
            let frame = client.frame();
            if frame.starts_with(br#"{"type":"backlog_complete""#) {
                return client;
            }
            client.opened += 1;
            client.newest = frame;
        }
    }

    /// Takes a page, and gives its size.
    pub(crate) fn page(&mut self, before: u64, limit: u64) -> u64 {
        self.say(&format!("{{\"type\":\"load_older\",\"before_seq\":{before},\"limit\":{limit}}}"));
        let mut entries = 0;
        loop {
            let frame = self.frame();
            if frame.starts_with(br#"{"type":"page_complete""#) {
                return entries;
            }
            entries += 1;
        }
    }

    /// Pages from where its opening began to the first entry: how many entries there are.
    pub(crate) fn page_to_the_beginning(&mut self) -> u64 {
        let mut seen = self.total - (self.oldest - 1);
        while self.oldest > 1 {
            let page = self.page(self.oldest, 500);
            self.oldest -= page;
            seen += page;
        }
        seen
    }

    /// Waits for the next live entry: the bytes of its frame.
    pub(crate) fn live(&mut self) -> usize {
        loop {
            let frame = self.frame();
            if frame.starts_with(br#"{"type":"entry","live":true"#) {
                self.total += 1;
                return frame.len();
            }
        }
    }

    /// Takes what has come meanwhile and answers pings, without a wait.
    fn attend(&mut self) {
        self.frame_of_any_kind();
        while !self.reader.buffer().is_empty() {
            self.frame_of_any_kind();
        }
    }

    /// The query by which a client with what this one has comes back.
    pub(crate) fn cursor(&self) -> String {
        let newest: Value = serde_json::from_slice(&self.newest).unwrap();
        let (seq, id) = (&newest["entry"]["seq"], newest["entry"]["id"].as_str().unwrap().replace('#', "%23"));
        let text = |field: &str| self.hello[field].as_str().unwrap().to_owned();
        let (session, generation) = (text("session_id"), text("generation"));
        format!("&session={session}&generation={generation}&since_seq={seq}&since_id={id}")
    }

    /// The next text frame.
    fn frame(&mut self) -> Vec<u8> {
        loop {
            if let Some(text) = self.frame_of_any_kind() {
                return text;
            }
        }
    }

    /// The next frame if it is a text; a ping is answered.
    fn frame_of_any_kind(&mut self) -> Option<Vec<u8>> {
        let mut head = [0; 2];
        self.reader.read_exact(&mut head).unwrap();
        let length = match head[1] {
            126 => self.number::<2>(),
            127 => self.number::<8>(),
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.reader.read_exact(&mut payload).unwrap();
        match head[0] {
            0x81 => return Some(payload),
            0x89 => self.send(0x8a, &payload),
            other => panic!("a frame {other:#x}: {}", String::from_utf8_lossy(&payload)),
        }
        None
    }

    fn number<const BYTES: usize>(&mut self) -> u64 {
        let mut bytes = [0; BYTES];
        self.reader.read_exact(&mut bytes).unwrap();
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn say(&mut self, text: &str) {
        self.send(0x81, text.as_bytes());
    }

    /// Sends a short frame, masked with zeros.
    fn send(&mut self, kind: u8, payload: &[u8]) {
        let length = u8::try_from(payload.len()).ok().filter(|length| *length < 126).unwrap();
        let frame = [&[kind, 0x80 | length, 0, 0, 0, 0], payload].concat();
        self.reader.get_mut().write_all(&frame).unwrap();
    }
}
