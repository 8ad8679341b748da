//! Screens of our own drawing. Those that were collected of real agents are read in `tests/screens.rs`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Category, Dialog, Reading, ScreenKind, read};
use crate::limits::{CARD_LINES, MAX_OPTIONS, OPTION_CHARS, QUESTION_CHARS, SCREEN_ROWS};

fn claude(text: &str) -> Reading {
    read(Some(ScreenKind::Claude), text)
}

fn asked(kind: ScreenKind, text: &str) -> Dialog {
    read(Some(kind), text).dialog.unwrap_or_else(|| panic!("no dialog on\n{text}"))
}

fn options(dialog: &Dialog) -> Vec<(u32, &str, bool)> {
    dialog.options.iter().map(|choice| (choice.index, choice.label.as_str(), choice.selected)).collect()
}

fn rule(columns: usize) -> String {
    "─".repeat(columns)
}

#[test]
fn claude_in_a_narrow_pane_wraps_its_labels() {
    let screen = format!(
        "{}\n Bash command\n\n   water the roses behind\n   the house\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and don't ask\n      again for: water *\n   \
         3. No, and say what to do\n      differently\n\n Esc to cancel",
        rule(30)
    );
    let dialog = asked(ScreenKind::Claude, &screen);
    assert_eq!(dialog.question, "Do you want to proceed?");
    assert_eq!(dialog.detail, "Bash command\nwater the roses behind the house");
    let labels = ["Yes", "Yes, and don't ask again for: water *", "No, and say what to do differently"];
    assert_eq!(options(&dialog), [(1, labels[0], true), (2, labels[1], false), (3, labels[2], false)]);
}

#[test]
fn claude_broken_by_the_terminal_is_put_together() {
    let broken = format!(
        "❯ ask me\n{rule}\n{rest}\n ☐ Garden\n\nWhich plant comes first?\n\n❯ 1. Rose\n     A thorny one, and it wa\nnts water\n  2. Fern\n{rule}\n{rest}\n  3. Chat about this\n\nEnter to select · Esc to \ncancel",
        rule = rule(28),
        rest = rule(4),
    );
    let dialog = asked(ScreenKind::Claude, &broken);
    assert_eq!((dialog.question.as_str(), dialog.detail.as_str()), ("Which plant comes first?", "Garden"));
    assert_eq!(dialog.category, Some(Category::Question));
    assert_eq!(options(&dialog), [(1, "Rose", true), (2, "Fern", false), (3, "Chat about this", false)]);
    assert_eq!(dialog.options[0].description.as_deref(), Some("A thorny one, and it wants water"));
}

#[test]
fn claude_asks_for_several() {
    let screen = "←  ☒ Pots  ☐ Soil  ✔ Submit  →\n\nWhich soils do you have?\n\n  1. [✔] Sand\n❯ 2. [ ] Loam\n  3. [ ] Type something\n     Next\n\nEnter to select · ↑/↓ to navigate · Esc to cancel";
    let dialog = asked(ScreenKind::Claude, screen);
    assert_eq!((dialog.question.as_str(), dialog.detail.as_str()), ("Which soils do you have?", ""));
    assert_eq!(options(&dialog), [(1, "Sand", false), (2, "Loam", true), (3, "Type something", false)]);
    assert_eq!(
        dialog.options.iter().map(|choice| choice.checked).collect::<Vec<_>>(),
        [Some(true), Some(false), Some(false)]
    );
}

#[test]
fn claude_shows_the_plan_that_it_asks_about() {
    let screen = format!(
        "{rule}\n Ready?\n\n Here is the plan:\n╌╌╌╌╌╌╌╌\n Dig.\n Plant.\n╌╌╌╌╌╌╌╌\n{rule}\n The plan is written. Would you like to proceed?\n\n ❯ 1. Yes\n   2. No\n\n ctrl+g to edit",
        rule = rule(60)
    );
    let dialog = asked(ScreenKind::Claude, &screen);
    assert_eq!(dialog.category, Some(Category::Plan));
    assert_eq!(dialog.question, "The plan is written. Would you like to proceed?");
    assert_eq!(dialog.detail, "Ready?\nHere is the plan:\nDig.\nPlant.");
}

