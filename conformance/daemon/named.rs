//! Named sessions of herdr over real sockets, by their own sockets and by herdr's program.

use panewire_conformance::herdr::{Desk, Pane};
use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, PANE, SESSION};
use panewire_conformance::sim::{Frames as _, Transcript};

use super::machine;
use super::machine::Machine;

/// Beside the default session, `work` with a pane of the same name and a conversation of its own.
fn with_work() -> Machine {
    let (mut machine, _) = machine(3);
    let mut agent = Transcript::new(NEXT_SESSION, CWD);
    machine.append(&agent.path(), agent.talk(2));
    let panes = vec![Pane::claude(PANE, CWD).with_session(NEXT_SESSION)];
    let work = Desk { panes, ..Desk::default() };
    machine.desk.change(|desk| _ = desk.sessions.insert("work".into(), work)).unwrap();
    machine.start_session("work");
    machine
}

#[test]
fn a_pane_of_a_named_session_is_served_like_any_other() {
    let machine = with_work();
    for way in ["socket", "cli"] {
        let daemon = machine.start(&["--herdr", way]);
        for (pane, session, entries) in [(PANE, SESSION, 3), ("work/w1:p1", NEXT_SESSION, 2)] {
            let frames = daemon.watch(pane).until("backlog_complete");
            let hello = &frames[0].json;
            assert_eq!((&hello["pane"], &hello["session_id"]), (&pane.into(), &session.into()), "{way}");
            assert_eq!(frames.seqs().len(), entries);
        }
        let ask = |path: &str| daemon.ask(&format!("{path}&token={}", daemon.token), false);
        let (status, card) = ask("/agent-state?pane=work%2Fw1:p1");
        assert_eq!(
            (status, card.starts_with(r#"{"pane_id":"work/w1:p1","agent_kind":"claude""#)),
            (200, true),
            "{card}"
        );
        let unknown = (404, "herdr session \"x\" not found\n".to_owned());
        assert_eq!(ask("/agent-state?pane=x/w1:p1"), unknown, "{way}");
        assert_eq!(ask("/agent-transcript?pane=x/w1:p1"), unknown, "{way}");
        assert_eq!(ask("/agent-transcript?pane=work/w9:p9"), (404, "no such agent\n".to_owned()), "{way}");
    }
}
