//! Every session of opencode in the corpus, when it is at hand: `PANEWIRE_SHARED=<directory> cargo test`. Exports are laid
//! out as a JSON tree first.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod feeding;

use std::fs;
use std::path::{Path, PathBuf};

use feeding::{Feeding, config, said};
use panewire_core::agent::AgentKind;
use panewire_core::config::Roots;
use panewire_core::entry::{Body, Entry};
use panewire_core::ids::SessionId;
use panewire_core::source::spool::Stored;
use serde_json::{Value, json};

/// A directory with a tree in `data/storage`.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("ours")).unwrap();
        Self(directory)
    }

    fn storage(&self) -> PathBuf {
        self.0.path().join("data/storage")
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.storage().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Everything that has settled in a session, long after it was written.
    fn entries(&self, session: &str) -> Vec<Entry> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let root = self.0.path();
        let roots = Roots {
            opencode: text(&root.join("data")),
            opencode_state: text(&root.join("state")),
            ..Roots::below(&text(&root.join("nobody")))
        };
        let (path, under) = (text(&self.storage().join("session")), text(&self.storage()));
        let session = SessionId::from(session);
        let stored = Stored { kind: AgentKind::Opencode, session, path, under, exists: true, directory: None };
        let mut feeding = Feeding::of(stored, &config(roots, &text(&root.join("ours"))));
        let entries = feeding.look();
        assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
        for row in feeding.feed.take_drift().rows() {
            println!("  not known: {} {:?}", row.name, row.what);
        }
        entries
    }
}

fn lay_out_export(tree: &Tree, export: &Value) -> String {
    let session = export["info"]["id"].as_str().unwrap();
    for message in export["messages"].as_array().unwrap() {
        let id = message["info"]["id"].as_str().unwrap();
        tree.put(&format!("message/{session}/{id}.json"), &message["info"].to_string());
        for part in message["parts"].as_array().unwrap() {
            tree.put(&format!("part/{id}/{}.json", part["id"].as_str().unwrap()), &part.to_string());
        }
    }
    session.to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
            let long_ago = fs::File::options().write(true).open(&target).unwrap();
            long_ago.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
        }
    }
}

fn find(directory: &Path, name: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|other| other == name) {
            found.push(path);
        } else if path.is_dir() {
            find(&path, name, found);
        }
    }
    found.sort();
}

fn is_blank(entry: &Entry) -> bool {
    match &entry.body {
        Body::Message(text) | Body::Thinking(text) | Body::Attachment(text) => text.text.trim().is_empty(),
        Body::ToolCall(call) => call.name.trim().is_empty(),
        Body::ToolResult(_) => false,
    }
}

#[test]
fn the_corpus_is_read_without_loss() {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        println!("skipped: PANEWIRE_SHARED names no directory with a corpus");
        return;
    };
    let corpus = Path::new(&shared).join("corpus/opencode");
    let mut sessions: Vec<(Tree, String)> = Vec::new();
    let mut exports = Vec::new();
    find(&corpus, "full.jsonl", &mut exports);
    for export in exports {
        let tree = Tree::new();
        let export: Value = serde_json::from_slice(&fs::read(&export).unwrap()).unwrap();
        let session = lay_out_export(&tree, &export);
        sessions.push((tree, session));
    }
    let mut trees = Vec::new();
    find(&corpus, "storage_v2", &mut trees);
    find(&corpus, "storage", &mut trees);
    for storage in trees {
        let mut names = Vec::new();
        for name in ["message", "part"] {
            find(&storage, name, &mut names);
        }
        let ids: Vec<String> = fs::read_dir(storage.join("message"))
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
            .collect();
        let lone = ids.is_empty();
        for id in if lone { vec!["ses_aaa".to_owned()] } else { ids } {
            let tree = Tree::new();
            copy(&storage, &tree.storage());
            if lone {
                // Parts whose messages are not in the corpus.
                for (at, (id, role)) in [("msg_001", "user"), ("msg_002", "assistant")].into_iter().enumerate() {
                    let info = json!({"id": id, "role": role, "time": {"created": at, "completed": at}});
                    tree.put(&format!("message/ses_aaa/{id}.json"), &info.to_string());
                }
            }
            sessions.push((tree, id));
        }
    }
    assert!(sessions.len() >= 5, "there is a corpus");
    let (mut all, mut unparsed, mut on_purpose) = (0, 0, 0);
    for (tree, session) in &sessions {
        let entries = tree.entries(session);
        println!("{session}: {} entries", entries.len());
        assert!(!entries.is_empty(), "{session}");
        all += entries.len();
        for entry in &entries {
            assert!(!is_blank(entry), "{entry:?}");
            if !entry.parsed {
                println!("  not parsed: {}", said(entry));
                // A fixture that is broken to be met.
                if said(entry).contains("{not valid json") { on_purpose += 1 } else { unparsed += 1 }
            }
        }
    }
    println!("{} sessions, {all} entries, {unparsed} not parsed, {on_purpose} broken on purpose", sessions.len());
    assert_eq!((unparsed, on_purpose), (0, 1));
}
