//! Names and what they name: directories, files with an identity of their own, symbolic links.

use std::collections::BTreeMap;

use panewire_core::io::{DirEntry, Facts, FailureKind, FileIdentity, FileKind, FileTime};

/// Links that are followed in one path at most.
const MAX_LINKS: usize = 16;

/// The tree of names. Files live as long as a name or an open handle holds them: they are never dropped here, so a handle
/// keeps its file as on Unix.
#[derive(Debug)]
pub(super) struct Tree {
    names: BTreeMap<String, Node>,
    files: BTreeMap<u64, File>,
    next_inode: u64,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Directory { inode: u64, modified: FileTime },
    File { inode: u64 },
    Link { target: String },
}

/// The content of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) modified: FileTime,
}

impl Tree {
    pub(super) fn new(now: FileTime) -> Self {
        let mut names = BTreeMap::new();
        names.insert("/".into(), Node::Directory { inode: 2, modified: now });
        Self { names, files: BTreeMap::new(), next_inode: 1_000 }
    }

    /// The path behind all links, and what is there.
    pub(super) fn resolve(&self, path: &str) -> Result<String, FailureKind> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            match self.first_link(&path) {
                Some(next) => path = next,
                None if self.names.contains_key(&path) => return Ok(path),
                None => return Err(FailureKind::NotFound),
            }
        }
        Err(FailureKind::Other)
    }

    /// The path with its first link replaced, if there is one.
    fn first_link(&self, path: &str) -> Option<String> {
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        for end in ends {
            let (head, rest) = path.split_at(end);
            if let Some(Node::Link { target }) = self.names.get(head) {
                return Some(format!("{target}{rest}"));
            }
        }
        None
    }

    pub(super) fn facts(&self, path: &str) -> Result<Facts, FailureKind> {
        let path = self.resolve(path)?;
        match self.names.get(&path) {
            Some(Node::Directory { inode, modified }) => Ok(Facts {
                kind: FileKind::Directory,
                identity: FileIdentity { device: 1, inode: *inode },
                size: 4096,
                modified: *modified,
            }),
            Some(Node::File { inode }) => Ok(self.facts_of(*inode)),
            _ => Err(FailureKind::NotFound),
        }
    }

    pub(super) fn facts_of(&self, inode: u64) -> Facts {
        let (size, modified) = self.files.get(&inode).map_or((0, FileTime(0)), |f| (f.bytes.len(), f.modified));
        Facts {
            kind: FileKind::File,
            identity: FileIdentity { device: 1, inode },
            size: u64::try_from(size).unwrap_or(u64::MAX),
            modified,
        }
    }

    /// The inode of the file that a path names, links followed.
    pub(super) fn inode(&self, path: &str) -> Result<u64, FailureKind> {
        match self.names.get(&self.resolve(path)?) {
            Some(Node::File { inode }) => Ok(*inode),
            Some(_) => Err(FailureKind::Other),
            None => Err(FailureKind::NotFound),
        }
    }

    pub(super) fn file(&self, inode: u64) -> Option<&File> {
        self.files.get(&inode)
    }

    pub(super) fn file_mut(&mut self, inode: u64) -> Option<&mut File> {
        self.files.get_mut(&inode)
    }

    /// Names in a directory in the order of a hash, not of the alphabet: nobody may depend on it.
    pub(super) fn list(&self, path: &str) -> Result<Vec<DirEntry>, FailureKind> {
        let path = self.resolve(path)?;
        if !matches!(self.names.get(&path), Some(Node::Directory { .. })) {
            return Err(FailureKind::Other);
        }
        let prefix = if path == "/" { path } else { format!("{path}/") };
        let below = self.names.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
        let mut entries: Vec<DirEntry> = below
            .filter_map(|(name, _)| name.strip_prefix(&prefix))
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .filter_map(|name| {
                Some(DirEntry { name: name.into(), facts: self.facts(&format!("{prefix}{name}")).ok()? })
            })
            .collect();
        entries.sort_by_key(|entry| entry.name.bytes().rev().collect::<Vec<_>>());
        Ok(entries)
    }

    /// Makes the directory and those above it, where they are missing.
    pub(super) fn make_directory(&mut self, path: &str, now: FileTime) {
        if path.is_empty() || self.resolve(path).is_ok() {
            return;
        }
        self.make_directory(parent(path), now);
        let inode = self.take_inode();
        self.bind(path, Node::Directory { inode, modified: now }, now);
    }

    /// A new, empty file under this name, whatever was there: another file than before.
    pub(super) fn make_file(&mut self, path: &str, now: FileTime) -> u64 {
        self.make_directory(parent(path), now);
        let inode = self.take_inode();
        self.files.insert(inode, File { bytes: Vec::new(), modified: now });
        self.bind(path, Node::File { inode }, now);
        inode
    }

    pub(super) fn make_link(&mut self, path: &str, target: &str, now: FileTime) {
        self.make_directory(parent(path), now);
        self.bind(path, Node::Link { target: target.into() }, now);
    }

    /// Takes a name and everything below it away. Open handles do not notice.
    pub(super) fn unbind(&mut self, path: &str, now: FileTime) {
        let below = format!("{path}/");
        self.names.retain(|name, _| name != path && !name.starts_with(&below));
        self.touch_directory(parent(path), now);
    }

    /// Gives a name, and everything below it, another name.
    pub(super) fn rename(&mut self, from: &str, to: &str, now: FileTime) {
        let below = format!("{from}/");
        let moved: Vec<(String, Node)> = self
            .names
            .iter()
            .filter(|(name, _)| *name == from || name.starts_with(&below))
            .map(|(name, node)| (name.replacen(from, to, 1), node.clone()))
            .collect();
        self.unbind(from, now);
        self.make_directory(parent(to), now);
        for (name, node) in moved {
            self.bind(&name, node, now);
        }
    }

    fn bind(&mut self, path: &str, node: Node, now: FileTime) {
        self.names.insert(path.into(), node);
        self.touch_directory(parent(path), now);
    }

    fn touch_directory(&mut self, path: &str, now: FileTime) {
        if let Ok(path) = self.resolve(path)
            && let Some(Node::Directory { modified, .. }) = self.names.get_mut(&path)
        {
            *modified = now;
        }
    }

    const fn take_inode(&mut self) -> u64 {
        self.next_inode += 1;
        self.next_inode
    }
}

/// The directory of a path.
pub(super) fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}
