//! Watches on directories, by Linux's inotify.
//!
//! Directories are watched and not files: a watch on a file ends with the file, and a file that is renamed over it is
//! never seen. Changes are read by whoever waits for [`Directories::descriptor`]; no thread does.

use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use panewire_core::ids::WatchId;
use panewire_core::io::Input;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

use crate::answer::Answer;

/// Bytes of changes that are read at once.
const READ_BYTES: usize = 4 * 1024;

/// The watched directories. Any thread may use it.
#[derive(Debug)]
pub struct Directories {
    inotify: OwnedFd,
    last: AtomicU64,
    /// Who is told of what the system says about each of its watches: two paths may lead to one directory.
    watches: Mutex<BTreeMap<i32, Vec<WatchId>>>,
}

/// Something that happened in a watched directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file of this name may have changed, or anything.
    Hint(WatchId, Option<String>),
    /// The directory is gone, or lies elsewhere.
    Ended(WatchId),
}

impl Change {
    /// The same as the core takes it.
    #[must_use]
    pub fn as_input(&self) -> Input<'_> {
        match self {
            Self::Hint(watch, name) => Input::Hint(*watch, name.as_deref()),
            Self::Ended(watch) => Input::WatchEnded(*watch),
        }
    }
}

impl Directories {
    /// Begins without watches.
    ///
    /// # Errors
    /// What the operating system says: a user may have only so many of these.
    pub fn begin() -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { inotify, last: AtomicU64::new(0), watches: Mutex::default() })
    }

    /// A descriptor that can be read when there are [changes](Self::changes).
    ///
    /// # Errors
    /// What the operating system says.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.inotify.try_clone()
    }

    /// [`Op::Watch`](panewire_core::io::Op::Watch)
    pub fn watch(&self, directory: &str) -> Answer {
        let flags = WatchFlags::MODIFY
            | WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        // Not while the map is held: this may wait for a disk, and whoever reads changes must not.
        match inotify::add_watch(&self.inotify, directory, flags) {
            Ok(number) => {
                let watch = WatchId(self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1));
                self.watches().entry(number).or_default().push(watch);
                Answer::Watching(watch)
            }
            Err(error) => error.into(),
        }
    }

    /// [`Op::Unwatch`](panewire_core::io::Op::Unwatch)
    pub fn unwatch(&self, watch: WatchId) -> Answer {
        let mut watches = self.watches();
        let Some((number, of)) = watches.iter_mut().find(|(_, of)| of.contains(&watch)) else {
            return Answer::Done;
        };
        let number = *number;
        of.retain(|other| *other != watch);
        if of.is_empty() {
            self.end(&mut watches, number);
        }
        Answer::Done
    }

    /// Takes what happened, as much as one read gives; nothing if nothing did.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let mut buffer = [MaybeUninit::uninit(); READ_BYTES];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut watches = self.watches();
        let mut changes = Vec::new();
        while let Ok(event) = reader.next() {
            let events = event.events();
            let name = event.file_name().map(|name| name.to_str().map(str::to_owned));
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                // What happened is lost: it may have been anything.
                changes.extend(watches.values().flatten().map(|watch| Change::Hint(*watch, None)));
            } else if events.intersects(ReadFlags::IGNORED | ReadFlags::MOVE_SELF) {
                let number = event.wd();
                changes.extend(watches.get(&number).into_iter().flatten().map(|watch| Change::Ended(*watch)));
                self.end(&mut watches, number);
            } else {
                let hint = |watch: &WatchId| match &name {
                    None => Some(Change::Hint(*watch, None)),
                    Some(Ok(name)) => Some(Change::Hint(*watch, Some(name.clone()))),
                    // The core's paths are text: none of them can be meant.
                    Some(Err(_)) => None,
                };
                changes.extend(watches.get(&event.wd()).into_iter().flatten().filter_map(hint));
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        changes.dedup();
        changes
    }

    /// Whether everything that happened was taken.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        rustix::io::ioctl_fionread(&self.inotify).is_ok_and(|bytes| bytes == 0)
    }

    fn end(&self, watches: &mut BTreeMap<i32, Vec<WatchId>>, number: i32) {
        if watches.remove(&number).is_some() {
            // It fails where the system has ended the watch itself.
            let _ = inotify::remove_watch(&self.inotify, number);
        }
    }

    fn watches(&self) -> MutexGuard<'_, BTreeMap<i32, Vec<WatchId>>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::path::Path;

    use panewire_core::io::FailureKind;

    use super::*;

    fn watch(directories: &Directories, path: &Path) -> WatchId {
        match directories.watch(path.to_str().unwrap()) {
            Answer::Watching(watch) => watch,
            other => panic!("not watched: {other:?}"),
        }
    }

    fn hint(watch: WatchId, name: &str) -> Change {
        Change::Hint(watch, Some(name.to_owned()))
    }

    #[test]
    fn whatever_happens_to_a_file_is_a_hint_with_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let directories = Directories::begin().unwrap();
        let id = watch(&directories, directory.path());
        assert_eq!(directories.changes(), []);
        let mut file = fs::File::create(path("a")).unwrap();
        file.write_all(b"1").unwrap();
        file.write_all(b"2").unwrap();
        assert!(!directories.is_silent());
        assert_eq!(directories.changes(), [hint(id, "a")], "equal ones in a row are one");
        assert!(directories.is_silent());
        fs::write(path("b"), b"x").unwrap();
        fs::rename(path("b"), path("a")).unwrap();
        assert_eq!(directories.changes(), [hint(id, "b"), hint(id, "a")]);
        fs::remove_file(path("a")).unwrap();
        assert_eq!(directories.changes(), [hint(id, "a")]);
    }

    #[test]
    fn a_watch_that_was_given_back_says_nothing_more() {
        let directory = tempfile::tempdir().unwrap();
        let directories = Directories::begin().unwrap();
        let (one, other) = (watch(&directories, directory.path()), watch(&directories, &directory.path().join(".")));
        directories.unwatch(one);
        fs::write(directory.path().join("a"), b"").unwrap();
        assert_eq!(directories.changes(), [hint(other, "a")]);
        directories.unwatch(other);
        fs::write(directory.path().join("b"), b"").unwrap();
        assert_eq!(directories.changes(), []);
    }

    #[test]
    fn a_directory_that_goes_away_or_elsewhere_is_not_watched_any_more() {
        let root = tempfile::tempdir().unwrap();
        let (gone, moved) = (root.path().join("gone"), root.path().join("moved"));
        fs::create_dir(&gone).unwrap();
        fs::create_dir(&moved).unwrap();
        let directories = Directories::begin().unwrap();
        let (first, second) = (watch(&directories, &gone), watch(&directories, &moved));
        fs::remove_dir(&gone).unwrap();
        assert_eq!(directories.changes(), [Change::Hint(first, None), Change::Ended(first)]);
        fs::rename(&moved, root.path().join("elsewhere")).unwrap();
        assert_eq!(directories.changes(), [Change::Ended(second)]);
        fs::write(root.path().join("elsewhere/a"), b"").unwrap();
        assert_eq!(directories.changes(), []);
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let directories = Directories::begin().unwrap();
        for path in [file.path(), Path::new("/nowhere/at/all")] {
            let answer = directories.watch(path.to_str().unwrap());
            assert!(matches!(answer, Answer::Failed(FailureKind::NotFound, _)), "{answer:?}");
        }
    }
}
