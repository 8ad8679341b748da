//! Every screen that was collected of the agents, when they are at hand: `PANEWIRE_SHARED=<directory> cargo test`.
//!
//! What each of them asks was written down by reading it, not by running the parser.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, clippy::panic, reason = "a test that reads files")]

use std::fs;
use std::path::PathBuf;

use panewire_core::screen::{Category, Reading, ScreenKind, read};

/// A question as a person reads it: index, label, whether Enter takes it, the key in brackets.
struct Asks {
    question: &'static str,
    options: &'static [(u32, &'static str, bool, Option<&'static str>)],
    category: Option<Category>,
}

struct Screen {
    file: &'static str,
    asks: Option<Asks>,
    mode: Option<&'static str>,
    /// How what the agent said last begins.
    said: Option<&'static str>,
}

const fn quiet(file: &'static str, mode: Option<&'static str>, said: Option<&'static str>) -> Screen {
    Screen { file, asks: None, mode, said }
}

const fn asking(
    file: &'static str,
    category: Option<Category>,
    question: &'static str,
    options: &'static [(u32, &'static str, bool, Option<&'static str>)],
) -> Screen {
    Screen { file, asks: Some(Asks { question, options, category }), mode: None, said: None }
}

const PERMISSION: Option<Category> = Some(Category::Permission);
const QUESTION: Option<Category> = Some(Category::Question);
const TRUST: Option<Category> = Some(Category::Trust);

const CHIPS: &[(u32, &str, bool, Option<&str>)] =
    &[(0, "Allow once", false, None), (0, "Allow always", false, None), (0, "Reject", false, None)];

