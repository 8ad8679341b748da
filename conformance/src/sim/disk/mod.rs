//! A disk in memory that behaves as a Unix one does: a file is what a handle holds, a name only points at it.

mod faults;
mod tree;

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use panewire_core::ids::Handle;
use panewire_core::io::{FailureKind, FileKind, FileTime, Op};

pub use faults::Effect;
use faults::{Faults, Met};
use tree::Tree;

use crate::sim::reply::Reply;

/// The operations that are counted and can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpKind {
    /// [`Op::Open`]
    Open,
    /// [`Op::Read`]
    Read,
    /// [`Op::Stat`]
    Stat,
    /// [`Op::List`]
    List,
    /// [`Op::Write`]
    Write,
    /// [`Op::Append`]
    Append,
    /// [`Op::Load`]
    Load,
    /// [`Op::Remove`]
    Remove,
}

/// One operation that the core asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// What it did.
    pub kind: OpKind,
    /// The path it named, or the one its handle was opened by.
    pub path: String,
    /// For a read: where it began.
    pub offset: u64,
    /// For a read: how much it asked for.
    pub len: usize,
}

/// The virtual disk. A scenario changes it as an agent would; the world performs operations on it.
#[derive(Debug)]
pub struct Disk {
    tree: Tree,
    now: FileTime,
    handles: BTreeMap<Handle, Opened>,
    next_handle: u64,
    faults: Faults,
    accesses: Vec<Access>,
    /// The names that changed, or whose files did.
    changes: Vec<String>,
}

#[derive(Debug)]
struct Opened {
    inode: u64,
    path: String,
}

/// What an operation gave, and how long its outcome is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Performed {
    /// The answer.
    pub reply: Reply,
    /// When it arrives, from now.
    pub after: Duration,
}

