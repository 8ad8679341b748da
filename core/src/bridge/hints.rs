//! Watched directories: one watch each, shared by the streams whose files lie in it, and whether its hints are trusted.
//!
//! ```text
//!            Watching               announced, some times in a row
//!   Asked ─────────────▶ Unproven ─────────────────────────────────▶ Trusted
//!    │ ▲                    │ ▲ not announced                            │
//!    ▼ │ after a while      └─┘                                          │
//!   Refused                                                              │
//!      Asked ◀── given back, asked for anew ── a change not announced ───┘
//! ```
//!
//! A hint is never more than a reason to look. What it spares is the polling between hints, and that only where hints
//! have proven themselves: on a network mount a watch is given, and what others write is never announced.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};

use crate::ids::WatchId;
use crate::io::{FailureKind, Op, Outcome};
use crate::limits::{HINT_WITHIN, MAX_REMEMBERED_WATCHES, SAFETY_POLL, TRUSTED_AFTER, WATCH_AGAIN};
use crate::machine::{Asks, Machine, Tag};
use crate::time::{Instant, Now};

/// The directories of the streams that are watched.
#[derive(Debug, Default)]
pub(super) struct Directories {
    asks: Asks,
    directories: BTreeMap<String, Directory>,
    /// What the hints of directories have shown that are not watched any more.
    remembered: BTreeMap<String, Trust>,
    /// The directory of each stream.
    homes: BTreeMap<u64, String>,
    /// Streams that are to be looked at.
    due: BTreeSet<u64>,
}

#[derive(Debug)]
struct Directory {
    watch: Watch,
    trust: Trust,
    files: BTreeMap<u64, File>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    Asked(Tag),
    Watching(WatchId),
    Refused { again: Instant },
}

/// One stream's file in its directory.
#[derive(Debug)]
struct File {
    name: String,
    /// A hint came since the last look began.
    hinted: bool,
    /// A look that began under this watch came to its end: whatever changes from then on must be announced.
    covered: bool,
}

/// What the hints of one directory have shown so far.
#[derive(Debug)]
struct Trust {
    /// Changes in a row that were announced.
    announced: u32,
    /// So many are asked for.
    needed: u32,
    /// A stream in which something was found that was not announced yet, and when.
    doubt: Option<(u64, Instant)>,
}

impl Directories {
    /// The file of a stream is watched from now on.
    pub(super) fn join(&mut self, stream: u64, path: &str) {
        let Some((directory, name)) = path.rsplit_once('/') else { return };
        if self.homes.get(&stream).is_some_and(|home| home == directory) {
            return;
        }
        self.leave(stream);
        self.homes.insert(stream, directory.to_string());
        let (asks, remembered) = (&mut self.asks, &mut self.remembered);
        let home = self.directories.entry(directory.to_string()).or_insert_with(|| Directory {
            watch: Watch::Asked(ask(asks, directory)),
            trust: remembered.remove(directory).unwrap_or_default(),
            files: BTreeMap::new(),
        });
        home.files.insert(stream, File { name: name.to_string(), hinted: false, covered: false });
    }

    /// It is not any more. The watch is given back with the last stream of its directory.
    pub(super) fn leave(&mut self, stream: u64) {
        let Some(path) = self.homes.remove(&stream) else { return };
        self.due.remove(&stream);
        let Some(home) = self.directories.get_mut(&path) else { return };
        home.files.remove(&stream);
        home.trust.doubt = home.trust.doubt.filter(|(doubted, _)| *doubted != stream);
        if home.files.is_empty()
            && let Some(Directory { watch, trust, .. }) = self.directories.remove(&path)
        {
            if let Watch::Watching(watch) = watch {
                self.asks.ask(Op::Unwatch { watch });
            }
            if self.remembered.len() >= MAX_REMEMBERED_WATCHES {
                self.remembered.pop_first();
            }
            self.remembered.insert(path, trust);
        }
    }

    /// Something may have changed in a directory.
    pub(super) fn hinted(&mut self, now: Instant, watch: WatchId, name: Option<&str>) {
        let Some(home) = self.directories.values_mut().find(|home| home.watch == Watch::Watching(watch)) else {
            return;
        };
        for (stream, file) in &mut home.files {
            if name.is_none_or(|name| name == file.name) {
                file.hinted = true;
                home.trust.clear(*stream, now);
                self.due.insert(*stream);
            }
        }
    }

    /// A watch has ended by itself. Perhaps the directory comes back; what was in it is looked at by the clock.
    pub(super) fn ended(&mut self, now: Instant, watch: WatchId) {
        if let Some(home) = self.directories.values_mut().find(|home| home.watch == Watch::Watching(watch)) {
            home.refuse(now.plus(SAFETY_POLL));
            self.due.extend(home.files.keys());
        }
    }

    /// Takes a stream that is to be looked at now.
    pub(super) fn take_due(&mut self) -> Option<u64> {
        self.due.pop_first()
    }

