//! The screen of a pane without an agent, painted anew whenever it has changed.

use alloc::string::String;
use core::time::Duration;

use bytes::Bytes;

use super::super::herdr::Rows;
use crate::limits::{PAINT_FAILURES, PAINT_IDLE, PAINT_SOON};
use crate::time::Instant;

/// What of a pane was painted, and when it is looked at next.
#[derive(Debug)]
pub(super) struct Paint {
    /// What its client has, if it has anything.
    shown: Option<String>,
    rows: Rows,
    next_look: Instant,
    pause: Duration,
    failures: u32,
}

impl Paint {
    pub(super) const fn new(now: Instant) -> Self {
        Self { shown: None, rows: Rows::Scrollback, next_look: now, pause: PAINT_SOON, failures: 0 }
    }

    /// What is to be read next.
    pub(super) const fn rows(&self) -> Rows {
        self.rows
    }

    pub(super) const fn next_look(&self) -> Instant {
        self.next_look
    }

    /// Something was typed, or herdr says that something has changed: it shows soon, together with what comes meanwhile.
    pub(super) fn hinted(&mut self, now: Instant) {
        self.pause = PAINT_SOON;
        self.next_look = self.next_look.min(now.plus(PAINT_SOON));
    }

    /// What the client is to be sent, if what it has is not what there is.
    pub(super) fn take(&mut self, now: Instant, text: &str) -> Option<Bytes> {
        self.failures = 0;
        let text = with_line_ends(text);
        // The first one ends in what the screen shows.
        let is_shown = self.shown.as_ref().is_some_and(|shown| match self.rows {
            Rows::Scrollback => false,
            Rows::Screen => *shown == text || shown.ends_with(&["\r\n", &text].concat()),
        });
        self.rows = Rows::Screen;
        self.pause = if is_shown { self.pause.saturating_mul(2).min(PAINT_IDLE) } else { PAINT_SOON };
        self.next_look = now.plus(self.pause);
        if is_shown {
            return None;
        }
        let prefix = if self.shown.is_some() { CLEARED } else { "" };
        let frame = Bytes::from([prefix, &text].concat());
        self.shown = Some(text);
        Some(frame)
    }

    /// It could not be read. Whether it is to be given up.
    pub(super) fn failed(&mut self, now: Instant) -> bool {
        // What is above the screen is a gift: it may be too much, or not known to this herdr.
        self.rows = Rows::Screen;
        self.failures = self.failures.saturating_add(1);
        self.next_look = now.plus(PAINT_IDLE);
        self.failures >= PAINT_FAILURES
    }
}

/// The cursor goes home, and everything is blank.
const CLEARED: &str = "\u{1b}[H\u{1b}[2J";

/// With the line ends of a terminal, and none behind the last line: that would scroll the first one away.
fn with_line_ends(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for (no, line) in text.trim_end_matches(['\r', '\n']).split('\n').enumerate() {
        if no > 0 {
            lines.push_str("\r\n");
        }
        lines.push_str(line.strip_suffix('\r').unwrap_or(line));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn the_first_frame_has_what_scrolled_away_and_later_ones_clear_first() {
        let mut paint = Paint::new(at(0));
        assert_eq!((paint.rows(), paint.next_look()), (Rows::Scrollback, at(0)));
        assert_eq!(paint.take(at(5), "old\n$ ls\nfile\n$\n"), Some(Bytes::from_static(b"old\r\n$ ls\r\nfile\r\n$")));
        assert_eq!(paint.rows(), Rows::Screen);
        assert_eq!(paint.take(at(50), "file\r\n$\r\n"), None, "that is on the screen");
        assert_eq!(paint.take(at(99), "file\n$ x"), Some(Bytes::from_static(b"\x1b[H\x1b[2Jfile\r\n$ x")));
        assert_eq!(paint.take(at(150), "file\n$ x\n"), None);
        assert_eq!(paint.take(at(200), ""), Some(Bytes::from_static(b"\x1b[H\x1b[2J")));
    }

    #[test]
    fn a_pane_that_rests_is_looked_at_less() {
        let mut paint = Paint::new(at(0));
        let mut now = 0;
        let mut pauses = alloc::vec::Vec::new();
        for _ in 0..8 {
            paint.take(at(now), "$");
            pauses.push(paint.next_look().since(at(now)).as_millis());
            now += 10_000;
        }
        assert_eq!(pauses, [40, 80, 160, 320, 640, 1_000, 1_000, 1_000]);
        paint.hinted(at(now));
        assert_eq!(paint.next_look(), at(now - 9_000), "it is due already");
        paint.take(at(now), "$");
        paint.hinted(at(now));
        assert_eq!(paint.next_look(), at(now + 40));
        paint.take(at(now), "$ l");
        assert_eq!(paint.next_look(), at(now + 40));
    }

    #[test]
    fn one_that_cannot_be_read_again_and_again_is_given_up() {
        let mut paint = Paint::new(at(0));
        assert!(!paint.failed(at(10)));
        assert_eq!((paint.rows(), paint.next_look()), (Rows::Screen, at(1_010)));
        assert_eq!(paint.take(at(1_010), "$"), Some(Bytes::from_static(b"$")), "nothing was there to be cleared");
        assert!((1..PAINT_FAILURES).all(|_| !paint.failed(at(2_000))));
        assert!(paint.failed(at(2_000)));
    }
}
