//! A few random trials; `panewire-conformance sim` plays more.

use panewire_conformance::trial::{Plan, play};

/// Acts of one trial.
const STEPS: usize = 60;

#[test]
fn a_few_seeds_break_nothing() {
    for seed in 0..5 {
        let plan = Plan::of(seed, STEPS);
        if let (_, Err(broken)) = play(&plan, true, None) {
            panic!("{broken}\n{plan}");
        }
    }
}

#[test]
fn a_seed_is_always_the_same_trial() {
    let plan = Plan::of(7, STEPS);
    assert_eq!(plan.to_string(), Plan::of(7, STEPS).to_string());
    assert_eq!(play(&plan, false, None), play(&plan, true, None));
}