const SCREENS: &[Screen] = &[
    Screen {
        said: None,
        ..asking(
            "claude-blocked-1",
            PERMISSION,
            "Do you want to proceed?",
            &[
                (1, "Yes", true, None),
                (2, "Yes, and always allow access to /tmp/planlab from this project", false, None),
                (3, "Yes, and switch to auto mode · auto mode handles these prompts for you", false, None),
                (4, "No", false, None),
            ],
        )
    },
    asking(
        "claude-blocked-2",
        Some(Category::Plan),
        "Claude has written up a plan and is ready to execute. Would you like to proceed?",
        &[
            (1, "Yes, and use auto mode", true, None),
            (2, "Yes, manually approve edits", false, None),
            (3, "Tell Claude what to change", false, None),
        ],
    ),
    asking(
        "claude-blocked-3",
        TRUST,
        "Quick safety check: Is this a project you created or one you trust?",
        &[(0, "No, exit", true, None), (0, "Yes, I trust this folder", false, None)],
    ),
    asking(
        "claude-blocked-4",
        QUESTION,
        "Which storage backend should the cache use?",
        &[
            (1, "SQLite", true, None),
            (2, "Redis", false, None),
            (3, "Type something.", false, None),
            (4, "Chat about this", false, None),
        ],
    ),
    asking(
        "claude-blocked-5",
        PERMISSION,
        "Do you want to proceed?",
        &[(1, "Yes", true, None), (2, "Yes, and don’t ask again for: perl *", false, None), (3, "No", false, None)],
    ),
    asking(
        "claude-blocked-6",
        QUESTION,
        "この作業をどう進めますか?",
        &[
            (1, "そのまま変更する（推奨）", true, None),
            (2, "変更してコミットまで", false, None),
            (3, "今回は見送る", false, None),
            (4, "Type something.", false, None),
            (5, "Chat about this", false, None),
        ],
    ),
    asking(
        "claude-blocked-7",
        None,
        "Teach auto mode about your environment?",
        &[(1, "Yes", true, None), (2, "Not now", false, None), (3, "Don't show again", false, None)],
    ),
    asking(
        "claude-blocked-8",
        PERMISSION,
        "Do you want to make this edit to main.rs?",
        &[
            (1, "Yes", true, None),
            (2, "Yes, allow all edits during this session (shift+tab)", false, None),
            (3, "No, and tell Claude what to do differently (esc)", false, None),
        ],
    ),
    asking("claude-blocked-9", None, "", &[(1, "Yes", false, None), (2, "No", false, None)]),
    asking(
        "claude-blocked-10",
        PERMISSION,
        "do you want to proceed?",
        &[(1, "Yes", true, None), (2, "No", false, None)],
    ),
    asking(
        "claude-blocked-11",
        QUESTION,
        "Which capabilities?",
        &[
            (1, "Color output", true, None),
            (2, "Nerd Font", false, None),
            (5, "Type something", false, None),
            (6, "Chat about this", false, None),
        ],
    ),
    quiet("claude-idle-1", Some("default"), Some("116\n")),
    quiet("claude-idle-2", None, Some("移行スクリプトの準備ができました。\n\nDo you want to proceed?\n1. Yes")),
    quiet("claude-idle-3", Some("bypassPermissions"), Some("42 Molybdenum")),
    quiet("claude-idle-4", None, None),
    asking(
        "claude-unknown-1",
        None,
        "Select model",
        &[
            (1, "Default (recommended)", false, None),
            (2, "Opus (1M context)", false, None),
            (3, "Fable ✔", true, None),
            (4, "Sonnet", false, None),
            (5, "Haiku", false, None),
        ],
    ),
    quiet("claude-working-1", Some("bypassPermissions"), Some("BEGIN\n1 Hydrogen")),
    quiet("claude-working-2", None, None),
    quiet("claude-working-3", None, None),
    asking(
        "codex-blocked-1",
        PERMISSION,
        "Would you like to run the following command?",
        &[
            (1, "Yes, proceed", true, Some("y")),
            (
                2,
                "Yes, and don't ask again for commands that start with `mkdir -p /tmp/codex-work/subdir`",
                false,
                Some("p"),
            ),
            (3, "No, and tell Codex what to do differently", false, Some("esc")),
        ],
    ),
    asking(
        "codex-blocked-2",
        PERMISSION,
        "Would you like to make the following edits?",
        &[
            (1, "Yes, proceed", true, Some("y")),
            (2, "Yes, and don't ask again for these files", false, Some("a")),
            (3, "No, and tell Codex what to do differently", false, Some("esc")),
        ],
    ),
    asking(
        "codex-blocked-3",
        PERMISSION,
        "Would you like to run the following command?",
        &[
            (1, "Yes, proceed", true, Some("y")),
            (
                2,
                "Yes, and don't ask again for commands that start with `curl -sI https://example.com`",
                false,
                Some("p"),
            ),
            (3, "No, and tell Codex what to do differently", false, Some("esc")),
        ],
    ),
    asking(
        "codex-blocked-4",
        TRUST,
        "Do you trust the contents of this directory?",
        &[(1, "Yes, continue", true, None), (2, "No, quit", false, None)],
    ),
    asking(
        "codex-blocked-5",
        PERMISSION,
        "Would you like to make the following edits?",
        &[
            (1, "Yes, proceed", true, Some("y")),
            (2, "Yes, and don't ask again for these files", false, Some("a")),
            (3, "No, and tell Codex what to do differently", false, Some("esc")),
        ],
    ),
    quiet("codex-idle-1", None, None),
    quiet("codex-idle-2", None, None),
    quiet("codex-idle-3", None, None),
    asking(
        "codex-unknown-1",
        None,
        "Update available! 0.142.5 -> 0.144.5",
        &[
            (1, "Update now (runs npm install -g @openai/codex)", false, None),
            (2, "Skip", false, None),
            (3, "Skip until next version", false, None),
        ],
    ),
    quiet("codex-working-1", None, Some("Step 2 — done.")),
    quiet("codex-working-2", None, Some("I’ll run it and wait for completion.")),
    asking("opencode-blocked-1", PERMISSION, "Permission required: Access external directory /tmp", CHIPS),
    asking("opencode-blocked-2", PERMISSION, "Permission required: Shell command", CHIPS),
    asking("opencode-blocked-3", PERMISSION, "Permission required: Edit invoice.js", CHIPS),
    asking(
        "opencode-blocked-4",
        PERMISSION,
        "Permission required: Access external directory ~/.config/opencode",
        CHIPS,
    ),
    asking(
        "opencode-blocked-5",
        PERMISSION,
        "Always allow: This will allow the following patterns until OpenCode is restarted",
        &[(0, "Confirm", false, None), (0, "Cancel", false, None)],
    ),
    asking("opencode-blocked-6", PERMISSION, "Permission required: Access external directory /etc", CHIPS),
    asking(
        "opencode-blocked-6.ansi",
        PERMISSION,
        "Permission required: Access external directory /etc",
        &[(0, "Allow once", true, None), (0, "Allow always", false, None), (0, "Reject", false, None)],
    ),
    quiet("opencode-idle-1", None, None),
    quiet("opencode-idle-2", None, Some("Hello there, friend!")),
    quiet("opencode-idle-3", None, Some("Done. The total takes a tax rate:\n  total(lines, 0.25)")),
    quiet("opencode-working-1", None, None),
    quiet("opencode-working-2", None, Some("Hello there, friend!")),
    quiet("opencode-working-3", None, None),
    asking(
        "pi-blocked-1",
        TRUST,
        "Trust project folder?",
        &[
            (0, "Trust", true, None),
            (0, "Trust parent folder (/tmp)", false, None),
            (0, "Trust (this session only)", false, None),
            (0, "Do not trust", false, None),
            (0, "Do not trust (this session only)", false, None),
        ],
    ),
    quiet("pi-idle-1", None, Some("Pi can explain its own features")),
    quiet("pi-idle-2", None, Some("The adapter is ready — café.\nExact fallback line two.")),
    quiet("pi-working-1", None, Some("Summarize the provider state.")),
];

