//! Operations on files and directories.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use panewire_core::ids::Handle;
use panewire_core::io::{DirEntry, Facts, FailureKind, FileIdentity, FileKind, FileTime};
use panewire_core::limits::{MAX_READ_BYTES, PAGE_READ_BYTES};
use rustix::fs::{Mode, OFlags};

use crate::answer::{Answer, Buffer, Piece};

/// Buffers of each kind kept for the next reads: one is looked at by the core while the next two are filled.
const KEPT_BUFFERS: usize = 3;

/// Buffers for the next reads. Those of scans are for scans alone: where pages take them, scans make more and more.
#[derive(Debug, Default)]
struct Buffers {
    pages: Vec<Buffer>,
    scans: Vec<Buffer>,
}

impl Buffers {
    fn for_reads_of(&mut self, len: usize) -> &mut Vec<Buffer> {
        if len > PAGE_READ_BYTES { &mut self.scans } else { &mut self.pages }
    }
}

/// The open files, and what is done with paths. Any thread may use it.
#[derive(Debug, Default)]
pub struct Files {
    open: Mutex<BTreeMap<Handle, Arc<File>>>,
    last: AtomicU64,
    buffers: Mutex<Buffers>,
}

impl Files {
    /// [`Op::Open`](panewire_core::io::Op::Open)
    pub fn open(&self, path: &str, under: Option<&str>) -> Answer {
        match open_regular(Path::new(path), under.map(Path::new)) {
            Ok((file, facts)) => {
                let handle = Handle(self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1));
                locked(&self.open).insert(handle, Arc::new(file));
                Answer::Opened { handle, facts }
            }
            Err(answer) => answer,
        }
    }

    /// [`Op::Read`](panewire_core::io::Op::Read), from the disk if need be.
    pub fn read(&self, handle: Handle, offset: u64, len: usize) -> Answer {
        let Some(file) = self.file(handle) else {
            return stale();
        };
        let mut buffer = self.buffer(len);
        loop {
            match file.read_at(buffer.room(len.min(MAX_READ_BYTES)), offset) {
                Ok(filled) => return bytes(&file, Piece::new(buffer, filled)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.into(),
            }
        }
    }

    /// The same from memory alone: `None` where that is not sure, and for pieces as long as a scan's, which are
    /// better read by another thread while the piece before is looked at.
    pub fn try_read_now(&self, handle: Handle, offset: u64, len: usize) -> Option<Answer> {
        if len > PAGE_READ_BYTES {
            return None;
        }
        let Some(file) = self.file(handle) else {
            return Some(stale());
        };
        let mut buffer = self.buffer(len);
        match read_cached(&file, buffer.room(len), offset) {
            Some(filled) => Some(bytes(&file, Piece::new(buffer, filled))),
            None => {
                self.recycle(Piece::new(buffer, 0));
                None
            }
        }
    }

    /// [`Op::Stat`](panewire_core::io::Op::Stat)
    pub fn stat(&self, path: &str) -> Answer {
        match fs::metadata(path) {
            Ok(metadata) => Answer::Facts(facts(&metadata)),
            Err(error) => error.into(),
        }
    }

    /// [`Op::CloseFile`](panewire_core::io::Op::CloseFile)
    pub fn close(&self, handle: Handle) -> Answer {
        locked(&self.open).remove(&handle);
        Answer::Done
    }

    /// [`Op::List`](panewire_core::io::Op::List)
    pub fn list(&self, path: &str, max_names: usize) -> Answer {
        let directory = match fs::read_dir(path) {
            Ok(directory) => directory,
            Err(error) => return error.into(),
        };
        let mut names = Vec::new();
        for entry in directory {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return error.into(),
            };
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if names.len() >= max_names {
                return Answer::Listing { names, truncated: true };
            }
            // A link to nothing, or a name that went away since, is no entry.
            if let Ok(metadata) = fs::metadata(entry.path()) {
                names.push(DirEntry { name, facts: facts(&metadata) });
            }
        }
        Answer::Listing { names, truncated: false }
    }

    /// [`Op::Write`](panewire_core::io::Op::Write)
    pub fn write(&self, path: &str, bytes: &[u8]) -> Answer {
        done(replace(Path::new(path), bytes))
    }

    /// [`Op::Load`](panewire_core::io::Op::Load)
    pub fn load(&self, path: &str, cap: usize) -> Answer {
        let file = match open_regular(Path::new(path), None) {
            Ok((file, _)) => file,
            Err(answer) => return answer,
        };
        let mut buffer = Vec::new();
        match (&file).take((cap as u64).saturating_add(1)).read_to_end(&mut buffer) {
            Ok(length) if length > cap => {
                Answer::Failed(FailureKind::TooLarge, format!("{path} is larger than {cap} bytes"))
            }
            Ok(length) => bytes(&file, Piece::new(buffer.into(), length)),
            Err(error) => error.into(),
        }
    }

    /// [`Op::Remove`](panewire_core::io::Op::Remove)
    pub fn remove(&self, path: &str) -> Answer {
        done(fs::remove_file(path))
    }

    /// [`Op::Append`](panewire_core::io::Op::Append)
    pub fn append(&self, path: &str, bytes: &[u8]) -> Answer {
        let path = Path::new(path);
        done(
            make_parent(path)
                .and_then(|()| OpenOptions::new().append(true).create(true).mode(0o600).open(path)?.write_all(bytes)),
        )
    }

    /// Keeps the buffer of a piece for the next read.
    pub fn recycle(&self, piece: Piece) {
        let buffer = piece.into_buffer();
        let mut buffers = locked(&self.buffers);
        let kept = buffers.for_reads_of(buffer.len());
        if kept.len() < KEPT_BUFFERS {
            kept.push(buffer);
        }
    }

    fn file(&self, handle: Handle) -> Option<Arc<File>> {
        locked(&self.open).get(&handle).cloned()
    }

    fn buffer(&self, len: usize) -> Buffer {
        locked(&self.buffers).for_reads_of(len).pop().unwrap_or_default()
    }
}

