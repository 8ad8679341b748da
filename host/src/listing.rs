//! The panes that the core lists, for people: `panes` prints all of them, the daemon's greeting the first few.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

/// Characters of a pane's title that are shown.
const TITLE_CHARS: usize = 60;

/// For a herdr that could not be asked.
const HERDR_ADVICE: &str = "; --herdr-bin PATH or --herdr-socket PATH say where it is, --herdr none leaves it out";

/// The answer to `GET /panes`.
#[derive(Debug, Default, Deserialize)]
pub struct Listing {
    /// herdr's panes, then the newest sessions.
    pub panes: Vec<Row>,
    /// What could not be looked at.
    #[serde(default)]
    notes: Vec<String>,
}

/// One pane.
#[derive(Debug, Deserialize)]
pub struct Row {
    /// Its name, as clients give it.
    pub pane: String,
    agent_kind: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    modified_ms: Option<i64>,
}

impl Row {
    /// `claude:7d2c  claude, idle, 3 min ago, 1.2 MB, /home/u/x: what it is about`
    #[must_use]
    pub fn line(&self, now: SystemTime) -> String {
        let facts = [
            Some(self.agent_kind.clone()),
            self.status.clone(),
            self.modified_ms.map(|at| ago(at, now)),
            self.size.map(bytes),
            self.cwd.clone(),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        let title = self.title.as_ref().map_or_else(String::new, |title| format!(": {}", short(title)));
        one_line(&format!("{}  {}{title}", self.pane, facts.join(", ")))
    }
}

impl Listing {
    /// What could not be looked at, and what can be done about it.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.notes.iter().map(|note| {
            let advice = if note.starts_with("herdr ") { HERDR_ADVICE } else { "" };
            format!("{note}{advice}")
        })
    }

    /// Writes every pane and its file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write, now: SystemTime) -> io::Result<()> {
        for row in &self.panes {
            writeln!(out, "{}", row.line(now))?;
            if let Some(file) = &row.file {
                writeln!(out, "    {}", one_line(file))?;
            }
        }
        Ok(())
    }
}

/// A word that a shell takes as it is, or one in quotes.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A text without line breaks, and without anything that a terminal obeys.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A title as long as a line of a terminal can bear.
fn short(title: &str) -> String {
    match title.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", title.get(..end).unwrap_or_default().trim_end()),
        None => title.to_owned(),
    }
}

pub(crate) fn ago(unix_millis: i64, now: SystemTime) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(u64::try_from(unix_millis).unwrap_or_default());
    let seconds = now.duration_since(at).unwrap_or_default().as_secs();
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

fn bytes(size: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", size / unit, size % unit * 10 / unit);
    match size {
        0..1_000 => format!("{size} bytes"),
        1_000..1_000_000 => format!("{} kB", size / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_one_line_and_its_file_another() {
        let json = r#"{"panes":[{"pane":"w1:p2","agent_kind":"codex","status":"idle","title":"fix\n\u001bit"},
            {"pane":"claude:7d2c","agent_kind":"claude","session_id":"7d2c","cwd":"/w","file":"/h/7d2c.jsonl",
             "size":1234567,"modified_ms":1000000}],"notes":["herdr agent list: no luck","the disk: no luck"]}"#;
        let listing: Listing = serde_json::from_str(json).unwrap();
        let mut out = Vec::new();
        listing.write(&mut out, UNIX_EPOCH + Duration::from_secs(1000 + 185)).unwrap();
        let expected = "w1:p2  codex, idle: fix  it\n\
                        claude:7d2c  claude, 3 min ago, 1.2 MB, /w\n    /h/7d2c.jsonl\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let warnings: Vec<String> = listing.warnings().collect();
        assert_eq!(warnings, [format!("herdr agent list: no luck{HERDR_ADVICE}"), "the disk: no luck".to_owned()]);
    }

    #[test]
    fn times_and_sizes_are_short() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let before = |seconds: i64| ago((1_000_000 - seconds) * 1000, now);
        assert_eq!(
            [before(-5), before(59), before(60), before(7_200), before(200_000)],
            ["just now", "just now", "1 min ago", "2 h ago", "2 days ago"]
        );
        assert_eq!(
            [bytes(0), bytes(999), bytes(45_678), bytes(9_950_000), bytes(12_345_678_901)],
            ["0 bytes", "999 bytes", "45 kB", "9.9 MB", "12.3 GB"]
        );
    }

    #[test]
    fn a_long_title_is_cut_between_characters() {
        assert_eq!(short(&"\u{e4}".repeat(60)), "\u{e4}".repeat(60));
        assert_eq!(short(&"\u{e4}".repeat(61)), format!("{}…", "\u{e4}".repeat(60)));
    }

    #[test]
    fn a_word_survives_the_shell() {
        assert_eq!(shell_word("claude:7d2c"), "claude:7d2c");
        assert_eq!(shell_word("claude:dir:/a b"), "'claude:dir:/a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
