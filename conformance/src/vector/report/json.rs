//! What a run tells a program, as JSON.

use serde::Serialize;

use super::{Played, Report};
use crate::vector::document::FORMAT;
use crate::vector::play::Verdict;

#[derive(Serialize)]
struct Document<'a> {
    /// The format of the vectors.
    format: u32,
    contract: &'static str,
    subject: &'a str,
    strict: bool,
    /// Whether every vector that counts passed.
    keeps: bool,
    took_ms: u128,
    vectors: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    title: &'a str,
    mark: &'static str,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    decisions: &'a [u32],
    verdict: &'static str,
    took_ms: u128,
    #[serde(flatten)]
    more: More<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum More<'a> {
    Nothing {},
    Failure { step: usize, expected: &'a str, came: &'a str, before: &'a [String], breaks: Vec<Broken<'a>> },
    Reason { why: &'a str },
}

#[derive(Serialize)]
struct Broken<'a> {
    number: Option<usize>,
    sentence: &'a str,
}

impl Report<'_> {
    /// One JSON object, for programs.
    #[must_use]
    pub fn json(&self, strict: bool) -> String {
        let document = Document {
            format: FORMAT,
            contract: "mobile",
            subject: &self.subject,
            strict,
            keeps: self.keeps(strict),
            took_ms: self.took.as_millis(),
            vectors: self.played.iter().map(|played| self.row(played)).collect(),
        };
        // It holds nothing that has no JSON.
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }

    fn row<'a>(&'a self, played: &'a Played<'_>) -> Row<'a> {
        let more = match &played.verdict {
            Verdict::Passed => More::Nothing {},
            Verdict::Failed(failure) => More::Failure {
                step: failure.step,
                expected: &failure.expected,
                came: &failure.came,
                before: &failure.before,
                breaks: failure
                    .breaks
                    .iter()
                    .map(|sentence| Broken { number: self.sentences.number(sentence), sentence })
                    .collect(),
            },
            Verdict::Broken(trouble) => More::Reason { why: &trouble.0 },
            Verdict::LeftOut(why) => More::Reason { why },
        };
        Row {
            name: &played.vector.name,
            title: &played.vector.title,
            mark: played.vector.mark.name(),
            decisions: &played.vector.decisions,
            verdict: played.verdict.name(),
            took_ms: played.took.as_millis(),
            more,
        }
    }
}
