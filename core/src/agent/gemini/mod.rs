//! Gemini CLI: sessions that are rewritten, fed into a spool.
//!
//! ```text
//!  session-….json(l) ── Pass: what is new of a log, all of a document ──▶ Log ── hand: what has settled ──▶ render ──▶ Spool
//! ```
//!
//! A message goes into the spool when it has settled: when another one comes after it, when its calls have all come to
//! their ends and its tokens are there, or when the file has not changed for 3 s. What a call answers later goes in then.

pub(crate) mod children;
pub mod layout;

mod call;
mod elements;
mod hand;
mod log;
mod pass;
mod render;
mod session;
mod store;

use alloc::format;

use self::log::What;
use self::pass::{Pass, Torn};
use super::shown::glance;
use crate::entry::Entry;
use crate::source::json::Value;

pub use session::SessionReader;
pub use store::Store;

/// The entries of a whole session, as if all of it had settled: for whoever has the file and no spool.
pub fn read_whole(bytes: &[u8], each: &mut dyn FnMut(Entry)) {
    let log = match Pass::of(bytes) {
        Ok(log) => log,
        Err(Torn::Undecided) => return,
        Err(Torn::Unfinished) => return each(unreadable_document(bytes.len() as u64, &glance(bytes))),
    };
    for item in &log.items {
        match &item.what {
            What::Message(message) => {
                let answers = |call: &str| log.answers(item.number, call);
                render::message(&item.place.id, Value(message), &answers).entries.into_iter().for_each(&mut *each);
            }
            What::Other(other) => each(render::other(&item.place.id, other)),
        }
    }
}

fn unreadable_document(bytes: u64, glance: &str) -> Entry {
    render::notice("document", format!("unreadable document ({bytes} bytes): {glance}"), false)
}