/// Replaces a file atomically, mode 0600, and makes its directory, mode 0700, if it is missing.
///
/// # Errors
/// What the operating system says; the old content is untouched then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_parent(path)?;
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.tmp", u64::from_ne_bytes(nonce)));
    let fresh = path.with_file_name(name);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_data()))
        .and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // The first error is the one worth telling.
        let _ = fs::remove_file(&fresh);
    }
    written
}

/// Makes a directory that only its owner can enter, and those above it, if they are missing.
///
/// # Errors
/// What the operating system says.
pub fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), make_directory)
}

/// Opens, and only then asks what was opened: a link that is turned between a check and the opening changes nothing.
fn open_regular(path: &Path, under: Option<&Path>) -> Result<(File, Facts), Answer> {
    // NONBLOCK: a pipe without a writer must not hold us. It has no meaning for a regular file.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let facts = facts(&file.metadata()?);
    if facts.kind != FileKind::File {
        return Err(Answer::Failed(FailureKind::Other, "not a regular file".to_owned()));
    }
    if let Some(under) = under {
        let root = fs::canonicalize(under)?;
        let inside = real_path(&file, facts.identity, path).is_some_and(|real| real.starts_with(&root));
        if !inside {
            return Err(Answer::Failed(FailureKind::Outside, "outside the directory that must contain it".to_owned()));
        }
    }
    Ok((file, facts))
}

/// The path of an open file with all links resolved.
#[cfg(target_os = "linux")]
fn real_path(file: &File, identity: FileIdentity, path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok().or_else(|| resolved_path(identity, path))
}

/// The path of an open file with all links resolved.
#[cfg(not(target_os = "linux"))]
fn real_path(_file: &File, identity: FileIdentity, path: &Path) -> Option<PathBuf> {
    resolved_path(identity, path)
}

/// What `path` resolves to, if that is the file that was opened.
fn resolved_path(identity: FileIdentity, path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    let found = facts(&fs::symlink_metadata(&real).ok()?);
    (found.identity == identity).then_some(real)
}

/// Reads what is in the page cache.
#[cfg(target_os = "linux")]
fn read_cached(file: &File, buffer: &mut [u8], offset: u64) -> Option<usize> {
    use rustix::io::{ReadWriteFlags, preadv2};
    preadv2(file, &mut [io::IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT).ok()
}

/// Reads what is in the page cache: this system cannot say what is.
#[cfg(not(target_os = "linux"))]
fn read_cached(_file: &File, _buffer: &mut [u8], _offset: u64) -> Option<usize> {
    None
}

fn bytes(file: &File, piece: Piece) -> Answer {
    match file.metadata() {
        Ok(metadata) => Answer::Bytes { piece, size_now: metadata.len() },
        Err(error) => error.into(),
    }
}

fn done(result: io::Result<()>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(error) => error.into(),
    }
}

