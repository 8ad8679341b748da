//! Streams whose file is a spool: the store is looked at as often as a file would be, and what was appended is read at once.

use alloc::format;
use alloc::vec::Vec;

use super::Bridge;
use super::ops::Owner;
use crate::io::{Level, Op, Outcome, Output};
use crate::limits::MAX_DIRECTORY_NAMES;
use crate::machine::Tag;
use crate::source::spool::{self, FeedEvent, SPOOLS};

impl Bridge {
    /// Looks at the store behind a stream, if there is one.
    pub(super) fn look_at_store(&mut self, no: u64) {
        let now = self.now;
        if let Some(feed) = self.streams.feed_mut(no) {
            if self.announced.look_begins(no, now.mono) {
                feed.hint(now);
            } else {
                feed.look(now);
            }
            self.run_feed(no);
        }
    }

    /// Goes on with a feed: hands over its operations, and acts on what it tells.
    pub(super) fn run_feed(&mut self, no: u64) {
        let Some(feed) = self.streams.feed_mut(no) else { return };
        self.ops.issue_all(Owner::Feed(no), feed, &mut self.outputs);
        let events: Vec<FeedEvent> = core::iter::from_fn(|| feed.poll_event()).collect();
        let drift = feed.take_drift();
        self.streams.note(drift);
        for event in events {
            match event {
                FeedEvent::Ready => {
                    if let Some(stream) = self.streams.stream_mut(no) {
                        stream.follower.begin();
                    }
                    self.tidy_spools();
                }
                FeedEvent::Appended { entries } => {
                    if entries {
                        self.announced.found(no, self.now.mono);
                    }
                    if let Some(stream) = self.streams.stream_mut(no) {
                        stream.follower.hint();
                    }
                }
                FeedEvent::Trouble(text) => self.outputs.push_back(Output::Log(Level::Warn, text)),
            }
            self.run_stream(no);
        }
    }

    /// Looks whether there are too many spools.
    fn tidy_spools(&mut self) {
        let path = spool::directory(&self.config.state_dir);
        self.ops.issue(Owner::Spools, Tag(0), Op::List { path, max_names: MAX_DIRECTORY_NAMES }, &mut self.outputs);
    }

    /// Removes the oldest ones, but none that is followed.
    pub(super) fn spools_listed(&mut self, outcome: Outcome<'_>) {
        let Outcome::Listing { names, .. } = outcome else { return };
        let directory = spool::directory(&self.config.state_dir);
        for name in SPOOLS.surplus(names) {
            let path = format!("{directory}/{name}");
            if !self.streams.is_followed(&path) {
                self.ops.issue(Owner::Nobody, Tag(0), Op::Remove { path }, &mut self.outputs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::io::{DirEntry, Facts, FileIdentity, FileKind, FileTime};
    use crate::limits::MAX_SPOOLED_BYTES;

    fn entry(name: &str, modified: i64, size: u64) -> DirEntry {
        let identity = FileIdentity { device: 1, inode: 1 };
        let facts = Facts { kind: FileKind::File, identity, size, modified: FileTime(modified) };
        DirEntry { name: name.into(), facts }
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_they_are_too_large() {
        let mut names: Vec<DirEntry> = (0..258).map(|n| entry(&format!("{n}.spool"), n, 10)).collect();
        names.push(entry("notes", 0, u64::MAX));
        assert_eq!(SPOOLS.surplus(&names), vec!["1.spool", "0.spool"]);
        let half = MAX_SPOOLED_BYTES / 2;
        let names = [entry("a.spool", 1, half), entry("b.spool", 3, half), entry("c.spool", 2, 1)];
        assert_eq!(SPOOLS.surplus(&names), vec!["a.spool"]);
        assert!(SPOOLS.surplus(&names[..2]).is_empty());
    }
}
