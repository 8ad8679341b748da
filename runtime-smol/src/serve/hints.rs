//! Brings what happens in watched directories to the core.

use std::sync::Arc;

use async_io::Async;
use panewire_host::Inbox;
use panewire_host::inotify::Directories;

/// Brings hints, for ever. Where they cannot be waited for, the core looks at its files by the clock.
pub(crate) async fn run(directories: Arc<Directories>, inbox: Inbox) {
    let Ok(descriptor) = directories.descriptor().and_then(Async::new) else {
        return;
    };
    while descriptor.readable().await.is_ok() {
        inbox.hints(directories.changes()).await;
    }
}