fn stale() -> Answer {
    Answer::Failed(FailureKind::Other, "no such handle".to_owned())
}

fn facts(metadata: &Metadata) -> Facts {
    let kind = if metadata.is_file() {
        FileKind::File
    } else if metadata.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    };
    Facts {
        kind,
        identity: FileIdentity { device: metadata.dev(), inode: metadata.ino() },
        size: metadata.len(),
        modified: FileTime(metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())),
    }
}

/// A panic while a map is held leaves the map whole: each change is one call.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn text(path: &Path) -> &str {
        path.to_str().unwrap()
    }

    fn failure(answer: &Answer) -> FailureKind {
        match answer {
            Answer::Failed(kind, _) => *kind,
            other => panic!("not a failure: {other:?}"),
        }
    }

    fn opened(answer: &Answer) -> (Handle, Facts) {
        match answer {
            Answer::Opened { handle, facts } => (*handle, *facts),
            other => panic!("not opened: {other:?}"),
        }
    }

    fn read(answer: &Answer) -> (&[u8], u64) {
        match answer {
            Answer::Bytes { piece, size_now } => (piece.bytes(), *size_now),
            other => panic!("no bytes: {other:?}"),
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn reads_at_any_place_and_says_how_long_the_file_is_now() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, b"0123456789").unwrap();
        let files = Files::default();
        let (handle, facts) = opened(&files.open(text(&path), None));
        assert_eq!((facts.kind, facts.size), (FileKind::File, 10));
        assert_eq!(read(&files.read(handle, 3, 4)), (&b"3456"[..], 10));
        assert_eq!(read(&files.read(handle, 8, 100)), (&b"89"[..], 10));
        fs::write(&path, b"0123456789ab").unwrap();
        assert_eq!(read(&files.read(handle, 12, 100)), (&b""[..], 12));
        files.close(handle);
        assert_eq!(failure(&files.read(handle, 0, 1)), FailureKind::Other);
    }

    #[test]
    fn what_is_read_without_waiting_is_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, b"0123456789").unwrap();
        let files = Files::default();
        let (handle, _) = opened(&files.open(text(&path), None));
        // Nothing may be said at all where the system does not know; what is said must be right.
        for (offset, len, expected) in [(0, 5, &b"01234"[..]), (7, 64, b"789"), (10, 64, b"")] {
            if let Some(answer) = files.try_read_now(handle, offset, len) {
                assert_eq!(read(&answer), (expected, 10));
                files.recycle(match answer {
                    Answer::Bytes { piece, .. } => piece,
                    _ => Piece::default(),
                });
            }
        }
        assert!(files.try_read_now(handle, 0, PAGE_READ_BYTES + 1).is_none());
    }

    #[test]
    fn a_used_buffer_shows_nothing_of_what_it_held() {
        let directory = tempfile::tempdir().unwrap();
        let (long, short) = (directory.path().join("long"), directory.path().join("short"));
        fs::write(&long, [b'x'; 4096]).unwrap();
        fs::write(&short, b"ab").unwrap();
        let files = Files::default();
        let (long, _) = opened(&files.open(text(&long), None));
        let (short, _) = opened(&files.open(text(&short), None));
        if let Answer::Bytes { piece, .. } = files.read(long, 0, 4096) {
            files.recycle(piece);
        }
        assert_eq!(read(&files.read(short, 0, 4096)), (&b"ab"[..], 2));
    }

    #[test]
    fn a_page_takes_no_buffer_of_a_scan() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, [b'x'; 4096]).unwrap();
        let files = Files::default();
        let (file, _) = opened(&files.open(text(&path), None));
        for len in [MAX_READ_BYTES, PAGE_READ_BYTES] {
            if let Answer::Bytes { piece, .. } = files.read(file, 0, len) {
                files.recycle(piece);
            }
        }
        let kept = locked(&files.buffers);
        assert_eq!((kept.scans.len(), kept.pages.len()), (1, 1));
    }

    #[test]
    fn a_file_must_really_lie_where_it_has_to() {
        let directory = tempfile::tempdir().unwrap();
        let (root, outside) = (directory.path().join("root"), directory.path().join("outside"));
        fs::create_dir_all(root.join("deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join("deep/in.jsonl"), b"in").unwrap();
        fs::write(outside.join("out.jsonl"), b"out").unwrap();
        symlink(outside.join("out.jsonl"), root.join("file-link.jsonl")).unwrap();
        symlink(&outside, root.join("dir-link")).unwrap();
        symlink(root.join("deep"), root.join("inner-link")).unwrap();
        symlink(&root, directory.path().join("root-link")).unwrap();
        fs::create_dir(directory.path().join("root-beside")).unwrap();
        fs::write(directory.path().join("root-beside/x"), b"x").unwrap();
        let files = Files::default();
        let open = |path: &Path, under: &Path| files.open(text(path), Some(text(under)));

        opened(&open(&root.join("deep/in.jsonl"), &root));
        opened(&open(&root.join("inner-link/in.jsonl"), &root));
        opened(&open(&root.join("deep/in.jsonl"), &directory.path().join("root-link")));
        for path in ["file-link.jsonl", "dir-link/out.jsonl", "../outside/out.jsonl", "../root-beside/x"] {
            assert_eq!(failure(&open(&root.join(path), &root)), FailureKind::Outside, "{path}");
        }
        opened(&files.open(text(&root.join("file-link.jsonl")), None));
    }

    #[test]
    fn the_fallback_knows_the_file_by_its_identity() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("first"), directory.path().join("second"));
        fs::write(&first, b"1").unwrap();
        fs::write(&second, b"2").unwrap();
        let link = directory.path().join("link");
        symlink(&first, &link).unwrap();
        let identity = facts(&fs::metadata(&link).unwrap()).identity;
        assert_eq!(resolved_path(identity, &link), Some(fs::canonicalize(&first).unwrap()));
        fs::remove_file(&link).unwrap();
        symlink(&second, &link).unwrap();
        assert_eq!(resolved_path(identity, &link), None);
    }

    #[test]
    fn only_regular_files_are_opened_and_a_pipe_holds_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let files = Files::default();
        assert_eq!(failure(&files.open(text(&pipe), None)), FailureKind::Other);
        assert_eq!(failure(&files.load(text(&pipe), 10)), FailureKind::Other);
        assert_eq!(failure(&files.open(text(directory.path()), None)), FailureKind::Other);
        assert_eq!(failure(&files.open(text(&directory.path().join("none")), None)), FailureKind::NotFound);
    }

    #[test]
    fn a_listing_is_bounded_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(directory.path().join(name), name).unwrap();
        }
        symlink("nowhere", directory.path().join("broken")).unwrap();
        let files = Files::default();
        let Answer::Listing { mut names, truncated } = files.list(text(directory.path()), 100) else {
            panic!("no listing");
        };
        names.sort_by(|one, other| one.name.cmp(&other.name));
        let names: Vec<_> = names.iter().map(|entry| (entry.name.as_str(), entry.facts.size)).collect();
        assert_eq!((names, truncated), (vec![("a", 1), ("b", 1), ("c", 1)], false));
        let Answer::Listing { names, truncated } = files.list(text(directory.path()), 2) else {
            panic!("no listing");
        };
        assert!(names.len() <= 2 && truncated);
        assert_eq!(failure(&files.list(text(&directory.path().join("none")), 1)), FailureKind::NotFound);
    }

    #[test]
    fn our_own_files_are_private_and_replaced_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state/sub/index");
        let files = Files::default();
        assert!(matches!(files.write(text(&path), b"one"), Answer::Done));
        assert!(matches!(files.write(text(&path), b"two"), Answer::Done));
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let log = directory.path().join("state/log");
        assert!(matches!(files.append(text(&log), b"a"), Answer::Done));
        assert!(matches!(files.append(text(&log), b"b"), Answer::Done));
        assert_eq!((fs::read(&log).unwrap(), mode(&log)), (b"ab".to_vec(), 0o600));
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "no temporary file stays");
        let under_a_file = path.join("x");
        assert!(matches!(files.write(text(&under_a_file), b"x"), Answer::Failed(..)));
    }
}
