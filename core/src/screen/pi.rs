//! pi: dialogs between two rules, with an arrow on the option that Enter takes.

use alloc::string::String;

use super::dialog::{Category, Dialog};
use super::options::{self, List};
use super::passage::{self, Asked};
use super::rows::{self, Row};
use super::{Reading, Said, frame};

pub(super) fn read(rows: &[Row]) -> Reading {
    let list = options::marked(rows).or_else(|| options::numbered(rows)).filter(|list| list.has_keys(rows));
    let dialog = list.map(|list| dialog(rows, list));
    let said = if dialog.is_none() { said(rows) } else { None };
    Reading { dialog, said, step: None, permission_mode: None, lines: frame::readable(rows), parsed: true }
}

fn dialog(rows: &[Row], list: List) -> Dialog {
    let above = rows.get(..list.first).unwrap_or_default();
    let top = above.iter().rposition(frame::is_rule).map_or(0, |rule| rule.saturating_add(1));
    let lines = passage::lines(above.get(top..).unwrap_or_default(), rows::columns(rows));
    let at = lines.iter().position(|line| passage::asks(line)).unwrap_or(0);
    let asked = Asked::at(lines, at);
    let is_trust = asked.question.to_lowercase().starts_with("trust");
    let category = is_trust.then_some(Category::Trust);
    Dialog { category, detail: asked.detail(), question: asked.question, options: list.choices }
}

/// The last paragraph above the prompt box. Who said it is not on the screen without colours.
fn said(rows: &[Row]) -> Option<Said> {
    let content = rows.iter().position(frame::is_rule).map_or(rows, |rule| rows.get(..rule).unwrap_or_default());
    let last = content.split(Row::is_blank).rfind(|paragraph| paragraph.iter().any(|row| !is_chrome(row)))?;
    let mut text = String::new();
    for row in last.iter().filter(|row| !is_chrome(row)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(row.text.strip_prefix(' ').unwrap_or(&row.text));
    }
    Some(Said { text, cut: false })
}

fn is_chrome(row: &Row) -> bool {
    let text = row.trimmed();
    text.is_empty()
        || text.starts_with("Working...")
        || text.starts_with("pi v")
        || text.starts_with("escape interrupt")
        || text.contains("ctrl+o ")
}
