//! Brings what happens in watched directories to the core.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use async_io::Async;
use futures_lite::future::yield_now;
use panewire_host::Performer;
use panewire_host::inotify::Directories;

use super::driver::Driver;

/// The watched directories, and when there is something to read of them.
#[derive(Debug)]
pub(crate) struct Hints {
    directories: Arc<Directories>,
    descriptor: Async<OwnedFd>,
}

impl Hints {
    /// Lets this performer watch directories.
    pub(crate) fn begin(performer: &mut Performer) -> io::Result<Self> {
        let directories = Arc::new(Directories::begin()?);
        let descriptor = Async::new(directories.descriptor()?)?;
        performer.watch_with(Arc::clone(&directories));
        Ok(Self { directories, descriptor })
    }

    /// Brings hints to the core, for ever. Without them it looks at its files by the clock.
    pub(crate) async fn run(self, driver: Rc<Driver>) {
        while self.descriptor.readable().await.is_ok() {
            for change in self.directories.changes() {
                driver.input(change.as_input());
            }
            yield_now().await;
        }
    }
}
