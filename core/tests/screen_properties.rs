//! What must hold for any screen whatever: nothing breaks, everything keeps its bound, and the same screen is read alike.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

use std::fs;
use std::path::PathBuf;

use panewire_core::ids::PaneId;
use panewire_core::limits::{
    CARD_LINE_CHARS, CARD_LINES, DETAIL_CHARS, HEADLINE_CHARS, MAX_OPTIONS, OPTION_CHARS, QUESTION_CHARS, TEXT_CHARS,
};
use panewire_core::mobile::card::{Card, Known};
use panewire_core::screen::{ScreenKind, read};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

const KINDS: [(&str, Option<ScreenKind>); 5] = [
    ("claude", Some(ScreenKind::Claude)),
    ("codex", Some(ScreenKind::Codex)),
    ("opencode", Some(ScreenKind::OpenCode)),
    ("pi", Some(ScreenKind::Pi)),
    ("aider", None),
];

/// Screens of our own drawing: what mutations start from where the collected ones are not at hand.
const DRAWN: [&str; 4] = [
    "⏺ Digging\n  ⎿  $ dig\n\n────────────────────\n Bash command\n\n   dig --deep\n\n Do you want to proceed?\n ❯ 1. Yes\n   \
     2. Yes, and dig on\n      for ever\n   3. No\n\n Esc to cancel · Tab to amend\n",
    "• Running dig\n\n  Would you like to run the following command?\n\n  $ dig\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n  \
     Press enter to confirm or esc to cancel\n",
    "  ┃\n  ┃  △ Permission required\n  ┃    # Shell command\n  ┃\n  ┃  $ dig\n  ┃   \u{1b}[48;2;245;167;66m Allow once \u{1b}[0m  \
     Allow always   Reject   ⇆ select  enter confirm\n",
    "────────────────────\n\n Trust this garden?\n\n → Trust\n   Do not trust\n\n ↑↓ navigate  enter select\n\n────────────────────\n",
];

fn screens() -> Vec<String> {
    let mut screens: Vec<String> = DRAWN.map(String::from).to_vec();
    if let Some(shared) = std::env::var_os("PANEWIRE_SHARED") {
        let directory = PathBuf::from(shared).join("herdr/screens");
        let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        screens.extend(
            paths.iter().filter(|path| path.extension().is_some()).map(|path| fs::read_to_string(path).unwrap()),
        );
    } else {
        eprintln!("PANEWIRE_SHARED is not set: only screens of our own drawing are changed");
    }
    screens
}

fn chars(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
}

/// Reads it as every kind, and holds what comes of it to its bounds.
fn check(text: &str) {
    let pane = PaneId::from("w1:p1");
    for (label, kind) in KINDS {
        let reading = read(kind, text);
        assert_eq!(reading, read(kind, text));
        assert_eq!(reading.parsed, kind.is_some());
        for status in ["blocked", "idle", "working"] {
            let known =
                Known { pane: &pane, kind: label, status: Some(status), title: None, screen: Some(text), recent: None };
            let card = serde_json::to_value(Card::of(&known)).unwrap();
            assert!((1..=HEADLINE_CHARS).contains(&chars(&card["headline"])), "{card}");
            assert!(!card["headline"].as_str().unwrap().contains('\n'));
            assert!(chars(&card["detail"]) <= TEXT_CHARS.max(DETAIL_CHARS));
            let lines = card["transcript"].as_array().cloned().unwrap_or_default();
            assert!(lines.len() <= CARD_LINES && lines.iter().all(|line| (1..=CARD_LINE_CHARS).contains(&chars(line))));
            let blocked = &card["blocked"];
            // A question is shown exactly where herdr says blocked and the screen was understood.
            assert_eq!(blocked.is_object(), status == "blocked" && reading.dialog.is_some());
            assert_eq!(card["parsed"], kind.is_some() && (status != "blocked" || blocked.is_object()));
            if let Some(options) = blocked["options"].as_array() {
                assert!(options.len() <= MAX_OPTIONS && chars(&blocked["question"]) <= QUESTION_CHARS);
                assert!(options.iter().all(|option| (1..=OPTION_CHARS).contains(&chars(&option["label"]))), "{card}");
                assert!(options.iter().filter(|option| option["selected"] == true).count() <= 1, "{card}");
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Change {
    Cut(Index, Index),
    Insert(Index, String),
    Repeat(Index),
    Narrow(usize),
    Swap(Index, Index),
}

/// What screens are made of, so that changes meet it.
fn bits() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,8}",
        prop::sample::select(vec![
            "❯",
            "› ",
            "→ ",
            "┃",
            "△ ",
            "▣",
            "⏺ ",
            "• ",
            "⎿ ",
            "└",
            "──────────────────────",
            "▔▔▔▔▔▔",
            "╌╌╌",
            "\n",
            "\r\n",
            "1. ",
            "2. ",
            "99. ",
            "[ ] ",
            "[✔] ",
            "?",
            "？",
            "☐ ",
            "Esc to cancel",
            "enter confirm",
            "  ",
            "進め",
            "\u{1b}[7m",
            "\u{1b}[48;5;3m",
            "\u{1b}[0m",
            "\u{1b}]0;",
            "\u{7}",
            "\u{202e}",
            "\u{0}",
            "e\u{301}",
            "🌱",
            "⏵⏵ plan mode on",
        ])
        .prop_map(String::from),
        ".{0,4}",
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Cut(from, to)),
        (any::<Index>(), bits()).prop_map(|(at, text)| Change::Insert(at, text)),
        any::<Index>().prop_map(Change::Repeat),
        (1_usize..120).prop_map(Change::Narrow),
        (any::<Index>(), any::<Index>()).prop_map(|(one, other)| Change::Swap(one, other)),
    ]
}

fn changed(screen: &str, change: &Change) -> String {
    let chars: Vec<char> = screen.chars().collect();
    let mut lines: Vec<&str> = screen.lines().collect();
    match change {
        Change::Cut(from, to) => {
            let (from, to) = (from.index(chars.len() + 1), to.index(chars.len() + 1));
            chars[..from.min(to)].iter().chain(&chars[from.max(to)..]).collect()
        }
        Change::Insert(at, text) => {
            let at = at.index(chars.len() + 1);
            chars[..at].iter().copied().chain(text.chars()).chain(chars[at..].iter().copied()).collect()
        }
        Change::Repeat(at) if !lines.is_empty() => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at]);
            lines.join("\n")
        }
        Change::Swap(one, other) if !lines.is_empty() => {
            let (one, other) = (one.index(lines.len()), other.index(lines.len()));
            lines.swap(one, other);
            lines.join("\n")
        }
        Change::Narrow(columns) => lines
            .iter()
            .flat_map(|line| {
                let chars: Vec<char> = line.chars().collect();
                if chars.is_empty() {
                    vec![String::new()]
                } else {
                    chars.chunks(*columns).map(String::from_iter).collect()
                }
            })
            .collect::<Vec<_>>()
            .join("\n"),
        Change::Repeat(_) | Change::Swap(..) => screen.into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_screen(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_bits_are_a_screen(bits in prop::collection::vec(bits(), 0..80)) {
        check(&bits.concat());
    }

    #[test]
    fn any_change_of_a_screen_is_a_screen(which in any::<Index>(), changes in prop::collection::vec(change(), 1..8)) {
        thread_local!(static SCREENS: Vec<String> = screens());
        let screen = SCREENS.with(|screens| which.get(screens).clone());
        check(&changes.iter().fold(screen, |screen, change| changed(&screen, change)));
    }
}
