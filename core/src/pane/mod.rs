//! From a pane to the transcript of its agent.

pub mod activity;
pub mod attach;
pub mod branch;
pub mod census;
pub mod demo;
pub mod errand;
pub(crate) mod excerpt;
pub mod herdr;
pub mod inspect;
pub mod name;
pub mod probe;
pub mod resolve;
pub mod survey;

pub use attach::Attach;
pub use census::{Census, Found, Listed};
pub use demo::Demo;
pub use errand::{Claim, Ended, Errand, Failed};
pub use herdr::{
    Everywhere, HerdrAsk, HerdrError, HerdrSession, Occupant, PaneAgent, Question, Reply, Rows, ScreenSource,
    SessionKind, SessionRef,
};
pub use inspect::{Inspect, Inspection};
pub use name::PaneName;
pub use resolve::{Recheck, Resolve, ResolveError, Resolved, Verdict};
pub use survey::{AgentFacts, Survey, Surveyed};

#[cfg(test)]
pub(crate) mod simulated;