/// What the dialogs say beside their questions, where that matters most.
const DETAILS: &[(&str, &str)] = &[
    ("claude-blocked-1", "Bash command\nCreate empty probe2.txt file\ntouch probe2.txt"),
    ("claude-blocked-5", "Bash command\nperl -e \"print 42\"\nperl で 42 を出力\nThis command requires approval"),
    ("claude-blocked-10", "bash command: rm -rf /tmp/test"),
    ("codex-blocked-1", "Environment: local\n$ mkdir -p /tmp/codex-work/subdir"),
    ("codex-blocked-2", ""),
    ("opencode-blocked-2", "$ node invoice.test.js"),
    ("opencode-blocked-6", "Patterns\n- /etc/*"),
    ("opencode-blocked-6.ansi", "Patterns\n- /etc/*"),
    (
        "pi-blocked-1",
        "/tmp/pi-detection\nThis allows pi to load .pi settings and resources, install missing project packages, and \
         execute project extensions.",
    ),
];

fn directory() -> Option<PathBuf> {
    let shared = std::env::var_os("PANEWIRE_SHARED");
    if shared.is_none() {
        eprintln!("skipped: PANEWIRE_SHARED names no directory with screens");
    }
    Some(PathBuf::from(shared?).join("herdr/screens"))
}

fn kind_of(file: &str) -> Option<ScreenKind> {
    ScreenKind::from_label(file.split('-').next().unwrap())
}

fn reading(directory: &std::path::Path, file: &str) -> Reading {
    let text =
        fs::read_to_string(directory.join(format!("{file}.txt"))).unwrap_or_else(|error| panic!("{file}: {error}"));
    read(kind_of(file), &text)
}

