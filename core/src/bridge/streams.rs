//! The streams that are followed: one per file, whoever watches it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::rosters::Roster;
use super::store;
use crate::agent::Reader;
use crate::agent::drift::Drift;
use crate::config::Config;
use crate::limits::{MAX_REMEMBERED_DRIFTS, MAX_REMEMBERED_REWRITES, RING_BYTES, SAVED_EVERY_BYTES};
use crate::source::follow::{Follower, Source};
use crate::source::ring::Ring;
use crate::source::spool::{Feed, Spool};

/// One followed file and the frames that its clients share.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) follower: Follower,
    pub(crate) ring: Ring,
    /// Up to where its index is saved.
    pub(crate) saved_to: u64,
    /// The children of the session, if this is the session's own stream.
    pub(crate) roster: Option<Box<Roster>>,
    /// What writes its file, if that is a spool.
    feed: Option<Box<Feed>>,
}

impl Stream {
    /// Whether its file is a spool.
    pub(crate) const fn is_fed(&self) -> bool {
        self.feed.is_some()
    }

    /// The index to save, and where to. While the file is watched only now and then, finally whatever is new.
    pub(crate) fn take_saved(&mut self, finally: bool) -> Option<(String, Vec<u8>)> {
        let scanned = self.follower.index().scanned();
        let saved_to = self.saved_to.max(self.follower.restored_to());
        let step = if finally || saved_to == 0 { 1 } else { SAVED_EVERY_BYTES };
        if scanned < saved_to.saturating_add(step) {
            return None;
        }
        let bytes = self.follower.saved()?;
        self.saved_to = scanned;
        Some((self.follower.index_path().into(), bytes))
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    last: u64,
    streams: BTreeMap<u64, Stream>,
    /// How often files that are not followed any more were seen rewritten: a client that comes back must not take the
    /// new content for the old.
    rewrites: BTreeMap<String, u32>,
    /// What no reader knew in all that was followed.
    drift: Drift,
    /// Up to where files that are not followed any more were looked through for it.
    drift_noted: BTreeMap<String, u64>,
}

impl Streams {
    /// The stream of this file, begun if there is none. The flag says whether it was there.
    pub(crate) fn find_or_begin(&mut self, reader: Box<dyn Reader>, source: Source, config: &Config) -> (u64, bool) {
        if let Some(no) = self.find(&source) {
            self.move_store(no, source);
            return (no, true);
        }
        let rewrites = self.rewrites.get(&source.path).copied().unwrap_or(0);
        let index_path = store::path_of(&config.state_dir, &source.path);
        let mut follower = Follower::new(source, reader, config.limits.line_bytes, index_path, rewrites);
        follower.note_drift_from(self.drift_noted.get(&follower.source().path).copied().unwrap_or(0));
        follower.hold_counting();
        let feed = feed_of(follower.source(), config);
        if feed.is_none() {
            follower.begin();
        }
        self.last = self.last.saturating_add(1);
        let ring = Ring::new(RING_BYTES);
        self.streams.insert(self.last, Stream { follower, ring, saved_to: 0, roster: None, feed });
        (self.last, false)
    }

    /// What feeds this stream, if it is fed.
    pub(crate) fn feed_mut(&mut self, no: u64) -> Option<&mut Feed> {
        self.streams.get_mut(&no)?.feed.as_deref_mut()
    }

    /// Whether the spool at this path is followed.
    pub(crate) fn is_followed(&self, path: &str) -> bool {
        self.streams.values().any(|stream| stream.follower.source().path == path)
    }

    /// The stream of this file.
    /// The stream that follows this. A session in a store is one wherever it lies there: its spool has one writer.
    pub(crate) fn find(&self, source: &Source) -> Option<u64> {
        let is_it = |other: &Source| match (&source.stored, &other.stored) {
            (Some(_), Some(_)) => source.path == other.path,
            _ => source == other,
        };
        self.streams.iter().find(|(_, stream)| is_it(stream.follower.source())).map(|(no, _)| *no)
    }

    /// The session of a stream was found elsewhere in its store.
    fn move_store(&mut self, no: u64, source: Source) {
        let Some(stream) = self.streams.get_mut(&no) else { return };
        if let (Some(feed), Some(stored)) = (&mut stream.feed, &source.stored)
            && stored.exists
            && *stream.follower.source() != source
        {
            feed.relocate(stored);
            stream.follower.relocate(source);
        }
    }

    pub(crate) fn stream(&self, no: u64) -> Option<&Stream> {
        self.streams.get(&no)
    }

    pub(crate) fn stream_mut(&mut self, no: u64) -> Option<&mut Stream> {
        self.streams.get_mut(&no)
    }

    /// Whether the children of this stream's session are known, or looked for.
    pub(crate) fn has_roster(&self, no: u64) -> bool {
        self.streams.get(&no).is_some_and(|stream| stream.roster.is_some())
    }

    /// The roster of this stream.
    pub(crate) fn roster_mut(&mut self, no: u64) -> Option<&mut Roster> {
        self.streams.get_mut(&no)?.roster.as_deref_mut()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.streams.len()
    }

    /// Every stream.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.streams.keys().copied().collect()
    }

    /// What no reader knew, in all files that were followed since the start.
    pub(crate) const fn drift(&self) -> &Drift {
        &self.drift
    }

    /// Adds what a follower met.
    pub(crate) fn note(&mut self, drift: Drift) {
        self.drift.absorb(drift);
    }

    /// Takes a stream out, remembering how often it was rewritten, and that its drift was noted.
    pub(crate) fn remove(&mut self, no: u64) -> Option<Stream> {
        let stream = self.streams.remove(&no)?;
        if stream.follower.rewrites() > 0 {
            if self.rewrites.len() >= MAX_REMEMBERED_REWRITES {
                self.rewrites.pop_first();
            }
            self.rewrites.insert(stream.follower.source().path.clone(), stream.follower.rewrites());
        }
        if self.drift_noted.len() >= MAX_REMEMBERED_DRIFTS {
            self.drift_noted.pop_first();
        }
        self.drift_noted.insert(stream.follower.source().path.clone(), stream.follower.index().scanned());
        Some(stream)
    }
}

fn feed_of(source: &Source, config: &Config) -> Option<Box<Feed>> {
    let stored = source.stored.as_ref()?;
    let feeder = stored.kind.feeder(stored, config)?;
    let spool = Spool::new(&config.state_dir, stored.kind.label(), &stored.session);
    let spool = spool.recorded_in(stored.directory.as_deref());
    Some(Box::new(Feed::new(spool, feeder)))
}
