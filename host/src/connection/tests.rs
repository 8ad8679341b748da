use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use panewire_core::ids::OpId;
use panewire_core::io::{CloseCode, Fault, Frame};
use panewire_core::limits::{PIPE_INPUT_BYTES, PIPE_READ_BYTES};

use super::*;
use crate::Inbox;
use crate::exchange::{Exchange, Said, Told};
use crate::inbox::Post;

/// The other side of a socket.
#[derive(Debug, Default)]
struct Peer {
    /// What the client sends, read by read.
    sends: VecDeque<Vec<u8>>,
    /// It sends nothing more.
    left: bool,
    /// What it has received.
    received: Vec<u8>,
    /// Bytes that it still takes.
    room: usize,
    shut: bool,
}

impl Transport for Rc<RefCell<Peer>> {
    fn poll_write(&mut self, slices: &[IoSlice<'_>], _: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut peer = self.borrow_mut();
        assert!(!peer.shut, "written after the end");
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).take(peer.room).collect();
        peer.room -= bytes.len();
        peer.received.extend(&bytes);
        if bytes.is_empty() { Poll::Pending } else { Poll::Ready(Ok(bytes.len())) }
    }

    fn poll_readable(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let peer = self.borrow();
        if peer.left || !peer.sends.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let sent = self.borrow_mut().sends.pop_front().unwrap_or_default();
        buffer[..sent.len()].copy_from_slice(&sent);
        Ok(sent.len())
    }

    fn shut_down(&mut self) -> io::Result<()> {
        self.borrow_mut().shut = true;
        Ok(())
    }
}

/// A timer that rings when the test says so.
#[derive(Debug, Clone, Default)]
struct Bell(Rc<RefCell<(bool, Option<Duration>)>>);

