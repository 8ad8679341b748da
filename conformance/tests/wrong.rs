//! The kit is tested itself: every fault of a server that is wrong on purpose is noticed by the vector that is there for it.

use std::collections::BTreeSet;

use panewire_conformance::vector::{Catalog, Simulated};
use panewire_conformance::wrong::{faults, notice};

#[test]
fn every_fault_is_noticed_by_its_vector() {
    let catalog = Catalog::mobile().unwrap();
    let missed: Vec<String> = faults()
        .filter_map(|fault| {
            notice(fault, &catalog, Simulated::new()).failure.err().map(|why| format!("{}: {why}", fault.name))
        })
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn there_are_many_faults_and_each_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = faults().map(|fault| fault.name).collect();
    assert_eq!(names.len(), faults().count());
    assert!(names.len() >= 20, "{}", names.len());
}
