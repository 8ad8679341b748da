//! A child's conversation, read as a whole and kept up with.

use core::ops::ControlFlow;

use crate::agent::Line;
use crate::io::{FileIdentity, FileTime};
use crate::source::lines::LineSplitter;
use crate::source::records;

/// What the lines of a conversation have said.
pub(crate) trait Known: Default {
    /// Takes the next line.
    fn take(&mut self, line: &Line<'_>);
}

/// For children of which nothing is read as a whole.
impl Known for () {
    fn take(&mut self, _line: &Line<'_>) {}
}

/// What is known of everything up to [`end`](Self::end).
#[derive(Debug)]
pub(crate) struct Through<K> {
    identity: FileIdentity,
    modified: FileTime,
    lines: LineSplitter,
    pub(crate) known: K,
}

impl<K: Known> Through<K> {
    pub(crate) fn new(identity: FileIdentity, modified: FileTime, line_bytes: usize) -> Self {
        Self { identity, modified, lines: LineSplitter::new(0, line_bytes), known: K::default() }
    }

    /// Whether this file, so long and so old, is one of which only the end is new.
    pub(crate) fn goes_on(&self, identity: FileIdentity, size: u64, modified: FileTime) -> bool {
        let touched = modified != self.modified && size == self.end();
        identity == self.identity && size >= self.end() && !touched
    }

    /// Where to read on.
    pub(crate) fn end(&self) -> u64 {
        self.lines.end()
    }

    /// Takes what comes next.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let Self { lines, known, .. } = self;
        let _ = lines.push(bytes, |line| {
            known.take(&line);
            ControlFlow::<()>::Continue(())
        });
    }

    /// This is the end for now: a last line without its newline counts as soon as it is whole.
    pub(crate) fn finish(&mut self, modified: FileTime) {
        self.modified = modified;
        if records::is_whole(self.lines.tail()) {
            self.known.take(&self.lines.tail_line());
            self.lines.accept_tail();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Lines(u64);

    impl Known for Lines {
        fn take(&mut self, _line: &Line<'_>) {
            self.0 += 1;
        }
    }

    #[test]
    fn a_file_goes_on_only_as_itself() {
        let (same, other) = (FileIdentity { device: 1, inode: 1 }, FileIdentity { device: 1, inode: 2 });
        let mut through = Through::<Lines>::new(same, FileTime(1), 1 << 20);
        through.take(b"{\"type\":\"mode\"}\n{\"whole\":1}");
        through.finish(FileTime(2));
        let end = through.end();
        assert_eq!((through.known.0, end), (2, 27));
        for (identity, size, modified, goes_on) in [
            (same, end, 2, true),
            (same, end + 9, 3, true),
            (same, end, 3, false),
            (same, end - 1, 3, false),
            (other, end + 9, 3, false),
        ] {
            assert_eq!(through.goes_on(identity, size, FileTime(modified)), goes_on, "{size} {modified}");
        }
    }
}
