//! What a run tells a person, and in the files below a program.

mod json;
mod junit;

use core::fmt::{self, Write as _};
use core::time::Duration;

use crate::vector::document::{Mark, Vector};
use crate::vector::play::{Failure, Verdict};
use crate::vector::sentence::Sentences;

/// One vector and what came of it.
#[derive(Debug, Clone)]
pub struct Played<'a> {
    /// The vector.
    pub vector: &'a Vector,
    /// What came of it.
    pub verdict: Verdict,
    /// How long that took.
    pub took: Duration,
}

/// A whole run.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// What was played: a server, or the core.
    pub subject: String,
    /// Every vector that was wanted, sorted by name.
    pub played: Vec<Played<'a>>,
    /// How long it took.
    pub took: Duration,
    /// The sentences, to name what is broken.
    pub sentences: &'a Sentences,
}

impl Report<'_> {
    /// Whether the subject keeps the contract: every `seed` vector passed; if it is strict, every vector.
    #[must_use]
    pub fn keeps(&self, strict: bool) -> bool {
        let counts = |played: &&Played<'_>| strict || played.vector.mark == Mark::Seed;
        self.played.iter().filter(counts).all(|played| !played.failed())
    }

    /// Vectors that count and were not played, but for those that are left to the core.
    #[must_use]
    pub fn unplayed(&self, strict: bool) -> usize {
        let counts =
            |played: &&Played<'_>| (strict || played.vector.mark == Mark::Seed) && !played.vector.is_left_to_the_core();
        self.played.iter().filter(counts).filter(|played| matches!(played.verdict, Verdict::LeftOut(_))).count()
    }

    fn tally(&self, mark: Mark) -> Option<String> {
        let of_mark: Vec<_> = self.played.iter().filter(|played| played.vector.mark == mark).collect();
        let passed = of_mark.iter().filter(|played| played.verdict == Verdict::Passed).count();
        let left_out = of_mark.iter().filter(|played| matches!(played.verdict, Verdict::LeftOut(_))).count();
        let left_out = if left_out == 0 { String::new() } else { format!(" ({left_out} not played)") };
        (!of_mark.is_empty()).then(|| format!("{} {passed} of {}{left_out}", mark.name(), of_mark.len()))
    }
}

impl Played<'_> {
    /// Whether something else came than was expected, or the play could not go on.
    #[must_use]
    pub const fn failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_) | Verdict::Broken(_))
    }
}

/// Failures at length, then one line for each mark.
impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for played in &self.played {
            let (name, title, mark) = (&played.vector.name, &played.vector.title, played.vector.mark.name());
            match &played.verdict {
                Verdict::Failed(failure) => {
                    writeln!(f, "FAILED {name} ({mark})\n  {title}\n{}", self.told(failure))?;
                }
                Verdict::Broken(trouble) => {
                    writeln!(f, "COULD NOT BE PLAYED {name} ({mark})\n  {title}\n{}", indented(&trouble.0))?;
                }
                Verdict::LeftOut(why) => writeln!(f, "not played: {name} ({mark}): {why}")?,
                Verdict::Passed => {}
            }
        }
        let tallies: Vec<String> =
            [Mark::Seed, Mark::Decided, Mark::Beyond].into_iter().filter_map(|mark| self.tally(mark)).collect();
        let took = self.took.as_secs_f64();
        writeln!(f, "{}: {} vectors passed in {took:.2} s", self.subject, tallies.join(", "))
    }
}

impl Report<'_> {
    fn told(&self, failure: &Failure) -> String {
        let mut text = format!("  step {} expected\n{}\n", failure.step, indented(&failure.expected));
        let _ = writeln!(text, "  came\n{}", indented(&failure.came));
        if !failure.before.is_empty() {
            let _ = writeln!(text, "  the frames before\n{}", indented(&failure.before.join("\n")));
        }
        for name in &failure.breaks {
            let _ = match self.sentences.number(name) {
                Some(number) => writeln!(text, "  breaks sentence {number}: {name}"),
                None => writeln!(text, "  breaks: {name}"),
            };
        }
        text
    }
}

/// Four spaces before each line; a long one is cut.
fn indented(text: &str) -> String {
    const MOST: usize = 1_000;
    let cut = |line: &str| {
        let short: String = line.chars().take(MOST).collect();
        if short.len() < line.len() { format!("    {short}…") } else { format!("    {line}") }
    };
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}
