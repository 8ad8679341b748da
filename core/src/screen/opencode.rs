//! OpenCode: a gutter beside what is asked, options as chips on one row, and often a sidebar on the same rows.
//!
//! Which chip Enter takes is told by its background alone.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::dialog::{Category, Choice, Dialog};
use super::options;
use super::passage::{self, Asked};
use super::rows::{self, Paint, Row};
use super::{Reading, Said, frame};
use crate::limits::MAX_OPTIONS;

pub(super) fn read(rows: &[Row]) -> Reading {
    let rows = without_sidebar(rows);
    let dialog = permission(&rows).or_else(|| question(&rows));
    Reading {
        dialog,
        said: said(&rows),
        step: rows.iter().rev().find_map(step).map(String::from),
        permission_mode: None,
        lines: frame::readable(&rows),
        parsed: true,
    }
}

/// `△ Permission required`, what for, and chips.
fn permission(rows: &[Row]) -> Option<Dialog> {
    let top = rows.iter().rposition(|row| frame::words(&row.text).starts_with('△'))?;
    let inner: Vec<Row> = rows.get(top..)?.iter().map(without_gutter).collect();
    let (at, chips) = inner.iter().enumerate().skip(1).find_map(|(at, row)| {
        let next = inner.get(at.saturating_add(1)..).unwrap_or_default();
        let keys_follow = has_keys(row) || next.iter().find(|row| !row.is_blank()).is_some_and(has_keys);
        keys_follow.then(|| chips(row)).filter(|chips| chips.len() > 1).map(|chips| (at, chips))
    })?;
    let columns = rows::columns(&inner);
    let mut lines = passage::lines(inner.get(..at)?, columns).into_iter();
    let title = lines.next()?.trim_start_matches(['△', ' ']).to_string();
    let lines: Vec<String> = lines.collect();
    let about = lines.first().map(|line| line.trim_start_matches(['←', '→', '#', '%', '✱', '⚙', '◇', ' ']).to_string());
    let question = about.map_or_else(|| title.clone(), |about| [title.as_str(), ": ", about.as_str()].concat());
    let detail = lines.get(1..).unwrap_or_default().join("\n");
    Some(Dialog { category: Some(Category::Permission), question, options: chips, detail })
}

/// A list in the gutter, with its keys under it.
fn question(rows: &[Row]) -> Option<Dialog> {
    let end = rows.iter().rposition(|row| {
        let text = row.text.to_lowercase();
        text.contains('┃')
            && (text.contains("enter submit") || text.contains("esc dismiss") || text.contains("enter toggle"))
    })?;
    let above = rows.get(..=end)?;
    let top = above.iter().rposition(|row| !row.trimmed().starts_with('┃')).map_or(0, |row| row.saturating_add(1));
    let inner: Vec<Row> = above.get(top..)?.iter().map(without_gutter).collect();
    let mut list = options::numbered(&inner)?;
    if !list.is_marked() {
        mark_by_colour(&inner, &mut list);
    }
    let lines = passage::lines(inner.get(..list.first)?, rows::columns(&inner));
    let at = lines.iter().rposition(|line| passage::asks(line)).unwrap_or_else(|| lines.len().saturating_sub(1));
    let asked = Asked::at(lines, at);
    let mut choices = list.choices;
    if inner.last().is_some_and(|row| row.text.contains("esc dismiss")) {
        choices.push(Choice { label: "Dismiss".into(), key: Some("esc".into()), ..Choice::default() });
    }
    let detail = asked.detail();
    Some(Dialog { category: Some(Category::Question), question: asked.question, options: choices, detail })
}

/// The row whose number stands on a background that no other has.
fn mark_by_colour(rows: &[Row], list: &mut options::List) {
    let paints: Vec<Paint> = rows
        .get(list.first..list.end)
        .unwrap_or_default()
        .iter()
        .filter(|row| row.trimmed().starts_with(|char: char| char.is_ascii_digit()))
        .map(|row| row.paint_at(row.text.len().saturating_sub(row.text.trim_start().len())))
        .collect();
    mark(&mut list.choices, &paints);
}

/// The chips of a row, without the keys that may stand behind them.
fn chips(row: &Row) -> Vec<Choice> {
    let mut choices = Vec::new();
    let mut paints = Vec::new();
    for (at, label) in chunks(&row.text) {
        if is_key(label) || choices.len() >= MAX_OPTIONS {
            break;
        }
        choices.push(Choice { label: label.into(), ..Choice::default() });
        paints.push(row.paint_at(at));
    }
    mark(&mut choices, &paints);
    choices
}

/// Marks the one choice whose colour is not that of the others. Of two, it is the one that is not on the row's own ground.
fn mark(choices: &mut [Choice], paints: &[Paint]) {
    let alone = |paint: &Paint| paints.iter().filter(|other| *other == paint).count() == 1;
    let mut standing_out = paints.iter().enumerate().filter(|(_, paint)| alone(paint));
    let (first, second) = (standing_out.next(), standing_out.next());
    let at = match (first, second) {
        (Some((at, _)), None) if paints.len() > 1 => Some(at),
        (Some((one, one_paint)), Some((other, other_paint))) if paints.len() == 2 => {
            Some(if vivid(*one_paint) >= vivid(*other_paint) { one } else { other })
        }
        _ => None,
    };
    if let Some(choice) = at.and_then(|at| choices.get_mut(at)) {
        choice.selected = true;
    }
}

