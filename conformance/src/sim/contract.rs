//! What every client of the mobile transcript stream may rely on, checked on every frame of every scenario.

use std::collections::{BTreeMap, VecDeque};

use panewire_core::limits::{MAX_PAGE_ENTRIES, PAGE_ENTRIES};
use serde_json::Value;

/// Follows one client's stream in the order in which the core sends it.
#[derive(Debug, Default)]
pub struct Contract {
    stage: Stage,
    session: String,
    /// The newest seq that belongs to the run which began with `hello`.
    head: u64,
    /// The last opening entry that is expected, while opening.
    total: u64,
    pages: VecDeque<PageAsk>,
    page: Vec<u64>,
    /// The roster that the client holds, without what changes by itself.
    roster: Vec<Value>,
    /// Every entry of this session as it was sent first.
    entries: BTreeMap<u64, String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent yet.
    #[default]
    Fresh,
    /// `session_changed` was sent: `hello` must follow.
    Changed,
    /// The newest page is under way.
    Opening,
    /// The tail is live.
    Live,
    /// It is no transcript but the events, which begin with a snapshot.
    Events,
}

#[derive(Debug)]
struct PageAsk {
    before: i64,
    limit: u64,
    head: u64,
}

impl Contract {
    /// Nothing was sent yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The client's well-formed `load_older` was handed to the core; anything else is not looked at.
    pub fn asked(&mut self, message: &str) {
        let Ok(json) = serde_json::from_str::<Value>(message) else { return };
        if json["type"] != "load_older" {
            return;
        }
        let limit = match json["limit"].as_i64() {
            Some(limit @ 1..) => u64::try_from(limit).unwrap_or_default().min(MAX_PAGE_ENTRIES),
            _ => PAGE_ENTRIES,
        };
        let before = json["before_seq"].as_i64().unwrap_or_default();
        self.pages.push_back(PageAsk { before, limit, head: self.head });
    }

    /// The core sends this frame.
    ///
    /// # Errors
    /// What the frame breaks.
    pub fn sent(&mut self, raw: &str) -> Result<(), String> {
        let json: Value = serde_json::from_str(raw).map_err(|error| format!("not JSON: {error}"))?;
        let number = |field: &str| json[field].as_u64().ok_or_else(|| format!("{field} is missing"));
        match (json["type"].as_str().unwrap_or_default(), self.stage) {
            ("snapshot", Stage::Fresh) => {
                (self.stage, self.head) = (Stage::Events, number("seq")?);
                ensure(json["snapshot"]["result"]["snapshot"].is_object(), || "a snapshot without its body".into())
            }
            ("heartbeat", Stage::Events) => ensure(json.get("seq").is_none(), || "a heartbeat has no number".into()),
            (_, Stage::Events) => {
                self.head += 1;
                ensure(number("seq")? == self.head, || {
                    format!("an event that is not the one with number {}", self.head)
                })?;
                ensure(json["payload"].is_object(), || "an event without its payload".into())
            }
            ("hello", Stage::Fresh | Stage::Changed) => self.hello(&json, number("total")?, number("backlog_count")?),
            ("entry", Stage::Opening | Stage::Live) => self.entry(&json, raw),
            ("backlog_complete", Stage::Opening) => {
                ensure(self.head == self.total, || format!("opening ends at {} of {}", self.head, self.total))?;
                self.stage = Stage::Live;
                Ok(())
            }
            // Only for who opted in; it says where the stream is and belongs to no page.
            ("heartbeat", Stage::Opening | Stage::Live) => number("head_seq").map(drop),
            // Only for who opted in: runs of entries that are there.
            ("branches", Stage::Live) => self.branches(&json["side_branches"]),
            ("subagents", Stage::Live) => self.subagents(&json["subagents"]),
            ("page_complete", Stage::Opening | Stage::Live) => {
                let requested = json["requested_before_seq"].as_i64().ok_or("requested_before_seq is missing")?;
                self.page_complete(requested, number("oldest_loaded_seq")?, &json["has_older"])
            }
            ("session_changed", Stage::Opening | Stage::Live) => {
                ensure(json["from"] == self.session.as_str(), || format!("from is not {}", self.session))?;
                ensure(json["to"] != json["from"], || "the session changed to itself".into())?;
                let session = json["to"].as_str().unwrap_or_default().into();
                *self = Self { stage: Stage::Changed, session, ..Self::default() };
                Ok(())
            }
            (kind, stage) => Err(format!("{kind} is not expected while {stage:?}")),
        }
    }

