//! Push: an agent that begins to need a person, or has finished, is told to webhooks and ntfy topics.
//!
//! ```text
//!  surveys ──▶ Watcher ── enters blocked or done ──▶ Alert ── (its card) ──▶ Message ──▶ Delivery, one for each target
//! ```
//!
//! Only targets that the configuration names are contacted, and they are told no more than it allows.

mod delivery;
mod message;
mod watcher;

pub use delivery::Delivery;
pub use message::Message;
pub use watcher::{Alert, Entered, Watcher};
