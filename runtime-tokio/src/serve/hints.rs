//! Brings what happens in watched directories to the core.

use std::sync::Arc;

use panewire_host::Inbox;
use panewire_host::inotify::Directories;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Brings hints, for ever. Where they cannot be waited for, the core looks at its files by the clock.
pub(crate) async fn run(directories: Arc<Directories>, inbox: Inbox) {
    let Ok(descriptor) = directories.descriptor() else {
        return;
    };
    #[expect(
        deprecated,
        reason = "an owned descriptor stays what it is, which is all that the unsafe successor asks for"
    )]
    let registered = AsyncFd::with_interest(descriptor, Interest::READABLE);
    let Ok(descriptor) = registered else {
        return;
    };
    while let Ok(mut readable) = descriptor.readable().await {
        inbox.hints(directories.changes()).await;
        // Readiness is told once: it is forgotten only when nothing is left.
        if directories.is_silent() {
            readable.clear_ready();
        }
    }
}
