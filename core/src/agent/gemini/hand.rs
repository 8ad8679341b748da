//! Hands over to the spool what has settled of a list of messages.

use alloc::collections::VecDeque;

use super::log::{Item, Log, Other, What};
use super::render;
use crate::agent::shown::named;
use crate::source::json::Value;
use crate::source::spool::Spool;

/// Hands over what has settled, and tells whether there was room for all of it. `is_quiet`: nothing was written for so
/// long that what is there counts as final. What nobody knows is told to `unknown`.
pub(super) fn over(log: &mut Log, is_quiet: bool, spool: &mut Spool, unknown: &mut dyn FnMut(&str)) -> bool {
    let mut behind = behind(&log.items);
    let mut at = 0_usize;
    while let (Some(item), Some(later)) = (log.items.get(at), behind.get(at)) {
        if !spool.has_room() {
            return false;
        }
        let is_over = item_over(log, item, *later, is_quiet, spool, unknown);
        if is_over && at == 0 {
            spool.settle(&spool.place_of(&item.place));
            log.drop_first();
            behind.pop_front();
        } else {
            at = at.saturating_add(1);
        }
    }
    true
}

/// What stands behind an item.
#[derive(Debug, Clone, Copy, Default)]
struct Behind {
    message: bool,
    /// Something after which calls that were not answered are not answered any more.
    turn: bool,
}

fn behind(items: &VecDeque<Item>) -> VecDeque<Behind> {
    let (mut all, mut later) = (VecDeque::with_capacity(items.len()), Behind::default());
    for item in items.iter().rev() {
        all.push_front(later);
        match &item.what {
            What::Message(message) => {
                later.message = true;
                later.turn |= is_turn(Value(message));
            }
            What::Other(other) => later.turn |= matches!(other, Other::Rewound(_)),
        }
    }
    all
}

/// Hands over an item as far as it has settled, and tells whether it has settled for ever.
fn item_over(
    log: &Log,
    item: &Item,
    later: Behind,
    is_quiet: bool,
    spool: &mut Spool,
    unknown: &mut dyn FnMut(&str),
) -> bool {
    let place = &spool.place_of(&item.place);
    let message = match &item.what {
        What::Message(message) => Value(message),
        What::Other(other) => {
            spool.push(place, &render::other(&place.id, other));
            return true;
        }
    };
    let answers = |call: &str| log.answers(item.number, call);
    let said = render::message(&place.id, message, &answers);
    let has_settled = !is_reply(message)
        || is_quiet
        || later.message
        || later.turn
        // What was shown when it was quiet goes on with what its calls answer.
        || spool.entries_of(place).next().is_some()
        || (said.answered && message.get("tokens").is_some_and(Value::is_object));
    if has_settled {
        said.entries.iter().for_each(|entry| spool.push(place, entry));
        said.starts.iter().for_each(|start| start.push(place, spool));
        if let Some(kind) = &said.unknown {
            unknown(kind);
        }
    }
    // Its calls are written when they were answered, long after its text.
    has_settled && (!is_reply(message) || later.turn)
}

fn is_reply(message: Value<'_>) -> bool {
    message.get("type").is_some_and(|kind| kind.is("gemini") || kind.is("model"))
}

/// Whether a call that was not answered before this is not answered any more.
fn is_turn(message: Value<'_>) -> bool {
    is_reply(message) || named(message.get("type")).as_deref() == Some("user")
}
