use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Event, Follower, Source};
use crate::agent::AgentKind;
use crate::ids::Handle;
use crate::io::{Facts, Failure, FailureKind, FileIdentity, FileKind, FileTime, Op, Outcome};
use crate::machine::Machine as _;
use crate::time::Now;

/// One file on a disk of one file.
struct Disk {
    file: Option<(u64, Vec<u8>, i64)>,
    asked: Vec<&'static str>,
    failing: bool,
    /// The saved index.
    saved: Option<Vec<u8>>,
    /// The name is gone; whoever has the file open keeps it.
    away: bool,
}

impl Disk {
    fn with(bytes: &[u8]) -> Self {
        Self { file: Some((1, bytes.to_vec(), 0)), asked: vec![], failing: false, saved: None, away: false }
    }

    fn append(&mut self, bytes: &[u8]) {
        let (_, content, modified) = self.file.as_mut().unwrap();
        content.extend_from_slice(bytes);
        *modified += 1;
    }

    fn write(&mut self, inode: u64, bytes: &[u8]) {
        let modified = self.file.as_ref().map_or(0, |file| file.2) + 1;
        self.file = Some((inode, bytes.to_vec(), modified));
    }

    fn facts(&self) -> Option<Facts> {
        let (inode, bytes, modified) = self.file.as_ref()?;
        let identity = FileIdentity { device: 1, inode: *inode };
        Some(Facts { kind: FileKind::File, identity, size: bytes.len() as u64, modified: FileTime(*modified) })
    }

    /// Performs whatever the follower wants and tells what happened.
    fn settle(&mut self, follower: &mut Follower) -> Vec<String> {
        while let Some((tag, op)) = follower.poll_op() {
            let missing = Outcome::Failed(Failure { kind: FailureKind::NotFound, text: "no such file" });
            let broken = Outcome::Failed(Failure { kind: FailureKind::Other, text: "input/output error" });
            let now = Now::default();
            match op {
                Op::Open { .. } => {
                    self.asked.push("open");
                    let outcome = self
                        .facts()
                        .filter(|_| !self.away)
                        .map_or(missing, |facts| Outcome::Opened { handle: Handle(facts.identity.inode), facts });
                    follower.handle_outcome(now, tag, outcome);
                }
                Op::Load { .. } => {
                    let saved = self.saved.as_ref();
                    let outcome = saved.map(|bytes| Outcome::Bytes { bytes, size_now: bytes.len() as u64 });
                    follower.handle_outcome(now, tag, outcome.unwrap_or(missing));
                }
                Op::Stat { .. } => {
                    self.asked.push("stat");
                    let outcome = self.facts().filter(|_| !self.away).map_or(missing, Outcome::Facts);
                    follower.handle_outcome(now, tag, if self.failing { broken } else { outcome });
                }
                Op::Read { offset, len, .. } => {
                    self.asked.push("read");
                    let bytes = self.file.clone().map_or(vec![], |file| file.1);
                    let from = bytes.len().min(usize::try_from(offset).unwrap());
                    let piece = &bytes[from..bytes.len().min(from + len)];
                    let outcome = Outcome::Bytes { bytes: piece, size_now: bytes.len() as u64 };
                    follower.handle_outcome(now, tag, if self.failing { broken } else { outcome });
                }
                Op::CloseFile { .. } => self.asked.push("close"),
                other => panic!("not an operation of a follower: {other:?}"),
            }
        }
        let mut seen = vec![];
        while let Some(event) = follower.poll_event() {
            seen.push(match event {
                Event::Grown => String::from("grown"),
                Event::Looked { .. } => continue,
                Event::Ready => String::from("ready"),
                Event::Entry(seq, entry) => alloc::format!("{} {}", seq.get(), entry.id),
                Event::Rewritten => String::from("rewritten"),
                Event::Failed(text) => text,
            });
        }
        seen
    }

    fn poll(&mut self, follower: &mut Follower) -> Vec<String> {
        self.asked.clear();
        follower.poll();
        self.settle(follower)
    }
}

fn follower() -> Follower {
    let source = Source { path: String::from("/p/s.jsonl"), under: String::from("/p"), part: None, stored: None };
    let mut follower = Follower::new(source, AgentKind::Claude.reader(), 1 << 20, String::from("/state/i"), 0);
    follower.begin();
    follower
}

