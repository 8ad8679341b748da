//! What a person reads on standard error when the daemon has started: the panes found, and how to follow one.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::SystemTime;

use hyper::Request;
use hyper::header::{AUTHORIZATION, HOST};
use panewire_core::io::Level;

use crate::arguments::Serve;
use crate::inbox::Inbox;
use crate::listing::{Listing, shell_word};
use crate::{Log, http, token};

/// Panes that are named; `panewire panes` names all.
const NAMED: usize = 5;

/// What is needed to say it.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) secret: String,
    pub(crate) log: Log,
    pub(crate) serve: Serve,
    /// The program that follows a pane.
    pub(crate) follow: String,
    /// Where the daemon listens.
    pub(crate) url: String,
}

/// Asks the daemon's own core, as a client would.
pub(crate) async fn greet(inbox: Inbox, greeting: Greeting) {
    let Greeting { secret, log, serve, follow, url } = greeting;
    let request = Request::get("/panes").header(HOST, "localhost").header(AUTHORIZATION, format!("Bearer {secret}"));
    let Ok(request) = request.body(()) else {
        return;
    };
    let Some(body) = http::whole_body(inbox.request(request.into_parts().0, false)).await else {
        return;
    };
    let Ok(listing) = serde_json::from_slice::<Listing>(&body) else {
        return;
    };
    for warning in listing.warnings() {
        log.write(Level::Warn, &warning);
    }
    if serve.log >= Level::Info {
        let state_dir = serve.places.state_dir.as_ref().map(|path| path.to_string_lossy().into_owned());
        let state_dir = state_dir.map_or_else(String::new, |path| format!(" --state-dir {}", shell_word(&path)));
        let mut text = text(&listing, &follow, &state_dir, SystemTime::now());
        if cfg!(feature = "web") {
            text.push_str(&in_a_browser(&url, &follow, &state_dir));
        }
        if token::from_environment().is_ok_and(|token| token.is_some()) {
            let _ = writeln!(text, "Every client needs the token that {} holds here.", token::VARIABLE);
        }
        // Who closed our standard error does not want to read it.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// `state_dir` is the option that names it, behind a blank, or empty.
fn text(listing: &Listing, program: &str, state_dir: &str, now: SystemTime) -> String {
    let Some(first) = listing.panes.first() else {
        return "There is nothing to follow yet. An agent's session is seen as soon as it begins.\n".to_owned();
    };
    let mut text = format!("{} to follow:\n", if listing.panes.len() == 1 { "One pane" } else { "Panes" });
    for row in listing.panes.iter().take(NAMED) {
        let _ = writeln!(text, "  {}", row.line(now));
    }
    let more = listing.panes.len().saturating_sub(NAMED);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
    let _ = writeln!(text, "Follow one:\n  {} tail{state_dir} {}", shell_word(program), shell_word(&first.pane));
    text
}

fn in_a_browser(url: &str, program: &str, state_dir: &str) -> String {
    format!("Or open {url}/ in a browser. The code that it asks for:\n  {} pair{state_dir}\n", shell_word(program))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn the_line_to_type_is_ready() {
        let listing: Listing =
            serde_json::from_str(r#"{"panes":[{"pane":"w1:p1","agent_kind":"claude","status":"working"}],"notes":[]}"#)
                .unwrap();
        assert_eq!(
            text(&listing, "target/release/panewire", "", UNIX_EPOCH),
            "One pane to follow:\n  w1:p1  claude, working\nFollow one:\n  target/release/panewire tail w1:p1\n"
        );
        assert!(
            text(&listing, "panewire", " --state-dir '/a b'", UNIX_EPOCH)
                .ends_with("  panewire tail --state-dir '/a b' w1:p1\n")
        );
        assert_eq!(
            in_a_browser("http://127.0.0.1:80", "a b/panewire", " --state-dir /s"),
            "Or open http://127.0.0.1:80/ in a browser. The code that it asks for:\n  \
             'a b/panewire' pair --state-dir /s\n"
        );
    }

    #[test]
    fn a_long_list_is_cut_and_an_empty_one_says_what_to_expect() {
        let row = r#"{"pane":"claude:x","agent_kind":"claude"}"#;
        let rows = [row; 7].join(",");
        let listing: Listing = serde_json::from_str(&format!("{{\"panes\":[{rows}]}}")).unwrap();
        let cut = text(&listing, "panewire", "", UNIX_EPOCH);
        assert_eq!(cut.matches("claude:x  claude\n").count(), 5);
        assert!(cut.contains("  and 2 more\n"));
        let nothing = text(&Listing::default(), "panewire", "", UNIX_EPOCH);
        assert!(nothing.starts_with("There is nothing to follow yet."));
    }
}
