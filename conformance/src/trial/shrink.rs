//! Making a trial that fails small.

use super::act::{Act, Plan};

/// Leaves out what is not needed for the trial to fail: halves first, then smaller pieces, down to single acts. `fails` is
/// asked at most `tries` times.
pub fn shrink(plan: &Plan, mut tries: usize, mut fails: impl FnMut(&Plan) -> bool) -> Plan {
    let mut plan = plan.clone();
    let mut piece = plan.acts.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut smaller = false;
        while at < plan.acts.len() && tries > 0 {
            let without: Vec<Act> = without(&plan.acts, at, piece);
            let candidate = plan.with(without);
            tries -= 1;
            if fails(&candidate) {
                plan = candidate;
                smaller = true;
            } else {
                at += piece;
            }
        }
        if tries == 0 || (piece == 1 && !smaller) {
            return plan;
        }
        piece = piece.div_ceil(2);
    }
}

fn without(acts: &[Act], at: usize, piece: usize) -> Vec<Act> {
    acts.iter()
        .enumerate()
        .filter(|(n, _)| !(at..at.saturating_add(piece)).contains(n))
        .map(|(_, act)| act.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_needed_is_left() {
        let needed = [Act::Away, Act::Glued];
        let mut plan = Plan::of(5, 0);
        plan.acts = (0..40).map(Act::Time).collect();
        plan.acts.insert(7, Act::Away);
        plan.acts.insert(29, Act::Glued);
        let small = shrink(&plan, 1_000, |plan| needed.iter().all(|act| plan.acts.contains(act)));
        assert_eq!(small.acts, needed);
    }
}
