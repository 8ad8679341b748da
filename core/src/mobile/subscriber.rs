//! One client of `WS /events`: what was sent to it, what waits, and whether it is still there.
//!
//! Events lie in no file, so that a client which does not take them cannot be read on later: one that lags too far is
//! closed with 4000, connects again and begins with a fresh snapshot.

use alloc::collections::VecDeque;

use bytes::Bytes;

use super::events;
use super::liveness::{Due, Liveness};
use crate::ids::ExId;
use crate::io::{CloseCode, Fault, Frame, Message, Output};
use crate::limits::{EVENTS_HEARTBEAT_EVERY, MAX_WAITING_EVENTS};
use crate::time::{Instant, Now};

/// One WebSocket client that follows events.
#[derive(Debug)]
pub struct Subscriber {
    ex: ExId,
    window: i64,
    credit: i64,
    waiting: VecDeque<Bytes>,
    next_beat: Instant,
    liveness: Liveness,
    closed: bool,
}

impl Subscriber {
    /// A client whose upgrade was just accepted. `window_bytes` may wait for it in the runtime.
    #[must_use]
    pub fn new(ex: ExId, window_bytes: usize, now: Instant) -> Self {
        let window = i64::try_from(window_bytes).unwrap_or(i64::MAX);
        Self {
            ex,
            window,
            credit: window,
            waiting: VecDeque::new(),
            next_beat: now.plus(EVENTS_HEARTBEAT_EVERY),
            liveness: Liveness::new(now),
            closed: false,
        }
    }

    /// Sends it a frame, or lets the frame wait until there is room; closes it if too many wait.
    pub fn send(&mut self, now: Instant, frame: Bytes, out: &mut VecDeque<Output>) {
        if self.closed {
            return;
        }
        if self.waiting.len() >= MAX_WAITING_EVENTS {
            return self.close(CloseCode::Lagged, LAGGED, out);
        }
        self.waiting.push_back(frame);
        self.send_on(now, out);
    }

    /// So many bytes left the runtime's queue.
    pub fn handle_taken(&mut self, now: Instant, bytes: usize, out: &mut VecDeque<Output>) {
        self.credit = self.credit.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX)).min(self.window);
        self.liveness.taken(now, self.credit < self.window);
        self.send_on(now, out);
    }

    /// Takes a message. What a client says here means nothing; what is no message ends it.
    pub fn handle_message(&mut self, now: Instant, message: Message<'_>, out: &mut VecDeque<Output>) {
        self.liveness.heard(now);
        match message {
            Message::Text(_) | Message::Binary(_) | Message::Pong => {}
            Message::Fault(Fault::TooLarge) => self.close(CloseCode::TooLarge, "message too large", out),
            Message::Fault(Fault::NotUtf8) => self.close(CloseCode::NotUtf8, "text is not UTF-8", out),
            Message::Fault(Fault::Protocol) => self.close(CloseCode::Protocol, "protocol error", out),
        }
    }

    /// Pings it, sends the heartbeat that is due, and closes it if it is silent or takes nothing.
    pub fn handle_tick(&mut self, now: Now, out: &mut VecDeque<Output>) {
        if self.next_beat <= now.mono {
            self.next_beat = now.mono.plus(EVENTS_HEARTBEAT_EVERY);
            // A client that does not take what there is needs no sign of life on top of it.
            if self.waiting.is_empty() && self.credit > 0 {
                self.send(now.mono, events::heartbeat(now.wall), out);
            }
        }
        match self.liveness.due(now.mono, false) {
            None => {}
            Some(Due::Ping) => out.push_back(Output::Send(self.ex, Frame::Ping)),
            Some(Due::Silent) => self.close(CloseCode::Normal, "no sign of life for 60 s", out),
            Some(Due::Stalled) => self.close(CloseCode::Lagged, LAGGED, out),
        }
    }

    /// When [`handle_tick`](Self::handle_tick) has something to do.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.liveness.next_deadline(false).min(self.next_beat)
    }

    /// Closes it with a real close frame. Nothing is sent to it afterwards.
    pub fn close(&mut self, code: CloseCode, reason: &'static str, out: &mut VecDeque<Output>) {
        if !self.closed {
            self.closed = true;
            self.waiting.clear();
            out.push_back(Output::Close(self.ex, code, reason));
        }
    }

    /// Whether it was closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    fn send_on(&mut self, now: Instant, out: &mut VecDeque<Output>) {
        while self.credit > 0
            && let Some(frame) = self.waiting.pop_front()
        {
            self.credit = self.credit.saturating_sub(i64::try_from(frame.len()).unwrap_or(i64::MAX));
            self.liveness.sent(now);
            out.push_back(Output::Send(self.ex, Frame::Text(frame)));
        }
    }
}

