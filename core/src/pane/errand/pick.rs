//! Which choice a text picks, and which keys pick a choice.
//!
//! | | keys |
//! |---|---|
//! | Claude Code, numbered | its digit |
//! | Codex | its own key, which stands in brackets |
//! | OpenCode, chips on one row | Left or Right, then Enter |
//! | everything else | Up or Down, then Enter |

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use crate::screen::{Category, Choice, Dialog, ScreenKind};

/// How a choice is picked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// By typing this, which takes it or only marks it.
    Digit(String),
    /// By this key, which takes it.
    Key(String),
    /// By these keys, which mark it; Enter takes it.
    Arrows(Vec<String>),
}

/// The choice that a text names: by its number, its label or its key. Choices without numbers are counted from 1.
pub(super) fn choice(dialog: &Dialog, text: &str) -> Option<usize> {
    let (text, options) = (text.trim(), &dialog.options);
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: u32 = text.parse().ok().filter(|number| *number > 0)?;
        if options.iter().all(|choice| choice.index == 0) {
            let at = usize::try_from(number).ok()?.checked_sub(1)?;
            return (at < options.len()).then_some(at);
        }
        return options.iter().position(|choice| choice.index == number);
    }
    let is_named = |choice: &Choice| choice.label.trim().to_lowercase() == text.to_lowercase();
    options.iter().position(is_named).or_else(|| options.iter().position(|choice| choice.key.as_deref() == Some(text)))
}

/// The keys that pick the choice at this place; none if it cannot be told from where the mark would have to move.
pub(super) fn way(kind: ScreenKind, dialog: &Dialog, at: usize) -> Option<Way> {
    let choice = dialog.options.get(at)?;
    match (kind, &choice.key) {
        (_, Some(key)) => return Some(Way::Key(key_name(key))),
        (ScreenKind::Claude, None) if (1..=9).contains(&choice.index) => {
            return Some(Way::Digit(choice.index.to_string()));
        }
        _ => {}
    }
    let marked = dialog.options.iter().position(|choice| choice.selected)?;
    let is_row = kind == ScreenKind::OpenCode && dialog.category == Some(Category::Permission);
    let (back, on) = if is_row { ("Left", "Right") } else { ("Up", "Down") };
    let key = if at < marked { back } else { on };
    Some(Way::Arrows(vec![key.to_string(); at.abs_diff(marked)]))
}

/// A key as herdr calls it. What it does not know it refuses itself.
pub(super) fn key_name(key: &str) -> String {
    match key {
        "esc" => "Escape".into(),
        _ => key.into(),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn dialog(options: &[(u32, &str, bool)]) -> Dialog {
        let options = options.iter().map(|(index, label, selected)| Choice {
            index: *index,
            label: (*label).into(),
            selected: *selected,
            ..Choice::default()
        });
        Dialog { question: "Tea?".into(), options: options.collect(), ..Dialog::default() }
    }

    fn arrows(keys: &[&str]) -> Option<Way> {
        Some(Way::Arrows(keys.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn a_text_names_a_choice_by_number_label_or_key() {
        let mut numbered = dialog(&[(1, "Green", true), (2, "Black", false), (4, "None of these", false)]);
        for (text, at) in [
            ("2", Some(1)),
            (" 4 ", Some(2)),
            ("3", None),
            ("0", None),
            ("99999999999", None),
            ("black", Some(1)),
            ("Blac", None),
            ("", None),
            ("2 bags", None),
        ] {
            assert_eq!(choice(&numbered, text), at, "{text}");
        }
        numbered.options[2].key = Some("esc".into());
        assert_eq!(choice(&numbered, "esc"), Some(2));
        let chips = dialog(&[(0, "Allow once", true), (0, "Reject", false)]);
        assert_eq!(["1", "2", "3", "REJECT"].map(|text| choice(&chips, text)), [Some(0), Some(1), None, Some(1)]);
    }

    #[test]
    fn every_kind_has_its_keys() {
        let mut list = dialog(&[(1, "Green", false), (2, "Black", true), (12, "None", false)]);
        assert_eq!(way(ScreenKind::Claude, &list, 0), Some(Way::Digit("1".into())));
        assert_eq!(way(ScreenKind::Claude, &list, 2), arrows(&["Down"]));
        assert_eq!(way(ScreenKind::Codex, &list, 0), arrows(&["Up"]));
        assert_eq!(way(ScreenKind::OpenCode, &list, 1), arrows(&[]));
        list.options[0].key = Some("y".into());
        list.options[2].key = Some("esc".into());
        assert_eq!(way(ScreenKind::Codex, &list, 0), Some(Way::Key("y".into())));
        assert_eq!(way(ScreenKind::Codex, &list, 2), Some(Way::Key("Escape".into())));
        let mut chips = dialog(&[(0, "Allow once", true), (0, "Allow always", false), (0, "Reject", false)]);
        assert_eq!(way(ScreenKind::Pi, &chips, 2), arrows(&["Down", "Down"]));
        chips.category = Some(Category::Permission);
        assert_eq!(way(ScreenKind::OpenCode, &chips, 2), arrows(&["Right", "Right"]));
        chips.options[0].selected = false;
        assert_eq!(way(ScreenKind::OpenCode, &chips, 2), None);
        assert_eq!(way(ScreenKind::OpenCode, &chips, 3), None);
    }
}
