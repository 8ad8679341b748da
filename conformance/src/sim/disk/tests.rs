use panewire_core::io::Facts;

use super::*;

const FILE: &str = "/a/b/log.jsonl";

fn disk() -> Disk {
    Disk::new(FileTime(1_000))
}

fn reply(disk: &mut Disk, op: &Op) -> Reply {
    disk.perform(op).unwrap().reply
}

fn open(disk: &mut Disk, path: &str) -> (Handle, Facts) {
    match reply(disk, &Op::Open { path: path.into(), under: None }) {
        Reply::Opened(handle, facts) => (handle, facts),
        other => panic!("{other:?}"),
    }
}

fn read(disk: &mut Disk, handle: Handle) -> (Vec<u8>, u64) {
    match reply(disk, &Op::Read { handle, offset: 0, len: 100 }) {
        Reply::Bytes(bytes, size) => (bytes.to_vec(), size),
        other => panic!("{other:?}"),
    }
}

fn facts(disk: &mut Disk, path: &str) -> Facts {
    match reply(disk, &Op::Stat { path: path.into() }) {
        Reply::Facts(facts) => facts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn growing_and_cutting_keep_the_file_and_move_its_time() {
    let mut disk = disk();
    disk.append(FILE, "one");
    let before = facts(&mut disk, FILE);
    disk.set_time(FileTime(2_000));
    disk.append(FILE, "two");
    let after = facts(&mut disk, FILE);
    assert_eq!((before.size, after.size), (3, 6));
    assert_eq!(before.identity, after.identity);
    assert_eq!((before.modified, after.modified), (FileTime(1_000), FileTime(2_000)));
    disk.truncate(FILE, 1);
    assert_eq!(disk.content(FILE).unwrap(), b"o");
    disk.overwrite(FILE, 3, "x");
    assert_eq!(disk.content(FILE).unwrap(), b"o\0\0x");
    disk.write(FILE, "new");
    assert_eq!(facts(&mut disk, FILE).identity, before.identity);
}

#[test]
fn a_handle_keeps_the_file_that_was_replaced_or_deleted() {
    let mut disk = disk();
    disk.append(FILE, "old");
    let (handle, opened) = open(&mut disk, FILE);
    disk.replace(FILE, "newer");
    assert_eq!(read(&mut disk, handle), (b"old".to_vec(), 3));
    assert_ne!(facts(&mut disk, FILE).identity, opened.identity);
    disk.delete(FILE);
    assert_eq!(reply(&mut disk, &Op::Stat { path: FILE.into() }), Reply::failed(FailureKind::NotFound));
    assert_eq!(read(&mut disk, handle), (b"old".to_vec(), 3));
    assert_eq!(disk.open_files(), [FILE]);
    assert_eq!(reply(&mut disk, &Op::CloseFile { handle }), Reply::Done);
    assert!(disk.open_files().is_empty());
    assert_eq!(reply(&mut disk, &Op::Read { handle, offset: 0, len: 1 }), Reply::failed(FailureKind::Other));
}

#[test]
fn moving_a_directory_moves_what_is_in_it_and_no_identity() {
    let mut disk = disk();
    disk.append(FILE, "x");
    let before = facts(&mut disk, FILE).identity;
    disk.rename("/a/b", "/a/c");
    assert_eq!(facts(&mut disk, "/a/c/log.jsonl").identity, before);
    assert!(disk.content(FILE).is_none());
}

#[test]
fn a_listing_is_bounded_and_follows_links() {
    let mut disk = disk();
    disk.append("/d/one", "1");
    disk.append("/d/deep/two", "22");
    disk.link("/d/three", "/d/deep/two");
    disk.link("/d/broken", "/nowhere");
    let Reply::Listing(names, false) = reply(&mut disk, &Op::List { path: "/d".into(), max_names: 10 }) else {
        panic!()
    };
    let mut found: Vec<_> = names.iter().map(|e| (e.name.as_str(), e.facts.kind, e.facts.size)).collect();
    found.sort_by_key(|(name, ..)| *name);
    let expected = [("deep", FileKind::Directory, 4096), ("one", FileKind::File, 1), ("three", FileKind::File, 2)];
    assert_eq!(found, expected);
    let Reply::Listing(names, true) = reply(&mut disk, &Op::List { path: "/d".into(), max_names: 2 }) else { panic!() };
    assert_eq!(names.len(), 2);
}

#[test]
fn containment_is_about_the_file_that_was_really_opened() {
    let mut disk = disk();
    disk.append("/home/notes", "private");
    disk.append("/within/in", "fine");
    disk.link("/within/out", "/home/notes");
    disk.link("/alias", "/within");
    let under = |path: &str| Op::Open { path: path.into(), under: Some("/alias".into()) };
    assert!(matches!(reply(&mut disk, &under("/within/in")), Reply::Opened(..)));
    assert!(matches!(reply(&mut disk, &under("/alias/in")), Reply::Opened(..)));
    assert_eq!(reply(&mut disk, &under("/within/out")), Reply::failed(FailureKind::Outside));
    assert_eq!(reply(&mut disk, &under("/home/notes")), Reply::failed(FailureKind::Outside));
    assert_eq!(reply(&mut disk, &under("/within/none")), Reply::failed(FailureKind::NotFound));
}

#[test]
fn faults_hit_what_they_name_as_often_as_they_say() {
    let mut disk = disk();
    disk.append(FILE, "0123456789");
    let (handle, _) = open(&mut disk, FILE);
    disk.spoil_times(1, OpKind::Read, FILE, Effect::Fail(FailureKind::Other));
    disk.spoil(OpKind::Read, "", Effect::Short(4));
    disk.spoil(OpKind::Stat, "/elsewhere", Effect::Fail(FailureKind::Denied));
    let ask = Op::Read { handle, offset: 2, len: 100 };
    assert_eq!(reply(&mut disk, &ask), Reply::failed(FailureKind::Other));
    assert_eq!(reply(&mut disk, &ask), Reply::Bytes(Bytes::from_static(b"2345"), 10));
    assert_eq!(facts(&mut disk, FILE).size, 10);
    disk.heal();
    disk.spoil(OpKind::Read, FILE, Effect::Slow(Duration::from_millis(300)));
    let slow = disk.perform(&ask).unwrap();
    assert_eq!(
        slow,
        Performed { reply: Reply::Bytes(Bytes::from_static(b"23456789"), 10), after: Duration::from_millis(300) }
    );
}

#[test]
fn every_operation_is_remembered_once() {
    let mut disk = disk();
    disk.append(FILE, "x");
    let (handle, _) = open(&mut disk, FILE);
    read(&mut disk, handle);
    let kinds: Vec<_> = disk.take_accesses().into_iter().map(|a| (a.kind, a.path, a.len)).collect();
    assert_eq!(kinds, [(OpKind::Open, FILE.into(), 0), (OpKind::Read, FILE.into(), 100)]);
    assert!(disk.take_accesses().is_empty());
}
