//! `sim`: trials, one after the other on every core, until one fails or all were played.

use core::sync::atomic::{AtomicU64, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use panewire_conformance::trial::shrink::shrink;
use panewire_conformance::trial::{Plan, Tally, play};

use crate::USAGE;
use crate::allocator::METER;

/// Acts of one trial, unless said otherwise.
const STEPS: usize = 60;
/// Plays that may be spent on making a failure small.
const SHRINKING: usize = 2_000;

/// Which trials are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    start: u64,
    seeds: u64,
    steps: usize,
    /// A failure is told in one line and not made small.
    brief: bool,
}

impl Wanted {
    /// Reads the command line behind `sim`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let brief = words.last() == Some(&"--brief");
        let mut words = words.get(..words.len() - usize::from(brief)).unwrap_or_default();
        let mut wanted = Self { start: 0, seeds: 1_000, steps: STEPS, brief };
        while let [option, number, rest @ ..] = words {
            let number: u64 = number.parse().map_err(|_| format!("{option} {number} is no number\n{USAGE}"))?;
            match *option {
                "--seeds" => wanted.seeds = number,
                "--start" => wanted.start = number,
                "--seed" => (wanted.start, wanted.seeds) = (number, 1),
                "--steps" => wanted.steps = usize::try_from(number).unwrap_or(usize::MAX),
                _ => return Err(USAGE.into()),
            }
            words = rest;
        }
        if words.is_empty() { Ok(wanted) } else { Err(USAGE.into()) }
    }

    /// Plays them, and tells what came of it.
    pub(crate) fn run(self) -> ExitCode {
        tell_panics();
        let (next, end) = (AtomicU64::new(self.start), self.start.saturating_add(self.seeds));
        let (sum, failed) = (Mutex::new((Tally::default(), 0_u64)), Mutex::new(None::<u64>));
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= end {
                            break;
                        }
                        let (tally, result) = tried(&Plan::of(seed, self.steps), false);
                        add(&mut lock(&sum), tally);
                        if result.is_err() {
                            let mut failed = lock(&failed);
                            *failed = Some(failed.map_or(seed, |other| other.min(seed)));
                            next.store(end, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let (tally, played) = *lock(&sum);
        let seconds = began.elapsed().as_secs_f64();
        println!("{}", summary(played, &tally, seconds));
        let Some(seed) = *lock(&failed) else { return ExitCode::SUCCESS };
        self.tell_failure(seed);
        ExitCode::FAILURE
    }

    fn tell_failure(self, seed: u64) {
        let plan = Plan::of(seed, self.steps);
        let (_, Err(broken)) = tried(&plan, true) else { return };
        let fault = broken.lines().next().unwrap_or_default();
        if self.brief {
            return println!("seed {seed}: {fault}");
        }
        println!("\nFAILED: {fault}\nagain: panewire-conformance sim --seed {seed} --steps {}", self.steps);
        let small = shrink(&plan, SHRINKING, |plan| tried(plan, false).1.is_err());
        let (_, result) = tried(&small, true);
        println!("\nshrunk to {} acts\n{small}\n{}", small.acts.len(), result.err().unwrap_or_default());
    }
}

/// Plays a plan; a panic is a failure where panics unwind.
fn tried(plan: &Plan, told: bool) -> (Tally, Result<(), String>) {
    NOW_PLAYED.set(plan.seed);
    let played = catch_unwind(AssertUnwindSafe(|| play(plan, told, Some(METER))));
    (METER.inside)(false);
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        (Tally::default(), Err(format!("panic: {}", text.unwrap_or_default())))
    })
}

thread_local! {
    static NOW_PLAYED: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Where panics abort, the seed is the last thing that is heard.
fn tell_panics() {
    if cfg!(panic = "abort") {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            eprintln!("seed {} panics (to shrink it, build without --release)", NOW_PLAYED.get());
            before(panic);
        }));
    } else {
        std::panic::set_hook(Box::new(|_| ()));
    }
}

fn summary(played: u64, tally: &Tally, seconds: f64) -> String {
    let hours = exact(tally.millis) / 3_600_000.0;
    format!(
        "{played} seeds in {seconds:.1} s ({:.0} a second): {hours:.1} simulated hours, {} operations, {} faults, {} clients, \
         {} frames compared; the core held {} KiB at most",
        exact(played) / seconds,
        tally.acts,
        tally.faults,
        tally.clients,
        tally.frames,
        tally.peak_bytes / 1024,
    )
}

fn add((sum, played): &mut (Tally, u64), one: Tally) {
    *played += 1;
    sum.millis += one.millis;
    sum.acts += one.acts;
    sum.faults += one.faults;
    sum.frames += one.frames;
    sum.clients += one.clients;
    sum.peak_bytes = sum.peak_bytes.max(one.peak_bytes);
}

fn exact(number: u64) -> f64 {
    f64::from(u32::try_from(number / 1_000).unwrap_or(u32::MAX)) * 1_000.0
        + f64::from(u32::try_from(number % 1_000).unwrap_or(0))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
