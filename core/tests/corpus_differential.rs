//! Every pi and Codex file of the corpus, read in different ways, when it is at hand: `PANEWIRE_SHARED=<directory> cargo
//! test`. Whole, in pieces, and from any checkpoint it is the same; damaged, it is read as it is counted.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

mod corpus;
mod hostile;

use std::ops::ControlFlow;

use panewire_core::agent::codex::CodexReader;
use panewire_core::agent::pi::PiReader;
use panewire_core::agent::{Caps, Line, Reader, State};
use panewire_core::entry::Entry;
use panewire_core::source::lines::LineSplitter;

const KINDS: [(&str, &dyn Reader); 2] = [("pi", &PiReader), ("codex", &CodexReader)];

/// Lines that are read behind a checkpoint.
const LINES: usize = 200;

fn each_file(mut each: impl FnMut(&str, &dyn Reader, &[u8])) {
    for (kind, reader) in KINDS {
        for file in corpus::files(kind).into_iter().flatten() {
            each(&file.display().to_string(), reader, &std::fs::read(&file).unwrap());
        }
    }
}

/// What a line says behind others.
fn read_on(reader: &dyn Reader, state: &mut State, line: &Line<'_>, entries: &mut Vec<Entry>) {
    let before = entries.len();
    reader.read_after(state, line, &Caps::WIRE, 0, &mut |entry| {
        entries.push(entry);
        ControlFlow::Continue(())
    });
    assert_eq!(reader.counted_after(state, line).entries, (entries.len() - before) as u64);
}

/// The entries of a file that is read in pieces of some bytes.
fn in_pieces(reader: &dyn Reader, bytes: &[u8], size: usize) -> Vec<Entry> {
    let (mut splitter, mut state, mut entries) = (LineSplitter::new(0, 1 << 26), State::default(), Vec::new());
    for piece in bytes.chunks(size) {
        let _: ControlFlow<()> = splitter.push(piece, |line| {
            read_on(reader, &mut state, &line, &mut entries);
            ControlFlow::Continue(())
        });
    }
    read_on(reader, &mut state, &splitter.tail_line(), &mut entries);
    entries
}

#[test]
fn in_pieces_it_is_the_same_as_whole() {
    each_file(|file, reader, bytes| {
        let whole = hostile::entries_of(reader, bytes);
        for size in [61, 65_536] {
            assert_eq!(in_pieces(reader, bytes, size), whole, "{file} in pieces of {size}");
        }
    });
}

#[test]
fn from_every_sixteenth_on_it_is_the_same() {
    each_file(|file, reader, bytes| {
        let whole = hostile::entries_of(reader, bytes);
        let (mut state, mut seen, mut offset, mut next) = (State::default(), Vec::new(), 0_usize, 0);
        let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
        for (number, line) in lines.iter().enumerate() {
            if offset >= next {
                next += bytes.len() / 16 + 1;
                // Only what a checkpoint keeps.
                let (mut kept, mut at) = (State::new(state.as_bytes().to_vec()).unwrap(), offset as u64);
                let mut behind = Vec::new();
                for bytes in lines[number..].iter().take(LINES) {
                    read_on(reader, &mut kept, &Line { offset: at, bytes, over_cap: None }, &mut behind);
                    at += bytes.len() as u64 + 1;
                }
                assert!(whole[seen.len()..].starts_with(&behind), "{file} from {offset} on");
            }
            read_on(reader, &mut state, &Line { offset: offset as u64, bytes: line, over_cap: None }, &mut seen);
            offset += line.len() + 1;
        }
        assert_eq!(seen, whole, "{file}");
    });
}

#[test]
fn damaged_it_is_read_as_it_is_counted() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = move |end: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % end.max(1) as u64).unwrap()
    };
    each_file(|_, reader, bytes| {
        for _ in 0..12 {
            let from = below(bytes.len());
            let mut some = bytes[from..bytes.len().min(from + 8_192)].to_vec();
            for _ in 0..6 {
                let at = below(some.len());
                match below(4) {
                    0 => some.truncate(at),
                    1 => some.insert(at, b"{}[]\",:\\\n\0\xff"[below(11)]),
                    2 => drop(some.drain(at..some.len().min(at + 40))),
                    _ => some.extend_from_within(at..),
                }
            }
            hostile::counting_and_reading_agree(reader, &some).unwrap();
        }
    });
}
