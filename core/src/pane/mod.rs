//! From a pane to the transcript of its agent.

pub mod herdr;
pub mod name;
pub mod probe;

pub use herdr::{HerdrAsk, HerdrError, PaneAgent, Question, Reply, SessionKind, SessionRef};
pub use name::PaneName;
