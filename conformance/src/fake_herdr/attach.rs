//! `agent attach`: a program that takes a terminal for itself, says what it finds there, and does what a key tells it.
//!
//! | key | it |
//! |---|---|
//! | `s` | says how large its terminal is |
//! | `f` | writes [`FLOOD_BYTES`] |
//! | `q` | ends well |
//! | `x` | ends badly |
//! | any other byte | says it again |

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use rustix::termios::{OptionalActions, isatty, tcgetattr, tcgetwinsize, tcsetattr};

use crate::herdr::Desk;

/// Bytes of a flood, the letter `y` again and again.
pub const FLOOD_BYTES: usize = 4 * 1024 * 1024;

/// Runs the command, if it is this one.
pub(super) fn command(desk: &Desk, arguments: &[&str]) -> Option<ExitCode> {
    let (desk, arguments) = match arguments {
        ["--session", session, rest @ ..] => (desk.sessions.get(*session)?, rest),
        all => (desk, all),
    };
    let (pane, takeover) = match arguments {
        ["agent", "attach", pane] => (pane, ""),
        ["agent", "attach", pane, "--takeover"] => (pane, " alone"),
        _ => return None,
    };
    if !desk.panes.iter().any(|known| known.pane_id == **pane && known.agent.is_some()) {
        println!("agent target {pane} not found");
        return Some(ExitCode::FAILURE);
    }
    Some(attach(&format!("{pane}{takeover}")).unwrap_or(ExitCode::FAILURE))
}

fn attach(to: &str) -> io::Result<ExitCode> {
    let (mut stdin, mut stdout) = (io::stdin(), io::stdout());
    if !isatty(&stdin) {
        return Ok(ExitCode::FAILURE);
    }
    let mut modes = tcgetattr(&stdin)?;
    modes.make_raw();
    tcsetattr(&stdin, OptionalActions::Now, &modes)?;
    let term = std::env::var("TERM").unwrap_or_default();
    write!(stdout, "at {to}, {term}, {}, {}\r\n", size()?, std::process::id())?;
    stdout.flush()?;
    let mut buffer = [0; 1024];
    loop {
        let read = stdin.read(&mut buffer)?;
        if read == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        for byte in buffer.iter().take(read) {
            match byte {
                b's' => write!(stdout, "{}\r\n", size()?)?,
                b'f' => stdout.write_all(&vec![b'y'; FLOOD_BYTES])?,
                b'q' => return Ok(ExitCode::SUCCESS),
                b'x' => return Ok(ExitCode::FAILURE),
                other => stdout.write_all(&[*other])?,
            }
        }
        stdout.flush()?;
    }
}

/// Columns and rows.
fn size() -> io::Result<String> {
    let size = tcgetwinsize(io::stdin())?;
    Ok(format!("{}x{}", size.ws_col, size.ws_row))
}