fn user(id: &str) -> Vec<u8> {
    alloc::format!("{{\"type\":\"user\",\"uuid\":\"{id}\",\"message\":{{\"role\":\"user\",\"content\":\"hi\"}}}}\n")
        .into_bytes()
}

fn lines(ids: &[&str]) -> Vec<u8> {
    ids.iter().flat_map(|id| user(id)).collect()
}

#[test]
fn what_is_there_is_counted_and_what_comes_is_told() {
    let mut disk = Disk::with(&lines(&["a", "b"]));
    let mut follower = follower();
    assert_eq!(disk.settle(&mut follower), ["ready"]);
    assert_eq!(follower.index().total(), 2);
    assert!(disk.poll(&mut follower).is_empty());
    assert_eq!(disk.asked, ["stat"]);
    disk.append(&user("c"));
    assert_eq!(disk.poll(&mut follower), ["3 c#0"]);
    assert_eq!(disk.asked, ["stat", "read"]);
}

#[test]
fn a_file_that_is_not_there_yet_is_empty_until_it_comes() {
    let mut disk = Disk { file: None, asked: vec![], failing: false, saved: None, away: false };
    let mut follower = follower();
    assert_eq!(disk.settle(&mut follower), ["ready"]);
    assert!(disk.poll(&mut follower).is_empty());
    disk.write(1, &user("a"));
    assert_eq!(disk.poll(&mut follower), ["1 a#0"]);
}

#[test]
fn a_torn_line_waits_and_a_whole_one_without_its_newline_does_not() {
    let mut disk = Disk::with(b"");
    let mut follower = follower();
    disk.settle(&mut follower);
    let line = user("a");
    let (first, rest) = line.split_at(20);
    disk.append(first);
    assert!(disk.poll(&mut follower).is_empty());
    disk.append(&rest[..rest.len() - 1]);
    assert_eq!(disk.poll(&mut follower), ["1 a#0"]);
    disk.append(b"\n");
    assert!(disk.poll(&mut follower).is_empty());
    disk.append(&user("b"));
    assert_eq!(disk.poll(&mut follower), ["2 b#0"]);
}

#[test]
fn every_way_to_rewrite_a_file_begins_anew() {
    let before = lines(&["a", "b", "c"]);
    let same_size_other_end = lines(&["a", "b", "x"]);
    let same_size_other_head = lines(&["x", "b", "c"]);
    let larger_other_end = lines(&["a", "b", "x", "y"]);
    for (name, inode, bytes) in [
        ("truncated", 1, &before[..before.len() - 1]),
        ("emptied", 1, &b""[..]),
        ("replaced by a copy", 2, &before[..]),
        ("rewritten at its end", 1, &same_size_other_end),
        ("rewritten at its head", 1, &same_size_other_head),
        ("rewritten and grown", 1, &larger_other_end),
    ] {
        let mut disk = Disk::with(&before);
        let mut follower = follower();
        disk.settle(&mut follower);
        disk.write(inode, bytes);
        assert_eq!(disk.poll(&mut follower), ["rewritten", "ready"], "{name}");
        let total = bytes.split(|byte| *byte == b'}').count().saturating_sub(1) / 2;
        assert_eq!((follower.index().total(), follower.rewrites()), (total as u64, 1), "{name}");
    }
}

#[test]
fn a_touched_file_with_the_same_bytes_is_the_same() {
    let mut disk = Disk::with(&lines(&["a"]));
    let mut follower = follower();
    disk.settle(&mut follower);
    disk.append(b"");
    assert!(disk.poll(&mut follower).is_empty());
    assert_eq!(disk.asked, ["stat", "read", "read"]);
    disk.poll(&mut follower);
    assert_eq!(disk.asked, ["stat"]);
}

#[test]
fn a_file_that_is_away_for_a_while_is_kept() {
    let mut disk = Disk::with(&lines(&["a"]));
    let mut follower = follower();
    disk.settle(&mut follower);
    disk.away = true;
    assert!(disk.poll(&mut follower).is_empty());
    assert_eq!(disk.asked, ["stat", "read", "read"]);
    disk.away = false;
    disk.append(&user("b"));
    assert_eq!(disk.poll(&mut follower), ["2 b#0"]);
}

