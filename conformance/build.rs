//! Puts every vector into the program, so that the kit is one file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("vectors").join("mobile");
    let mut list = String::from("/// Vector, file, content.\nconst MOBILE: &[(&str, &str, &[u8])] = &[\n");
    for vector in sorted(&root)? {
        if vector.is_dir() {
            println!("cargo::rerun-if-changed={}", vector.display());
            for file in sorted(&vector)? {
                let of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                writeln!(list, "    ({:?}, {:?}, include_bytes!({file:?})),", of(&vector), of(&file))
                    .map_err(io::Error::other)?;
            }
        }
    }
    list.push_str("];\n");
    println!("cargo::rerun-if-changed={}", root.display());
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("vectors.rs"), list)
}

fn sorted(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}
