//! What of a message has settled, and its way into the spool.
//!
//! Blocks go in the order of their message. A text that grows holds those behind it; the answer of a tool does not: it goes
//! when it comes, as with every other kind of agent.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;

use super::block::{Author, Block, Message, Phase, What};
use super::render;
use crate::agent::shown::named;
use crate::limits::STORE_SENT;
use crate::source::spool::{Child, Place, Spool};
use crate::time::UnixMillis;

/// What lies behind a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Behind {
    /// Any message.
    pub(super) any: bool,
    /// One of the assistant: whatever it wrote before, it does not write any more.
    pub(super) assistant: bool,
    /// Nothing was written to the message for so long that nobody will.
    pub(super) quiet: bool,
}

/// Hands over what has settled of a message, and tells whether all of it has, for ever.
pub(super) fn hand_over(message: &Message<'_>, behind: Behind, now: UnixMillis, spool: &mut Spool) -> bool {
    let mut elsewhere = Elsewhere::of(message, spool);
    let left = message.over || behind.assistant;
    let mut all = true;
    for block in &message.blocks {
        if matches!(block.what, What::Torn) {
            return false;
        }
        if !block.ended && !left && !behind.quiet {
            all = false;
            break;
        }
        all &= block_over(message, block, behind, &mut elsewhere, spool);
    }
    match message.author {
        Author::Human => behind.any || message.place.time.saturating_add(millis(STORE_SENT)) <= now.0,
        Author::Assistant | Author::Shell => left && (all || behind.assistant),
    }
}

/// Hands over a block, and tells whether there is nothing more to come of it.
fn block_over(
    message: &Message<'_>,
    block: &Block<'_>,
    behind: Behind,
    elsewhere: &mut Elsewhere,
    spool: &mut Spool,
) -> bool {
    if matches!(&block.what, What::Said(text, _) | What::Thinking(text) if text.is_empty()) {
        return true;
    }
    let shown = elsewhere.take(block);
    let What::Tool(tool) = &block.what else {
        if shown.is_none() {
            push(message, block, "", spool, |message, block| render::entry(message, block));
        }
        return true;
    };
    if shown.is_none() {
        push(message, block, "#call", spool, |message, block| render::entry(message, block));
    }
    let metadata = tool.state.get("metadata").or_else(|| tool.state.get("structured"));
    let child = metadata.and_then(|metadata| named(metadata.get("sessionId").or_else(|| metadata.get("sessionID"))));
    let answered = matches!(tool.phase, Phase::Answered | Phase::Failed);
    if answered && !shown.is_some_and(|shown| shown.is_answered) {
        push(message, block, "#result", spool, |message, block| render::answer(message, block, tool));
    }
    if let Some(agent) = child.filter(|_| tool.name == "task") {
        spool.push_child(&message.place, &Child { agent: &agent, call: &tool.call_id, ended: answered });
    }
    answered || behind.assistant
}

/// Builds an entry only if it is not in the spool.
fn push<'a>(
    message: &Message<'a>,
    block: &Block<'a>,
    suffix: &str,
    spool: &mut Spool,
    build: impl FnOnce(&Message<'a>, &Block<'a>) -> crate::entry::Entry,
) {
    let mut id = block.id.clone();
    id.push_str(suffix);
    if !spool.holds(&message.place, &id) {
        spool.push(&message.place, &build(message, block));
    }
}

/// The blocks of a message that are in the spool under the ids of another generation of the store, because the service
/// began or ended in its middle: in both, blocks have the same order.
#[derive(Debug, Default)]
struct Elsewhere {
    shown: VecDeque<Shown>,
    /// The blocks that are there under their own ids.
    own: BTreeSet<String>,
}

/// One of them.
#[derive(Debug, Clone, Copy, Default)]
struct Shown {
    is_tool: bool,
    is_answered: bool,
}

impl Elsewhere {
    fn of(message: &Message<'_>, spool: &Spool) -> Self {
        let id = message.place.id.as_str();
        let is_numbered = |block: &str| block.starts_with(id);
        let Some(numbered) = message.blocks.first().map(|block| is_numbered(&block.id)) else { return Self::default() };
        // What both call by one name.
        let is_common = |id: &&str| id.ends_with("#error") || id.ends_with(":begun") || id.ends_with(":ended");
        let (mut own, mut shown) = (BTreeSet::new(), BTreeMap::<(u64, &str), Shown>::new());
        for entry in spool.entries_of(&message.place).filter(|id| !is_common(id)) {
            let call = entry.strip_suffix("#call");
            let result = entry.strip_suffix("#result");
            let block = call.or(result).unwrap_or(entry);
            if is_numbered(block) == numbered {
                // An answer alone is that of a call under another id.
                if result.is_none() {
                    own.insert(block.into());
                }
                continue;
            }
            let number = block.rsplit_once('#').and_then(|(_, number)| number.parse().ok());
            let shown = shown.entry((number.unwrap_or_default(), block)).or_default();
            shown.is_tool |= call.is_some() || result.is_some();
            shown.is_answered |= result.is_some();
        }
        Self { shown: shown.into_values().collect(), own }
    }

    /// How much of this block is there under another id.
    fn take(&mut self, block: &Block<'_>) -> Option<Shown> {
        if self.shown.is_empty() || self.own.contains(&block.id) {
            return None;
        }
        let is_tool = matches!(block.what, What::Tool(_));
        // What stands between two calls may have another form there.
        while is_tool && self.shown.front().is_some_and(|shown| !shown.is_tool) {
            self.shown.pop_front();
        }
        self.shown.pop_front_if(|shown| shown.is_tool == is_tool)
    }
}

