//! Many vectors at the same time.

use core::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::vector::document::Vector;
use crate::vector::play::Verdict;
use crate::vector::real::{Real, Subject, is_interrupted};
use crate::vector::report::Played;
use crate::wrong::{Fault, play_with};

/// Why a slow vector is not played on a real server.
const SLOW: &str = "slow: played on the core's virtual clock, and here with --slow";

/// Why one is not played any more.
const INTERRUPTED: &str = "interrupted";

/// How vectors are played on a real server.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// So many at a time. A server that is not started for each vector plays one at a time.
    pub jobs: NonZeroUsize,
    /// How long everything that must come may take at least.
    pub patience: core::time::Duration,
    /// Whether slow vectors are played too, in real time.
    pub slow: bool,
    /// What is made wrong on purpose, to see what the vectors say.
    pub fault: Option<&'static Fault>,
}

/// Plays vectors on a real server, and gives them back in the same order.
#[must_use]
pub fn play_on<'a>(subject: Subject<'_>, vectors: &[&'a Vector], manner: &Manner) -> Vec<Played<'a>> {
    let one_at_a_time = matches!(subject, Subject::Running(_));
    let jobs = if one_at_a_time { NonZeroUsize::MIN } else { manner.jobs };
    side_by_side(vectors, jobs, |vector| match subject {
        _ if is_interrupted() => Verdict::LeftOut(INTERRUPTED.into()),
        _ if vector.slow && !manner.slow => Verdict::LeftOut(SLOW.into()),
        Subject::Running(running) if running.unfit(vector).is_some() => {
            Verdict::LeftOut(running.unfit(vector).unwrap_or_default())
        }
        _ => play_with(manner.fault, vector, Real::new(subject, manner.patience)),
    })
}

/// Plays vectors, so many at a time, and gives them back in the same order.
#[must_use]
pub fn side_by_side<'a>(
    vectors: &[&'a Vector],
    jobs: NonZeroUsize,
    play: impl Fn(&Vector) -> Verdict + Sync,
) -> Vec<Played<'a>> {
    let next = AtomicUsize::new(0);
    let played = Mutex::new(Vec::new());
    let work = || {
        while let Some((at, vector)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            vectors.get(at).map(|vector| (at, *vector))
        } {
            let began = Instant::now();
            let verdict = play(vector);
            let result = Played { vector, verdict, took: began.elapsed() };
            if let Ok(mut played) = played.lock() {
                played.push((at, result));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs.get().min(vectors.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut played = played.into_inner().unwrap_or_default();
    played.sort_by_key(|(at, _)| *at);
    played.into_iter().map(|(_, played)| played).collect()
}
