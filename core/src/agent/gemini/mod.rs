//! Gemini CLI: sessions that are rewritten, fed into a spool.
//!
//! ```text
//!  session-….json(l) ── whole, when it has changed ──▶ Log ──▶ settled messages ──▶ render ──▶ Spool
//! ```
//!
//! A message goes into the spool when it has settled: when another one comes after it, when its calls have all come to
//! their ends and its tokens are there, or when the file has not changed for 3 s. What a call answers later goes in then.

pub(crate) mod children;
pub mod layout;

mod call;
mod log;
mod render;
mod session;
mod store;

use alloc::collections::BTreeSet;
use alloc::format;

use self::log::{Log, What};
use super::shown::glance;
use crate::entry::Entry;

pub use session::SessionReader;
pub use store::Store;

/// The entries of a whole session, as if all of it had settled: for whoever has the file and no spool.
pub fn read_whole(bytes: &[u8], each: &mut dyn FnMut(Entry)) {
    let Ok(log) = Log::read(bytes) else {
        return each(render::notice("document", unreadable_document(bytes), false));
    };
    let mut answers = BTreeSet::new();
    for item in &log.items {
        match item.what {
            What::Message(message) => {
                render::message(&item.place.id, message, &mut answers).entries.into_iter().for_each(&mut *each);
            }
            What::Other(other) => each(render::other(&item.place.id, other)),
        }
    }
}

fn unreadable_document(bytes: &[u8]) -> alloc::string::String {
    format!("unreadable document ({} bytes): {}", bytes.len(), glance(bytes))
}