/// Whether nothing was written to a message for so long that nobody will: the last moment that it names is long ago.
pub(super) fn is_quiet(message: &Message<'_>, changed: Option<i64>, now: UnixMillis) -> bool {
    let moments = message.blocks.iter().flat_map(|block| [block.began, block.finished]).flatten();
    let last = moments.chain(changed).chain([message.place.time]).max().unwrap_or_default();
    last.saturating_add(millis(crate::limits::STORE_QUIET)) <= now.0
}

fn millis(time: core::time::Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The messages of a window in order, handed over one after the other. Tells the places that are settled now.
pub(super) fn window(
    messages: &[(Message<'_>, Option<i64>)],
    behind_all: Behind,
    now: UnixMillis,
    spool: &mut Spool,
) -> Option<Place> {
    let mut settled = None;
    let mut in_order = true;
    for (at, (message, changed)) in messages.iter().enumerate() {
        let later = messages.get(at.saturating_add(1)..).unwrap_or_default();
        let behind = Behind {
            any: behind_all.any || !later.is_empty(),
            assistant: behind_all.assistant || later.iter().any(|(later, _)| later.author == Author::Assistant),
            quiet: is_quiet(message, *changed, now),
        };
        in_order &= hand_over(message, behind, now, spool);
        if in_order {
            spool.settle(&message.place);
            settled = Some(message.place.clone());
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;
    use alloc::vec::Vec;

    use super::super::v1::{self, Content, Part};
    use super::super::v2;
    use super::*;
    use crate::ids::SessionId;
    use crate::pane::simulated::{World, at};
    use crate::source::json::Value;
    use crate::source::spool::path_of;

    const TEXT: &str = r#"{"type":"text","text":"one","time":{"end":1}}"#;
    const CALL: &str = r#"{"type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{}}}"#;
    const ANSWERED: &str =
        r#"{"type":"tool","tool":"bash","name":"bash","id":"c","state":{"status":"completed","output":"x"}}"#;
    const LAST: &str = r#"{"type":"text","text":"two","time":{"end":1}}"#;

    fn spool(world: &mut World) -> Spool {
        let mut spool = Spool::new("/state", "opencode", &SessionId::from("s"));
        spool.begin();
        world.drive(at(0), &mut spool);
        spool
    }

    fn place() -> Place {
        Place { time: 5, id: "msg_1".to_string() }
    }

    /// The ids of the entries in the spool.
    fn ids(world: &mut World, spool: &mut Spool) -> Vec<String> {
        spool.go_on(at(0));
        world.drive(at(0), spool);
        let bytes = world.content(&path_of("/state", "opencode", &SessionId::from("s"))).unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n').map(Value);
        lines.filter_map(|line| line.get("entry")?.get("id")?.text()).collect()
    }

    const BEHIND: Behind = Behind { any: false, assistant: false, quiet: false };

    fn by_parts(parts: &[&str], spool: &mut Spool) {
        let part = |(n, text): (usize, &&str)| Part {
            id: format!("prt_{n}"),
            content: Content::Whole(text.as_bytes().to_vec()),
        };
        let parts: Vec<Part> = parts.iter().enumerate().map(part).collect();
        hand_over(&v1::message(place(), Value(br#"{"role":"assistant"}"#), &parts), BEHIND, at(0).wall, spool);
    }

    fn by_service(parts: &[&str], spool: &mut Spool) {
        let content = format!(r#"{{"content":[{}],"time":{{"completed":9}}}}"#, parts.join(","));
        hand_over(&v2::message(place(), b"assistant", Value(content.as_bytes())), BEHIND, at(0).wall, spool);
    }

    #[test]
    fn a_message_that_begins_in_one_generation_goes_on_in_another() {
        let mut world = World::new();
        let mut spool = spool(&mut world);
        by_parts(&[TEXT, CALL], &mut spool);
        assert_eq!(ids(&mut world, &mut spool), ["prt_0", "prt_1#call"]);
        for _ in 0..2 {
            by_service(&[TEXT, ANSWERED, LAST], &mut spool);
            assert_eq!(ids(&mut world, &mut spool), ["prt_0", "prt_1#call", "msg_1#1#result", "msg_1#2"]);
        }
    }

    #[test]
    fn and_back_again() {
        let mut world = World::new();
        let mut spool = spool(&mut world);
        by_service(&[TEXT, LAST], &mut spool);
        by_parts(&[TEXT, LAST, TEXT], &mut spool);
        by_service(&[TEXT, LAST, TEXT, LAST], &mut spool);
        assert_eq!(ids(&mut world, &mut spool), ["msg_1#0", "msg_1#1", "prt_2", "msg_1#3"]);
    }

    #[test]
    fn what_a_command_prints_comes_once_it_has_ended() {
        let mut world = World::new();
        let mut spool = spool(&mut world);
        let mut look = |output: &str, time: &str| {
            let raw = format!(r#"{{"command":"ls","output":"{output}","time":{{"created":5{time}}}}}"#);
            let message = v2::message(place(), b"shell", Value(raw.as_bytes()));
            let is_over = hand_over(&message, BEHIND, at(0).wall, &mut spool);
            (ids(&mut world, &mut spool).len(), is_over)
        };
        assert_eq!(look("", ""), (1, false));
        assert_eq!(look("half", ""), (1, false));
        assert_eq!(look("all of it", r#","completed":9"#), (2, true));
        assert_eq!(look("all of it", r#","completed":9"#), (2, true));
    }
}
