//! `faults`: would the vectors notice a wrong server?

use std::process::ExitCode;

use panewire_conformance::vector::{Catalog, Sentences, Simulated, Verdict, play};
use panewire_conformance::wrong::{FAULTS, Fault, Wrong, notice};

/// Plays each fault, and prints a line for it. With `all`, every vector is played, and those that notice are counted.
pub(crate) fn run(all: bool) -> Result<ExitCode, String> {
    let (catalog, sentences) = (Catalog::mobile()?, Sentences::mobile()?);
    let mut missed = 0;
    for fault in FAULTS {
        let told = match notice(fault, &catalog, Simulated::new()).failure {
            Ok(_) => {
                let number = sentences.number(fault.breaks).map(|number| format!("sentence {number}"));
                format!("{}, {}", fault.shown_by, number.unwrap_or_else(|| "a decision".into()))
            }
            Err(why) => {
                missed += 1;
                format!("NOT NOTICED: {why}")
            }
        };
        let count = if all { format!("  ({} vectors notice)", noticing(fault, &catalog)) } else { String::new() };
        println!("{:36} {told}{count}", fault.name);
    }
    println!("{} faults, {missed} not noticed", FAULTS.len());
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn noticing(fault: &Fault, catalog: &Catalog) -> usize {
    let played = catalog.vectors().iter().map(|vector| play(vector, &mut Wrong::new(Simulated::new(), fault)));
    played.filter(|verdict| matches!(verdict, Verdict::Failed(_))).count()
}
