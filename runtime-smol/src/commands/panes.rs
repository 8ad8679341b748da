//! `panewire panes`
use panewire_host::arguments::Places;

use crate::Problem;

pub(crate) fn run(_places: &Places) -> Result<(), Problem> {
    Err(Problem::new("not yet"))
}