#[test]
fn a_file_that_was_written_anew_before_it_went_away_is_another_one() {
    let mut disk = Disk::with(&lines(&["a"]));
    let mut follower = follower();
    disk.settle(&mut follower);
    disk.write(1, &lines(&["b"]));
    disk.away = true;
    assert_eq!(disk.poll(&mut follower), ["rewritten", "ready"]);
}

#[test]
fn a_look_that_fails_proves_nothing() {
    let mut disk = Disk::with(&lines(&["a"]));
    let mut follower = follower();
    disk.settle(&mut follower);
    let before = follower.looked();
    disk.failing = true;
    assert!(disk.poll(&mut follower).is_empty());
    assert_eq!(follower.looked(), before);
    disk.failing = false;
    assert!(disk.poll(&mut follower).is_empty());
    assert_eq!(follower.looked(), before + 2);
}

#[test]
fn a_failing_read_is_final_at_the_start_and_passing_later() {
    let mut disk = Disk::with(&lines(&["a"]));
    disk.failing = true;
    let mut first = follower();
    assert_eq!(disk.settle(&mut first), ["input/output error"]);
    disk.failing = false;
    let mut second = follower();
    disk.settle(&mut second);
    disk.append(&user("b"));
    disk.failing = true;
    assert!(disk.poll(&mut second).is_empty());
    disk.failing = false;
    assert_eq!(disk.poll(&mut second), ["2 b#0"]);
}

#[test]
fn after_a_pause_it_catches_up_without_telling_each_entry() {
    let mut disk = Disk::with(&lines(&["a"]));
    let mut follower = follower();
    disk.settle(&mut follower);
    disk.append(&lines(&["b", "c"]));
    follower.refresh();
    assert!(!follower.is_ready());
    assert_eq!(disk.settle(&mut follower), ["ready"]);
    assert_eq!(follower.index().total(), 3);
}

#[test]
fn an_answer_that_came_too_late_leaves_no_file_open() {
    let mut follower = follower();
    let (tag, _) = follower.poll_op().unwrap();
    let missing = Failure { kind: FailureKind::NotFound, text: "no such file" };
    follower.handle_outcome(Now::default(), tag, Outcome::Failed(missing));
    let (tag, _) = follower.poll_op().unwrap();
    follower.close();
    let facts = Disk::with(b"").facts().unwrap();
    follower.handle_outcome(Now::default(), tag, Outcome::Opened { handle: Handle(9), facts });
    assert_eq!(follower.poll_op().map(|(_, op)| op), Some(Op::CloseFile { handle: Handle(9) }));
}

/// A file of more than a megabyte whose lines differ.
fn large(tag: &str) -> Vec<u8> {
    (0..10_000).flat_map(|n| user(&alloc::format!("{tag}-{n:0>40}"))).collect()
}

#[test]
fn a_saved_index_spares_the_count_and_a_grown_file_is_read_from_there() {
    let mut disk = Disk::with(&large("a"));
    let mut first = follower();
    assert_eq!(disk.settle(&mut first), ["ready"]);
    disk.saved = first.saved();
    disk.append(&lines(&["x", "y"]));
    disk.asked.clear();
    let mut second = follower();
    assert_eq!(disk.settle(&mut second), ["ready"]);
    assert_eq!(disk.asked, ["open", "read", "read", "read"]);
    assert_eq!((second.index().total(), second.rewrites()), (10_002, 0));
    assert_eq!(second.generation(), first.generation());
    disk.append(&user("z"));
    assert_eq!(disk.poll(&mut second), ["10003 z#0"]);
}

#[test]
fn a_saved_index_of_another_state_is_counted_as_a_rewrite() {
    let mut disk = Disk::with(&large("a"));
    let mut first = follower();
    disk.settle(&mut first);
    disk.saved = first.saved();
    let mut other_end = large("a");
    let at = other_end.len() - 30;
    other_end[at] = b'x';
    for (name, bytes) in [("shorter", &large("a")[..900_000]), ("other head", &large("b")), ("other end", &other_end)] {
        disk.write(1, bytes);
        let mut second = follower();
        disk.settle(&mut second);
        assert_eq!(second.rewrites(), 1, "{name}");
        assert_ne!(second.generation(), first.generation(), "{name}");
    }
}

