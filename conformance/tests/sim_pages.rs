//! Older pages: `load_older` and what answers it.

use core::time::Duration;

use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::PANE;
use panewire_conformance::sim::{Ask, Frames as _, Scene, Speed, TOKEN};
use panewire_core::io::FailureKind;

fn complete(before: i64, oldest: u64, has_older: bool) -> String {
    format!(
        r#"{{"type":"page_complete","requested_before_seq":{before},"oldest_loaded_seq":{oldest},"has_older":{has_older}}}"#
    )
}

#[test]
fn three_pages_up_each_ends_with_the_next_cursor() {
    let mut scene = Scene::with_entries(1_025);
    let client = scene.watch();
    for (before, oldest) in [(876, 726), (726, 576), (576, 426)] {
        scene.world.load_older(client, before, 150);
        scene.world.run();
        let frames = scene.world.fresh(client);
        assert_eq!(frames.seqs(), (oldest..before).collect::<Vec<_>>());
        assert!(frames.iter().all(|frame| !frame.live()));
        assert_eq!(frames.last().unwrap().raw, complete(i64::try_from(before).unwrap(), oldest, true));
    }
    scene.world.finish();
}

#[test]
fn the_last_page_ends_at_the_first_entry_and_beyond_it_is_nothing() {
    let mut scene = Scene::with_entries(200);
    let client = scene.watch();
    scene.world.load_older(client, 51, 150);
    scene.world.run();
    let frames = scene.world.fresh(client);
    assert_eq!(frames.seqs(), (1..=50).collect::<Vec<_>>());
    assert_eq!(frames.last().unwrap().raw, complete(51, 1, false));
    for before in ["1", "0", "-7"] {
        scene.world.say(client, &format!(r#"{{"type":"load_older","before_seq":{before},"limit":10}}"#));
        scene.world.run();
        let frames = scene.world.fresh(client);
        assert_eq!(
            (frames.kinds(), &frames[0].raw),
            (vec!["page_complete"], &complete(before.parse().unwrap(), 0, false))
        );
    }
}

#[test]
fn a_limit_is_defaulted_and_clamped() {
    let mut scene = Scene::with_entries(1_000);
    let client = scene.watch();
    for (limit, oldest) in
        [("", 651), (r#","limit":0"#, 651), (r#","limit":-3"#, 651), (r#","limit":1"#, 800), (r#","limit":501"#, 301)]
    {
        scene.world.say(client, &format!(r#"{{"type":"load_older","before_seq":801{limit}}}"#));
        scene.world.run();
        let frames = scene.world.fresh(client);
        assert_eq!(frames.seqs(), (oldest..=800).collect::<Vec<_>>(), "{limit}");
        assert_eq!(frames.last().unwrap().raw, complete(801, oldest, true));
    }
}

#[test]
fn a_cursor_beyond_the_end_means_the_newest_and_none_means_nothing() {
    let mut scene = Scene::with_entries(20);
    let client = scene.watch();
    scene.world.load_older(client, 9_999, 5);
    scene.world.say(client, r#"{"type":"load_older"}"#);
    scene.world.run();
    let frames = scene.world.fresh(client);
    assert_eq!(frames.seqs(), [16, 17, 18, 19, 20]);
    assert_eq!(frames[5].raw, complete(9_999, 16, true));
    assert_eq!((frames[6].raw.as_str(), frames.len()), (&*complete(0, 0, false), 7));
}

#[test]
fn a_page_that_cannot_be_read_is_empty_and_may_be_asked_for_again() {
    let mut scene = Scene::with_entries(400);
    let client = scene.watch();
    scene.world.disk.spoil(OpKind::Read, &scene.path, Effect::Fail(FailureKind::Other));
    scene.world.load_older(client, 251, 150);
    scene.world.run();
    let frames = scene.world.fresh(client);
    assert_eq!((frames.kinds(), &frames[0].raw), (vec!["page_complete"], &complete(251, 0, true)));
    scene.world.disk.heal();
    scene.world.load_older(client, 251, 150);
    scene.world.run();
    assert_eq!(scene.world.fresh(client).seqs(), (101..=250).collect::<Vec<_>>());
    assert_eq!(scene.world.client(client).closed(), None);
    scene.world.finish();
}

#[test]
fn live_entries_do_not_wait_for_a_page() {
    let mut scene = Scene::with_entries(0);
    let long: String = (0..700).map(|_| scene.agent.assistant(&"deep page ".repeat(300))).collect();
    scene.append(&long);
    let slow = Speed::Slow { bytes: 64 * 1024, every: Duration::from_millis(100) };
    let target = format!("/agent-transcript?pane={PANE}&token={TOKEN}");
    let client = scene.world.ask(&Ask::socket(&target).at(slow));
    scene.world.advance(Duration::from_secs(3));
    assert_eq!(scene.world.fresh(client).kinds().last(), Some(&"backlog_complete"));
    scene.world.load_older(client, 551, 500);
    scene.world.advance(Duration::from_millis(250));
    let line = scene.agent.assistant("news");
    scene.append(&line);
    scene.world.advance(Duration::from_secs(10));
    let frames = scene.world.fresh(client);
    let at = |kind| frames.kinds().iter().position(|other| *other == kind).unwrap();
    assert!(at("live") < at("page_complete"), "live at {}, page ends at {}", at("live"), at("page_complete"));
    assert_eq!(frames.len(), 502);
    scene.world.finish();
}

#[test]
fn pages_are_answered_in_the_order_in_which_they_were_asked_for() {
    let mut scene = Scene::with_entries(300);
    let client = scene.watch();
    (2..6).for_each(|before| scene.world.load_older(client, before, 1));
    scene.world.run();
    let frames = scene.world.fresh(client);
    assert_eq!(frames.seqs(), [1, 2, 3, 4]);
    assert_eq!(frames.kinds(), ["entry", "page_complete"].repeat(4));
}

#[test]
fn a_client_that_asks_for_too_much_is_not_read_until_a_page_is_done() {
    let mut scene = Scene::with_entries(300);
    let client = scene.watch();
    scene.world.disk.spoil(OpKind::Read, &scene.path, Effect::Slow(Duration::from_secs(1)));
    (0..20).for_each(|page| scene.world.load_older(client, 300 - page, 1));
    assert!(scene.world.client(client).held());
    scene.world.advance(Duration::from_secs(40));
    let frames = scene.world.fresh(client);
    assert_eq!(frames.seqs(), (280..=299).rev().collect::<Vec<_>>());
    assert!(!scene.world.client(client).held());
    assert_eq!(scene.world.client(client).closed(), None);
    scene.world.finish();
}

#[test]
fn a_page_is_the_same_whoever_asks_and_whenever() {
    let mut scene = Scene::with_entries(400);
    let (one, other) = (scene.watch(), scene.watch());
    scene.world.load_older(one, 100, 20);
    scene.world.run();
    scene.talk(30);
    scene.world.advance(Duration::from_secs(1));
    scene.world.load_older(other, 100, 20);
    scene.world.run();
    let page = |frames: Vec<panewire_conformance::sim::client::Received>| {
        frames.into_iter().filter(|frame| !frame.live()).map(|frame| frame.raw).collect::<Vec<_>>()
    };
    let (first, second) = (page(scene.world.fresh(one)), page(scene.world.fresh(other)));
    assert_eq!((first.len(), first), (21, second));
}

#[test]
fn a_page_may_be_asked_for_while_the_newest_is_still_on_its_way() {
    let mut scene = Scene::with_entries(300);
    let slow = Speed::Slow { bytes: 4_000, every: Duration::from_millis(50) };
    let target = format!("/agent-transcript?pane={PANE}&token={TOKEN}");
    let client = scene.world.ask(&Ask::socket(&target).at(slow));
    scene.world.advance(Duration::from_millis(200));
    scene.world.load_older(client, 151, 20);
    scene.talk(2);
    scene.world.advance(Duration::from_secs(20));
    let frames = scene.world.fresh(client);
    let mut seqs = frames.seqs();
    seqs.sort_unstable();
    assert_eq!(seqs, (131..=302).collect::<Vec<_>>());
    assert_eq!(frames.only("page_complete").raw, complete(151, 131, true));
    scene.world.finish();
}