/// What a scenario does to the disk.
impl Disk {
    /// An empty disk.
    #[must_use]
    pub fn new(now: FileTime) -> Self {
        Self {
            tree: Tree::new(now),
            now,
            handles: BTreeMap::new(),
            next_handle: 0,
            faults: Faults::default(),
            accesses: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The time stamp of whatever changes from now on.
    pub const fn set_time(&mut self, now: FileTime) {
        self.now = now;
    }

    /// Makes a directory and those above it.
    pub fn make_directory(&mut self, path: &str) {
        self.tree.make_directory(path, self.now);
    }

    /// Appends to a file; it is made if missing. Torn writes are several calls.
    pub fn append(&mut self, path: &str, bytes: impl AsRef<[u8]>) {
        let now = self.now;
        if let Some(file) = self.inode_for_writing(path).and_then(|inode| self.tree.file_mut(inode)) {
            file.bytes.extend_from_slice(bytes.as_ref());
            file.modified = now;
        }
        self.changed(path);
    }

    /// Writes a file in place: the same file, shorter or longer, with this content. Made if missing.
    pub fn write(&mut self, path: &str, bytes: impl AsRef<[u8]>) {
        self.change(path, |content| {
            content.clear();
            content.extend_from_slice(bytes.as_ref());
        });
    }

    /// Overwrites part of a file in place; it may grow.
    pub fn overwrite(&mut self, path: &str, offset: usize, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.change(path, |content| {
            let end = offset.saturating_add(bytes.len());
            content.resize(content.len().max(end), 0);
            if let Some(part) = content.get_mut(offset..end) {
                part.copy_from_slice(bytes);
            }
        });
    }

    /// Cuts a file in place.
    pub fn truncate(&mut self, path: &str, len: usize) {
        self.change(path, |content| content.truncate(len));
    }

    /// Writes another file beside it and renames it over this name: the path names another file afterwards.
    pub fn replace(&mut self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.tree.resolve(path).unwrap_or_else(|_| path.to_owned());
        let inode = self.tree.make_file(&path, self.now);
        if let Some(file) = self.tree.file_mut(inode) {
            file.bytes = bytes.as_ref().to_vec();
        }
        self.changes.push(path);
    }

    /// Takes a name away. Whoever has the file open keeps it.
    pub fn delete(&mut self, path: &str) {
        self.tree.unbind(path, self.now);
        self.changes.push(path.into());
    }

    /// Moves a file or a directory; what was there is replaced.
    pub fn rename(&mut self, from: &str, to: &str) {
        self.tree.rename(from, to, self.now);
        self.changes.extend([from.into(), to.into()]);
    }

    /// Makes a symbolic link to an absolute path, which need not exist.
    pub fn link(&mut self, path: &str, target: &str) {
        self.tree.make_link(path, target, self.now);
        self.changes.push(path.into());
    }

    /// Sets a file's time stamp.
    pub fn set_modified(&mut self, path: &str, modified: FileTime) {
        if let Some(file) = self.tree.inode(path).ok().and_then(|inode| self.tree.file_mut(inode)) {
            file.modified = modified;
        }
    }

    /// The content of a file now.
    #[must_use]
    pub fn content(&self, path: &str) -> Option<&[u8]> {
        let inode = self.tree.inode(path).ok()?;
        self.tree.file(inode).map(|file| file.bytes.as_slice())
    }

    /// From now on operations of this kind on this path (empty: on any) meet this, until [`heal`](Self::heal).
    pub fn spoil(&mut self, kind: OpKind, path: &str, effect: Effect) {
        self.faults.add(kind, path, effect, None);
    }

    /// The next `times` operations of this kind on this path (empty: on any) meet this.
    pub fn spoil_times(&mut self, times: u32, kind: OpKind, path: &str, effect: Effect) {
        self.faults.add(kind, path, effect, Some(times));
    }

    /// Everything works again.
    pub fn heal(&mut self) {
        self.faults.clear();
    }

    /// How many operations met a fault so far.
    #[must_use]
    pub const fn faults_met(&self) -> u64 {
        self.faults.met()
    }

    /// The names in a directory; none if there is no such directory.
    #[must_use]
    pub fn names(&self, path: &str) -> Vec<String> {
        self.tree.list(path).unwrap_or_default().into_iter().map(|entry| entry.name).collect()
    }

    /// The process that had files open is gone.
    pub fn close_all(&mut self) {
        self.handles.clear();
    }

    /// What the core did to the disk since this was asked for last.
    pub fn take_accesses(&mut self) -> Vec<Access> {
        core::mem::take(&mut self.accesses)
    }

    /// The files that are open now, by the path they were opened by.
    #[must_use]
    pub fn open_files(&self) -> Vec<&str> {
        self.handles.values().map(|opened| opened.path.as_str()).collect()
    }

    fn change(&mut self, path: &str, how: impl FnOnce(&mut Vec<u8>)) {
        let now = self.now;
        if let Some(file) = self.inode_for_writing(path).and_then(|inode| self.tree.file_mut(inode)) {
            how(&mut file.bytes);
            file.modified = now;
        }
        self.changed(path);
    }

    /// A file was written: its directory is the one it really lies in.
    fn changed(&mut self, path: &str) {
        if let Ok(real) = self.tree.resolve(path) {
            self.changes.push(real);
        }
    }

    fn inode_for_writing(&mut self, path: &str) -> Option<u64> {
        match self.tree.inode(path) {
            Ok(inode) => Some(inode),
            Err(FailureKind::NotFound) => Some(self.tree.make_file(path, self.now)),
            Err(_) => None,
        }
    }
}

/// What the world does with it.
impl Disk {
    /// The names that changed since this was asked for last.
    pub fn take_changes(&mut self) -> Vec<String> {
        core::mem::take(&mut self.changes)
    }

    /// The directory that this path names, behind all links.
    #[must_use]
    pub fn real_directory(&self, path: &str) -> Option<String> {
        let real = self.tree.resolve(path).ok()?;
        self.tree.facts(&real).is_ok_and(|facts| facts.kind == FileKind::Directory).then_some(real)
    }

    /// Performs an operation; `None` if it is none for a disk.
    pub fn perform(&mut self, op: &Op) -> Option<Performed> {
        let (kind, path, offset, len) = match op {
            Op::Open { path, .. } => (OpKind::Open, path.clone(), 0, 0),
            Op::Read { handle, offset, len } => {
                let path = self.handles.get(handle).map(|opened| opened.path.clone()).unwrap_or_default();
                (OpKind::Read, path, *offset, *len)
            }
            Op::Stat { path } => (OpKind::Stat, path.clone(), 0, 0),
            Op::List { path, .. } => (OpKind::List, path.clone(), 0, 0),
            Op::Write { path, .. } => (OpKind::Write, path.clone(), 0, 0),
            Op::Append { path, .. } => (OpKind::Append, path.clone(), 0, 0),
            Op::Load { path, .. } => (OpKind::Load, path.clone(), 0, 0),
            Op::Remove { path } => (OpKind::Remove, path.clone(), 0, 0),
            Op::CloseFile { handle } => {
                self.close(*handle);
                return Some(Performed { reply: Reply::Done, after: Duration::ZERO });
            }
            _ => return None,
        };
        let met = self.faults.meet(kind, &path);
        self.accesses.push(Access { kind, path, offset, len });
        let reply = met.failure.map_or_else(|| self.reply(op, met), Reply::failed);
        Some(Performed { reply, after: met.after })
    }

    /// Forgets a handle, as a runtime does with the outcome of an `Open` that nobody waits for any more.
    pub fn close(&mut self, handle: Handle) -> bool {
        self.handles.remove(&handle).is_some()
    }

    fn reply(&mut self, op: &Op, met: Met) -> Reply {
        let answered = match op {
            Op::Open { path, under } => self.open(path, under.as_deref()),
            Op::Read { handle, offset, len } => self.read(*handle, *offset, (*len).min(met.at_most)),
            Op::Stat { path } => self.tree.facts(path).map(Reply::Facts),
            Op::List { path, max_names } => self.tree.list(path).map(|mut names| {
                let truncated = names.len() > *max_names;
                names.truncate(*max_names);
                Reply::Listing(names, truncated)
            }),
            Op::Write { path, bytes } => {
                self.replace(path, bytes);
                Ok(Reply::Done)
            }
            Op::Load { path, cap } => self.load(path, *cap),
            Op::Remove { path } => {
                self.delete(path);
                Ok(Reply::Done)
            }
            Op::Append { path, bytes } => {
                self.append(path, bytes);
                Ok(Reply::Done)
            }
            _ => Ok(Reply::Done),
        };
        answered.unwrap_or_else(Reply::failed)
    }

    fn open(&mut self, path: &str, under: Option<&str>) -> Result<Reply, FailureKind> {
        let real = self.tree.resolve(path)?;
        if let Some(under) = under
            && !real.starts_with(&format!("{}/", self.tree.resolve(under)?))
        {
            return Err(FailureKind::Outside);
        }
        let facts = self.tree.facts(&real)?;
        if facts.kind != FileKind::File {
            return Err(FailureKind::Other);
        }
        self.next_handle += 1;
        let handle = Handle(self.next_handle);
        self.handles.insert(handle, Opened { inode: facts.identity.inode, path: path.into() });
        Ok(Reply::Opened(handle, facts))
    }

    fn load(&self, path: &str, cap: usize) -> Result<Reply, FailureKind> {
        let inode = self.tree.inode(path)?;
        let content = self.tree.file(inode).map_or(&[][..], |file| &file.bytes);
        if content.len() > cap {
            return Err(FailureKind::TooLarge);
        }
        Ok(Reply::Bytes(Bytes::copy_from_slice(content), content.len() as u64))
    }

    fn read(&self, handle: Handle, offset: u64, len: usize) -> Result<Reply, FailureKind> {
        let opened = self.handles.get(&handle).ok_or(FailureKind::Other)?;
        let content = self.tree.file(opened.inode).map_or(&[][..], |file| &file.bytes);
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let to = from.saturating_add(len).min(content.len());
        let bytes = content.get(from..to).map(Bytes::copy_from_slice).unwrap_or_default();
        Ok(Reply::Bytes(bytes, self.tree.facts_of(opened.inode).size))
    }
}

#[cfg(test)]
mod tests;
