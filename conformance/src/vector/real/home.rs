//! The files of a vector in a real directory.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::vector::document::Vector;
use crate::vector::stage::{Change, Trouble};

/// What a file is called before it has its name; no transcript is called so.
const BESIDE: &str = ".conformance-new";
/// Who may read a file that was spoilt, and one that was healed.
const UNREADABLE: u32 = 0o000;
const READABLE: u32 = 0o644;

/// The home directory of the agents. What a vector made in it is known, and can be taken away again.
#[derive(Debug)]
pub(super) struct Home {
    directory: PathBuf,
    made: Vec<PathBuf>,
}

impl Home {
    pub(super) const fn at(directory: PathBuf) -> Self {
        Self { directory, made: Vec::new() }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Puts the files of a vector there.
    pub(super) fn put(&mut self, vector: &Vector) -> Result<(), Trouble> {
        for file in &vector.files {
            let bytes = vector.bytes(&file.content)?;
            let path = self.path(&file.file)?;
            let modified = SystemTime::now() - Duration::from_secs(file.age_s.into());
            let made = self.make(&path).and_then(|mut made| {
                made.write_all(&bytes)?;
                made.set_modified(modified)
            });
            made.map_err(|error| Trouble(format!("cannot make {}: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Changes a file, as an agent would.
    pub(super) fn change(&mut self, file: &str, change: &Change) -> Result<(), Trouble> {
        let path = self.path(file)?;
        let to = if let Change::Rename(to) = change { self.path(to)? } else { path.clone() };
        if let Some(theirs) = [&path, &to].into_iter().find(|path| path.exists() && !self.made.contains(path)) {
            return Err(Trouble(format!("{} is not the kit's: it is left as it is", theirs.display())));
        }
        let changed = match change {
            Change::Append(bytes) => self.open(&path).and_then(|mut file| file.write_all(bytes)),
            Change::Write(bytes) => self.write(&path, bytes),
            Change::Replace(bytes) => replace(&path, bytes),
            Change::Overwrite(offset, bytes) => {
                OpenOptions::new().write(true).open(&path).and_then(|file| file.write_all_at(bytes, *offset))
            }
            Change::Truncate(length) => {
                OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(*length))
            }
            Change::Rename(_) => self.rename(&path, &to),
            Change::Delete => fs::remove_file(&path),
            Change::Spoil => permit(&path, UNREADABLE),
            Change::Heal => permit(&path, READABLE),
        };
        changed.map_err(|error| Trouble(format!("cannot change {}: {error}", path.display())))
    }

    /// Takes away what was made, and nothing else.
    pub(super) fn clear(&mut self) -> Result<(), Trouble> {
        let mut failed = None;
        while let Some(path) = self.made.pop() {
            let gone = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
            match gone {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    failed = failed.or_else(|| Some(format!("cannot take {} away: {error}", path.display())));
                }
                Ok(()) | Err(_) => {}
            }
        }
        failed.map_or(Ok(()), |failed| Err(Trouble(failed)))
    }

    fn path(&self, file: &str) -> Result<PathBuf, Trouble> {
        let below = file.strip_prefix("~/").filter(|below| below.split('/').all(|part| part != ".."));
        below.map(|below| self.directory.join(below)).ok_or_else(|| {
            Trouble(format!(
                "{file} does not lie below the home directory: the kit writes nowhere else on this machine"
            ))
        })
    }

    /// A file that was not there.
    fn make(&mut self, path: &Path) -> io::Result<File> {
        self.make_parents(path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        self.made.push(path.into());
        Ok(file)
    }

    /// A file at whose end is written.
    fn open(&mut self, path: &Path) -> io::Result<File> {
        match OpenOptions::new().append(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make(path),
            opened => opened,
        }
    }

    /// The same file with another content. It is never empty in between; who looks then sees neither the old nor the new.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = match OpenOptions::new().write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make(path)?,
            opened => opened?,
        };
        file.set_len(file.metadata()?.len().min(u64::try_from(bytes.len()).unwrap_or(u64::MAX)))?;
        file.write_all_at(bytes, 0)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.make_parents(to)?;
        fs::rename(from, to)?;
        // What was below a directory that moved is below its new name.
        let moved: Vec<PathBuf> =
            self.made.iter().filter_map(|made| made.strip_prefix(from).ok().map(|rest| to.join(rest))).collect();
        self.made.retain(|made| !made.starts_with(from));
        self.made.extend(moved.into_iter().map(|path| path.components().collect::<PathBuf>()));
        Ok(())
    }

    fn make_parents(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<PathBuf> =
            path.ancestors().skip(1).take_while(|parent| !parent.exists()).map(Path::to_path_buf).collect();
        for parent in missing.into_iter().rev() {
            fs::create_dir(&parent)?;
            self.made.push(parent);
        }
        Ok(())
    }
}

fn permit(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_file_name(BESIDE);
    fs::write(&beside, bytes)?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn changed(home: &mut Home, file: &str, change: Change) -> Option<String> {
        home.change(file, &change).unwrap();
        let bytes = fs::read(home.path(file).unwrap()).ok()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn files_change_as_agents_change_them() {
        let directory = tempfile::tempdir().unwrap();
        let mut home = Home::at(directory.path().into());
        let inode = || fs::metadata(directory.path().join("a/b.jsonl")).unwrap().ino();
        assert_eq!(changed(&mut home, "~/a/b.jsonl", Change::Append(b"one\n".into())).unwrap(), "one\n");
        let first = inode();
        assert_eq!(changed(&mut home, "~/a/b.jsonl", Change::Append(b"two\n".into())).unwrap(), "one\ntwo\n");
        assert_eq!(changed(&mut home, "~/a/b.jsonl", Change::Overwrite(4, b"2".into())).unwrap(), "one\n2wo\n");
        assert_eq!(changed(&mut home, "~/a/b.jsonl", Change::Truncate(5)).unwrap(), "one\n2");
        assert_eq!(changed(&mut home, "~/a/b.jsonl", Change::Write(b"x".into())).unwrap(), "x");
        assert_eq!(changed(&mut home, "~/a/b.jsonl", Change::Write(b"longer".into())).unwrap(), "longer");
        assert_eq!(inode(), first);
        assert_eq!(changed(&mut home, "~/new/a", Change::Write(b"first".into())).unwrap(), "first");
        assert_eq!(changed(&mut home, "~/a/b.jsonl", Change::Replace(b"new".into())).unwrap(), "new");
        assert_ne!(inode(), first);
        assert_eq!(changed(&mut home, "~/a", Change::Rename("~/c/d".into())), None);
        assert_eq!(fs::read(directory.path().join("c/d/b.jsonl")).unwrap(), b"new");
        assert_eq!(changed(&mut home, "~/c/d/b.jsonl", Change::Delete), None);
    }

    #[test]
    fn nobody_may_read_a_file_for_a_while() {
        let directory = tempfile::tempdir().unwrap();
        let mut home = Home::at(directory.path().into());
        changed(&mut home, "~/a", Change::Append(b"x".into()));
        home.change("~/a", &Change::Spoil).unwrap();
        assert_eq!(fs::metadata(directory.path().join("a")).unwrap().mode() & 0o777, 0);
        assert_eq!(changed(&mut home, "~/a", Change::Heal).unwrap(), "x");
    }

    #[test]
    fn what_was_made_is_taken_away_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("old")).unwrap();
        fs::write(directory.path().join("old/theirs"), "").unwrap();
        let mut home = Home::at(directory.path().into());
        for file in ["~/old/ours", "~/new/deep/ours", "~/moved/ours"] {
            home.change(file, &Change::Append(Vec::new())).unwrap();
        }
        home.change("~/moved", &Change::Rename("~/away".into())).unwrap();
        home.clear().unwrap();
        let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["old"]);
        assert_eq!(fs::read_dir(directory.path().join("old")).unwrap().count(), 1);
    }

    #[test]
    fn nothing_outside_and_nothing_of_others_is_touched() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("theirs"), "x").unwrap();
        let mut home = Home::at(directory.path().into());
        assert!(home.make(&directory.path().join("theirs")).is_err());
        let trouble = home.change("~/theirs", &Change::Append(b"y".into())).unwrap_err();
        assert!(trouble.0.ends_with("theirs is not the kit's: it is left as it is"), "{trouble}");
        for file in ["/etc/passwd", "~/../x", "x"] {
            let trouble = home.change(file, &Change::Append(Vec::new())).unwrap_err();
            assert!(trouble.0.contains("does not lie below the home directory"), "{trouble}");
        }
    }
}
