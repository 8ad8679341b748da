//! `panewire token`

use std::io::{self, Write as _};

use panewire_host::arguments::Places;
use panewire_host::daemon::bring_new_token;
use panewire_host::problem::print;
use panewire_host::surroundings::Surroundings;
use panewire_host::{Problem, token};

/// Prints the token that is in force, or a new one.
pub(crate) fn run(rotate: bool, places: &Places) -> Result<(), Problem> {
    let unusable = |error| Problem::new(format_args!("cannot use the token: {error}"));
    let from_variable = token::from_environment().map_err(unusable)?;
    if rotate && from_variable.is_some() {
        return Err(Problem::new("PANEWIRE_TOKEN replaces the token file: change that variable, or unset it"));
    }
    if let Some(secret) = from_variable {
        return print(&format!("{secret}\n"));
    }
    let state_dir = Surroundings::find(places)?.state_dir;
    let secret = if rotate { token::rotate(&state_dir) } else { token::load(&state_dir) }.map_err(unusable)?;
    if rotate && let Some(said) = bring_new_token(places, &state_dir) {
        let _ = writeln!(io::stderr(), "panewire: {said}");
    }
    print(&format!("{secret}\n"))
}
