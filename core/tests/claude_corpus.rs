//! Every Claude Code file of the corpus, when it is at hand: `PANEWIRE_SHARED=<directory> cargo test`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

mod corpus;

use std::ops::ControlFlow;
use std::path::Path;

use panewire_core::agent::Reader;
use panewire_core::agent::claude::{ClaudeReader, Selection, recorded};
use panewire_core::source::json::{Chars, Piece, Scanner, Token};

/// Files whose unreadable lines are meant to be unreadable, by the end of their names, and why.
const WRONG_ON_PURPOSE: &[(&str, &str)] = &[
    ("test_data/edge_cases.jsonl", "hand-made: bare strings, numbers and lists as lines, messages without content"),
    ("proj-a/0a000000-0000-4000-8000-000000000001.jsonl", "hand-made: a line of prose among the records"),
];

#[test]
fn the_corpus_is_read_without_loss() {
    let reader = |file: &Path| -> Box<dyn Reader> {
        let child = file.file_name().unwrap().to_string_lossy().starts_with("agent-");
        Box::new(ClaudeReader { selection: if child { Selection::Child } else { Selection::Main } })
    };
    corpus::is_read_without_loss("claude", 0.002, WRONG_ON_PURPOSE, reader, |head| drop(recorded(head)));
}

#[test]
fn every_string_of_the_corpus_is_the_same_in_pieces_and_one_by_one() {
    let Some(files) = corpus::files("claude") else { return };
    let mut strings = 0_u64;
    for file in &files {
        for line in std::fs::read(file).unwrap().split(|&byte| byte == b'\n') {
            let mut scanner = Scanner::new(line, 0);
            while let Ok(token) = scanner.step() {
                let (Token::Text(written) | Token::Key(written)) = token else { continue };
                let mut pieces = String::new();
                Chars::new(written).each_piece(|piece| {
                    match piece {
                        Piece::Run(run) => pieces.push_str(run),
                        Piece::Char(char) => pieces.push(char),
                    }
                    ControlFlow::Continue(())
                });
                assert!(Chars::new(written).eq(pieces.chars()), "{}: {pieces}", file.display());
                strings += 1;
            }
        }
    }
    println!("{strings} strings");
    assert!(strings > 0, "there are strings");
}
