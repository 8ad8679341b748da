//! The world itself, around cores that are small, and some that are wrong.

use std::collections::VecDeque;

use bytes::Bytes;
use panewire_core::io::{CloseCode, Fault, Frame, Head, Message, Op, Outcome};

use super::*;
use crate::sim::client::{Ask, Frames as _, Speed};
use crate::sim::disk::{Effect, OpKind};

/// A core that is a function: input in, outputs out.
struct Scripted<T>(T, VecDeque<Output>, Option<Instant>);

impl<T: FnMut(Now, &Input<'_>, &mut Option<Instant>) -> Vec<Output>> Face for Scripted<T> {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        self.1.extend((self.0)(now, &input, &mut self.2));
        Ok(())
    }

    fn poll_output(&mut self) -> Output {
        self.1.pop_front().unwrap_or(Output::Wait { until: self.2, why: Why::ClientLiveness })
    }
}

const WINDOW: usize = 100;
const FAR: Instant = Instant::from_millis(10_000_000);

fn world<T>(core: T) -> World<impl Face>
where
    T: FnMut(Now, &Input<'_>, &mut Option<Instant>) -> Vec<Output>,
{
    World::around(Scripted(core, VecDeque::new(), Some(FAR)), WINDOW)
}

fn text(text: &str) -> Frame {
    Frame::Text(Bytes::copy_from_slice(text.as_bytes()))
}

const HELLO: &str = r#"{"type":"hello","protocol":5,"session_id":"s","backlog_count":0,"total":0,"has_more":false,"oldest_loaded_seq":0,"has_older":false}"#;
const COMPLETE: &str = r#"{"type":"backlog_complete","count":0,"has_more":false}"#;

fn live(seq: u64) -> Frame {
    text(&format!(r#"{{"type":"entry","live":true,"entry":{{"seq":{seq}}}}}"#))
}

#[test]
fn a_plain_request_is_answered_with_head_and_body() {
    let mut world = world(|_, input, _| match input {
        Input::Request(ex, request) => {
            assert_eq!((request.method, request.target, request.upgrade), ("GET", "/healthz", false));
            let head = Head { status: 200, headers: vec![("content-length", "3".into())] };
            let piece = |piece| Output::Send(*ex, Frame::Body(Bytes::from_static(piece)));
            vec![Output::Respond(*ex, head), piece(b"o"), piece(b"k\n"), Output::Finish(*ex)]
        }
        _ => vec![],
    });
    let ex = world.get("/healthz");
    let answer = world.client(ex).answer().unwrap();
    assert_eq!((answer.status, answer.body.as_str(), answer.header("content-length")), (200, "ok\n", Some("3")));
    assert!(!world.client(ex).accepted());
    world.finish();
}

#[test]
#[should_panic(expected = "content-length is 4, the body has 3 bytes")]
fn a_body_of_another_length_is_a_violation() {
    let mut world = world(|_, input, _| match input {
        Input::Request(ex, _) => {
            let head = Head { status: 200, headers: vec![("content-length", "4".into())] };
            vec![
                Output::Respond(*ex, head),
                Output::Send(*ex, Frame::Body(Bytes::from_static(b"ok\n"))),
                Output::Finish(*ex),
            ]
        }
        _ => vec![],
    });
    world.get("/healthz");
}

#[test]
fn a_slow_client_sees_a_frame_when_it_has_taken_the_last_byte() {
    let mut taken = Vec::new();
    let mut world = world(move |_, input, _| match input {
        Input::Request(ex, _) => {
            vec![Output::Accept(*ex), Output::Send(*ex, text(HELLO)), Output::Send(*ex, Frame::Ping)]
        }
        Input::Taken(ex, bytes) => {
            taken.push(*bytes);
            if taken.iter().sum::<usize>() == HELLO.len() {
                assert_eq!(taken, [60, 60, HELLO.len() - 120]);
                return vec![Output::Send(*ex, text(COMPLETE)), Output::Close(*ex, CloseCode::Normal, "enough")];
            }
            vec![]
        }
        Input::Message(_, message) => {
            assert_eq!(*message, Message::Pong);
            vec![]
        }
        _ => vec![],
    });
    let ex = world.ask(&Ask::socket("/").at(Speed::Slow { bytes: 60, every: Duration::from_secs(1) }));
    world.advance(Duration::from_millis(2_900));
    assert!(world.client(ex).accepted());
    assert!(world.client(ex).received().is_empty());
    world.advance(Duration::from_millis(200));
    assert_eq!(world.fresh(ex).kinds(), ["hello"]);
    assert_eq!(
        (world.client(ex).pings(), world.client(ex).closing(), world.client(ex).closed()),
        (1, Some((1000, "enough")), None)
    );
    world.advance(Duration::from_secs(1));
    assert_eq!(world.fresh(ex).kinds(), ["backlog_complete"]);
    assert_eq!(world.client(ex).closed(), Some((1000, "enough")));
    world.finish();
}

#[test]
#[should_panic(expected = "its window is 100")]
fn more_than_the_window_and_one_frame_is_a_violation() {
    let mut world = world(|_, input, _| match input {
        Input::Request(ex, _) => {
            let send = |frame| Output::Send(*ex, frame);
            vec![Output::Accept(*ex), send(text(HELLO)), send(text(COMPLETE)), send(live(1)), send(live(2))]
        }
        _ => vec![],
    });
    world.connect("/");
    world.run();
}

#[test]
#[should_panic(expected = "is Asked and is sent")]
fn a_frame_before_the_upgrade_is_a_violation() {
    let mut world = world(|_, input, _| match input {
        Input::Request(ex, _) => vec![Output::Send(*ex, text(HELLO))],
        _ => vec![],
    });
    world.connect("/");
    world.run();
}

#[test]
#[should_panic(expected = "which is gone")]
fn a_frame_for_a_client_that_is_gone_is_a_violation() {
    let mut world = world(|_, input, _| match input {
        Input::Request(ex, _) => vec![Output::Accept(*ex)],
        Input::Gone(ex) => vec![Output::Send(*ex, text(HELLO))],
        _ => vec![],
    });
    let ex = world.connect("/");
    world.run();
    world.leave(ex);
    world.run();
}

#[test]
#[should_panic(expected = "live 2 after 0")]
fn a_stream_with_a_gap_is_a_violation() {
    let mut world = world(|_, input, _| match input {
        Input::Request(ex, _) => vec![Output::Accept(*ex), Output::Send(*ex, text(HELLO))],
        Input::Taken(ex, n) if *n == HELLO.len() => vec![Output::Send(*ex, text(COMPLETE)), Output::Send(*ex, live(2))],
        _ => vec![],
    });
    world.connect("/");
    world.run();
}

#[test]
#[should_panic(expected = "livelock")]
fn a_deadline_that_stays_in_the_past_is_a_violation() {
    let mut world = world(|now, _, deadline| {
        *deadline = Some(now.mono);
        vec![]
    });
    world.connect("/");
    world.run();
}

#[test]
#[should_panic(expected = "neither a deadline nor an operation")]
fn a_client_that_nothing_will_ever_reach_is_a_violation() {
    let mut world = world(|_, _, deadline| {
        *deadline = None;
        vec![]
    });
    world.connect("/");
    world.run();
}

#[test]
#[should_panic(expected = "still open at the end: /f")]
fn a_file_left_open_is_a_violation() {
    let mut world = world(|_, input, _| match input {
        Input::Request(..) => vec![Output::Op(OpId(1), Op::Open { path: "/f".into(), under: None })],
        _ => vec![],
    });
    world.disk.append("/f", "x");
    world.connect("/");
    world.finish();
}

#[test]
fn reads_of_one_handle_are_answered_in_order_even_if_one_is_slow() {
    let mut order = Vec::new();
    let mut world = world(move |_, input, _| {
        let read = |id, offset| Output::Op(OpId(id), Op::Read { handle: Handle(1), offset, len: 1 });
        match input {
            Input::Request(..) => vec![Output::Op(OpId(1), Op::Open { path: "/f".into(), under: None })],
            Input::Outcome(_, Outcome::Opened { .. }, _) => vec![read(2, 0), read(3, 1)],
            Input::Outcome(_, Outcome::Bytes { bytes, size_now: 2 }, _) => {
                order.extend_from_slice(bytes);
                let close = Output::Op(OpId(4), Op::CloseFile { handle: Handle(1) });
                if order == *b"ab" { vec![close] } else { vec![] }
            }
            _ => vec![],
        }
    });
    world.disk.append("/f", "ab");
    world.disk.spoil_times(1, OpKind::Read, "/f", Effect::Slow(Duration::from_secs(1)));
    world.connect("/");
    world.advance(Duration::from_secs(2));
    world.finish();
}

#[test]
fn a_cancelled_open_leaves_no_file_open_and_is_not_answered() {
    let mut world = world(|_, input, _| match input {
        Input::Request(..) => vec![Output::Op(OpId(1), Op::Open { path: "/f".into(), under: None })],
        Input::Message(..) => vec![],
        Input::Gone(_) => vec![Output::Cancel(OpId(1))],
        Input::Outcome(..) => unreachable!("it was cancelled"),
        _ => vec![],
    });
    world.disk.append("/f", "x");
    world.disk.spoil(OpKind::Open, "", Effect::Slow(Duration::from_secs(1)));
    let ex = world.connect("/");
    world.leave(ex);
    world.advance(Duration::from_secs(2));
    world.finish();
}

#[test]
fn what_a_held_client_says_waits_until_it_is_read_again() {
    let mut heard = 0;
    let mut world = world(move |now, input, deadline| match input {
        Input::Request(ex, _) => {
            *deadline = Some(now.mono.plus(Duration::from_secs(1)));
            vec![Output::Accept(*ex), Output::Hold(*ex, true)]
        }
        Input::Tick => {
            assert_eq!(heard, 0);
            *deadline = Some(FAR);
            vec![Output::Hold(ExId(1), false)]
        }
        Input::Message(ex, message) => {
            heard += 1;
            assert_eq!(*message, [Message::Text("one"), Message::Fault(Fault::TooLarge)][heard - 1]);
            if heard == 2 { vec![Output::Close(*ex, CloseCode::TooLarge, "")] } else { vec![] }
        }
        _ => vec![],
    });
    let ex = world.connect("/");
    world.run();
    world.say(ex, "one");
    world.say(ex, &"x".repeat(5_000));
    world.say(ex, "nothing after a fault is read");
    world.advance(Duration::from_secs(2));
    assert_eq!(world.client(ex).closed(), Some((1009, "")));
    world.finish();
}
