use std::cell::RefCell;
use std::rc::Rc;
use std::task::Waker;
use std::thread;

use bytes::Bytes;
use futures_lite::future::block_on;
use hyper::http::request::Parts;
use panewire_core::config::{Config, Demo, Herdr, HerdrMode, Push, Roots, Server};
use panewire_core::http::auth::TokenDigest;
use panewire_core::io::Fin;
use panewire_core::limits::Limits;

use super::*;
use crate::Carrier;
use crate::exchange::Event;
use crate::http::whole_body;

/// Never rings, and remembers what it was asked for.
#[derive(Debug, Clone, Default)]
struct Silent(Rc<RefCell<Option<StdInstant>>>);

impl Alarm for Silent {
    fn poll(&mut self, at: StdInstant, _: &mut Context<'_>) -> Poll<()> {
        *self.0.borrow_mut() = Some(at);
        Poll::Pending
    }
}

/// A driver on a machine without anything to follow.
fn driver(directory: &tempfile::TempDir) -> Driver {
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let config = Config {
        version: "0".into(),
        server: Server::default(),
        own_names: vec![],
        allow_hosts: vec![],
        allow_origins: vec![],
        tokens: vec![TokenDigest::of("sesame")],
        token_file: None,
        site: &[],
        roots: Roots { claude: path("claude"), ..Roots::below(&path("home")) },
        state_dir: path("state"),
        herdr: Herdr { mode: HerdrMode::Off, socket: None, sessions_dir: None, program: "herdr".into() },
        push: Push::default(),
        demo: Demo::Auto,
        limits: Limits::default(),
    };
    Driver::new(Bridge::new(config), Performer::new(), Log::new("panewire", Level::Warn))
}

fn get(target: &str) -> Parts {
    let request = hyper::Request::get(target).header("host", "localhost").header("authorization", "Bearer sesame");
    request.body(()).unwrap().into_parts().0
}

/// Lets the driver do all that it can without waiting. Whether it has ended.
fn run(driver: &mut Driver, alarm: &mut Silent) -> bool {
    let cx = &mut Context::from_waker(Waker::noop());
    // A turn that was taken is followed by another one; none of these tests has as many.
    (0..100).any(|_| driver.poll(alarm, cx).is_ready())
}

fn status(carrier: &Carrier) -> Option<u16> {
    carrier.said(|said| said.head.as_ref().map(|head| head.status))
}

#[test]
fn whoever_asks_from_another_thread_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let driver = driver(&directory);
    let inbox = driver.inbox();
    let asking = thread::spawn(move || {
        let bodies: Vec<_> = ["/healthz", "/panes", "/nothing"]
            .map(|target| block_on(whole_body(inbox.request(get(target), false))))
            .into();
        inbox.shut_down();
        bodies
    });
    block_on(driver.run(Silent::default()));
    let bodies = asking.join().unwrap();
    assert_eq!(bodies[0].as_deref(), Some(&b"ok\n"[..]));
    assert!(bodies[1].as_ref().is_some_and(|body| body.starts_with(br#"{"panes":[{"pane":"demo""#)), "{:?}", bodies[1]);
    assert_eq!(bodies[2], None);
}

#[test]
fn it_ends_when_it_was_told_to_and_every_client_has_left() {
    let directory = tempfile::tempdir().unwrap();
    let (mut driver, mut alarm) = (driver(&directory), Silent::default());
    let inbox = driver.inbox();
    let first = inbox.request(get("/healthz"), false);
    assert!(!run(&mut driver, &mut alarm));
    inbox.shut_down();
    let late = inbox.request(get("/healthz"), false);
    assert!(!run(&mut driver, &mut alarm));
    assert_eq!((status(&first), status(&late)), (Some(200), Some(503)));
    drop(first);
    assert!(!run(&mut driver, &mut alarm));
    drop(late);
    assert!(run(&mut driver, &mut alarm));
}

#[test]
fn what_is_told_after_the_answer_reaches_nobody_and_harms_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let (mut driver, mut alarm) = (driver(&directory), Silent::default());
    let carrier = driver.inbox().request(get("/info"), false);
    run(&mut driver, &mut alarm);
    assert_eq!(status(&carrier), Some(200));
    assert!(driver.exchanges.is_empty());
    carrier.taken(1_000_000);
    carrier.tell(Event::Body(Bytes::from_static(b"late"), Fin::More));
    assert!(!carrier.may_read());
    run(&mut driver, &mut alarm);
    assert!(carrier.may_read(), "it was heard, so that the body can be read to its end");
}

#[test]
fn deadlines_are_the_cores() {
    let directory = tempfile::tempdir().unwrap();
    let (mut driver, mut alarm) = (driver(&directory), Silent::default());
    let rings = alarm.clone();
    run(&mut driver, &mut alarm);
    assert_eq!(*rings.0.borrow(), None, "nobody is there, nothing is due");
    let within = panewire_core::limits::DEMO_PAUSE;
    let carrier = driver.inbox().request(get("/agent-transcript?pane=demo"), true);
    while !carrier.said(|said| said.accepted) {
        run(&mut driver, &mut alarm);
        thread::yield_now();
    }
    run(&mut driver, &mut alarm);
    assert!(rings.0.borrow().is_some_and(|at| at <= StdInstant::now() + within));
}
