//! `run`: plays the vectors, and tells what came of them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use panewire_conformance::vector::{Catalog, Played, Report, Sentences, Simulated, Vector, play};

/// What is written where the command line makes no sense.
pub(crate) const USAGE: &str = "\
usage: panewire-conformance run --core [--only NAME]... [--strict] [--vectors DIR]
       panewire-conformance run --list [--only NAME]... [--vectors DIR]";

/// What is to be played, and on what.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    core: bool,
    list: bool,
    strict: bool,
    only: Vec<String>,
    vectors: Option<PathBuf>,
}

impl Wanted {
    /// Reads the command line behind `run`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut wanted = Self::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value\n{USAGE}"));
            match word {
                "--core" => wanted.core = true,
                "--list" => wanted.list = true,
                "--strict" => wanted.strict = true,
                "--only" => wanted.only.push(value()?.into()),
                "--vectors" => wanted.vectors = Some(value()?.into()),
                _ => return Err(format!("{word} is no option of run\n{USAGE}")),
            }
        }
        if wanted.core || wanted.list { Ok(wanted) } else { Err(format!("what is to be played?\n{USAGE}")) }
    }

    /// Plays them: 0 if the contract is kept, 1 if not.
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let catalog = self.vectors.as_deref().map_or_else(Catalog::mobile, Catalog::of)?;
        let sentences = Sentences::mobile()?;
        let vectors: Vec<&Vector> = catalog.vectors().iter().filter(|vector| self.wants(vector)).collect();
        if vectors.is_empty() {
            return Err(format!("no vector is named {}: see run --list", self.only.join(" or ")));
        }
        if self.list {
            for vector in vectors {
                let slow = if vector.slow { ", slow" } else { "" };
                println!("{} ({}{slow}): {}", vector.name, vector.mark.name(), vector.title);
            }
            return Ok(ExitCode::SUCCESS);
        }
        let began = Instant::now();
        let played = vectors.into_iter().map(|vector| {
            let began = Instant::now();
            let verdict = play(vector, &mut Simulated::new());
            Played { vector, verdict, took: began.elapsed() }
        });
        let played = played.collect();
        let report = Report { subject: "the core".into(), played, took: began.elapsed(), sentences: &sentences };
        print!("{report}");
        Ok(if report.keeps(self.strict) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn wants(&self, vector: &Vector) -> bool {
        self.only.is_empty() || self.only.contains(&vector.name)
    }
}