const LAGGED: &str = "resync: subscriber lagged";

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;

    use bytes::Bytes;

    use super::Subscriber;
    use crate::ids::ExId;
    use crate::io::{CloseCode, Frame, Message, Output};
    use crate::limits::MAX_WAITING_EVENTS;
    use crate::pane::simulated::at;

    const EX: ExId = ExId(3);

    fn frames(out: &mut VecDeque<Output>) -> Vec<usize> {
        let len = |output| match output {
            Output::Send(EX, Frame::Text(text)) => text.len(),
            other => panic!("{other:?}"),
        };
        out.drain(..).map(len).collect()
    }

    #[test]
    fn one_frame_may_overdraw_and_others_wait_for_room() {
        let (mut out, now) = (VecDeque::new(), at(0).mono);
        let mut subscriber = Subscriber::new(EX, 10, now);
        for len in [4, 20, 1, 2] {
            subscriber.send(now, Bytes::from(alloc::vec![b'x'; len]), &mut out);
        }
        assert_eq!(frames(&mut out), [4, 20]);
        subscriber.handle_taken(now, 14, &mut out);
        assert_eq!(frames(&mut out), [] as [usize; 0]);
        subscriber.handle_taken(now, 1, &mut out);
        assert_eq!(frames(&mut out), [1]);
        subscriber.handle_taken(now, 10, &mut out);
        assert_eq!(frames(&mut out), [2]);
    }

    #[test]
    fn one_that_lags_too_far_is_closed_and_told_why() {
        let (mut out, now) = (VecDeque::new(), at(0).mono);
        let mut subscriber = Subscriber::new(EX, 1, now);
        for _ in 0..=MAX_WAITING_EVENTS {
            subscriber.send(now, Bytes::from_static(b"xx"), &mut out);
        }
        assert_eq!(frames(&mut out), [2]);
        subscriber.send(now, Bytes::from_static(b"xx"), &mut out);
        assert_eq!(out, [Output::Close(EX, CloseCode::Lagged, "resync: subscriber lagged")]);
        assert!(subscriber.is_closed());
        subscriber.send(now, Bytes::from_static(b"xx"), &mut out);
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn one_that_takes_nothing_lags() {
        let mut out = VecDeque::new();
        let mut subscriber = Subscriber::new(EX, 10, at(0).mono);
        subscriber.send(at(0).mono, Bytes::from_static(b"xx"), &mut out);
        out.clear();
        subscriber.handle_tick(at(30_000), &mut out);
        assert_eq!(out.pop_back(), Some(Output::Close(EX, CloseCode::Lagged, "resync: subscriber lagged")));
    }

    #[test]
    fn a_sign_of_life_comes_every_20_s() {
        let mut out = VecDeque::new();
        let mut subscriber = Subscriber::new(EX, 1_000, at(0).mono);
        for beat in 1..=4 {
            let due = subscriber.next_deadline();
            assert_eq!(due.as_millis(), beat * 20_000);
            subscriber.handle_message(due, Message::Text("anything"), &mut out);
            subscriber.handle_tick(at(due.as_millis()), &mut out);
            let Some(Output::Send(EX, Frame::Text(text))) = out.pop_front() else { panic!("{out:?}") };
            assert!(text.starts_with(br#"{"type":"heartbeat","ts":17886"#));
            assert_eq!(out.pop_front(), Some(Output::Send(EX, Frame::Ping)));
            subscriber.handle_taken(due, text.len(), &mut out);
            assert_eq!(out.pop_front(), None);
        }
    }
}
