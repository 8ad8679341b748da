//! Every kind of example that the transcript contract gives: the agent's line it comes from (ours) in, its shape and field
//! order out. Where the contract's own text is at hand (`PANEWIRE_SHARED`), its examples are compared with ours.

use std::collections::BTreeMap;
use std::path::Path;

use panewire_conformance::shape::Shape;
use panewire_conformance::sim::scene::{NEXT_SESSION, PANE, SESSION_POLLED};
use panewire_conformance::sim::{Scene, config};
use serde_json::{Value, json};

/// What each kind looks like, in the contract's order.
const SHAPES: [(&str, &str); 16] = [
    ("assistant message", "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,text:text,parsed:bool}"),
    ("assistant thinking", "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,text:text,parsed:bool}"),
    (
        "assistant tool_call Bash",
        "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,\
         tool:{id:text,name:text,title:text,subtitle:text,command:text,input_summary:text},parsed:bool}",
    ),
    (
        "assistant tool_call Edit",
        "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,\
         tool:{id:text,name:text,title:text,file:text,diff:text,input_summary:text},parsed:bool}",
    ),
    ("backlog_complete", "{type:text,count:number,has_more:bool}"),
    (
        "entry",
        "{type:text,live:bool,entry:{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,\
         tool:{id:text,name:text,title:text,subtitle:text,command:text,input_summary:text},parsed:bool}}",
    ),
    (
        "hello",
        "{type:text,protocol:number,pane:text,agent_kind:text,session_id:text,backlog_count:number,total:number,\
         has_more:bool,oldest_loaded_seq:number,has_older:bool,generation:text}",
    ),
    ("load_older", "{type:text,before_seq:number,limit:number}"),
    ("page_complete", "{type:text,requested_before_seq:number,oldest_loaded_seq:number,has_older:bool}"),
    ("session_changed", "{type:text,pane:text,from:text,to:text}"),
    ("system message", "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,text:text,parsed:bool}"),
    ("user attachment", "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,text:text,parsed:bool}"),
    ("user message", "{id:text,seq:number,ts:text,role:text,kind:text,text:text,parsed:bool}"),
    (
        "user tool_result diff",
        "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,result:{for_id:text,ok:bool,diff:text},parsed:bool}",
    ),
    (
        "user tool_result failed",
        "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,\
         result:{for_id:text,ok:bool,output_summary:text},parsed:bool}",
    ),
    (
        "user tool_result output",
        "{id:text,parent_id:text,seq:number,ts:text,role:text,kind:text,\
         result:{for_id:text,ok:bool,output_summary:text},parsed:bool}",
    ),
];

const LOAD_OLDER: &str = r#"{"type":"load_older","before_seq":4,"limit":2}"#;

/// Which example this is. A frame is told by its type, an entry by who says what.
fn kind_of(example: &Value) -> String {
    let text = |path: &str| example.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    if example.get("type").is_some() {
        return text("/type");
    }
    let detail = match example.get("result") {
        Some(result) if result["ok"] == false => "failed".into(),
        Some(result) if result.get("diff").is_some() => "diff".into(),
        Some(_) => "output".into(),
        None => text("/tool/name"),
    };
    format!("{} {} {detail}", text("/role"), text("/kind")).trim_end().to_owned()
}

