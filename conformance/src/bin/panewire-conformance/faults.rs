//! `faults`: would the vectors notice a wrong server, and is there one for each of them?

use std::process::ExitCode;

use panewire_conformance::vector::{Catalog, Sentences, Simulated, Vector, Verdict, play};
use panewire_conformance::wrong::{Fault, Wrong, faults, notice};

/// Plays each fault, and prints a line for it. With `all`, every vector is played, and those that notice are counted.
pub(crate) fn run(all: bool) -> Result<ExitCode, String> {
    let (catalog, sentences) = (Catalog::mobile()?, Sentences::mobile()?);
    let mut missed = 0;
    for fault in faults() {
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
    println!("{} faults, {missed} not noticed", faults().count());
    let vectors = catalog.vectors();
    let unmoved: Vec<&Vector> = vectors.iter().filter(|vector| !faults().any(|fault| fails(vector, fault))).collect();
    unmoved.iter().for_each(|vector| println!("{} passes on every wrong server", vector.name));
    println!("{} vectors, {} that no fault fails", vectors.len(), unmoved.len());
    Ok(if missed == 0 && unmoved.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn noticing(fault: &Fault, catalog: &Catalog) -> usize {
    catalog.vectors().iter().filter(|vector| fails(vector, fault)).count()
}

fn fails(vector: &Vector, fault: &Fault) -> bool {
    matches!(play(vector, &mut Wrong::new(Simulated::new(), fault)), Verdict::Failed(_))
}
