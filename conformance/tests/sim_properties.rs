//! What holds for every session, however it is cut, polled and paged.

use core::time::Duration;

use panewire_conformance::sim::client::Received;
use panewire_conformance::sim::scene::{CWD, PANE, SESSION};
use panewire_conformance::sim::{Frames as _, Scene, Transcript, config};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

/// One thing an agent writes.
#[derive(Debug, Clone)]
enum Written {
    Said(String),
    Answered(String),
    Thought(String),
    Called(String),
    Returned(String, bool),
    Noted,
    Blank,
    Garbage(String),
    Windows,
}

fn written() -> impl Strategy<Value = Written> {
    let text = "[ -~äöü„“🔎\\n\\t]{0,40}";
    prop_oneof![
        text.prop_map(Written::Said),
        text.prop_map(Written::Answered),
        text.prop_map(Written::Thought),
        text.prop_map(Written::Called),
        (text, any::<bool>()).prop_map(|(text, failed)| Written::Returned(text, failed)),
        Just(Written::Noted),
        Just(Written::Blank),
        "[a-z{}\":,]{1,12}".prop_map(Written::Garbage),
        Just(Written::Windows),
    ]
}

fn session(of: &[Written]) -> Vec<u8> {
    let mut agent = Transcript::new(SESSION, CWD);
    let lines: String = of
        .iter()
        .map(|one| match one {
            Written::Said(text) => agent.user(text),
            Written::Answered(text) => agent.assistant(text),
            Written::Thought(text) => agent.thinking(text),
            Written::Called(text) => agent.tool_use("Bash", &json!({"command": text, "description": "x"})),
            Written::Returned(text, failed) => agent.tool_result(text, *failed, &json!({"stdout": text, "stderr": ""})),
            Written::Noted => agent.bookkeeping(),
            Written::Blank => " \n".into(),
            Written::Garbage(text) => format!("{text}\n"),
            Written::Windows => agent.user("a line of another world").replace('\n', "\r\n"),
        })
        .collect();
    lines.into_bytes()
}

/// What a client is sent that connects when everything is written: every entry, opening and older pages.
fn whole(bytes: &[u8]) -> Vec<String> {
    let mut scene = Scene::without_file(config());
    scene.world.disk.append(&scene.path, bytes);
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    let total = frames.only("hello").number("total");
    let mut entries = entries(&frames);
    while entries.len() < usize::try_from(total).unwrap_or_default() {
        let before = total - u64::try_from(entries.len()).unwrap_or_default() + 1;
        scene.world.load_older(client, before, 500);
        scene.world.run();
        let page = self::entries(&scene.world.fresh(client));
        assert!(!page.is_empty(), "no page before {before}");
        entries.splice(0..0, page);
    }
    scene.world.finish();
    entries
}

/// The entries alone, as they came, whether live or not.
fn entries(frames: &[Received]) -> Vec<String> {
    frames.iter().filter_map(|frame| frame.raw.split_once("\"entry\":{")).map(|(_, entry)| entry.to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_entries(
        of in vec(written(), 0..30),
        cuts in vec((1_usize..400, 0_u64..600), 0..40),
        connect_after in 0_usize..10,
    ) {
        let bytes = session(&of);
        let expected = whole(&bytes);
        let mut scene = Scene::without_file(config());
        let (mut rest, mut client) = (&bytes[..], None);
        for (at, (len, wait)) in cuts.iter().chain([&(usize::MAX, 0)]).enumerate() {
            if at == connect_after {
                client = Some(scene.world.watch(PANE));
            }
            let (chunk, later) = rest.split_at((*len).min(rest.len()));
            scene.world.disk.append(&scene.path, chunk);
            scene.world.advance(Duration::from_millis(*wait));
            rest = later;
        }
        let client = client.unwrap_or_else(|| scene.world.watch(PANE));
        scene.world.advance(Duration::from_secs(3));
        let frames = scene.world.fresh(client);
        prop_assert_eq!(entries(&frames), expected);
        scene.world.finish();
    }

    #[test]
    fn the_entries_of_a_prefix_are_a_prefix_of_the_entries(of in vec(written(), 1..12), cut in any::<prop::sample::Index>()) {
        let bytes = session(&of);
        let expected = whole(&bytes);
        let prefix = whole(&bytes[..cut.index(bytes.len() + 1)]);
        prop_assert_eq!(&prefix[..], &expected[..prefix.len()]);
    }

    #[test]
    fn pages_cover_everything_exactly_once(entries in 0_u32..700, limits in vec(1_u64..600, 1..6), live in 0_u32..5) {
        let mut scene = Scene::with_entries(entries);
        let client = scene.world.watch(PANE);
        let mut frames = scene.world.fresh(client);
        let mut cursor = frames.only("hello").number("oldest_loaded_seq");
        let mut seqs = frames.seqs();
        for limit in limits.iter().cycle() {
            if cursor <= 1 {
                break;
            }
            scene.talk(live);
            scene.world.load_older(client, cursor, *limit);
            scene.world.advance(Duration::from_millis(100));
            frames = scene.world.fresh(client);
            cursor = frames.only("page_complete").number("oldest_loaded_seq");
            seqs.extend(frames.seqs());
        }
        scene.world.advance(Duration::from_secs(1));
        seqs.extend(scene.world.fresh(client).seqs());
        seqs.sort_unstable();
        let total = scene.world.disk.content(&scene.path).map_or(0, |content| content.split(|b| *b == b'\n').count() - 1);
        prop_assert_eq!(seqs, (1..=u64::try_from(total).unwrap()).collect::<Vec<_>>());
        scene.world.finish();
    }
}