    fn hello(&mut self, json: &Value, total: u64, count: u64) -> Result<(), String> {
        let session = json["session_id"].as_str().unwrap_or_default();
        ensure(json["protocol"] == 5, || "protocol is not 5".into())?;
        ensure(self.stage == Stage::Fresh || session == self.session, || format!("hello is not for {}", self.session))?;
        // A client that resumes gets what it misses, however much that is, and `oldest_loaded_seq` follows its cursor.
        let resumed = json["resumed"] == true;
        let expected = if resumed { count.min(total) } else { total.min(PAGE_ENTRIES) };
        ensure(count == expected, || format!("a newest page of {count} from {total}"))?;
        let oldest = if count == 0 && !resumed { 0 } else { total - count + 1 };
        ensure(json["oldest_loaded_seq"] == oldest, || format!("oldest_loaded_seq is not {oldest}"))?;
        ensure(json["has_older"] == (oldest > 1), || format!("has_older is wrong for {oldest}"))?;
        ensure(json["has_more"] == json["has_older"], || "has_more differs from has_older".into())?;
        if let Some(roster) = json.get("subagents") {
            self.subagents(roster).map_err(|error| format!("hello: {error}"))?;
        }
        self.session = session.into();
        self.total = total;
        self.head = total - count;
        self.stage = Stage::Opening;
        Ok(())
    }

    fn branches(&self, runs: &Value) -> Result<(), String> {
        let runs: Vec<(u64, u64)> = serde_json::from_value(runs.clone()).map_err(|error| error.to_string())?;
        let mut end = 0;
        for (first, last) in runs {
            ensure(end < first && first <= last && last <= self.head.max(self.total), || {
                format!("{first} to {last} are no entries")
            })?;
            end = last;
        }
        Ok(())
    }

    /// A roster is sent because it differs, and its rows are in order.
    fn subagents(&mut self, rows: &Value) -> Result<(), String> {
        let mut roster = rows.as_array().ok_or("a roster that is no list")?.clone();
        let key = |row: &Value| (row["spawn_depth"].as_u64(), row["agent_id"].as_str().map(str::to_owned));
        ensure(roster.is_sorted_by(|one, other| key(one) < key(other)), || format!("rows out of order: {rows}"))?;
        for row in roster.iter_mut().filter_map(Value::as_object_mut) {
            row.remove("last_activity_ts");
            row.remove("running_for_ms");
        }
        ensure(roster != self.roster, || format!("a roster that is no news: {rows}"))?;
        self.roster = roster;
        Ok(())
    }

    fn entry(&mut self, json: &Value, raw: &str) -> Result<(), String> {
        let seq = json["entry"]["seq"].as_u64().ok_or("an entry without seq")?;
        let live = json["live"].as_bool().ok_or("an entry without live")?;
        let entry = raw.split_once("\"entry\":{").map(|(_, entry)| entry.to_owned()).unwrap_or_default();
        if let Some(before) = self.entries.insert(seq, entry.clone()) {
            ensure(before == entry, || format!("entry {seq} was {before} and is {entry}"))?;
        }
        match (live, self.stage) {
            (true, Stage::Live) => {
                ensure(seq == self.head + 1, || format!("live {seq} after {}", self.head))?;
                self.head = seq;
            }
            (false, Stage::Opening) if seq == self.head + 1 => self.head = seq,
            (false, _) => {
                ensure(!self.pages.is_empty(), || format!("entry {seq} of a page that nobody asked for"))?;
                let follows = self.page.last().is_none_or(|last| seq == last + 1);
                ensure(follows, || format!("entry {seq} in a page after {:?}", self.page.last()))?;
                self.page.push(seq);
            }
            (true, stage) => return Err(format!("live {seq} while {stage:?}")),
        }
        Ok(())
    }

