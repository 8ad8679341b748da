//! Devices on the wire: codes, bearers, the list.

use alloc::vec::Vec;

use serde::Serialize;

use crate::config::Server;
use crate::device::{Device, Scope};
use crate::limits::CODE_LIFETIME;

/// The answer to `POST /admin/pairing`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offered<'a> {
    code: &'a str,
    /// Where the device opens a page that pairs it. The code is in the fragment, which no browser sends to anybody.
    url: &'a str,
    scope: Scope,
    expires_in_s: u64,
}

impl<'a> Offered<'a> {
    /// The answer for this code, just opened.
    #[must_use]
    pub const fn of(code: &'a str, url: &'a str, scope: Scope) -> Self {
        Self { code, url, scope, expires_in_s: CODE_LIFETIME.as_secs() }
    }
}

/// The answer to `POST /pair`.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[expect(missing_debug_implementations, reason = "nobody shall write a bearer into a log")]
pub struct Paired<'a> {
    id: &'a str,
    bearer: &'a str,
    name: &'a str,
    scope: Scope,
    server_id: &'a str,
    server_name: &'a str,
}

impl<'a> Paired<'a> {
    /// What the device must know: who it is now, and with whom.
    #[must_use]
    pub fn of(device: &'a Device, bearer: &'a str, server: &'a Server) -> Self {
        let Device { id, name, scope, .. } = device;
        Self { id: id.as_str(), bearer, name, scope: *scope, server_id: &server.id, server_name: &server.name }
    }
}

/// The answer to `GET /admin/devices`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listing<'a> {
    devices: Vec<Row<'a>>,
}

/// A device, without its bearer and without the digest of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Row<'a> {
    id: &'a str,
    name: &'a str,
    scope: Scope,
    paired_at: i64,
    last_seen: i64,
}

impl<'a> Listing<'a> {
    /// These devices, in this order.
    #[must_use]
    pub fn of(devices: impl Iterator<Item = &'a Device>) -> Self {
        Self { devices: devices.map(Row::from).collect() }
    }
}

impl<'a> From<&'a Device> for Row<'a> {
    fn from(device: &'a Device) -> Self {
        let Device { id, name, scope, paired_at, last_seen, .. } = device;
        Self { id: id.as_str(), name, scope: *scope, paired_at: paired_at.0, last_seen: last_seen.0 }
    }
}

/// The answer to `POST /admin/devices/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Revoked<'a> {
    revoked: bool,
    name: &'a str,
}

impl<'a> Revoked<'a> {
    /// The device of this name is none any more.
    #[must_use]
    pub const fn of(name: &'a str) -> Self {
        Self { revoked: true, name }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::http::auth::TokenDigest;
    use crate::ids::DeviceId;
    use crate::time::UnixMillis;

    fn phone() -> Device {
        Device {
            id: DeviceId::from("1f2e3d4c"),
            name: "phone".into(),
            scope: Scope::Read,
            bearer: TokenDigest::of("x"),
            paired_at: UnixMillis(1_788_600_000_000),
            last_seen: UnixMillis(1_788_603_600_000),
        }
    }

    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }

    #[test]
    fn the_fields_and_their_order() {
        let server = Server { id: "5e12e1d000000001".into(), name: "box".into(), url: "http://127.0.0.1:8787".into() };
        assert_eq!(
            json(&Offered::of("K7QM3XTP", "http://127.0.0.1:8787/#pair=K7QM3XTP", Scope::Full)),
            r#"{"code":"K7QM3XTP","url":"http://127.0.0.1:8787/#pair=K7QM3XTP","scope":"full","expires_in_s":300}"#
        );
        assert_eq!(
            json(&Paired::of(&phone(), "b", &server)),
            concat!(
                r#"{"id":"1f2e3d4c","bearer":"b","name":"phone","scope":"read","#,
                r#""server_id":"5e12e1d000000001","server_name":"box"}"#
            )
        );
        assert_eq!(
            json(&Listing::of([phone()].iter())),
            concat!(
                r#"{"devices":[{"id":"1f2e3d4c","name":"phone","scope":"read","#,
                r#""paired_at":1788600000000,"last_seen":1788603600000}]}"#
            )
        );
        assert_eq!(json(&Revoked::of("phone")), r#"{"revoked":true,"name":"phone"}"#);
    }
}
