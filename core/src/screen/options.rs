//! Lists of options: numbered ones, and those that only a marker tells from text.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::dialog::Choice;
use super::frame;
use super::rows::{self, Row};
use crate::limits::MAX_OPTIONS;

/// A list and the rows that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List {
    pub(super) first: usize,
    /// The first row behind it.
    pub(super) end: usize,
    pub(super) choices: Vec<Choice>,
}

impl List {
    /// Whether one of its options is marked.
    pub(super) fn is_marked(&self) -> bool {
        self.choices.iter().any(|choice| choice.selected)
    }

    /// Whether the keys that work here are named under it, before anything else begins.
    pub(super) fn has_keys(&self, rows: &[Row]) -> bool {
        let below = rows.get(self.end..).unwrap_or_default();
        below
            .iter()
            .take_while(|row| !frame::is_rule(row) && !row.text.starts_with(['⏺', '●', '•', '✻', '❯', '›']))
            .filter(|row| !row.is_blank())
            .take(KEYS_WITHIN)
            .any(frame::is_keys)
    }
}

/// Rows under a list in which its keys are looked for.
const KEYS_WITHIN: usize = 4;

/// The last numbered list of the screen.
pub(super) fn numbered(rows: &[Row]) -> Option<List> {
    let found: Vec<(usize, Numbered<'_>)> =
        rows.iter().enumerate().filter_map(|(at, row)| Some((at, Numbered::of(row)?))).collect();
    let last = found.last()?.0;
    // Where the beginning of the list has left the screen, its first row that is still there will do.
    let first = found
        .iter()
        .rposition(|(_, row)| row.number == 1)
        .or_else(|| found.iter().position(|(at, row)| numbered_from(rows, *at, row).end > last))?;
    let (at, row) = found.get(first)?;
    Some(numbered_from(rows, *at, row))
}

fn numbered_from(rows: &[Row], first: usize, start: &Numbered<'_>) -> List {
    let columns = rows::columns(rows);
    let mut choices: Vec<Choice> = Vec::new();
    let mut number = start.number.saturating_sub(1);
    let mut end = first;
    // Set where a rule or a blank row stands: then the list is over, unless an option follows.
    let mut parted = false;
    for (at, row) in rows.iter().enumerate().skip(first) {
        if let Some(option) = Numbered::of(row).filter(|option| option.number > number) {
            if choices.len() >= MAX_OPTIONS || parted && option.number != number.saturating_add(1) {
                break;
            }
            number = option.number;
            choices.push(option.choice());
            (end, parted) = (at.saturating_add(1), false);
        } else if row.is_blank() || frame::is_rule(row) {
            parted = true;
        } else if parted || frame::is_keys(row) || row.indent() == 0 {
            break;
        } else if let (Some(choice), Some(above)) = (choices.last_mut(), at.checked_sub(1).and_then(|at| rows.get(at)))
        {
            go_on(choice, above, row, columns);
            end = at.saturating_add(1);
        }
    }
    choices.iter_mut().for_each(part_columns);
    List { first, end, choices }
}

/// A row under an option is the rest of its text where that found no room, and otherwise says something about it.
fn go_on(choice: &mut Choice, above: &Row, row: &Row, columns: usize) {
    let text = frame::words(row.trimmed());
    let wrapped = frame::is_wrapped(above, row, columns);
    match &mut choice.description {
        None if wrapped => frame::append_wrapped(&mut choice.label, text),
        None => choice.description = Some(text.into()),
        Some(description) => frame::append_wrapped(description, text),
    }
}

/// A second column on the row of an option says something about it.
fn part_columns(choice: &mut Choice) {
    if let Some((label, about)) = choice.label.split_once("  ")
        && choice.description.is_none()
    {
        let (label, about) = (label.trim_end().to_string(), about.trim_start().to_string());
        (choice.label, choice.description) = (label, Some(about));
    }
}

/// A row that begins with a number: `❯ 2. [ ] Label`.
struct Numbered<'t> {
    number: u32,
    marked: bool,
    checked: Option<bool>,
    label: &'t str,
}

impl<'t> Numbered<'t> {
    fn of(row: &'t Row) -> Option<Self> {
        let (marked, text) = unmarked(row.trimmed());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = text.get(..digits).filter(|_| digits <= 2)?.parse().ok()?;
        let (checked, label) = ticked(text.get(digits..)?.strip_prefix('.')?.strip_prefix(' ')?.trim());
        let label = frame::words(label);
        (number > 0 && !label.is_empty()).then_some(Self { number, marked, checked, label })
    }

    fn choice(&self) -> Choice {
        Choice {
            index: self.number,
            label: self.label.into(),
            selected: self.marked,
            checked: self.checked,
            ..Choice::default()
        }
    }
}