    /// A look at a stream's file came to its end; `more`: another one follows at once.
    pub(super) fn looked(&mut self, now: Instant, stream: u64, news: bool, more: bool) {
        let Some(home) = self.homes.get(&stream).and_then(|path| self.directories.get_mut(path)) else { return };
        let Some(file) = home.files.get_mut(&stream) else { return };
        if news && file.covered {
            home.trust.found(stream, file.hinted, now);
        }
        if !more {
            file.hinted = false;
            file.covered = matches!(home.watch, Watch::Watching(_));
        }
    }

    /// Whether a stream need not be polled but for safety.
    pub(super) fn rests(&self, stream: u64) -> bool {
        let home = self.homes.get(&stream).and_then(|path| self.directories.get(path));
        home.is_some_and(|home| matches!(home.watch, Watch::Watching(_)) && home.trust.is_given())
    }

    /// Time passed: what was not announced by now was not, and what was refused is asked for again.
    pub(super) fn tick(&mut self, now: Instant) {
        for (path, home) in &mut self.directories {
            match home.watch {
                Watch::Watching(watch) if home.trust.fails(now) => {
                    // Perhaps it watches a directory that does not lie there any more.
                    self.asks.ask(Op::Unwatch { watch });
                    home.watch = Watch::Asked(ask(&mut self.asks, path));
                }
                Watch::Refused { again } if again <= now => home.watch = Watch::Asked(ask(&mut self.asks, path)),
                Watch::Asked(_) | Watch::Watching(_) | Watch::Refused { .. } => {}
            }
        }
    }
}

impl Machine for Directories {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let home = self.directories.values_mut().find(|home| home.watch == Watch::Asked(tag));
        match (home, outcome) {
            (Some(home), Outcome::Watching(watch)) => {
                home.watch = Watch::Watching(watch);
                home.files.values_mut().for_each(|file| file.covered = false);
                // What changed before the watch began has no hint.
                self.due.extend(home.files.keys());
            }
            (Some(home), outcome) => {
                let missing = matches!(outcome, Outcome::Failed(failure) if failure.kind == FailureKind::NotFound);
                home.refuse(now.mono.plus(if missing { SAFETY_POLL } else { WATCH_AGAIN }));
            }
            // Everybody left before it was there.
            (None, Outcome::Watching(watch)) => drop(self.asks.ask(Op::Unwatch { watch })),
            (None, _) => {}
        }
    }
}

impl Directory {
    fn refuse(&mut self, again: Instant) {
        self.watch = Watch::Refused { again };
        self.trust.announced = 0;
        self.trust.doubt = None;
    }
}

impl Default for Trust {
    fn default() -> Self {
        Self { announced: 0, needed: TRUSTED_AFTER, doubt: None }
    }
}

impl Trust {
    const fn is_given(&self) -> bool {
        self.announced >= self.needed && self.doubt.is_none()
    }

    fn found(&mut self, stream: u64, announced: bool, now: Instant) {
        if announced {
            self.announced = self.announced.saturating_add(1);
        } else if self.doubt.is_none() {
            // Its hint may be on its way.
            self.doubt = Some((stream, now));
        }
    }

    /// A hint came for a stream.
    fn clear(&mut self, stream: u64, now: Instant) {
        self.doubt = self.doubt.filter(|(doubted, at)| *doubted != stream || now.since(*at) >= HINT_WITHIN);
    }

    /// Whether hints that were trusted have failed.
    fn fails(&mut self, now: Instant) -> bool {
        if self.doubt.is_none_or(|(_, at)| now.since(at) < HINT_WITHIN) {
            return false;
        }
        let trusted = self.announced >= self.needed;
        if trusted {
            self.needed = self.needed.saturating_mul(2);
        }
        self.announced = 0;
        self.doubt = None;
        trusted
    }
}

