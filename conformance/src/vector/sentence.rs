//! The sentences of a contract, each with a number and a name of our own, and what stands for those without a vector.

use serde::Deserialize;

/// The sentences of the mobile transcript contract.
const MOBILE: &str = include_str!("../../vectors/mobile/sentences.json");

/// Every sentence, in the contract's order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Sentences(Vec<Section>);

/// What stands under one heading of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The heading, in our words.
    pub section: String,
    /// Its sentences.
    pub sentences: Vec<Sentence>,
}

/// One sentence, or one row of a table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sentence {
    /// The behaviour it asks for.
    pub name: String,
    /// Why there is no vector for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
}

impl Sentences {
    /// Those of the mobile transcript contract.
    ///
    /// # Errors
    /// If the kit's own list cannot be read.
    pub fn mobile() -> Result<Self, String> {
        serde_json::from_str(MOBILE).map_err(|error| format!("sentences.json: {error}"))
    }

    /// The sections, in order.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.0
    }

    /// Every sentence with its number, which counts from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &Sentence)> {
        (1..).zip(self.0.iter().flat_map(|section| &section.sentences))
    }

    /// The number of the sentence of this name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<usize> {
        self.numbered().find(|(_, sentence)| sentence.name == name).map(|(number, _)| number)
    }
}
