//! Every vector of the kit, and those of a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::vector::document::Vector;

include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

/// The file that makes a directory a vector.
const DOCUMENT: &str = "vector.json";

/// Vectors, by their names.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalog(Vec<Vector>);

impl Catalog {
    /// Those of the mobile contract that the kit carries in itself.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn mobile() -> Result<Self, String> {
        let mut files: BTreeMap<&str, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
        for (vector, file, bytes) in MOBILE {
            files.entry(vector).or_default().insert((*file).to_owned(), bytes.to_vec());
        }
        files.into_iter().map(|(name, files)| parse(name, files)).collect::<Result<_, _>>().map(Self)
    }

    /// Those of a directory: each lies in a directory of its own, with the name of its behaviour.
    ///
    /// # Errors
    /// If they cannot be read, or what is wrong with one of them.
    pub fn of(directory: &Path) -> Result<Self, String> {
        let told = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        let mut vectors = Vec::new();
        for entry in fs::read_dir(directory).map_err(|error| told(directory, error))? {
            let path = entry.map_err(|error| told(directory, error))?.path();
            if !path.join(DOCUMENT).is_file() {
                continue;
            }
            let mut files = BTreeMap::new();
            for file in fs::read_dir(&path).map_err(|error| told(&path, error))? {
                let file = file.map_err(|error| told(&path, error))?;
                let bytes = fs::read(file.path()).map_err(|error| told(&file.path(), error))?;
                files.insert(file.file_name().to_string_lossy().into_owned(), bytes);
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            vectors.push(parse(&name, files)?);
        }
        if vectors.is_empty() {
            return Err(format!("{}: there is no vector: a directory with {DOCUMENT} is one", directory.display()));
        }
        vectors.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self(vectors))
    }

    /// The vectors, sorted by name.
    #[must_use]
    pub fn vectors(&self) -> &[Vector] {
        &self.0
    }

    /// The vector of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Vector> {
        self.0.iter().find(|vector| vector.name == name)
    }
}

fn parse(name: &str, mut files: BTreeMap<String, Vec<u8>>) -> Result<Vector, String> {
    let document = files.remove(DOCUMENT).ok_or_else(|| format!("{name}: {DOCUMENT} is missing"))?;
    Vector::parse(name, &document, files)
}