    fn page_complete(&mut self, requested: i64, oldest: u64, has_older: &Value) -> Result<(), String> {
        let page = core::mem::take(&mut self.page);
        let Some(ask) = self.pages.pop_front() else { return Err("a page that nobody asked for is complete".into()) };
        ensure(requested == ask.before, || format!("page {requested} is complete instead of {}", ask.before))?;
        // A page that failed may have begun, if it was larger than a window.
        if oldest == 0 && *has_older == true {
            return Ok(());
        }
        ensure(oldest == page.first().copied().unwrap_or_default(), || format!("oldest {oldest} of page {page:?}"))?;
        ensure(*has_older == (oldest > 1), || format!("has_older {has_older} for {oldest}"))?;
        let last = page.last().copied().unwrap_or_default();
        let wanted = u64::try_from(ask.before.saturating_sub(1)).unwrap_or_default();
        if wanted <= ask.head {
            ensure(last == wanted, || format!("the page before {} ends at {last}", ask.before))?;
        } else {
            ensure((ask.head..=wanted).contains(&last), || format!("the newest page ends at {last}"))?;
        }
        let count = u64::try_from(page.len()).unwrap_or(u64::MAX);
        ensure(count == ask.limit.min(last), || format!("{count} entries in a page of {} before {last}", ask.limit))
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(session: &str, total: u64) -> String {
        let count = total.min(PAGE_ENTRIES);
        let oldest = if total == 0 { 0 } else { total - count + 1 };
        let older = oldest > 1;
        format!(
            "{{\"type\":\"hello\",\"protocol\":5,\"session_id\":\"{session}\",\"backlog_count\":{count},\"total\":{total},\
             \"has_more\":{older},\"oldest_loaded_seq\":{oldest},\"has_older\":{older}}}"
        )
    }

    fn entry(seq: u64, live: bool) -> String {
        format!("{{\"type\":\"entry\",\"live\":{live},\"entry\":{{\"seq\":{seq}}}}}")
    }

    fn page_complete(before: u64, oldest: u64, older: bool) -> String {
        format!(
            "{{\"type\":\"page_complete\",\"requested_before_seq\":{before},\"oldest_loaded_seq\":{oldest},\
             \"has_older\":{older}}}"
        )
    }

    const COMPLETE: &str = r#"{"type":"backlog_complete","count":0,"has_more":true}"#;

    /// A client that has the newest page of 152 entries.
    fn opened() -> Contract {
        let mut contract = Contract::new();
        contract.sent(&hello("s", 152)).unwrap();
        (3..=152).for_each(|seq| contract.sent(&entry(seq, false)).unwrap());
        contract.sent(COMPLETE).unwrap();
        contract
    }

    #[test]
    fn a_whole_stream_passes() {
        let mut contract = opened();
        contract.asked(r#"{"type":"load_older","before_seq":3,"limit":1}"#);
        contract.sent(&entry(153, true)).unwrap();
        contract.sent(&entry(2, false)).unwrap();
        contract.sent(&entry(154, true)).unwrap();
        contract.sent(&page_complete(3, 2, true)).unwrap();
        contract.sent(r#"{"type":"session_changed","pane":"p","from":"s","to":"t"}"#).unwrap();
        contract.sent(&hello("t", 0)).unwrap();
        contract.sent(COMPLETE).unwrap();
        contract.sent(&entry(1, true)).unwrap();
    }

    #[test]
    fn gaps_doubles_and_early_ends_are_seen() {
        assert!(opened().sent(&entry(154, true)).is_err());
        assert!(opened().sent(&entry(152, true)).is_err());
        assert!(opened().sent(&entry(2, false)).is_err());
        let mut early = Contract::new();
        assert!(early.sent(&entry(1, false)).is_err());
        early.sent(&hello("s", 1)).unwrap();
        assert!(early.sent(COMPLETE).is_err());
    }

    #[test]
    fn an_entry_that_changes_under_its_seq_is_seen() {
        let mut contract = opened();
        contract.asked(r#"{"type":"load_older","before_seq":4,"limit":1}"#);
        let changed = entry(3, false).replace("\"seq\":3", "\"seq\":3,\"text\":\"x\"");
        assert!(contract.sent(&changed).is_err());
    }

    #[test]
    fn pages_must_be_what_was_asked_for() {
        for wrong in [page_complete(4, 0, false), page_complete(3, 2, false), page_complete(3, 1, false)] {
            let mut contract = opened();
            contract.asked(r#"{"type":"load_older","before_seq":3,"limit":1}"#);
            contract.sent(&entry(2, false)).unwrap();
            assert!(contract.sent(&wrong).is_err(), "{wrong}");
        }
        let mut failed = opened();
        failed.asked(r#"{"type":"load_older","before_seq":3}"#);
        failed.sent(&page_complete(3, 0, true)).unwrap();
    }

    #[test]
    fn the_old_session_is_over_when_it_changes() {
        let mut contract = opened();
        contract.sent(r#"{"type":"session_changed","pane":"p","from":"s","to":"t"}"#).unwrap();
        assert!(contract.sent(&entry(153, true)).is_err());
        assert!(contract.sent(&hello("s", 0)).is_err());
        assert!(opened().sent(r#"{"type":"session_changed","pane":"p","from":"other","to":"t"}"#).is_err());
    }
}
