//! `panewire panes`

use std::io::{self, Write as _};
use std::time::{Duration, SystemTime};

use panewire_core::Bridge;
use panewire_core::io::{Level, Request};
use panewire_core::limits::HERDR_BUDGET;
use panewire_host::arguments::{Places, Serve};
use panewire_host::listing::Listing;
use panewire_host::problem::quiet;
use panewire_host::surroundings::Surroundings;
use panewire_host::{Log, Problem, blocking, token};

use super::show::places_of;
use crate::PROGRAM;

/// What herdr may take, and as much again for the disk.
const WITHIN: Duration = HERDR_BUDGET.saturating_mul(2);

/// Asks a core of its own, as a client would ask the daemon.
pub(crate) fn run(places: &Places) -> Result<(), Problem> {
    let surroundings = Surroundings::find(places)?;
    let secret = token::random().map_err(Problem::new)?;
    let config = surroundings.config(&Serve { places: places.clone(), ..Serve::default() }, &secret)?;
    let authorization = format!("Bearer {secret}");
    let headers: [(&str, &[u8]); 2] = [("host", b"localhost"), ("authorization", authorization.as_bytes())];
    let request = Request { method: "GET", target: "/panes", headers: &headers, upgrade: false };
    let response = blocking::ask(&mut Bridge::new(config), request, Log::new(PROGRAM, Level::Warn), WITHIN)
        .map_err(Problem::new)?;
    if response.status != 200 {
        let text = String::from_utf8_lossy(&response.body);
        return Err(Problem::new(format_args!("{} {}", response.status, text.trim())));
    }
    let listing: Listing = serde_json::from_slice(&response.body).map_err(Problem::new)?;
    for warning in listing.warnings() {
        Log::new(PROGRAM, Level::Warn).write(Level::Warn, &warning);
    }
    if listing.panes.is_empty() {
        let _ = writeln!(io::stderr(), "panewire: no panes and no sessions below {}", places_of(&surroundings.roots));
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    quiet(listing.write(&mut out, SystemTime::now()).and_then(|()| out.flush()))
}
