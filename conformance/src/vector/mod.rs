//! Vectors: files and steps in, frames, answers and close codes out, as data that any program can read.
//!
//! ```text
//!  vectors/mobile/<behaviour>/vector.json
//!        │ Vector::parse
//!        ▼
//!     Vector ──► Player ──files, herdr, messages──► Stage     the simulator, or a server with real sockets
//!                   ◄──────frames, answers────────
//!                   │ Pattern: what may vary
//!                   ▼
//!                Verdict: what was expected, what came, which sentence of the contract that breaks
//! ```
//!
//! * [`document`], [`step`], [`content`] and [`pattern`] are the format; `vectors/schema.json` says the same as a JSON Schema.
//! * [`sentence`] has a name for every sentence of the contract.
//! * [`catalog`] has every vector of the kit, [`coverage`] which sentences they prove.
//! * [`side_by_side`] plays many at once, and [`report`] tells what came of them.
//! * [`play`](mod@play) plays a vector on a [`stage`]; [`simulated`] is the stage around the bare core, [`real`] the one around a server.
//!
//! A vector waits for what must come and tolerates what it does not know: members that no pattern names, and frames of a type
//! that is neither one of the stream's own nor named by the step.

pub mod catalog;
pub mod content;
pub mod coverage;
pub mod document;
pub mod pattern;
pub mod play;
pub mod real;
pub mod report;
pub mod sentence;
pub mod side_by_side;
pub mod simulated;
pub mod stage;
pub mod step;

pub use catalog::Catalog;
pub use coverage::Coverage;
pub use document::{Mark, Vector};
pub use pattern::{Bindings, Pattern};
pub use play::{Failure, Verdict, play};
pub use real::Real;
pub use report::{Played, Report};
pub use sentence::Sentences;
pub use simulated::Simulated;
pub use stage::{Stage, Trouble};
pub use step::Step;
