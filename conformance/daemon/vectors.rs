//! The vectors of the conformance kit on a real daemon, over real sockets, files and processes.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use panewire_conformance::herdr::Desk;
use panewire_conformance::vector::real::{Launch, Running, Subject};
use panewire_conformance::vector::side_by_side::{Manner, play_on};
use panewire_conformance::vector::{Catalog, Played, Report, Sentences, Vector, Verdict};

use super::machine::{BOUND, Machine};
use crate::PROGRAM;

/// Most of the time vectors wait.
const JOBS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

fn launch(options: &str) -> Launch {
    Launch::new(&format!("'{}' serve {options}", PROGRAM.path), PROGRAM.herdr()).unwrap()
}

/// Plays them with all the time that a busy machine may need. Every one passes but for those that are left to the core.
fn every_one_passes(subject: Subject<'_>, vectors: &[&Vector]) {
    let (began, sentences) = (Instant::now(), Sentences::mobile().unwrap());
    let played = play_on(subject, vectors, &Manner { jobs: JOBS, patience: BOUND, slow: false, fault: None });
    let report = Report { subject: PROGRAM.name.into(), played, took: began.elapsed(), sentences: &sentences };
    assert_eq!(report.played.len(), vectors.len());
    let fine = |played: &Played<'_>| {
        let left_out = matches!(played.verdict, Verdict::LeftOut(_));
        left_out == played.vector.is_left_to_the_core() && (left_out || played.verdict == Verdict::Passed)
    };
    assert!(report.played.iter().all(fine), "{report}");
}

#[test]
fn every_vector_passes() {
    let catalog = Catalog::mobile().unwrap();
    let vectors: Vec<&Vector> = catalog.vectors().iter().collect();
    let launch = launch("--listen 127.0.0.1:0 --home {home} --herdr-bin {herdr} --herdr-socket {herdr-socket}");
    every_one_passes(Subject::Launch(&launch), &vectors);
}

#[test]
fn port_and_token_can_be_the_kits_and_herdr_is_found_in_the_environment() {
    let catalog = Catalog::mobile().unwrap();
    let vectors =
        ["opening-in-order", "no-token-is-401", "rotation-sends-a-fresh-opening", "resume-survives-a-restart"];
    let vectors = vectors.map(|name| catalog.named(name).unwrap());
    let launch = launch("--listen 127.0.0.1:{port}").with_variable("PANEWIRE_TOKEN={token}").unwrap();
    every_one_passes(Subject::Launch(&launch), &vectors);
}

#[test]
fn a_server_that_runs_already_is_played_on_as_far_as_it_is_known() {
    let catalog = Catalog::mobile().unwrap();
    let machine = Machine::new(&Desk::default());
    let daemon = machine.start(&[]);
    let url = format!("http://{}", daemon.address);
    let running = Running::new(&url, &daemon.token).unwrap();
    let names = ["opening-in-order", "user-message", "live-entries-between-those-of-a-page", "unknown-pane-is-404"];
    let vectors = names.map(|name| catalog.named(name).unwrap());
    let known = running.clone().with_home(machine.path("home")).with_desk(machine.desk.path().into());
    every_one_passes(Subject::Running(&known), &vectors);
    let left = std::fs::read_dir(machine.path("home")).unwrap().count();
    assert_eq!(left, 0, "what was put there is taken away");

    let manner = Manner { jobs: JOBS, patience: Duration::ZERO, slow: false, fault: None };
    for (running, why) in [
        (
            running.clone(),
            "its files can be put nowhere: say --home DIR; its panes are not known to the server's herdr: say --desk FILE",
        ),
        (running.with_home(machine.path("home")), "its panes are not known to the server's herdr: say --desk FILE"),
    ] {
        let played = play_on(Subject::Running(&running), &vectors, &manner);
        assert_eq!(played[0].verdict, Verdict::LeftOut(why.into()));
    }
}
