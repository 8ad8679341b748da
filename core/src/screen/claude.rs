//! Claude Code: dialogs under a rule, blocks that begin with a dot, the mode in the last row.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::dialog::{Category, Dialog};
use super::options::{self, List};
use super::passage::{self, Asked};
use super::rows::{self, Row};
use super::{Reading, Said, frame};

pub(super) fn read(rows: &[Row]) -> Reading {
    let found = find(rows);
    let content_end = found.as_ref().map_or_else(|| prompt_box(rows).unwrap_or(rows.len()), |(_, top)| *top);
    let content = rows.get(..content_end).unwrap_or_default();
    let (said, step) = blocks(content);
    Reading {
        dialog: found.map(|(list, top)| dialog(rows, list, top)),
        said,
        step,
        permission_mode: permission_mode(rows),
        lines: frame::readable(rows),
        parsed: true,
    }
}

/// The list that is open, and the first row of its dialog.
fn find(rows: &[Row]) -> Option<(List, usize)> {
    let list = options::numbered(rows).filter(|list| is_open(rows, list)).or_else(|| {
        options::marked(rows).filter(|list| list.has_keys(rows) && is_padded(rows, list) && is_open(rows, list))
    })?;
    let above = rows.get(..list.first)?;
    let rule = above.iter().rposition(frame::is_rule);
    let spoken =
        above.iter().rposition(|row| row.text.starts_with(['⏺', '●', '❯', '✻']) || row.trimmed().starts_with('⎿'));
    let top = rule.max(spoken).map_or(0, |at| at.saturating_add(1));
    Some((list, top))
}

/// What a person said has its marker in the first column; the options of a dialog have not.
fn is_padded(rows: &[Row], list: &List) -> bool {
    rows.get(list.first..list.end).is_some_and(|rows| rows.iter().all(|row| row.indent() > 0))
}

/// While a question is asked there is no prompt box, or the list is marked and its keys are named.
fn is_open(rows: &[Row], list: &List) -> bool {
    let marked = list.is_marked();
    let keys = list.has_keys(rows);
    let has_prompt = rows.get(list.end..).is_some_and(|below| prompt_box(below).is_some());
    let is_draft = list
        .first
        .checked_sub(1)
        .and_then(|above| rows.get(above..=list.first))
        .is_some_and(|pair| matches!(pair, [above, first] if frame::is_rule(above) && first.text.starts_with('❯')));
    !is_draft && if has_prompt { marked && keys } else { marked || keys }
}

/// The first row of the box that a person types in.
fn prompt_box(rows: &[Row]) -> Option<usize> {
    let is_box = |pair: &[Row]| matches!(pair, [rule, prompt] if frame::is_rule(rule) && prompt.text.starts_with('❯'));
    rows.windows(2).rposition(is_box)
}

fn dialog(rows: &[Row], list: List, top: usize) -> Dialog {
    let columns = rows::columns(rows);
    let above = rows.get(top..list.first).unwrap_or_default();
    let is_question =
        above.iter().any(|row| row.text.contains('☐') || row.text.contains('☒') || row.text.contains('✔'));
    let lines = body(above, columns);
    let at = lines
        .iter()
        .rposition(|line| passage::leads_in(line))
        .or_else(|| lines.iter().rposition(|line| line.ends_with(['?', '？'])))
        .or_else(|| lines.iter().rposition(|line| passage::asks(line)))
        .unwrap_or_else(|| if is_question { lines.len().saturating_sub(1) } else { 0 });
    let asked = Asked::at(lines, at);
    let mut detail = asked.detail();
    if detail.is_empty() {
        detail = section_above(rows, top, columns);
    }
    let category = category(&asked, &detail, is_question, &list);
    Dialog { category, question: asked.question, options: list.choices, detail }
}

