//! Codex: cells that begin with a dot, and a question under them with a key for each option.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::dialog::{Category, Dialog};
use super::options::{self, List};
use super::passage::{self, Asked};
use super::rows::{self, Row};
use super::{Reading, Said, frame};

pub(super) fn read(rows: &[Row]) -> Reading {
    let list = options::numbered(rows).or_else(|| options::marked(rows)).filter(|list| list.has_keys(rows));
    let (dialog, content) = match list {
        Some(list) => {
            let top = rows.get(..list.first).and_then(|above| above.iter().rposition(is_cell));
            let content = rows.get(..top.map_or(0, |top| top.saturating_add(1))).unwrap_or_default();
            (Some(dialog(rows, list, top)), content)
        }
        None => (None, rows),
    };
    let (said, step) = cells(content);
    Reading { dialog, said, step, permission_mode: None, lines: frame::readable(rows), parsed: true }
}

/// A row that begins something in the conversation.
fn is_cell(row: &Row) -> bool {
    row.text.starts_with(['•', '◦', '✗', '■', '✔', '⚠', '└', '╰'])
        || row.text.starts_with("› ")
        || row.trimmed().starts_with('└')
}

fn dialog(rows: &[Row], mut list: List, top: Option<usize>) -> Dialog {
    let columns = rows::columns(rows);
    let above = rows.get(top.map_or(0, |top| top.saturating_add(1))..list.first).unwrap_or_default();
    let mut lines: Vec<String> = passage::lines(above, columns);
    for line in &mut lines {
        *line = line.trim_start_matches(['>', '✨', ' ']).to_string();
    }
    let at = lines
        .iter()
        .position(|line| passage::leads_in(line))
        .or_else(|| lines.iter().position(|line| passage::asks(line)))
        .unwrap_or_else(|| lines.len().saturating_sub(1));
    let mut asked = Asked::at(lines, at);
    if top.is_some() {
        // What stands between the cell and the question belongs to the cell.
        asked.before.clear();
    }
    options::take_keys(&mut list.choices);
    let lower = asked.question.to_lowercase();
    let category = if lower.starts_with("do you trust") {
        Some(Category::Trust)
    } else {
        passage::leads_in(&lower).then_some(Category::Permission)
    };
    Dialog { category, detail: asked.detail(), question: asked.question, options: list.choices }
}

/// The last thing said and the last thing done. What is done has a result under it, or counts its lines.
fn cells(rows: &[Row]) -> (Option<Said>, Option<String>) {
    let (mut said, mut step) = (None, None);
    for (at, row) in rows.iter().enumerate() {
        let Some(head) = row.text.strip_prefix("• ").map(str::trim) else { continue };
        let rest = rows.get(at.saturating_add(1)..).unwrap_or_default();
        let has_result = rest.first().is_some_and(|row| row.trimmed().starts_with('└'));
        if head.contains("esc to interrupt") {
            continue;
        }
        if has_result || counts_lines(head) {
            step = Some(head.to_string());
            continue;
        }
        let mut text = head.to_string();
        for row in rest.iter().take_while(|row| row.is_blank() || row.text.starts_with("  ") && !is_cell(row)) {
            text.push('\n');
            text.push_str(row.text.strip_prefix("  ").unwrap_or(&row.text));
        }
        let text = text.lines().take_while(|line| !is_meter(line)).collect::<Vec<_>>().join("\n");
        said = Some(Said { text: text.trim_end().into(), cut: false });
    }
    (said, step)
}

/// `Edited note.txt (+1 -1)`.
fn counts_lines(head: &str) -> bool {
    let counts = head.strip_suffix(')').and_then(|text| text.rsplit_once(" (+")).map(|(_, counts)| counts);
    counts.is_some_and(|counts| counts.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-')))
}

/// `Worked for 6s • 6:28 PM`.
fn is_meter(line: &str) -> bool {
    line.starts_with("Worked for ")
}