#[test]
fn what_claude_or_a_person_only_says_is_not_asked() {
    let rule = rule(40);
    let box_ = format!("{rule}\n❯\n{rule}\n  ? for shortcuts");
    for screen in [
        format!("⏺ Do you want to proceed?\n  1. Yes\n  2. No\n\n{box_}"),
        format!("❯ 1. dig\n  2. plant\n\n⏺ Press enter to confirm that.\n\n{box_}"),
        format!("❯ how do I leave?\n\n⏺ Press esc to cancel.\n\n{box_}"),
        format!("⏺ Ready.\n\n{rule}\n❯ 1. dig\n  2. plant\n{rule}\n  ⏵⏵ auto mode on"),
        format!("⏺ A list:\n  → one\n  two\n\n{box_}"),
    ] {
        assert_eq!(claude(&screen).dialog, None, "{screen}");
    }
}

#[test]
fn claude_names_its_mode_under_the_prompt_box_only() {
    let mode = |footer: &str| {
        let screen = format!("⏺ It says ⏵⏵ plan mode on.\n\n{0}\n❯\n{0}\n{footer}", rule(40));
        claude(&screen).permission_mode
    };
    for (footer, expected) in [
        ("  ⏵⏵ accept edits on (shift+tab to cycle)", Some("acceptEdits")),
        ("  ⏵⏵ bypass permissions on", Some("bypassPermissions")),
        ("  ⏵⏵ bypass permissions\n  on (shift+tab to cycle)", Some("bypassPermissions")),
        ("  ⏸ plan mode on", Some("plan")),
        ("  my own meter 5%\n  ⏵⏵ Auto mode on · ← for agents", Some("auto")),
        ("  ⏸ manual mode on", Some("default")),
        ("  ? for shortcuts", Some("default")),
        ("  ⏵⏵ Gardener mode on", Some("gardener mode")),
        ("  my own meter 5%", None),
    ] {
        assert_eq!(mode(footer).as_deref(), expected, "{footer}");
    }
}

#[test]
fn prose_that_begins_with_a_verb_is_prose() {
    let reading =
        claude("⏺ Bash(dig)\n  ⎿  done\n\n⏺ Created a garden. It has\n  two beds.\n\n  And a fence.\n\n✻ Dug for 3s");
    assert_eq!(reading.said.unwrap().text, "Created a garden. It has\ntwo beds.\n\nAnd a fence.");
    assert_eq!(reading.step.as_deref(), Some("Bash(dig)"));
}

#[test]
fn codex_asks_first_and_gives_reasons_later() {
    let screen = "• The beds are dry.\n\n• Running water\n\n  Would you like to run the following command?\n\n  Reason: The roses are dry. May I use the\n  well?\n\n  $ water --all\n\n› 1. Yes, proceed (y)\n  2. Yes, and don't ask again for commands\n     that start with `water` (p)\n  3. No (esc)\n\n  Press enter to confirm or esc to cancel";
    let dialog = asked(ScreenKind::Codex, screen);
    assert_eq!(dialog.question, "Would you like to run the following command?");
    assert_eq!(dialog.detail, "Reason: The roses are dry. May I use the well?\n$ water --all");
    let keys: Vec<_> = dialog.options.iter().map(|choice| choice.key.as_deref()).collect();
    assert_eq!(keys, [Some("y"), Some("p"), Some("esc")]);
    assert_eq!(dialog.options[1].label, "Yes, and don't ask again for commands that start with `water`");
}

#[test]
fn a_draft_in_codex_is_not_asked() {
    let reading = read(Some(ScreenKind::Codex), "• Ready?\n\n› 1. dig\n  2. plant\n\n  gpt · /garden · 94% left");
    assert_eq!((reading.dialog, reading.said.unwrap().text.as_str()), (None, "Ready?"));
}

#[test]
fn codex_did_what_has_a_result() {
    let screen = "• I will look.\n  And dig.\n\n• Explored\n  └ Read bed.txt\n\n• Edited bed.txt (+1 -0)\n    1 +rose\n\n◦ Working (3s • esc to interrupt)\n\n› Ask\n";
    let reading = read(Some(ScreenKind::Codex), screen);
    assert_eq!(
        (reading.said.unwrap().text.as_str(), reading.step.as_deref()),
        ("I will look.\nAnd dig.", Some("Edited bed.txt (+1 -0)"))
    );
}

