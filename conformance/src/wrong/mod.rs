//! Servers that are wrong on purpose, one fault each: would the vectors notice?
//!
//! [`Wrong`] stands between a player and a real stage and spoils what goes through it: requests and messages on their way in,
//! answers, frames and close codes on their way out, files before they are written. So every fault works on the core and on
//! any server. [`faults`] says of each which vector must fail, and which sentence it then breaks.

mod fault;
mod faults;
mod spoil;
mod stage;

pub use fault::Fault;
pub use faults::faults;
pub use stage::Wrong;

use crate::vector::{Catalog, Failure, Stage, Vector, Verdict, play};

/// The fault of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Fault> {
    faults().find(|fault| fault.name == name)
}

/// Plays a vector on a stage that has this fault, if any.
pub fn play_with(fault: Option<&Fault>, vector: &Vector, mut stage: impl Stage) -> Verdict {
    match fault {
        Some(fault) => play(vector, &mut Wrong::new(stage, fault)),
        None => play(vector, &mut stage),
    }
}

/// A fault and what the vector made for it says.
#[derive(Debug)]
pub struct Noticed<'a> {
    /// The fault.
    pub fault: &'a Fault,
    /// What the vector said; an error if it did not notice, or noticed something else.
    pub failure: Result<Failure, String>,
}

/// Plays the vector that must notice this fault.
pub fn notice<'a>(fault: &'a Fault, catalog: &Catalog, stage: impl Stage) -> Noticed<'a> {
    let failure = match catalog.named(fault.shown_by) {
        None => Err(format!("there is no vector {}", fault.shown_by)),
        Some(vector) => noticed(fault, vector, stage),
    };
    Noticed { fault, failure }
}

fn noticed(fault: &Fault, vector: &Vector, stage: impl Stage) -> Result<Failure, String> {
    match play(vector, &mut Wrong::new(stage, fault)) {
        Verdict::Failed(failure) if failure.breaks.iter().any(|name| name == fault.breaks) => Ok(*failure),
        Verdict::Failed(failure) if fault.breaks.is_empty() => Ok(*failure),
        Verdict::Failed(failure) => Err(format!("{} is broken, not {}", failure.breaks.join(", "), fault.breaks)),
        Verdict::Passed => Err(format!("{} passes", vector.name)),
        Verdict::Broken(trouble) => Err(format!("{} could not be played: {trouble}", vector.name)),
        Verdict::LeftOut(why) => Err(format!("{} was not played: {why}", vector.name)),
    }
}