/// How far a colour is from grey and from dark: the ground of a row is neither bright nor coloured.
fn vivid(paint: Paint) -> u32 {
    let part = |shift: u32| (paint >> shift) & 0xff;
    let parts = [part(16), part(8), part(0)];
    let (most, least) = (parts.iter().max().copied().unwrap_or(0), parts.iter().min().copied().unwrap_or(0));
    most.saturating_mul(2).saturating_sub(least)
}

/// Texts with at least two blanks between them, and where each begins.
fn chunks(text: &str) -> Vec<(usize, &str)> {
    let mut chunks = Vec::new();
    let mut at = 0_usize;
    for chunk in text.split("  ") {
        let blanks = chunk.len().saturating_sub(chunk.trim_start().len());
        if !chunk.trim().is_empty() {
            chunks.push((at.saturating_add(blanks), chunk.trim()));
        }
        at = at.saturating_add(chunk.len()).saturating_add(2);
    }
    chunks
}

fn has_keys(row: &Row) -> bool {
    chunks(&row.text).iter().any(|(_, chunk)| is_key(chunk))
}

fn is_key(chunk: &str) -> bool {
    chunk.starts_with("ctrl+")
        || chunk.starts_with('⇆')
        || chunk.starts_with("↑↓")
        || chunk.starts_with("enter ")
        || chunk.starts_with("esc ")
        || chunk.starts_with("tab ")
}

/// What stands right of the gutter.
fn without_gutter(row: &Row) -> Row {
    let before = row.text.len().saturating_sub(row.text.trim_start().len());
    match row.trimmed().strip_prefix('┃') {
        Some(_) => without_scroll_bar(&row.after_byte(before.saturating_add('┃'.len_utf8()))),
        None => row.clone(),
    }
}

fn without_scroll_bar(row: &Row) -> Row {
    row.up_to_byte(row.text.trim_end_matches(['█', '▀', '▄', ' ']).len())
}

/// A sidebar shares the rows: its lines begin in one column, far from what stands left of them.
fn without_sidebar(rows: &[Row]) -> Vec<Row> {
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| !has_keys(row)) {
        if let Some(column) = far_column(row) {
            let count = votes.entry(column).or_default();
            *count = count.saturating_add(1);
        }
    }
    let most = votes.values().copied().max().unwrap_or(0);
    let Some(column) = votes.iter().find(|(_, count)| **count == most).map(|(column, _)| *column) else {
        return rows.to_vec();
    };
    if most < SIDEBAR_ROWS {
        return rows.to_vec();
    }
    rows.iter().map(|row| row.up_to_byte(byte_at(&row.text, column))).collect()
}

/// Rows that a sidebar has at least.
const SIDEBAR_ROWS: usize = 3;

/// Blanks between a text and its sidebar.
const SIDEBAR_GAP: usize = 12;

/// No sidebar begins further left.
const SIDEBAR_FROM: usize = 60;

/// The column of what follows the last wide gap of a row.
fn far_column(row: &Row) -> Option<usize> {
    let gap = " ".repeat(SIDEBAR_GAP);
    let (left, right) = row.text.rsplit_once(gap.as_str())?;
    let blanks = right.len().saturating_sub(right.trim_start().len());
    let end = left.len().saturating_add(SIDEBAR_GAP).saturating_add(blanks);
    let column = rows::width(row.text.get(..end)?);
    let is_text = !frame::is_drawing(right);
    (column >= SIDEBAR_FROM && is_text).then_some(column)
}

fn byte_at(text: &str, column: usize) -> usize {
    let mut at = 0_usize;
    for (byte, char) in text.char_indices() {
        if at >= column {
            return byte;
        }
        at = at.saturating_add(rows::width(char.encode_utf8(&mut [0; 4])));
    }
    text.len()
}

/// The last run of rows that stand beside no gutter and are neither a tool nor a meter.
fn said(rows: &[Row]) -> Option<Said> {
    let is_said = |row: &Row| {
        let text = row.trimmed();
        (3..=8).contains(&row.indent()) && !is_marked(text) && !frame::is_drawing(text) && !has_keys(row)
    };
    let meter = rows.iter().rposition(|row| row.trimmed().starts_with('▣'))?;
    let above = rows.get(..meter)?;
    let last = above.iter().rposition(is_said)?;
    let run = above.get(..=last)?;
    let first = run.iter().rposition(|row| !row.is_blank() && !is_said(row)).map_or(0, |row| row.saturating_add(1));
    let run: Vec<&Row> = run.get(first..)?.iter().skip_while(|row| row.is_blank()).collect();
    let indent = run.iter().filter(|row| !row.is_blank()).map(|row| row.indent()).min().unwrap_or(0);
    let lines: Vec<&str> = run.iter().map(|row| row.text.get(indent..).unwrap_or_default()).collect();
    Some(Said { text: lines.join("\n"), cut: false })
}

/// Beside the gutter, or with the sign of a tool, a spinner or a meter before it.
fn is_marked(text: &str) -> bool {
    text.starts_with(['┃', '╹', '▣', '→', '←', '$', '△', '⬝', '■', '•', '✱', '%', '⚙', '◇', '~'])
        || text.starts_with(|char: char| ('\u{2800}'..='\u{28ff}').contains(&char))
}

/// What a tool does or did.
fn step(row: &Row) -> Option<&str> {
    let text = row.trimmed();
    let is_spinner = text.starts_with(|char: char| ('\u{2800}'..='\u{28ff}').contains(&char));
    let is_tool = text.starts_with(['→', '←', '✱', '%', '⚙']);
    let rest = text.trim_start_matches(|char: char| !char.is_alphanumeric() && char != '$' && char != '/');
    ((is_spinner || is_tool) && !rest.is_empty()).then_some(rest)
}