#[test]
fn opencode_marks_a_chip_by_its_ground_beside_a_sidebar() {
    let wide = |left: &str, right: &str| format!("{left}{}{right}\n", " ".repeat(100 - left.chars().count()));
    let chips = "  ┃   \u{1b}[38;2;9;9;9mAllow once\u{1b}[39m  \u{1b}[48;2;250;170;60m Allow always \u{1b}[0m  Reject      ctrl+f fullscreen  ⇆ select  enter confirm";
    let screen = [
        wide("  ┃", "A garden"),
        wide("  ┃  △ Permission required", "Context"),
        wide("  ┃    → Edit bed.txt", "12 tokens"),
        wide("  ┃  1 - rose", "  ferns"),
        wide("  ┃  1 + fern                              █", "LSP"),
        [chips, "\n"].concat(),
        wide("  ┃", "• OpenCode 1.2"),
    ]
    .concat();
    let dialog = asked(ScreenKind::OpenCode, &screen);
    assert_eq!(
        (dialog.question.as_str(), dialog.detail.as_str()),
        ("Permission required: Edit bed.txt", "1 - rose\n1 + fern")
    );
    assert_eq!(options(&dialog), [(0, "Allow once", false), (0, "Allow always", true), (0, "Reject", false)]);
}

#[test]
fn opencode_confirms_a_second_time() {
    let chips = "┃   Confirm  \u{1b}[48;2;250;170;60m Cancel \u{1b}[0m       ⇆ select  enter confirm";
    let dialog =
        asked(ScreenKind::OpenCode, &["┃  △ Always allow\n┃  These will be allowed\n┃  - dig *\n", chips].concat());
    assert_eq!((dialog.question.as_str(), dialog.detail.as_str()), ("Always allow: These will be allowed", "- dig *"));
    assert_eq!(options(&dialog), [(0, "Confirm", false), (0, "Cancel", true)]);
}

#[test]
fn opencode_asks_with_a_list() {
    let screen = "┃  Which bed comes first?\n┃\n┃  ❯ 1. North\n┃     In the shade\n┃    2. South\n┃    3. Type your own answer\n┃\n┃  ↑↓ select  enter submit  esc dismiss";
    let dialog = asked(ScreenKind::OpenCode, screen);
    assert_eq!((dialog.question.as_str(), dialog.category), ("Which bed comes first?", Some(Category::Question)));
    assert_eq!(
        options(&dialog),
        [(1, "North", true), (2, "South", false), (3, "Type your own answer", false), (0, "Dismiss", false)]
    );
    assert_eq!(dialog.options[0].description.as_deref(), Some("In the shade"));
    assert_eq!(dialog.options[3].key.as_deref(), Some("esc"));
}

#[test]
fn pi_points_at_what_enter_takes() {
    let rule = rule(40);
    let screen = format!(
        "{rule}\n\n Trust this garden?\n /garden\n\n   Trust\n → Do not trust\n\n ↑↓ navigate  enter select  escape/ctrl+c cancel\n\n{rule}"
    );
    let dialog = asked(ScreenKind::Pi, &screen);
    assert_eq!((dialog.question.as_str(), dialog.detail.as_str()), ("Trust this garden?", "/garden"));
    assert_eq!(options(&dialog), [(0, "Trust", false), (0, "Do not trust", true)]);
}

#[test]
fn what_turns_the_direction_of_a_text_is_gone() {
    let dialog =
        asked(ScreenKind::Claude, " Do you want \u{202e}to dig?\n ❯ 1. Yes\u{2066}\n   2. No\n\n Esc to cancel");
    assert_eq!((dialog.question.as_str(), dialog.options[0].label.as_str()), ("Do you want to dig?", "Yes"));
}

#[test]
fn everything_has_its_bound() {
    let mut screen = format!(" {}?\n", "why ".repeat(QUESTION_CHARS).trim_end());
    for no in 1..=99 {
        screen.push_str(&format!("{} {no}. {}\n", if no == 1 { " ❯" } else { "  " }, "x".repeat(OPTION_CHARS + 50)));
    }
    screen.push_str("\n Esc to cancel");
    let dialog = asked(ScreenKind::Claude, &screen);
    assert_eq!((dialog.options.len(), dialog.options[0].label.chars().count()), (MAX_OPTIONS, OPTION_CHARS));
    assert!(dialog.question.chars().count() <= QUESTION_CHARS);
    let tall = "a line\n".repeat(SCREEN_ROWS * 3);
    assert_eq!(read(None, &tall).lines.len(), CARD_LINES);
}
