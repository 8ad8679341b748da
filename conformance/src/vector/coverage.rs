//! Which sentences of the contract are proven, by which vectors, and why others are not.

use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

use crate::vector::catalog::Catalog;
use crate::vector::document::Mark;
use crate::vector::sentence::Sentences;

const HEAD: &str = "\
# What the vectors prove

The mobile transcript contract, sentence by sentence, and behind it the contract of the card (`GET /agent-state`), with the
`seed` vectors that prove each or the reason why there is none. A sentence ends at its full stop; a row of a table is one, and
so is an example. Names are ours: the numbers count the contracts' own order, headings left out.

This page is made by `panewire-conformance coverage`; a test fails when it is not what the vectors say. How to write and play
vectors: [Conformance](conformance.md).
";

/// Sentences and the vectors that prove them.
#[derive(Debug)]
pub struct Coverage<'a> {
    catalog: &'a Catalog,
    sentences: &'a Sentences,
    proofs: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Coverage<'a> {
    /// What these vectors prove of these sentences.
    #[must_use]
    pub fn of(catalog: &'a Catalog, sentences: &'a Sentences) -> Self {
        let mut proofs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for vector in catalog.vectors().iter().filter(|vector| vector.mark == Mark::Seed) {
            vector.proven().for_each(|sentence| {
                proofs.entry(sentence).or_default().insert(&vector.name);
            });
        }
        Self { catalog, sentences, proofs }
    }

    /// Sentences with neither a vector nor a reason, or with both, and vectors that prove what the contract does not say.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (number, sentence) in self.sentences.numbered() {
            let name = &sentence.name;
            match (self.proofs.contains_key(name.as_str()), &sentence.untested) {
                (false, None) => faults.push(format!("sentence {number}, {name}: no seed vector and no reason why")),
                (true, Some(_)) => {
                    faults.push(format!("sentence {number}, {name}: a seed vector and a reason why not"))
                }
                (true, None) | (false, Some(_)) => {}
            }
        }
        for vector in self.catalog.vectors() {
            let unknown = vector.proven().filter(|name| self.sentences.number(name).is_none());
            faults.extend(unknown.map(|name| format!("{}: there is no sentence {name}", vector.name)));
        }
        faults
    }

    /// The page of the book.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = String::from(HEAD);
        let proven = self.sentences.numbered().filter(|(_, sentence)| sentence.untested.is_none()).count();
        let all = self.sentences.numbered().count();
        let _ = writeln!(page, "\n{proven} of {all} sentences are proven by a vector.");
        let mut numbers = 1..;
        for section in self.sentences.sections() {
            let _ = write!(page, "\n## {}\n\n| | sentence | vectors |\n|---|---|---|\n", section.section);
            for (sentence, number) in section.sentences.iter().zip(numbers.by_ref()) {
                let vectors = self.proofs.get(sentence.name.as_str()).into_iter().flatten();
                let vectors: Vec<String> = vectors.map(|name| format!("`{name}`")).collect();
                let proof = sentence.untested.clone().unwrap_or_else(|| vectors.join(", "));
                let _ = writeln!(page, "| {number} | {} | {proof} |", sentence.name);
            }
        }
        self.list(&mut page, Mark::Decided, "Our decisions", "Where the contract is silent, or the original wrong");
        self.list(&mut page, Mark::Beyond, "Beyond the contract", "Additions that a server may lack");
        page
    }

    fn list(&self, page: &mut String, mark: Mark, heading: &str, what: &str) {
        let of_mark: Vec<_> = self.catalog.vectors().iter().filter(|vector| vector.mark == mark).collect();
        let numbered = of_mark.iter().any(|vector| !vector.decisions.is_empty());
        let head = if numbered {
            "| vector | decisions | behaviour |\n|---|---|---|"
        } else {
            "| vector | behaviour |\n|---|---|"
        };
        let _ = write!(page, "\n## {heading}\n\n{what}: `{}` vectors.\n\n{head}\n", mark.name());
        for vector in of_mark {
            let decisions: Vec<String> = vector.decisions.iter().map(ToString::to_string).collect();
            let decisions = if numbered { format!("{} | ", decisions.join(", ")) } else { String::new() };
            let _ = writeln!(page, "| `{}` | {decisions}{} |", vector.name, vector.title);
        }
    }
}
