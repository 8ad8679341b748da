//! The list of devices as it is kept on disk.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Device, Scope};
use crate::http::auth::TokenDigest;
use crate::ids::DeviceId;
use crate::limits::MAX_DEVICES;
use crate::time::UnixMillis;

/// Its file in the state directory.
pub(super) const NAME: &str = "devices.json";

/// The number of this form. A file with another one was written by another version.
const FORMAT: u32 = 1;

/// The bytes of a list.
pub(super) fn write(devices: &[Device]) -> Bytes {
    let devices = devices.iter().map(Row::from).collect();
    // Text and numbers only: there is nothing in it that JSON could not hold.
    let mut bytes = serde_json::to_vec(&Kept { format: FORMAT, devices }).unwrap_or_default();
    bytes.push(b'\n');
    bytes.into()
}

/// The list in these bytes.
///
/// # Errors
/// What is wrong with it, in words. One device that makes no sense makes the whole file suspicious.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Device>, String> {
    let kept: Kept = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if kept.format != FORMAT {
        return Err(format!("its format is {}, and not {FORMAT}", kept.format));
    }
    if kept.devices.len() > MAX_DEVICES {
        return Err(format!("it holds {} devices, and {MAX_DEVICES} are allowed", kept.devices.len()));
    }
    let ids: BTreeSet<&str> = kept.devices.iter().map(|row| row.id.as_str()).collect();
    if ids.len() < kept.devices.len() {
        return Err("two devices have one id".to_string());
    }
    kept.devices.into_iter().map(Row::into_device).collect()
}

#[derive(Serialize, Deserialize)]
struct Kept {
    format: u32,
    devices: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    id: String,
    name: String,
    scope: Scope,
    digest: String,
    paired_at: i64,
    last_seen: i64,
}

impl From<&Device> for Row {
    fn from(device: &Device) -> Self {
        Self {
            id: device.id.0.clone(),
            name: device.name.clone(),
            scope: device.scope,
            digest: device.bearer.to_string(),
            paired_at: device.paired_at.0,
            last_seen: device.last_seen.0,
        }
    }
}

impl Row {
    fn into_device(self) -> Result<Device, String> {
        let Self { id, name, scope, digest, paired_at, last_seen } = self;
        let bearer = TokenDigest::from_hex(&digest).ok_or_else(|| format!("the digest of device {id} is none"))?;
        let (paired_at, last_seen) = (UnixMillis(paired_at), UnixMillis(last_seen));
        Ok(Device { id: DeviceId(id), name, scope, bearer, paired_at, last_seen })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn phone() -> Device {
        Device {
            id: DeviceId::from("1f2e3d4c"),
            name: "Ana's \"phone\"".into(),
            scope: Scope::Read,
            bearer: TokenDigest::of("abc"),
            paired_at: UnixMillis(1_788_600_000_000),
            last_seen: UnixMillis(1_788_603_600_000),
        }
    }

    #[test]
    fn what_is_written_is_read_and_holds_no_bearer() {
        let bytes = write(&[phone()]);
        let text = concat!(
            r#"{"format":1,"devices":[{"id":"1f2e3d4c","name":"Ana's \"phone\"","scope":"read","#,
            r#""digest":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","#,
            r#""paired_at":1788600000000,"last_seen":1788603600000}]}"#,
            "\n"
        );
        assert_eq!(core::str::from_utf8(&bytes), Ok(text));
        assert_eq!(read(&bytes), Ok(vec![phone()]));
        assert_eq!(read(&write(&[])), Ok(vec![]));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let text = core::str::from_utf8(&write(&[phone()])).unwrap().to_string();
        let wrong = |from: &str, to: &str| read(text.replace(from, to).as_bytes()).unwrap_err();
        assert_eq!(wrong("\"format\":1", "\"format\":2"), "its format is 2, and not 1");
        assert_eq!(wrong("ba7816", "za7816"), "the digest of device 1f2e3d4c is none");
        assert_eq!(wrong("ba7816", "ba781"), "the digest of device 1f2e3d4c is none");
        assert!(wrong("\"read\"", "\"all\"").starts_with("unknown variant `all`"));
        assert!(wrong("]}", "").starts_with("EOF while parsing"));
        assert!(read(b"").unwrap_err().starts_with("EOF while parsing"));
        assert_eq!(read(&write(&[phone(), phone()])).unwrap_err(), "two devices have one id");
        let many: Vec<Device> = (0..65).map(|n| Device { id: DeviceId(format!("{n:08x}")), ..phone() }).collect();
        assert_eq!(read(&write(&many)).unwrap_err(), "it holds 65 devices, and 64 are allowed");
    }
}