#[test]
fn a_saved_index_that_is_damaged_or_of_other_rules_is_none() {
    let mut disk = Disk::with(&large("a"));
    let mut first = follower();
    disk.settle(&mut first);
    let saved = first.saved().unwrap();
    let mut damaged = saved.clone();
    damaged[40] ^= 1;
    for saved in [damaged, saved[..50].to_vec(), vec![]] {
        disk.saved = Some(saved);
        let mut second = follower();
        assert_eq!(disk.settle(&mut second), ["ready"]);
        assert_eq!((second.index().total(), second.rewrites()), (10_000, 0));
    }
    disk.saved = Some(saved);
    let source = Source { path: String::from("/p/s.jsonl"), under: String::from("/p"), part: None, stored: None };
    let mut other_cap = Follower::new(source, AgentKind::Claude.reader(), 1 << 19, String::from("/state/i"), 0);
    other_cap.begin();
    assert_eq!(disk.settle(&mut other_cap), ["ready"]);
    assert_eq!((other_cap.index().total(), other_cap.rewrites()), (10_000, 0));
}

#[test]
fn a_small_file_is_not_saved() {
    let mut disk = Disk::with(&lines(&["a"]));
    let mut follower = follower();
    disk.settle(&mut follower);
    assert_eq!(follower.saved(), None);
}

#[test]
fn a_live_line_of_more_entries_than_a_page_is_only_counted() {
    let mut disk = Disk::with(b"");
    let mut follower = follower();
    disk.settle(&mut follower);
    let block = "{\"type\":\"text\",\"text\":\"one of many, and long enough that all of them are no short line .......................................................................\"},";
    let blocks = block.repeat(600);
    let line = alloc::format!(
        "{{\"type\":\"user\",\"uuid\":\"m\",\"message\":{{\"role\":\"user\",\"content\":[{}]}}}}\n",
        blocks.trim_end_matches(',')
    );
    disk.append(line.as_bytes());
    assert_eq!(disk.poll(&mut follower), ["grown"]);
    disk.append(&user("z"));
    assert_eq!(disk.poll(&mut follower), ["601 z#0"]);
}

/// The reads that a follower has asked for: where each begins, and its tag.
fn reads(follower: &mut Follower) -> Vec<(u64, crate::machine::Tag)> {
    let ops = core::iter::from_fn(|| follower.poll_op());
    ops.map(|(tag, op)| match op {
        Op::Read { offset, .. } => (offset, tag),
        other => panic!("not a read: {other:?}"),
    })
    .collect()
}

#[test]
fn while_a_piece_is_counted_the_next_is_read_and_a_short_one_is_read_on_from_its_end() {
    const PIECE: usize = crate::limits::MAX_READ_BYTES;
    const OVERLAP: usize = crate::limits::OVERLAP_BYTES;
    let file: Vec<u8> = b"{}\n".iter().copied().cycle().take(3 * PIECE).collect();
    let size_now = file.len() as u64;
    let mut follower = follower();
    let now = Now::default();
    let (tag, _) = follower.poll_op().unwrap();
    let missing = Failure { kind: FailureKind::NotFound, text: "no such file" };
    follower.handle_outcome(now, tag, Outcome::Failed(missing));
    let (tag, _) = follower.poll_op().unwrap();
    let identity = FileIdentity { device: 1, inode: 1 };
    let facts = Facts { kind: FileKind::File, identity, size: size_now, modified: FileTime(0) };
    follower.handle_outcome(now, tag, Outcome::Opened { handle: Handle(1), facts });

    let asked = reads(&mut follower);
    let offsets: Vec<u64> = asked.iter().map(|(offset, _)| *offset).collect();
    assert_eq!(offsets, [0, (PIECE - OVERLAP) as u64]);
    follower.handle_outcome(now, asked[0].1, Outcome::Bytes { bytes: &file[..PIECE], size_now });
    let third = reads(&mut follower);
    assert_eq!(third[0].0, 2 * (PIECE - OVERLAP) as u64);

    // The second piece is short: the third was for nothing.
    let from = PIECE - OVERLAP;
    follower.handle_outcome(now, asked[1].1, Outcome::Bytes { bytes: &file[from..from + 10_000], size_now });
    let fourth = reads(&mut follower);
    assert_eq!(fourth[0].0, (from + 10_000 - OVERLAP) as u64);
    follower.handle_outcome(now, third[0].1, Outcome::Bytes { bytes: &file[2 * from..], size_now });
    assert_eq!(follower.index().scanned(), (from + 10_000) as u64 / 3 * 3);
}
