//! Lists what a WebAssembly module imports, and fails if that is anything.

use std::process::ExitCode;
use std::{env, fs};

/// The section that names imports, as the WebAssembly specification numbers it.
const IMPORT_SECTION: u8 = 2;

fn main() -> ExitCode {
    let Some(path) = env::args_os().nth(1) else {
        eprintln!("usage: imports FILE.wasm");
        return ExitCode::from(2);
    };
    let module = match fs::read(&path) {
        Ok(module) => module,
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            return ExitCode::from(2);
        }
    };
    match imports(&module) {
        None => {
            eprintln!("{}: not a WebAssembly module", path.display());
            ExitCode::from(2)
        }
        Some(0) => {
            println!("{} bytes, 0 imports", module.len());
            ExitCode::SUCCESS
        }
        Some(count) => {
            println!("{} bytes, {count} imports", module.len());
            ExitCode::FAILURE
        }
    }
}

/// How many imports a module declares.
fn imports(module: &[u8]) -> Option<u64> {
    let mut rest = module.strip_prefix(b"\0asm\x01\0\0\0")?;
    while let Some((id, after)) = rest.split_first() {
        let (length, body) = number(after)?;
        let (section, next) = body.split_at_checked(usize::try_from(length).ok()?)?;
        if *id == IMPORT_SECTION {
            return number(section).map(|(count, _)| count);
        }
        rest = next;
    }
    Some(0)
}

/// An unsigned LEB128 number, and what follows it.
fn number(mut bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value, bytes));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_counted() {
        let empty = b"\0asm\x01\0\0\0";
        assert_eq!(imports(empty), Some(0));
        assert_eq!(imports(b"MZ"), None);
        // A type section, then an import section with one function `a.b`.
        let one = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02\x07\x01\x01a\x01b\0\0";
        assert_eq!(imports(one), Some(1));
        let cut = b"\0asm\x01\0\0\0\x01\x04\x01";
        assert_eq!(imports(cut), None);
        let long_length = b"\0asm\x01\0\0\0\x00\x83\x80\x00abc";
        assert_eq!(imports(long_length), Some(0));
    }
}
