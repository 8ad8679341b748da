//! What the operator reads on standard error.

use std::io::{self, Write as _};
use std::os::fd::AsFd;

use panewire_core::io::Level;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Writes lines up to a level. Never given a token.
///
/// It waits for nobody: while a terminal is stopped, or a pipe is full that nobody reads, lines are lost.
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
        if level <= self.most && has_room(io::stderr()) {
            // Who closed our standard error does not want to read it.
            let _ = io::stderr().write_all(line(self.program, level, text).as_bytes());
        }
    }
}

/// Whether a line can be written without waiting. A pipe says so as long as it takes 4 KiB.
fn has_room(out: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&out, PollFlags::OUT)];
    // Where that cannot be asked, it is tried.
    poll(&mut fds, Some(&Timespec::default())) != Ok(0)
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
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_full_pipe_has_no_room_until_it_is_read() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        let mut written = 0;
        while has_room(&writer) {
            written += writer.write(&[b'x'; 1024]).unwrap();
        }
        assert!(written > 0);
        reader.read_exact(&mut vec![0; written]).unwrap();
        assert!(has_room(&writer));
        drop(reader);
        assert!(has_room(&writer), "writing fails at once");
    }

    #[test]
    fn a_text_stays_one_line_and_commands_no_terminal() {
        assert_eq!(line("panewire", Level::Info, "pane w1:p1 rotated"), "panewire: pane w1:p1 rotated\n");
        assert_eq!(line("panewire", Level::Warn, "a\nb\u{1b}[2J"), "panewire: warning: a\u{fffd}b\u{fffd}[2J\n");
        assert_eq!(line("panewire-server", Level::Debug, ""), "panewire-server: debug: \n");
    }
}
