//! How many children each listed agent has, whether or not anybody follows it.
//!
//! ```text
//!   a survey ── its file changed, or its rest is over ──▶ queue ──▶ glance ── surely none ──▶ known, shown
//!                                                                     └▶ its stream with its roster ──┘
//! ```
//!
//! What is followed answers from its own roster. What is not is counted a few at a time, and then its stream is given back.
//! A child's file comes after the record that starts it, and children start others without their session's file changing:
//! so what was counted is counted again after a rest, which doubles as long as nothing new is found. A conversation that
//! stays as it is costs next to nothing then.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::Bridge;
use super::ops::Owner;
use crate::ids::PaneId;
use crate::io::{Facts, Outcome};
use crate::limits::{MAX_TALLYING, TALLY_RECENT, TALLY_REST, TALLY_STUCK, TALLY_WAIT};
use crate::machine::Tag;
use crate::mobile::snapshot::Subagents;
use crate::pane::activity::Transcript;
use crate::pane::survey::{AgentFacts, Surveyed};
use crate::roster::{Glance, Row};
use crate::time::{Instant, Now};
use crate::timers::Timer;

/// What was counted, and what is to be.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    last: u64,
    /// By the file of the conversation.
    known: BTreeMap<String, Tally>,
    queue: VecDeque<Transcript>,
    counts: BTreeMap<u64, Count>,
    /// Whether something has changed that was not shown yet.
    news: bool,
}

/// What is known of one conversation.
#[derive(Debug)]
struct Tally {
    /// How its file was when it was counted; nothing if it was followed since.
    facts: Option<Facts>,
    /// Nothing if that cannot be known.
    found: Option<Found>,
    /// When it was counted last, and when something new was found last.
    at: Instant,
    changed: Instant,
    /// Time before it is counted again though its file has not changed.
    rest: Duration,
    glance: Option<Box<dyn Glance>>,
}

/// What a count found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Found {
    children: Subagents,
    /// When one of them was written last.
    last_activity_ts: Option<i64>,
}

/// One conversation that is being counted.
#[derive(Debug)]
struct Count {
    transcript: Transcript,
    glance: Option<Box<dyn Glance>>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Glancing,
    /// Its stream, and how far that was when this was asked last.
    Reading(u64, u64),
}

/// What comes after a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Read,
    Note(Option<Found>),
}

impl Tallies {
    /// The streams that are needed.
    pub(super) fn streams(&self) -> impl Iterator<Item = u64> {
        self.counts.values().filter_map(Count::stream)
    }

    /// Whether everything is counted that is to be.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.counts.is_empty()
    }

    /// Everything that is known is shown.
    pub(super) const fn shown(&mut self) {
        self.news = false;
    }

    /// Whether something has changed that was not shown yet.
    pub(super) const fn has_news(&self) -> bool {
        self.news
    }

    /// A conversation is listed: it is to be counted if that may find something new.
    fn want(&mut self, now: Instant, transcript: &Transcript) {
        let is_it = |other: &Transcript| other.located.path == transcript.located.path;
        let known = self.known.get(&transcript.located.path);
        if known.is_some_and(|tally| !tally.is_due(now, transcript.facts))
            || self.counts.values().any(|count| is_it(&count.transcript))
        {
            return;
        }
        match self.queue.iter_mut().find(|queued| is_it(queued)) {
            Some(queued) => *queued = transcript.clone(),
            None => self.queue.push_back(transcript.clone()),
        }
    }

    /// A conversation is followed, and answers by itself. When it is not any more, it is counted.
    fn followed(&mut self, now: Instant, transcript: &Transcript, found: Found) {
        let glance = self.known.remove(&transcript.located.path).and_then(|tally| tally.glance);
        let tally = Tally { facts: None, found: Some(found), at: now, changed: now, rest: TALLY_REST, glance };
        self.known.insert(transcript.located.path.clone(), tally);
    }

    /// Forgets what is not listed any more.
    fn keep(&mut self, listed: &BTreeSet<&str>) {
        self.known.retain(|path, _| listed.contains(path.as_str()));
        self.queue.retain(|queued| listed.contains(queued.located.path.as_str()));
    }

    fn next(&mut self) -> Option<Transcript> {
        if self.counts.len() < MAX_TALLYING { self.queue.pop_front() } else { None }
    }

    fn glance_of(&mut self, path: &str) -> Option<Box<dyn Glance>> {
        self.known.get_mut(path)?.glance.take()
    }

    fn begin(&mut self, count: Count) -> u64 {
        self.last = self.last.saturating_add(1);
        self.counts.insert(self.last, count);
        self.last
    }

    fn note(&mut self, now: Instant, count: Count, found: Option<Found>) {
        let Count { transcript, glance, .. } = count;
        let facts = Some(transcript.facts);
        let before = self.known.get(&transcript.located.path);
        let children = |found: Option<Found>| found.map(|found| found.children).filter(|children| children.total > 0);
        self.news |= children(found) != children(before.and_then(|tally| tally.found));
        let same = before.filter(|tally| (tally.facts, tally.found) == (facts, found));
        let (changed, rest) = same.map_or((now, TALLY_REST), |tally| (tally.changed, tally.rest.saturating_mul(2)));
        self.known.insert(transcript.located.path, Tally { facts, found, at: now, changed, rest, glance });
    }
}

