//! `GET /info`: who answers here, and which wire it speaks.

use serde::Serialize;

use crate::config::Config;
use crate::mobile::PROTOCOL;

/// What is offered beyond the contract.
const FEATURES: &[&str] = &["resume", "heartbeat", "entry", "drift", "roster"];

/// The wire form of `GET /info`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Info<'a> {
    name: &'static str,
    version: &'a str,
    protocol: u32,
    features: &'static [&'static str],
}

impl<'a> Info<'a> {
    /// What this daemon says about itself.
    #[must_use]
    pub fn of(config: &'a Config) -> Self {
        Self { name: "panewire", version: &config.version, protocol: PROTOCOL, features: FEATURES }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::Info;

    #[test]
    fn the_fields_and_their_order() {
        let config = config();
        let json = serde_json::to_string(&Info::of(&config)).unwrap();
        assert_eq!(
            json,
            r#"{"name":"panewire","version":"0.1.0","protocol":5,"features":["resume","heartbeat","entry","drift","roster"]}"#
        );
    }
}