/// The last list whose options have no numbers: one of them is marked, the others begin in the same column.
pub(super) fn marked(rows: &[Row]) -> Option<List> {
    let at = rows.iter().rposition(|row| marked_label(row).is_some())?;
    let column = rows.get(at).map(label_column)?;
    let belongs = |row: &Row| {
        let is_frame = frame::words(ticked(row.trimmed()).1).is_empty() || frame::is_rule(row) || frame::is_keys(row);
        !is_frame && row.indent() >= column
    };
    let above = rows.get(..at)?.iter().rev().take_while(|row| belongs(row)).count();
    let below = rows.get(at.saturating_add(1)..)?.iter().take_while(|row| belongs(row)).count();
    let first = at.saturating_sub(above);
    let end = at.saturating_add(below).saturating_add(1);
    let columns = rows::columns(rows);
    let mut choices: Vec<Choice> = Vec::new();
    for (no, row) in rows.iter().enumerate().take(end).skip(first) {
        let label = marked_label(row);
        let before = no.checked_sub(1).filter(|before| *before >= first).and_then(|before| rows.get(before));
        if let (Some(choice), Some(above)) = (choices.last_mut(), before)
            && label.is_none()
            && row.indent() > column
        {
            go_on(choice, above, row, columns);
            continue;
        }
        if choices.len() >= MAX_OPTIONS {
            break;
        }
        let (checked, text) = ticked(label.unwrap_or_else(|| row.trimmed()));
        choices.push(Choice {
            label: frame::words(text).into(),
            selected: label.is_some(),
            checked,
            ..Choice::default()
        });
    }
    Some(List { first, end, choices })
}

fn marked_label(row: &Row) -> Option<&str> {
    let (marked, label) = unmarked(row.trimmed());
    (marked && !frame::words(ticked(label).1).is_empty()).then_some(label)
}

fn label_column(row: &Row) -> usize {
    let label = marked_label(row).map_or(0, str::len);
    rows::width(row.text.get(..row.text.len().saturating_sub(label)).unwrap_or_default())
}

fn unmarked(text: &str) -> (bool, &str) {
    match text.strip_prefix(MARKERS).and_then(|rest| rest.strip_prefix(' ')) {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    }
}

const MARKERS: [char; 6] = ['❯', '›', '→', '▶', '▸', '>'];

fn ticked(label: &str) -> (Option<bool>, &str) {
    for (box_, checked) in [("[ ]", false), ("[x]", true), ("[X]", true), ("[✔]", true), ("[✓]", true), ("[*]", true)]
    {
        if let Some(rest) = label.strip_prefix(box_) {
            return (Some(checked), rest.trim_start());
        }
    }
    (None, label)
}

/// Takes the key that stands in brackets at the end of each label: `Yes, proceed (y)`.
pub(super) fn take_keys(choices: &mut [Choice]) {
    for choice in choices {
        let Some((label, key)) = choice.label.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) else {
            continue;
        };
        let is_letter = key.len() == 1 && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_letter || key == "esc" {
            let (label, key): (String, String) = (label.into(), key.into());
            (choice.label, choice.key) = (label, Some(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{List, marked, numbered, take_keys};
    use crate::screen::rows::parse;

    fn labels(list: &List) -> Vec<(u32, &str, bool)> {
        list.choices.iter().map(|choice| (choice.index, choice.label.as_str(), choice.selected)).collect()
    }

    #[test]
    fn the_last_list_counts() {
        let rows = parse("1. old\n2. older\n\nWhich tea?\n❯ 1. Green\n  2. Black\n\nEsc to cancel");
        let list = numbered(&rows).unwrap();
        assert_eq!(labels(&list), [(1, "Green", true), (2, "Black", false)]);
        assert_eq!((list.first, list.end, list.has_keys(&rows)), (4, 6, true));
    }

    #[test]
    fn what_found_no_room_belongs_to_the_label_and_the_rest_describes_it() {
        let text = "──────────────────────────────\n❯ 1. Yes, and water the plants\n     every day\n  2. No\n     They are cacti\n     after all";
        let list = numbered(&parse(text)).unwrap();
        assert_eq!(labels(&list), [(1, "Yes, and water the plants every day", true), (2, "No", false)]);
        assert_eq!(list.choices[1].description.as_deref(), Some("They are cacti after all"));
    }

    #[test]
    fn boxes_are_ticked_and_numbers_may_be_left_out() {
        let rows = parse("  1. [✔] Salt\n  2. [ ] Pepper\n❯ 4. Submit");
        let list = numbered(&rows).unwrap();
        assert_eq!(labels(&list), [(1, "Salt", false), (2, "Pepper", false), (4, "Submit", true)]);
        assert_eq!(
            list.choices.iter().map(|choice| choice.checked).collect::<Vec<_>>(),
            [Some(true), Some(false), None]
        );
    }

    #[test]
    fn a_rule_parts_a_list_only_if_it_does_not_go_on() {
        let rule = "────────";
        let rows = parse(&alloc::format!(" 1. a\n 2. b\n{rule}\n 3. c\n{rule}\n 1 d\n 7. e"));
        assert_eq!(labels(&numbered(&rows).unwrap()), [(1, "a", false), (2, "b", false), (3, "c", false)]);
    }

    #[test]
    fn without_numbers_the_column_of_the_marked_one_decides() {
        let rows = parse(
            " May it brew for as long as it likes?\n\n   Never\n → Once\n   Always,\n     until noon\n\n esc to close",
        );
        let list = marked(&rows).unwrap();
        assert_eq!(labels(&list), [(0, "Never", false), (0, "Once", true), (0, "Always,", false)]);
        assert_eq!(list.choices[2].description.as_deref(), Some("until noon"));
        assert_eq!((list.first, list.end), (2, 6));
    }

    #[test]
    fn keys_stand_in_brackets_at_the_end() {
        let rows = parse("› 1. Yes (y)\n  2. Run it (in the cellar)\n  3. No (esc)");
        let mut list = numbered(&rows).unwrap();
        take_keys(&mut list.choices);
        let keys: Vec<_> = list.choices.iter().map(|choice| (choice.label.as_str(), choice.key.as_deref())).collect();
        assert_eq!(keys, [("Yes", Some("y")), ("Run it (in the cellar)", None), ("No", Some("esc"))]);
    }
}