impl Tally {
    fn is_due(&self, now: Instant, facts: Facts) -> bool {
        if self.facts == Some(facts) { now.since(self.at) >= self.rest } else { now.since(self.changed) >= TALLY_REST }
    }
}

impl Count {
    const fn stream(&self) -> Option<u64> {
        match self.stage {
            Stage::Glancing => None,
            Stage::Reading(stream, _) => Some(stream),
        }
    }
}

impl Bridge {
    /// Lets the children of everybody who was found be counted, as far as that may find something new.
    pub(super) fn want_tallies(&mut self, surveyed: &Surveyed) {
        let now = self.now;
        let mut listed = BTreeSet::new();
        for facts in surveyed.agents.values() {
            let Some(transcript) = &facts.transcript else { continue };
            // To count what lies in a store, all of it would have to be copied.
            if transcript.kind.is_stored() || (facts.agent.is_none() && !is_recent(transcript, now)) {
                continue;
            }
            listed.insert(transcript.located.path.as_str());
            match self.followed_rows(transcript).map(found_in) {
                Some(found) => self.tallies.followed(now.mono, transcript, found),
                None => self.tallies.want(now.mono, transcript),
            }
        }
        // What a server shows that does not answer now is still there.
        if surveyed.failed.is_empty() {
            self.tallies.keep(&listed);
        }
    }

    /// The children of each agent, where they are known.
    pub(super) fn subagents(&self, surveyed: &Surveyed) -> BTreeMap<PaneId, Subagents> {
        let known = |(pane, facts): (&PaneId, &AgentFacts)| {
            let shown = facts.agent.as_ref().and_then(|agent| self.sessions.showing(pane, agent));
            let transcript = facts.transcript.as_ref();
            let rows = shown
                .and_then(|stream| self.streams.stream(stream)?.roster.as_ref()?.known_rows())
                .or_else(|| self.followed_rows(transcript?));
            let found = match rows {
                Some(rows) => found_in(rows),
                None => self.tallies.known.get(&transcript?.located.path)?.found?,
            };
            Some((pane.clone(), found.children))
        };
        surveyed.agents.iter().filter_map(known).collect()
    }

    /// Goes on with what is counted: begins as much as there is room for, and shows it all when it comes to its end.
    pub(super) fn count_on(&mut self) {
        loop {
            while let Some(transcript) = self.tallies.next() {
                self.begin_count(transcript);
            }
            match self.next_of_counts() {
                Some((no, Next::Read)) => self.read_count(no),
                Some((no, Next::Note(found))) => self.end_count(no, found),
                None => break,
            }
        }
        if self.tallies.is_idle() {
            self.show_tallies();
        } else if self.tallies.has_news() {
            self.timers.no_later(Timer::Tallies, self.after(TALLY_WAIT));
        }
    }

    /// Something happened to a stream that may be counted.
    pub(super) fn count_goes_on(&mut self, stream: u64) {
        if self.tallies.streams().any(|counted| counted == stream) {
            self.count_on();
        }
    }

    pub(super) fn glance_outcome(&mut self, no: u64, tag: Tag, outcome: Outcome<'_>) {
        let now = self.now;
        if let Some(glance) = self.tallies.counts.get_mut(&no).and_then(|count| count.glance.as_mut()) {
            glance.handle_outcome(now, tag, outcome);
            self.ops.issue_all(Owner::Tally(no), &mut **glance, &mut self.outputs);
            self.count_on();
        }
    }

    /// A count had its time: it goes on if it has come farther.
    pub(super) fn check_count(&mut self, no: u64) {
        let Some(Count { stage, .. }) = self.tallies.counts.get_mut(&no) else { return };
        if let Stage::Reading(stream, before) = stage
            && let Some(scanned) = self.streams.stream(*stream).map(|stream| stream.follower.index().scanned())
            && scanned > *before
        {
            *before = scanned;
            self.timers.set(Timer::Tally(no), self.after(TALLY_STUCK));
        } else {
            self.end_count(no, None);
            self.count_on();
        }
    }

