//! What the operator reads on standard error.

use std::io::{self, Write as _};

use panewire_core::io::Level;

/// Writes lines up to a level. Never given a token.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    program: &'static str,
    most: Level,
}

impl Log {
    /// Writes in the name of `program` what matters at least as much as `most`.
    #[must_use]
    pub const fn new(program: &'static str, most: Level) -> Self {
        Self { program, most }
    }

    /// Writes one line.
    pub fn write(&self, level: Level, text: &str) {
        if level <= self.most {
            // Who closed our standard error does not want to read it.
            let _ = io::stderr().write_all(line(self.program, level, text).as_bytes());
        }
    }
}

/// One line whatever the text holds: it may quote a client, and a terminal obeys control characters.
fn line(program: &str, level: Level, text: &str) -> String {
    let level = match level {
        Level::Warn => "warning: ",
        Level::Info => "",
        Level::Debug => "debug: ",
    };
    let mut line = format!("{program}: {level}");
    line.extend(text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }));
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_one_line_and_commands_no_terminal() {
        assert_eq!(line("panewire", Level::Info, "pane w1:p1 rotated"), "panewire: pane w1:p1 rotated\n");
        assert_eq!(line("panewire", Level::Warn, "a\nb\u{1b}[2J"), "panewire: warning: a\u{fffd}b\u{fffd}[2J\n");
        assert_eq!(line("panewire-server", Level::Debug, ""), "panewire-server: debug: \n");
    }
}
