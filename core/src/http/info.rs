//! `GET /info`: who answers here, and which wire it speaks.

use serde::Serialize;

use crate::config::Config;
use crate::device::Device;
use crate::mobile::PROTOCOL;

/// What is offered beyond the contract.
const FEATURES: &[&str] = &[
    "resume",
    "heartbeat",
    "entry",
    "drift",
    "roster",
    "branches",
    "card",
    "snapshot",
    "events",
    "answers",
    "attach",
    "pairing",
];

/// The wire form of `GET /info`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Info<'a> {
    name: &'static str,
    version: &'a str,
    protocol: u32,
    features: &'static [&'static str],
    server_id: &'a str,
    server_name: &'a str,
    /// `admin`, `full` or `read`.
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<Named<'a>>,
}

/// The device that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Named<'a> {
    id: &'a str,
    name: &'a str,
}

impl<'a> Info<'a> {
    /// What this daemon says about itself, and about the device that asks if it is one.
    #[must_use]
    pub fn of(config: &'a Config, device: Option<&'a Device>) -> Self {
        let Config { version, server, .. } = config;
        Self {
            name: "panewire",
            version,
            protocol: PROTOCOL,
            features: FEATURES,
            server_id: &server.id,
            server_name: &server.name,
            scope: device.map_or("admin", |device| device.scope.as_str()),
            device: device.map(|device| Named { id: device.id.as_str(), name: &device.name }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::Info;
    use crate::device::{Device, Scope};
    use crate::http::auth::TokenDigest;
    use crate::ids::DeviceId;
    use crate::time::UnixMillis;

    const SERVER: &str = concat!(
        r#"{"name":"panewire","version":"0.1.0","protocol":5,"features":["resume","heartbeat","entry","drift","roster","branches","card","snapshot","events","answers","attach","pairing"],"#,
        r#""server_id":"5e12e1d000000001","server_name":"box","#
    );

    #[test]
    fn the_fields_and_their_order() {
        let json = serde_json::to_string(&Info::of(&config(), None)).unwrap();
        assert_eq!(json, [SERVER, r#""scope":"admin"}"#].concat());
    }

    #[test]
    fn a_device_is_told_who_it_is() {
        let device = Device {
            id: DeviceId::from("1f2e3d4c"),
            name: "phone".into(),
            scope: Scope::Read,
            bearer: TokenDigest::of("x"),
            paired_at: UnixMillis(0),
            last_seen: UnixMillis(0),
        };
        let json = serde_json::to_string(&Info::of(&config(), Some(&device))).unwrap();
        assert_eq!(json, [SERVER, r#""scope":"read","device":{"id":"1f2e3d4c","name":"phone"}}"#].concat());
    }
}