    /// A stream cannot be counted, or somebody else needs its place.
    pub(super) fn give_up_counts_of(&mut self, stream: u64) {
        let counts = self.tallies.counts.iter();
        let of_it: Vec<u64> = counts.filter(|(_, count)| count.stream() == Some(stream)).map(|(no, _)| *no).collect();
        of_it.into_iter().for_each(|no| self.end_count(no, None));
    }

    fn begin_count(&mut self, transcript: Transcript) {
        let Transcript { kind, located, facts } = &transcript;
        let known = self.tallies.glance_of(&located.path);
        let mut glance = known.or_else(|| kind.glance(&self.source_at(*kind, located)));
        if let Some(glance) = &mut glance {
            glance.look(facts.identity);
        }
        let no = self.tallies.begin(Count { transcript, glance, stage: Stage::Glancing });
        self.timers.set(Timer::Tally(no), self.after(TALLY_STUCK));
        if let Some(glance) = self.tallies.counts.get_mut(&no).and_then(|count| count.glance.as_mut()) {
            self.ops.issue_all(Owner::Tally(no), &mut **glance, &mut self.outputs);
        }
    }

    /// A count that can go on, and how.
    fn next_of_counts(&mut self) -> Option<(u64, Next)> {
        let streams = &self.streams;
        self.tallies.counts.iter_mut().find_map(|(no, Count { glance, stage, .. })| {
            let next = match stage {
                Stage::Glancing => match glance.as_mut().map_or(Some(false), |glance| glance.take_result())? {
                    true => Next::Note(Some(Found::default())),
                    false => Next::Read,
                },
                Stage::Reading(stream, _) => {
                    let stream = streams.stream(*stream).filter(|stream| stream.roster.is_some());
                    match stream.map(|stream| (&stream.follower, stream.roster.as_ref())) {
                        Some((follower, Some(roster))) if follower.is_ready() => {
                            Next::Note(Some(found_in(roster.settled_rows()?)))
                        }
                        Some(_) => return None,
                        None => Next::Note(None),
                    }
                }
            };
            Some((*no, next))
        })
    }

    /// The session itself must be read.
    fn read_count(&mut self, no: u64) {
        let Some(Count { transcript, .. }) = self.tallies.counts.get(&no) else { return };
        let (kind, source) = (transcript.kind, self.source_at(transcript.kind, &transcript.located));
        if !self.has_room_to_count(&source) {
            return self.end_count(no, None);
        }
        let stream = self.watch_to_count(kind, source);
        if let Some(count) = self.tallies.counts.get_mut(&no) {
            count.stage = Stage::Reading(stream, 0);
        }
    }

    fn end_count(&mut self, no: u64, found: Option<Found>) {
        let Some(count) = self.tallies.counts.remove(&no) else { return };
        let stream = count.stream();
        self.timers.stop(Timer::Tally(no));
        self.ops.cancel(Owner::Tally(no), &mut self.outputs);
        self.tallies.note(self.now.mono, count, found);
        if let Some(stream) = stream {
            self.release(stream);
        }
    }

    /// The children of a conversation that somebody follows, if they are known.
    fn followed_rows(&self, transcript: &Transcript) -> Option<&[Row]> {
        let stream = self.streams.find(&self.source_at(transcript.kind, &transcript.located))?;
        let roster = self.streams.stream(stream).filter(|_| self.sessions.uses(stream))?.roster.as_ref()?;
        roster.known_rows()
    }
}

/// Whether a session is one that somebody who looks at a list without herdr may care for.
fn is_recent(transcript: &Transcript, now: Now) -> bool {
    let age = now.wall.0.saturating_sub(transcript.facts.modified.as_unix_millis());
    u64::try_from(age).map_or(true, |age| Duration::from_millis(age) <= TALLY_RECENT)
}