impl Alarm for Bell {
    fn poll(&mut self, at: Instant, _: &mut Context<'_>) -> Poll<()> {
        let (rings, within) = &mut *self.0.borrow_mut();
        *within = Some(at.saturating_duration_since(Instant::now()));
        if *rings { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// A program at a terminal.
#[derive(Debug, Default)]
struct Program {
    /// What it writes, read by read.
    writes: VecDeque<Vec<u8>>,
    /// It has let go of its terminal.
    ended: bool,
    /// What was typed.
    typed: Vec<u8>,
    /// Bytes that it still takes.
    room: usize,
}

impl Tty for Rc<RefCell<Program>> {
    fn poll_read(&mut self, buffer: &mut [u8], _: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut program = self.borrow_mut();
        match program.writes.pop_front() {
            Some(written) => {
                buffer[..written.len()].copy_from_slice(&written);
                Poll::Ready(Ok(written.len()))
            }
            None if program.ended => Poll::Ready(Err(io::Error::other("it is gone"))),
            None => Poll::Pending,
        }
    }

    fn poll_write(&mut self, bytes: &[u8], _: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut program = self.borrow_mut();
        let taken = bytes.len().min(program.room);
        program.room -= taken;
        program.typed.extend(&bytes[..taken]);
        if taken == 0 { Poll::Pending } else { Poll::Ready(Ok(taken)) }
    }
}

type Register = Box<dyn Fn(File) -> io::Result<Rc<RefCell<Program>>>>;

/// A connection between a peer and somebody who plays the core.
struct Scene {
    connection: Connection<Rc<RefCell<Peer>>, Bell, Register, Rc<RefCell<Program>>>,
    peer: Rc<RefCell<Peer>>,
    program: Rc<RefCell<Program>>,
    bell: Bell,
    inbox: Inbox,
    exchange: Arc<Exchange>,
}

impl Scene {
    fn new(unread: &[u8]) -> Self {
        let inbox = Inbox::default();
        let carrier = inbox.request(hyper::Request::new(()).into_parts().0, true);
        let Some(Post::Request(exchange, _)) = inbox.next() else { panic!("not asked") };
        let (peer, bell) = (Rc::new(RefCell::new(Peer { room: usize::MAX, ..Peer::default() })), Bell::default());
        let program = Rc::new(RefCell::new(Program { room: usize::MAX, ..Program::default() }));
        let registered = Rc::clone(&program);
        let register: Register = Box::new(move |_| Ok(Rc::clone(&registered)));
        let connection = Connection {
            carrier,
            transport: Rc::clone(&peer),
            alarm: bell.clone(),
            socket: WebSocket::server(),
            unread: Some(unread.to_vec()),
            register,
            pipe: None,
            deadline: None,
            shut: false,
            discarded: 0,
        };
        Self { connection, peer, program, bell, inbox, exchange }
    }

    /// Lets the connection do what it can. Whether it has ended.
    fn run(&mut self) -> bool {
        self.connection.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    fn say(&self, say: impl FnOnce(&mut Said)) {
        self.exchange.say(say);
        self.exchange.changed().raise();
    }

    /// What the core is told now, if anything.
    fn hear(&self) -> Option<Told> {
        match self.inbox.next()? {
            Post::Told(exchange) => Some(exchange.hear()),
            other => panic!("{other:?}"),
        }
    }

    /// The message that the core is told.
    fn heard(&self) -> Received {
        match self.hear().and_then(|told| told.event) {
            Some(Event::Message(received)) => {
                self.exchange.changed().raise();
                received
            }
            other => panic!("{other:?}"),
        }
    }

    fn received(&self) -> Vec<u8> {
        mem::take(&mut self.peer.borrow_mut().received)
    }
}

/// A short frame as a client sends it, masked with zeros.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    [&[first, 0x80 | u8::try_from(payload.len()).unwrap(), 0, 0, 0, 0], payload].concat()
}

fn text(text: &'static str) -> Frame {
    Frame::Text(Bytes::from_static(text.as_bytes()))
}

#[test]
fn messages_are_told_one_by_one_and_those_behind_a_request_first() {
    let mut scene = Scene::new(&[masked(0x81, b"a"), masked(0x81, b"b")].concat());
    scene.peer.borrow_mut().sends.push_back(masked(0x81, b"c"));
    for expected in ["a", "b", "c"] {
        assert!(!scene.run() && !scene.run());
        assert_eq!(scene.heard(), Received::Text(expected.into()));
    }
    assert!(!scene.run());
    assert!(scene.hear().is_none());
}

#[test]
fn a_held_client_is_not_read_but_written() {
    let mut scene = Scene::new(&masked(0x81, b"a"));
    scene.say(|said| said.held = true);
    scene.say(|said| said.frames.push_back(text("page")));
    assert!(!scene.run());
    assert_eq!(scene.received(), b"\x81\x04page");
    assert_eq!(scene.hear().map(|told| (told.taken, told.event.is_none())), Some((4, true)));
    scene.say(|said| said.held = false);
    assert!(!scene.run());
    assert_eq!(scene.heard(), Received::Text("a".into()));
}

#[test]
fn credit_is_what_the_client_took_however_often_it_is_told() {
    let mut scene = Scene::new(b"");
    scene.peer.borrow_mut().room = 5;
    scene.say(|said| said.frames.extend([text("first"), text("second")]));
    assert!(!scene.run());
    scene.peer.borrow_mut().room = 4;
    assert!(!scene.run());
    // Nine bytes, of which four are headers: told twice, heard once.
    assert_eq!(scene.received(), b"\x81\x05first\x81\x06");
    assert_eq!(scene.hear().map(|told| told.taken), Some(5));
    assert!(scene.hear().is_none());
    scene.peer.borrow_mut().room = 100;
    assert!(!scene.run());
    assert_eq!(scene.hear().map(|told| told.taken), Some(6));
}

#[test]
fn a_fault_is_answered_before_the_socket_is_shut_however_late_the_core_hears_of_it() {
    let mut scene = Scene::new(&[0x81, 1, b'a']);
    assert!(!scene.run() && !scene.run());
    assert!(!scene.peer.borrow().shut);
    assert_eq!(scene.heard(), Received::Fault(Fault::Protocol));
    scene.say(|said| said.close = Some((CloseCode::Protocol, "")));
    assert!(!scene.run());
    assert_eq!((scene.received(), scene.peer.borrow().shut), (b"\x88\x02\x03\xea".to_vec(), true));
    assert!(scene.bell.0.borrow().1.unwrap() <= DISCARD_WITHIN);
    // What still comes is read and forgotten, within bounds.
    scene.peer.borrow_mut().sends.extend(vec![vec![0xff; READ_BYTES]; DISCARD_BYTES / READ_BYTES]);
    assert!(!scene.run() && !scene.run() && !scene.run());
    assert!(scene.peer.borrow().sends.is_empty());
    scene.peer.borrow_mut().sends.push_back(vec![0xff; READ_BYTES]);
    assert!(scene.run());
}

#[test]
fn our_close_waits_for_the_answer_for_a_bounded_time() {
    let close = |said: &mut Said| said.close = Some((CloseCode::Normal, ""));
    let mut scene = Scene::new(b"");
    scene.say(close);
    assert!(!scene.run());
    assert_eq!(scene.received(), b"\x88\x02\x03\xe8");
    scene.peer.borrow_mut().sends.push_back(masked(0x88, b"\x03\xe8"));
    assert!(scene.run());

    let mut scene = Scene::new(b"");
    scene.peer.borrow_mut().room = 0;
    scene.say(close);
    assert!(!scene.run());
    assert!(scene.bell.0.borrow().1.is_some_and(|within| within > DISCARD_WITHIN && within <= CLOSE_WITHIN));
    scene.bell.0.borrow_mut().0 = true;
    assert!(scene.run(), "a client that takes not even the close frame");
}

#[test]
fn whoever_leaves_is_told_as_gone() {
    let mut scene = Scene::new(&masked(0x88, b"\x03\xe9"));
    assert!(scene.run());
    assert_eq!(scene.received(), b"\x88\x02\x03\xe9");
    assert!(scene.hear().is_some_and(|told| told.gone));

    let mut scene = Scene::new(b"");
    scene.peer.borrow_mut().left = true;
    assert!(scene.run());
    let Scene { connection, inbox, .. } = scene;
    drop(connection);
    let Some(Post::Told(exchange)) = inbox.next() else { panic!("not told") };
    assert!(exchange.hear().gone);
    assert_eq!(inbox.carriers(), 0);
}

const OP: OpId = OpId(7);

/// A client at the terminal of a program.
fn at_terminal() -> Scene {
    let mut scene = Scene::new(b"");
    scene.say(|said| said.piping = Some(Piping::Begin(OP, tempfile::tempfile().unwrap())));
    assert!(!scene.run());
    scene
}

#[test]
fn bytes_go_both_ways_and_the_core_hears_of_neither() {
    let mut scene = at_terminal();
    scene.program.borrow_mut().writes.extend([b"$ ".to_vec(), b"\x1b[2J".to_vec()]);
    scene.peer.borrow_mut().sends.extend([masked(0x82, b"ls"), masked(0x82, b"\r"), masked(0x81, b"x")]);
    assert!(!scene.run());
    assert_eq!(scene.received(), b"\x82\x02$ \x82\x04\x1b[2J");
    assert_eq!(scene.program.borrow().typed, b"ls\r");
    let told = scene.hear().unwrap();
    assert_eq!((told.taken, told.unpiped), (6, None));
    assert!(matches!(told.event, Some(Event::Message(Received::Text(text))) if text.as_str() == "x"));
}

#[test]
fn a_program_is_read_only_as_fast_as_its_client_takes() {
    let mut scene = at_terminal();
    scene.peer.borrow_mut().room = 0;
    scene.program.borrow_mut().writes = (0..100).map(|_| vec![b'y'; PIPE_READ_BYTES]).collect();
    assert!(!scene.run() && !scene.run());
    assert_eq!(scene.program.borrow().writes.len(), 100 - PIPE_FRAMES);
    // One of the frames leaves: one more is read.
    scene.peer.borrow_mut().room = PIPE_READ_BYTES + 4;
    assert!(!scene.run());
    assert_eq!(scene.program.borrow().writes.len(), 100 - PIPE_FRAMES - 1);
    scene.peer.borrow_mut().room = usize::MAX;
    assert!((0..10).all(|_| !scene.run()));
    assert!(scene.program.borrow().writes.is_empty());
    assert_eq!(scene.received().len(), 100 * (PIPE_READ_BYTES + 4));
}

#[test]
fn a_client_is_read_only_as_fast_as_its_program_takes() {
    let mut scene = at_terminal();
    scene.program.borrow_mut().room = 0;
    scene.peer.borrow_mut().sends = (0..200).map(|_| masked(0x82, &[b'k'; 100])).collect();
    assert!((0..10).all(|_| !scene.run()));
    let unread = 200 - PIPE_INPUT_BYTES.div_ceil(100);
    assert_eq!(scene.peer.borrow().sends.len(), unread);
    scene.program.borrow_mut().room = usize::MAX;
    assert!((0..10).all(|_| !scene.run()));
    assert_eq!((scene.peer.borrow().sends.len(), scene.program.borrow().typed.len()), (0, 20_000));
}

#[test]
fn a_message_may_be_as_long_as_the_core_allows() {
    let long = |len: u16| [&[0x82, 0x80 | 126][..], &len.to_be_bytes(), &[0; 4], &vec![b'p'; len.into()]].concat();
    let mut scene = at_terminal();
    scene.say(|said| said.allowed = Some(20_000));
    let pieces = |bytes: Vec<u8>| bytes.chunks(READ_BYTES).map(<[u8]>::to_vec).collect::<VecDeque<_>>();
    scene.peer.borrow_mut().sends = pieces(long(20_000));
    // Nothing wakes it again: what waits was typed at once.
    assert!(!scene.run());
    assert_eq!(scene.program.borrow().typed.len(), 20_000);
    scene.peer.borrow_mut().sends = pieces(long(20_001));
    assert!((0..2).all(|_| !scene.run()));
    assert_eq!(scene.heard(), Received::Fault(Fault::TooLarge));
    assert_eq!(scene.program.borrow().typed.len(), 20_000);
}

#[test]
fn the_end_of_a_program_is_told_behind_all_it_wrote() {
    let mut scene = at_terminal();
    scene.program.borrow_mut().writes.push_back(b"bye".to_vec());
    scene.program.borrow_mut().ended = true;
    assert!(!scene.run());
    assert_eq!(scene.received(), b"\x82\x03bye");
    assert_eq!(scene.hear().and_then(|told| told.unpiped), Some(OP));
    // What is typed from then on is for the core.
    scene.peer.borrow_mut().sends.push_back(masked(0x82, b"k"));
    assert!(!scene.run());
    assert_eq!(scene.heard(), Received::Binary(Bytes::from_static(b"k")));
}

#[test]
fn nothing_of_a_terminal_comes_behind_what_ended_it() {
    let mut scene = at_terminal();
    scene.program.borrow_mut().writes.push_back(b"late".to_vec());
    scene.say(|said| {
        said.piping = Some(Piping::End);
        said.frames.push_back(text("mode"));
    });
    assert!(!scene.run());
    assert_eq!(scene.received(), b"\x81\x04mode");
    scene.say(|said| said.piping = Some(Piping::Begin(OP, tempfile::tempfile().unwrap())));
    scene.say(|said| said.close = Some((CloseCode::Normal, "")));
    assert!(!scene.run());
    assert_eq!(scene.received(), b"\x88\x02\x03\xe8");
    assert!(scene.connection.pipe.is_none());
}

#[test]
fn a_terminal_that_cannot_be_waited_for_has_ended() {
    let mut scene = Scene::new(b"");
    scene.connection.register = Box::new(|_| Err(io::Error::other("no more of them")));
    scene.say(|said| said.piping = Some(Piping::Begin(OP, tempfile::tempfile().unwrap())));
    assert!(!scene.run());
    assert_eq!(scene.hear().and_then(|told| told.unpiped), Some(OP));
}