/// What a dialog says, without its tips and its tabs.
fn body(rows: &[Row], columns: usize) -> Vec<String> {
    let mut lines = passage::lines(rows, columns);
    lines.retain(|line| !line.starts_with("Tip:") && !line.starts_with('←'));
    for line in &mut lines {
        *line = line.trim_start_matches(['☐', '☒', '✔', ' ']).to_string();
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// A plan stands in a section of its own, between two rules.
fn section_above(rows: &[Row], top: usize, columns: usize) -> String {
    let Some(above) = top.checked_sub(1).and_then(|rule| rows.get(..rule)) else { return String::new() };
    let Some(rule) = above.iter().rposition(frame::is_rule) else { return String::new() };
    let Some(section) = above.get(rule.saturating_add(1)..) else { return String::new() };
    let is_plan = section.iter().any(|row| row.text.to_lowercase().contains("plan"));
    if is_plan { body(section, columns).join("\n") } else { String::new() }
}

fn category(asked: &Asked, detail: &str, is_question: bool, list: &List) -> Option<Category> {
    let question = asked.question.to_lowercase();
    let chat = list.choices.iter().any(|choice| choice.label == "Chat about this");
    if is_question || chat {
        Some(Category::Question)
    } else if question.contains("plan") && question.contains("proceed") {
        Some(Category::Plan)
    } else if question.contains("trust") && detail.contains("folder") || detail.starts_with("Accessing workspace") {
        Some(Category::Trust)
    } else if passage::leads_in(&asked.question) {
        Some(Category::Permission)
    } else {
        None
    }
}

/// The last thing said and the last thing done. What is done is a block with a result under it, or a call.
fn blocks(rows: &[Row]) -> (Option<Said>, Option<String>) {
    let heads: Vec<usize> = rows.iter().enumerate().filter(|(_, row)| head(row).is_some()).map(|(at, _)| at).collect();
    let mut said = None;
    let mut step = None;
    for at in heads {
        let Some(text) = rows.get(at).and_then(head) else { continue };
        let rest = rows.get(at.saturating_add(1)..).unwrap_or_default();
        let has_result = rest.first().is_some_and(|row| row.trimmed().starts_with('⎿'));
        if has_result || is_call(text) {
            step = Some(text.to_string());
        } else {
            let mut text = text.to_string();
            for row in rest.iter().take_while(|row| belongs(row)) {
                text.push('\n');
                text.push_str(row.text.strip_prefix("  ").unwrap_or(&row.text));
            }
            said = Some(Said { text: text.trim_end().into(), cut: false });
        }
    }
    if said.is_none() && step.is_none() {
        said = rest_of_one(rows);
    }
    (said, step)
}

fn head(row: &Row) -> Option<&str> {
    row.text.strip_prefix(['⏺', '●']).map(str::trim).filter(|text| !text.is_empty())
}

/// A row that goes on with the block above it.
fn belongs(row: &Row) -> bool {
    row.is_blank() || row.text.starts_with("  ") && !row.trimmed().starts_with('⎿') && !frame::is_rule(row)
}

/// `Name(`, as a call is written.
fn is_call(text: &str) -> bool {
    let name = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
    name > 0 && text.get(name..).is_some_and(|rest| rest.starts_with('('))
}

/// The end of something of which the beginning has left the screen.
fn rest_of_one(rows: &[Row]) -> Option<Said> {
    let end = rows.iter().position(|row| !belongs(row)).unwrap_or(rows.len());
    let text: Vec<&str> = rows.get(..end)?.iter().map(|row| row.text.strip_prefix("  ").unwrap_or(&row.text)).collect();
    let text = text.join("\n").trim().to_string();
    (!text.is_empty()).then_some(Said { text, cut: true })
}

/// Named in the rows under the prompt box, which are hidden while a dialog is open.
fn permission_mode(rows: &[Row]) -> Option<String> {
    let footer = rows.iter().rposition(frame::is_rule).map_or(0, |rule| rule.saturating_add(1));
    let footer = footer.max(rows.len().saturating_sub(MODE_ROWS));
    let rows = rows.get(footer..)?;
    let named = rows.iter().enumerate().rev().find_map(|(at, row)| {
        let text = row.trimmed().strip_prefix("⏵⏵").or_else(|| row.trimmed().strip_prefix('⏸'))?;
        // In a narrow pane the row goes on in the next.
        let next = rows.get(at.saturating_add(1)).map_or("", Row::trimmed);
        let whole = [text.trim(), " ", next, " "].concat().to_lowercase();
        whole.split_once(" on ").map(|(mode, _)| mode.trim().to_string())
    });
    let shortcuts = || rows.iter().any(|row| row.trimmed().starts_with("? for shortcuts")).then(|| "default".into());
    let Some(mode) = named else { return shortcuts() };
    Some(match mode.as_str() {
        "bypass permissions" | "bypasspermissions mode" => "bypassPermissions".into(),
        "accept edits" | "acceptedits mode" => "acceptEdits".into(),
        "plan mode" => "plan".into(),
        "auto mode" => "auto".into(),
        "manual mode" | "default mode" => "default".into(),
        _ => mode,
    })
}

/// Rows at the end of the screen in which the mode may stand.
const MODE_ROWS: usize = 6;