fn found_in(rows: &[Row]) -> Found {
    let running = rows.iter().filter(|row| !row.done).count();
    let last_activity_ts = rows.iter().filter_map(|row| row.last_activity_ts).max();
    Found { children: Subagents { total: rows.len(), running }, last_activity_ts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentKind;
    use crate::agent::locate::Located;
    use crate::ids::SessionId;
    use crate::io::{FileIdentity, FileKind, FileTime};
    use crate::time::UnixMillis;

    fn transcript(name: &str, size: u64) -> Transcript {
        let modified = FileTime(0);
        let identity = FileIdentity { device: 1, inode: 1 };
        let (path, under, session) = (alloc::format!("/p/{name}"), "/p".into(), SessionId::from(name));
        let located = Located { path, under, session, exists: true, recorded_cwd: None, modified };
        Transcript { kind: AgentKind::Claude, located, facts: Facts { kind: FileKind::File, identity, size, modified } }
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_millis(seconds * 1_000)
    }

    fn running(running: usize) -> Option<Found> {
        Some(Found { children: Subagents { total: 2, running }, last_activity_ts: None })
    }

    /// Whether it is counted at this second, and what then is found.
    fn count(tallies: &mut Tallies, second: u64, transcript: &Transcript, found: Option<Found>) -> bool {
        tallies.want(at(second), transcript);
        let Some(transcript) = tallies.next() else { return false };
        tallies.note(at(second), Count { transcript, glance: None, stage: Stage::Glancing }, found);
        true
    }

    #[test]
    fn what_stays_as_it_is_is_counted_after_twice_as_long_each_time() {
        let (mut tallies, same) = (Tallies::default(), transcript("a", 1));
        let counted: Vec<u64> = (100..200).filter(|second| count(&mut tallies, *second, &same, running(1))).collect();
        assert_eq!(counted, [100, 103, 109, 121, 145, 193]);
        // Something new is found: from then on it is looked at again as at first.
        let counted: Vec<u64> = (200..400).filter(|second| count(&mut tallies, *second, &same, running(0))).collect();
        assert_eq!(counted, [289, 292, 298, 310, 334, 382]);
    }

    #[test]
    fn what_changes_is_counted_at_once_but_not_all_the_time() {
        let mut tallies = Tallies::default();
        assert!(count(&mut tallies, 100, &transcript("a", 1), running(1)));
        assert!(count(&mut tallies, 103, &transcript("a", 1), running(1)));
        assert!(count(&mut tallies, 104, &transcript("a", 2), running(1)), "what was found at 103 was no news");
        let counted: Vec<u64> =
            (105..120).filter(|second| count(&mut tallies, *second, &transcript("a", *second), running(1))).collect();
        assert_eq!(counted, [107, 110, 113, 116, 119]);
    }

    #[test]
    fn only_another_number_is_news() {
        let (mut tallies, it) = (Tallies::default(), transcript("a", 1));
        let later = running(1).map(|found| Found { last_activity_ts: Some(7), ..found });
        for (second, found, news) in [
            (100, None, false),
            (200, Some(Found::default()), false),
            (300, running(1), true),
            (400, later, false),
            (500, running(0), true),
            (600, None, true),
        ] {
            assert!(count(&mut tallies, second, &it, found));
            assert_eq!(tallies.has_news(), news, "{second}");
            tallies.shown();
        }
    }

    #[test]
    fn a_conversation_waits_once_as_it_is_now_and_only_as_long_as_it_is_listed() {
        let mut tallies = Tallies::default();
        for size in [1, 2] {
            for name in ["a", "b", "c"] {
                tallies.want(at(1), &transcript(name, size));
            }
        }
        tallies.keep(&BTreeSet::from(["/p/a", "/p/c"]));
        for _ in 0..MAX_TALLYING {
            let transcript = tallies.next().unwrap();
            assert_eq!(transcript.facts.size, 2);
            tallies.begin(Count { transcript, glance: None, stage: Stage::Glancing });
        }
        let counted = tallies.counts.values().map(|count| count.transcript.located.path.as_str());
        assert_eq!(counted.collect::<Vec<_>>(), ["/p/a", "/p/c"]);
        for name in ["a", "c", "d"] {
            tallies.want(at(1), &transcript(name, 3));
        }
        assert_eq!(tallies.queue, [transcript("d", 3)], "what is being counted does not wait");
        assert_eq!(tallies.next(), None, "no more at once");
    }

    #[test]
    fn what_was_followed_is_known_and_counted_soon() {
        let (mut tallies, it) = (Tallies::default(), transcript("a", 1));
        tallies.followed(at(100), &it, running(1).unwrap());
        assert!(!count(&mut tallies, 102, &it, running(1)));
        assert!(count(&mut tallies, 103, &it, running(1)));
        assert!(!tallies.has_news());
    }

    #[test]
    fn a_session_is_recent_for_an_hour_whatever_the_clocks_say() {
        let hour = i64::try_from(TALLY_RECENT.as_millis()).unwrap();
        let is_recent = |wall| is_recent(&transcript("a", 1), Now { wall: UnixMillis(wall), ..Now::default() });
        assert_eq!([-hour, 0, hour, hour + 1].map(is_recent), [true, true, true, false]);
    }
}
