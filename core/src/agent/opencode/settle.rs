//! What of a message has settled, and its way into the spool.
//!
//! Blocks go in the order of their message. A text that grows holds those behind it; the answer of a tool does not: it goes
//! when it comes, as with every other kind of agent.

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
    if is_of_another_generation(message, spool) {
        return true;
    }
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
        all &= block_over(message, block, behind, spool);
    }
    match message.author {
        Author::Human => behind.any || message.place.time.saturating_add(millis(STORE_SENT)) <= now.0,
        Author::Assistant | Author::Shell => left && (all || behind.assistant),
    }
}

/// Hands over a block, and tells whether there is nothing more to come of it.
fn block_over(message: &Message<'_>, block: &Block<'_>, behind: Behind, spool: &mut Spool) -> bool {
    match &block.what {
        What::Said(text, _) | What::Thinking(text) if text.is_empty() => true,
        What::Tool(tool) => {
            push(message, block, "#call", spool, |message, block| render::entry(message, block));
            let metadata = tool.state.get("metadata").or_else(|| tool.state.get("structured"));
            let child =
                metadata.and_then(|metadata| named(metadata.get("sessionId").or_else(|| metadata.get("sessionID"))));
            let answered = matches!(tool.phase, Phase::Answered | Phase::Failed);
            if answered {
                push(message, block, "#result", spool, |message, block| render::answer(message, block, tool));
            }
            if let Some(agent) = child.filter(|_| tool.name == "task") {
                spool.push_child(&message.place, &Child { agent: &agent, call: &tool.call_id, ended: answered });
            }
            answered || behind.assistant
        }
        _ => {
            push(message, block, "", spool, |message, block| render::entry(message, block));
            true
        }
    }
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

/// Whether some of the message is in the spool under the ids of another generation of the store. What is still to come of
/// it cannot be told from what is there.
fn is_of_another_generation(message: &Message<'_>, spool: &Spool) -> bool {
    let is_numbered = |id: &str| id.starts_with(message.place.id.as_str());
    let Some(numbered) = message.blocks.first().map(|block| is_numbered(&block.id)) else { return false };
    let of_part = |id: &&str| !id.ends_with("#error") && !id.ends_with(":begun") && !id.ends_with(":ended");
    spool.entries_of(&message.place).filter(of_part).any(|id| is_numbered(id) != numbered)
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
            settled = Some(message.place.clone());
        }
    }
    if let Some(place) = &settled {
        spool.settle(place);
    }
    settled
}
