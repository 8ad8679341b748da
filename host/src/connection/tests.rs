use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use panewire_core::io::{CloseCode, Fault, Frame};

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

/// A connection between a peer and somebody who plays the core.
struct Scene {
    connection: Connection<Rc<RefCell<Peer>>, Bell>,
    peer: Rc<RefCell<Peer>>,
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
        let connection = Connection {
            carrier,
            transport: Rc::clone(&peer),
            alarm: bell.clone(),
            socket: WebSocket::server(),
            unread: Some(unread.to_vec()),
            deadline: None,
            shut: false,
            discarded: 0,
        };
        Self { connection, peer, bell, inbox, exchange }
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