/// One example of each kind, as the core sends it for lines of our own.
fn ours() -> BTreeMap<String, String> {
    let mut scene = Scene::without_file(config());
    let agent = &mut scene.agent;
    let lines = [
        agent.user("Please sort the tool shed."),
        agent.assistant("I **begin** with the rakes."),
        agent.thinking("Rakes first, they fall over."),
        agent.tool_use("Bash", &json!({"command": "ls shed", "description": "Look into the shed"})),
        agent.tool_result("rake\nspade", false, &json!({"stdout": "rake\nspade", "stderr": "", "interrupted": false})),
        agent.tool_use("Edit", &json!({"file_path": "/home/u/project/shed.txt", "old_string": "rake", "new_string": "broom"})),
        agent.tool_result("The file was updated.", false, &json!({
            "filePath": "/home/u/project/shed.txt",
            "structuredPatch": [
                {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": ["-rake", "+broom", " spade"]},
            ],
        })),
        agent.tool_use("Bash", &json!({"command": "rm -r shed", "description": "Start over"})),
        agent.tool_result("The user does not want this.", true, &json!("User rejected tool use")),
        agent.system("The shed is being watched."),
        agent.picture(),
    ];
    lines.iter().for_each(|line| scene.append(line));
    let client = scene.world.watch(PANE);
    scene.world.say(client, LOAD_OLDER);
    let live = scene.agent.tool_use("Bash", &json!({"command": "date", "description": "Look at the clock"}));
    scene.append(&live);
    scene.world.advance(SESSION_POLLED);
    scene.next_session(1);
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    scene.world.advance(SESSION_POLLED);
    let mut examples = BTreeMap::from([("load_older".to_owned(), LOAD_OLDER.to_owned())]);
    for frame in scene.world.client(client).received() {
        let is_example = frame.kind() != "entry" || frame.live();
        if is_example {
            examples.entry(kind_of(&frame.json)).or_insert_with(|| frame.raw.clone());
        }
        if let (Some(entry), Some((_, raw))) = (frame.json.get("entry"), frame.raw.split_once("\"entry\":")) {
            let raw = raw.strip_suffix('}').unwrap_or(raw).to_owned();
            examples.entry(kind_of(entry)).or_insert(raw);
        }
    }
    examples
}

#[test]
fn every_kind_of_example_comes_out_in_its_shape_and_field_order() {
    let ours = ours();
    let shapes: Vec<(&str, String)> =
        ours.iter().map(|(kind, raw)| (kind.as_str(), Shape::of(raw).unwrap().to_string())).collect();
    let expected: Vec<(&str, String)> = SHAPES.iter().map(|(kind, shape)| (*kind, (*shape).to_owned())).collect();
    assert_eq!(shapes, expected);
}

#[test]
fn the_contracts_own_examples_have_the_shape_of_ours() {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        eprintln!("PANEWIRE_SHARED is not set: the contract's own examples are not compared");
        return;
    };
    let seeds = std::fs::read_dir(Path::new(&shared).join("seeds")).unwrap();
    let seed = seeds.map(|entry| entry.unwrap().path()).find(|path| path.to_string_lossy().contains("/000_")).unwrap();
    let text = std::fs::read_to_string(seed).unwrap();
    let transcript = text.split_once("CONTRACT — WS /agent-transcript").unwrap().1;
    let ours = ours();
    let mut compared = Vec::new();
    for line in transcript.lines().map(str::trim).filter(|line| line.starts_with("{\"")) {
        // One example closes a brace too early; what stands before that is whole.
        let Some(Ok(example)) = serde_json::Deserializer::from_str(line).into_iter::<Value>().next() else { continue };
        let Some(Ok(shape)) = serde_json::Deserializer::from_str(line).into_iter::<Shape>().next() else { continue };
        let kind = kind_of(&example);
        let ours = Shape::of(&ours[&kind]).unwrap();
        assert_eq!(without_known_slips(&kind, shape), without_known_slips(&kind, ours), "{line}");
        compared.push(kind);
    }
    compared.sort();
    let expected: Vec<&str> = SHAPES.iter().map(|(kind, _)| *kind).filter(|kind| *kind != "user attachment").collect();
    assert_eq!(compared, expected);
}

/// Two examples of results lack `parsed`. The roster in `hello` and a `parent_id` are there only where there is one, and
/// `generation` goes beyond the contract.
fn without_known_slips(kind: &str, shape: Shape) -> Vec<(String, Shape)> {
    let Shape::Object(mut fields) = shape else { return Vec::new() };
    let optional = match kind {
        "hello" => &["subagents", "generation"][..],
        "user tool_result diff" | "user tool_result failed" => &["parsed"],
        "assistant thinking" => &["parent_id"],
        _ => &[],
    };
    fields.retain(|(name, _)| !optional.contains(&name.as_str()));
    fields
}
