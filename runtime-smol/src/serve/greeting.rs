//! What a person reads on standard error when the daemon starts.
use super::driver::Driver;
use panewire_host::Log;
use std::rc::Rc;

pub(crate) async fn greet(_driver: Rc<Driver>, _secret: String, _log: Log) {}