#[test]
fn every_screen_is_read_as_a_person_reads_it() {
    let Some(directory) = directory() else { return };
    let mut wrong = Vec::new();
    for screen in SCREENS {
        let found = reading(&directory, screen.file);
        let asked = found.dialog.as_ref().map(|dialog| {
            let options: Vec<_> = dialog
                .options
                .iter()
                .map(|choice| (choice.index, choice.label.as_str(), choice.selected, choice.key.as_deref()))
                .collect();
            (dialog.question.as_str(), options, dialog.category)
        });
        let expected = screen.asks.as_ref().map(|asks| (asks.question, asks.options.to_vec(), asks.category));
        if asked != expected {
            wrong.push(format!("{}:\n   found {asked:?}\nexpected {expected:?}", screen.file));
        }
        if found.permission_mode.as_deref() != screen.mode {
            wrong.push(format!("{}: mode {:?}, expected {:?}", screen.file, found.permission_mode, screen.mode));
        }
        let said = found.said.as_ref().map(|said| said.text.as_str());
        let is_said = match (said, screen.said) {
            (Some(said), Some(start)) => said.starts_with(start),
            (said, start) => screen.asks.is_some() || said == start,
        };
        if !is_said {
            wrong.push(format!("{}: said {said:?}, expected {:?}", screen.file, screen.said));
        }
        assert!(found.parsed, "{}", screen.file);
    }
    for (file, detail) in DETAILS {
        let found = reading(&directory, file).dialog.map(|dialog| dialog.detail);
        if found.as_deref() != Some(*detail) {
            wrong.push(format!("{file}: detail {found:?}, expected {detail:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The screens as a real herdr gave them, plain and with colours.
#[test]
fn through_herdr_they_are_the_same() {
    let Some(directory) = directory() else { return };
    let captures = directory.parent().unwrap().join("captures/screens-through-herdr");
    for screen in SCREENS {
        for name in ["read-visible.json", "read-visible-ansi.json"] {
            let answer = fs::read_to_string(captures.join(screen.file).join(name)).unwrap();
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            let text = answer["result"]["read"]["text"].as_str().unwrap();
            let found = read(kind_of(screen.file), text);
            let asked = found.dialog.map(|dialog| (dialog.question, dialog.options.len()));
            let expected = screen.asks.as_ref().map(|asks| (asks.question.to_owned(), asks.options.len()));
            assert_eq!(asked, expected, "{} {name}", screen.file);
        }
    }
}

/// A question form that the terminal broke at its 47th column, inside words.
#[test]
fn a_form_in_a_narrow_pane_is_put_together() {
    let Some(directory) = directory() else { return };
    let path = directory.parent().unwrap().join("captures/narrow/agent-read-visible/stdout");
    let dialog = read(Some(ScreenKind::Claude), &fs::read_to_string(path).unwrap()).dialog.unwrap();
    assert_eq!(dialog.question, "Which storage backend should the cache use?");
    let labels: Vec<&str> = dialog.options.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["SQLite", "Redis", "Type something.", "Chat about this"]);
    let about = "File-based database, good for single-instance deployments with local persistence";
    assert_eq!(dialog.options[0].description.as_deref(), Some(about));
    assert!(dialog.options[0].selected);
}

#[test]
fn no_screen_is_left_out() {
    let Some(directory) = directory() else { return };
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .collect();
    names.sort();
    let mut expected: Vec<&str> = SCREENS.iter().map(|screen| screen.file).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn what_a_kind_shows_is_nothing_to_another() {
    let Some(directory) = directory() else { return };
    for screen in SCREENS {
        let text = fs::read_to_string(directory.join(format!("{}.txt", screen.file))).unwrap();
        let raw = read(None, &text);
        assert_eq!((raw.dialog, raw.parsed), (None, false), "{}", screen.file);
        for kind in [ScreenKind::Claude, ScreenKind::Codex, ScreenKind::OpenCode, ScreenKind::Pi] {
            // Whatever comes of it, nothing breaks.
            let _ = read(Some(kind), &text);
        }
    }
}