fn ask(asks: &mut Asks, directory: &str) -> Tag {
    asks.ask(Op::Watch { directory: directory.to_string() })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::io::Failure;

    const WATCH: WatchId = WatchId(7);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn answer(directories: &mut Directories, millis: u64, outcome: Outcome<'_>) {
        let (tag, op) = directories.poll_op().unwrap();
        assert_eq!(op, Op::Watch { directory: "/p".to_string() });
        directories.handle_outcome(Now { mono: at(millis), ..Now::default() }, tag, outcome);
    }

    fn due(directories: &mut Directories) -> Vec<u64> {
        core::iter::from_fn(|| directories.take_due()).collect()
    }

    /// The streams 1 and 2 in one directory, each looked at since it is watched.
    fn watching() -> Directories {
        let mut directories = Directories::default();
        directories.join(1, "/p/one");
        directories.join(2, "/p/two");
        answer(&mut directories, 0, Outcome::Watching(WATCH));
        assert_eq!(due(&mut directories), [1, 2], "what came before the watch has no hint");
        directories.looked(at(0), 1, true, false);
        directories.looked(at(0), 2, false, false);
        directories
    }

    fn announced(directories: &mut Directories, times: u32) {
        for _ in 0..times {
            directories.hinted(at(10), WATCH, Some("one"));
            assert_eq!(due(directories), [1]);
            directories.looked(at(10), 1, true, false);
        }
    }

    fn ops(directories: &mut Directories) -> Vec<Op> {
        core::iter::from_fn(|| directories.poll_op()).map(|(_, op)| op).collect()
    }

    #[test]
    fn one_watch_for_a_directory_is_given_back_with_its_last_stream() {
        let mut directories = watching();
        directories.leave(1);
        assert!(ops(&mut directories).is_empty());
        directories.leave(2);
        directories.leave(2);
        assert_eq!(ops(&mut directories), [Op::Unwatch { watch: WATCH }]);
        directories.hinted(at(5), WATCH, None);
        assert!(due(&mut directories).is_empty());
    }

    #[test]
    fn a_watch_that_comes_when_everybody_left_is_given_back() {
        let mut directories = Directories::default();
        directories.join(1, "/p/one");
        directories.leave(1);
        answer(&mut directories, 0, Outcome::Watching(WATCH));
        assert_eq!(ops(&mut directories), [Op::Unwatch { watch: WATCH }]);
    }

    #[test]
    fn a_hint_concerns_the_file_it_names_and_without_a_name_all() {
        let mut directories = watching();
        for (name, expected) in [(Some("two"), &[2][..]), (Some("three"), &[]), (None, &[1, 2])] {
            directories.hinted(at(5), WATCH, name);
            assert_eq!(due(&mut directories), expected, "{name:?}");
        }
    }

    #[test]
    fn trust_is_earned_by_three_announced_changes_in_a_row() {
        let mut directories = watching();
        announced(&mut directories, 2);
        assert!(!directories.rests(1));
        directories.looked(at(20), 1, true, false);
        directories.tick(at(270));
        announced(&mut directories, 2);
        assert!(!directories.rests(1), "one in between was not announced");
        announced(&mut directories, 1);
        assert!(directories.rests(1) && directories.rests(2) && !directories.rests(3));
    }

    #[test]
    fn a_change_that_was_not_announced_takes_the_watch_and_doubles_what_is_asked_for() {
        let mut directories = watching();
        announced(&mut directories, 3);
        directories.looked(at(2_000), 2, true, false);
        assert!(!directories.rests(1), "in doubt");
        directories.tick(at(2_249));
        assert!(ops(&mut directories).is_empty());
        directories.tick(at(2_250));
        assert_eq!(directories.poll_op().map(|(_, op)| op), Some(Op::Unwatch { watch: WATCH }));
        answer(&mut directories, 2_250, Outcome::Watching(WATCH));
        for stream in due(&mut directories) {
            directories.looked(at(2_251), stream, false, false);
        }
        announced(&mut directories, 5);
        assert!(!directories.rests(1));
        announced(&mut directories, 1);
        assert!(directories.rests(1));
    }

    #[test]
    fn trust_outlives_the_watch() {
        let mut directories = watching();
        announced(&mut directories, 3);
        directories.leave(1);
        directories.leave(2);
        assert_eq!(ops(&mut directories), [Op::Unwatch { watch: WATCH }]);
        directories.join(3, "/p/three");
        assert!(!directories.rests(3));
        answer(&mut directories, 5_000, Outcome::Watching(WatchId(8)));
        assert!(directories.rests(3));
    }

    #[test]
    fn a_hint_that_is_only_slower_than_the_poll_clears_the_doubt() {
        let mut directories = watching();
        announced(&mut directories, 3);
        directories.looked(at(2_000), 1, true, false);
        directories.hinted(at(2_001), WATCH, Some("two"));
        assert!(!directories.rests(1), "that is another file");
        directories.hinted(at(2_002), WATCH, Some("one"));
        assert!(directories.rests(1));
        directories.tick(at(9_000));
        assert!(ops(&mut directories).is_empty());
    }

    #[test]
    fn a_hint_during_a_look_counts_for_the_one_that_follows() {
        let mut directories = watching();
        announced(&mut directories, 3);
        directories.hinted(at(50), WATCH, Some("one"));
        directories.looked(at(51), 1, true, true);
        directories.looked(at(52), 1, true, false);
        assert!(directories.rests(1));
        directories.looked(at(53), 1, true, false);
        assert!(!directories.rests(1));
    }

    #[test]
    fn what_is_refused_is_asked_for_again() {
        for (kind, again) in [(FailureKind::NotFound, 2_000), (FailureKind::Other, 30_000)] {
            let mut directories = Directories::default();
            directories.join(1, "/p/one");
            answer(&mut directories, 0, Outcome::Failed(Failure { kind, text: "no" }));
            assert!(!directories.rests(1));
            directories.tick(at(again - 1));
            assert!(ops(&mut directories).is_empty());
            directories.tick(at(again));
            assert_eq!(ops(&mut directories), [Op::Watch { directory: "/p".to_string() }], "{kind:?}");
        }
    }

    #[test]
    fn a_watch_that_ended_is_no_reason_to_rest() {
        let mut directories = watching();
        announced(&mut directories, 3);
        directories.ended(at(100), WATCH);
        assert_eq!((due(&mut directories), directories.rests(1)), ([1, 2].to_vec(), false));
        directories.tick(at(2_100));
        answer(&mut directories, 2_100, Outcome::Watching(WatchId(8)));
        assert_eq!((due(&mut directories), directories.rests(1)), ([1, 2].to_vec(), false));
    }
}
