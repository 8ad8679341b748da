//! `panewire devices`: who was paired, and the end of that.

use std::io::{self, BufWriter, Write};
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::json;

use crate::arguments::Places;
use crate::daemon::Daemon;
use crate::listing::{ago, one_line};
use crate::problem::{Problem, print, quiet};

/// Lists the devices of the running daemon.
///
/// # Errors
/// [`Problem`] if there is no daemon, or it cannot read its list.
pub fn list(places: &Places) -> Result<(), Problem> {
    let daemon = Daemon::find(None, places)?;
    let Listed { devices } = daemon.ask("/admin/devices", None)?.json("the devices cannot be listed")?;
    if devices.is_empty() {
        let _ = writeln!(io::stderr(), "panewire: no device is paired; 'panewire pair' pairs one");
    }
    let mut out = BufWriter::new(io::stdout().lock());
    quiet(write(&devices, &mut out, SystemTime::now()).and_then(|()| out.flush()))
}

/// Revokes a device of the running daemon.
///
/// # Errors
/// [`Problem`] if there is no daemon, or no such device.
pub fn revoke(id: &str, places: &Places) -> Result<(), Problem> {
    let daemon = Daemon::find(None, places)?;
    let reply = daemon.ask("/admin/devices/revoke", Some(&json!({"id": id}).to_string()))?;
    if reply.status == 404 {
        let id = one_line(id);
        return Err(Problem::new(format_args!("there is no device {id}: 'panewire devices' lists what there is")));
    }
    let Revoked { name } = reply.json("the device cannot be revoked")?;
    print(&format!("revoked {}: what it had open is closed\n", one_line(&name)))
}

/// The answer to `GET /admin/devices`.
#[derive(Deserialize)]
struct Listed {
    devices: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    name: String,
    scope: String,
    paired_at: i64,
    last_seen: i64,
}

/// The answer to `POST /admin/devices/revoke`.
#[derive(Deserialize)]
struct Revoked {
    name: String,
}

fn write(devices: &[Row], out: &mut impl Write, now: SystemTime) -> io::Result<()> {
    for Row { id, name, scope, paired_at, last_seen } in devices {
        let may = if scope == "read" { "reads only" } else { "reads and answers" };
        let (paired, seen) = (ago(*paired_at, now), ago(*last_seen, now));
        writeln!(out, "{id}  {}, {may}, paired {paired}, last seen {seen}", one_line(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_device_is_one_line() {
        let json = r#"{"devices":[
            {"id":"1f2e3d4c","name":"Ana's phone","scope":"full","paired_at":0,"last_seen":3600000},
            {"id":"0a0b0c0d","name":"wall","scope":"read","paired_at":7000000,"last_seen":7190000}]}"#;
        let Listed { devices } = serde_json::from_str(json).unwrap();
        let mut out = Vec::new();
        write(&devices, &mut out, UNIX_EPOCH + Duration::from_secs(7_200)).unwrap();
        let expected = "1f2e3d4c  Ana's phone, reads and answers, paired 2 h ago, last seen 1 h ago\n\
                        0a0b0c0d  wall, reads only, paired 3 min ago, last seen just now\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
