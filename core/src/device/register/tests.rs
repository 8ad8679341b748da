use alloc::vec;

use super::*;
use crate::io::Failure;

const PATH: &str = "/state/devices.json";
const FULL: Grant = Grant { scope: Scope::Full, name: None };
const PHONE: ExId = ExId(7);

fn at(seconds: u64) -> Now {
    let wall = UnixMillis(1_788_600_000_000 + i64::try_from(seconds).unwrap() * 1_000);
    Now { mono: Instant::from_millis(seconds * 1_000), wall }
}

fn failed(kind: FailureKind, text: &str) -> Outcome<'_> {
    Outcome::Failed(Failure { kind, text })
}

fn next(register: &mut Register) -> (Tag, Op) {
    register.poll_op().expect("an operation")
}

/// The text of the list that is written next.
fn written(register: &mut Register) -> (Tag, String) {
    let (tag, op) = next(register);
    let Op::Write { path, bytes } = op else { panic!("{op:?}") };
    assert_eq!(path, PATH);
    (tag, core::str::from_utf8(&bytes).unwrap().to_string())
}

fn draw(register: &mut Register, now: Now, byte: u8) {
    let (tag, op) = next(register);
    let Op::Random { bytes } = op else { panic!("{op:?}") };
    register.handle_outcome(now, tag, Outcome::Random(&vec![byte; bytes]));
}

fn known(devices: &[Device]) -> Register {
    let mut register = Register::new("/state");
    assert!(!register.is_ready(at(0)));
    assert!(!register.is_ready(at(0)), "it is asked for once");
    let (tag, op) = next(&mut register);
    assert_eq!(op, Op::Load { path: PATH.into(), cap: MAX_DEVICES_BYTES });
    assert_eq!(register.poll_op(), None);
    let bytes = kept::write(devices);
    register.handle_outcome(at(0), tag, Outcome::Bytes { bytes: &bytes, size_now: 0 });
    assert!(register.is_ready(at(0)));
    register
}

fn device(n: usize) -> Device {
    Device {
        id: DeviceId(format!("{n:08x}")),
        name: format!("device {n}"),
        scope: Scope::Full,
        bearer: TokenDigest::of(&format!("bearer {n}")),
        paired_at: at(0).wall,
        last_seen: at(0).wall,
    }
}

/// A code that is open.
fn offered(register: &mut Register, grant: Grant) -> String {
    register.offer(at(0), ExId(1), grant);
    draw(register, at(0), 8);
    let Some((ExId(1), Settled::Offered { code, .. })) = register.take_settled() else { panic!("no code") };
    code
}

fn refusal(register: &mut Register) -> (u16, String) {
    match register.take_settled() {
        Some((_, Settled::Refused { status, text, .. })) => (status, text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_device_is_kept_before_it_gets_its_bearer() {
    let mut register = known(&[]);
    let code = offered(&mut register, FULL);
    assert_eq!(code, "1040G208");
    register.pair(at(1), PHONE, "l04o-g2o8", "Ana's phone");
    draw(&mut register, at(2), 0xab);
    let (tag, text) = written(&mut register);
    assert_eq!(register.take_settled(), None);
    let bearer = "ab".repeat(32);
    assert!(!text.contains(&bearer));
    register.handle_outcome(at(2), tag, Outcome::Done);
    let Some((PHONE, Settled::Paired { device, bearer: given })) = register.take_settled() else {
        panic!("not paired")
    };
    assert_eq!((given, device.id.as_str(), device.name.as_str()), (bearer.clone(), "abababab", "Ana's phone"));
    assert_eq!((device.paired_at, device.scope), (at(2).wall, Scope::Full));
    let digest = TokenDigest::of(&bearer);
    assert_eq!(kept::read(text.as_bytes()), Ok(vec![device]));
    assert_eq!(register.caller(&digest), Ok(Some(Caller::Device(DeviceId::from("abababab"), Scope::Full))));
    assert_eq!(register.caller(&TokenDigest::of("another")), Ok(None));
    let note = "paired the device 'Ana's phone' (abababab): it may read and answer".to_string();
    assert_eq!(register.take_note(), Some((Level::Info, note)));
    register.pair(at(3), PHONE, &code, "Another");
    assert_eq!(refusal(&mut register), (403, "invalid or expired pairing code".into()));
}

#[test]
fn the_code_decides_scope_and_name() {
    let mut register = known(&[]);
    let code = offered(&mut register, Grant { scope: Scope::Read, name: Some("tablet".into()) });
    register.pair(at(0), PHONE, &code, "what it says itself");
    draw(&mut register, at(0), 1);
    let (tag, _) = written(&mut register);
    register.handle_outcome(at(0), tag, Outcome::Done);
    let Some((_, Settled::Paired { device, .. })) = register.take_settled() else { panic!("not paired") };
    assert_eq!((device.name.as_str(), device.scope), ("tablet", Scope::Read));
}

#[test]
fn a_device_that_cannot_be_kept_is_none() {
    let mut register = known(&[]);
    let code = offered(&mut register, FULL);
    register.pair(at(0), PHONE, &code, "phone");
    draw(&mut register, at(0), 1);
    let (tag, _) = written(&mut register);
    register.handle_outcome(at(0), tag, failed(FailureKind::Other, "No space left on device"));
    let text =
        "the device cannot be kept: cannot write /state/devices.json: No space left on device; ask for a new code";
    assert_eq!(refusal(&mut register), (500, text.into()));
    assert_eq!(register.devices().map(Iterator::count), Ok(0));
}

#[test]
fn a_device_that_left_before_it_got_its_bearer_is_none() {
    let mut register = known(&[]);
    let code = offered(&mut register, FULL);
    register.pair(at(0), PHONE, &code, "phone");
    draw(&mut register, at(0), 1);
    let (tag, _) = written(&mut register);
    register.leave(PHONE);
    register.handle_outcome(at(0), tag, Outcome::Done);
    assert_eq!(written(&mut register).1, "{\"format\":1,\"devices\":[]}\n");
    assert_eq!(register.devices().map(Iterator::count), Ok(0));
}

#[test]
fn without_random_numbers_nothing_is_made() {
    let mut register = known(&[]);
    let code = offered(&mut register, FULL);
    register.offer(at(0), ExId(1), FULL);
    let (tag, _) = next(&mut register);
    register.handle_outcome(at(0), tag, failed(FailureKind::Other, "none left"));
    assert_eq!(refusal(&mut register), (500, "no code can be made: none left".into()));
    register.pair(at(0), PHONE, &code, "phone");
    let (tag, _) = next(&mut register);
    register.handle_outcome(at(0), tag, failed(FailureKind::Other, "none left"));
    assert_eq!(refusal(&mut register), (500, "no bearer can be made: none left; ask for a new code".into()));
    register.offer(at(0), ExId(1), FULL);
    let (tag, _) = next(&mut register);
    register.handle_outcome(at(0), tag, Outcome::Random(&[1, 2, 3]));
    assert_eq!(refusal(&mut register).0, 500, "fewer bytes than asked for make no code");
}

#[test]
fn an_id_that_is_taken_is_drawn_again() {
    let taken = Device { id: DeviceId::from("01010101"), ..device(1) };
    let mut register = known(&[taken]);
    let code = offered(&mut register, FULL);
    register.pair(at(0), PHONE, &code, "phone");
    draw(&mut register, at(0), 1);
    draw(&mut register, at(0), 2);
    assert!(written(&mut register).1.contains(r#""id":"02020202""#));
}

#[test]
fn a_full_list_takes_nobody_and_no_code_is_lost_by_that() {
    let devices: Vec<Device> = (0..MAX_DEVICES - 1).map(device).collect();
    let mut register = known(&devices);
    let code = offered(&mut register, FULL);
    register.offer(at(0), ExId(1), FULL);
    draw(&mut register, at(0), 9);
    let Some((_, Settled::Offered { code: second, .. })) = register.take_settled() else { panic!("no code") };
    register.pair(at(0), PHONE, &code, "phone");
    draw(&mut register, at(0), 0xff);
    let (tag, _) = written(&mut register);
    register.handle_outcome(at(0), tag, Outcome::Done);
    assert!(matches!(register.take_settled(), Some((PHONE, Settled::Paired { .. }))));
    let full = (409, "64 devices are paired, and no more are allowed: revoke one first".to_string());
    register.pair(at(0), PHONE, &second, "phone");
    assert_eq!(refusal(&mut register), full);
    register.offer(at(0), ExId(1), FULL);
    assert_eq!(refusal(&mut register), full);
    assert!(register.revoke(ExId(2), &DeviceId::from("00000001")));
    register.pair(at(0), PHONE, &second, "phone");
    assert!(matches!(register.pending.values().last(), Some(Pending::Secrets { .. })));
}

#[test]
fn whoever_guesses_is_told_to_wait() {
    let mut register = known(&[]);
    offered(&mut register, FULL);
    for _ in 0..WRONG_CODES {
        register.pair(at(0), PHONE, "00000000", "phone");
        assert_eq!(refusal(&mut register).0, 403);
    }
    let note = "10 wrong pairing codes: every code is dropped, and pairing rests for a minute".to_string();
    assert_eq!(register.take_note(), Some((Level::Warn, note)));
    for ask in [true, false] {
        if ask {
            register.offer(at(1), PHONE, FULL);
        } else {
            register.pair(at(1), PHONE, "00000000", "phone");
        }
        let (text, retry_after) =
            ("too many wrong codes: pairing rests for 59 s".into(), Some(Duration::from_secs(59)));
        assert_eq!(register.take_settled(), Some((PHONE, Settled::Refused { status: 429, text, retry_after })));
    }
}

#[test]
fn a_revoked_device_is_none_at_once() {
    let mut register = known(&[device(1), device(2)]);
    let ids: Vec<&str> = register.devices().unwrap().map(|device| device.id.as_str()).collect();
    assert_eq!(ids, ["00000002", "00000001"]);
    assert!(register.revoke(ExId(1), &DeviceId::from("00000001")));
    assert_eq!(register.caller(&TokenDigest::of("bearer 1")), Ok(None));
    let (tag, text) = written(&mut register);
    assert!(text.contains("00000002") && !text.contains("00000001"));
    register.handle_outcome(at(0), tag, Outcome::Done);
    assert_eq!(register.take_settled(), Some((ExId(1), Settled::Revoked { name: "device 1".into() })));
    assert!(!register.revoke(ExId(1), &DeviceId::from("00000001")));
    assert_eq!(refusal(&mut register), (404, "no such device".into()));
    assert!(register.revoke(ExId(1), &DeviceId::from("00000002")));
    let (tag, _) = written(&mut register);
    register.handle_outcome(at(0), tag, failed(FailureKind::Denied, "Permission denied"));
    let text = "revoked until the daemon is started again: cannot write /state/devices.json: Permission denied";
    assert_eq!(refusal(&mut register), (500, text.into()));
}

#[test]
fn a_device_that_calls_all_day_is_written_once_an_hour() {
    let mut register = known(&[device(1)]);
    let id = DeviceId::from("00000001");
    for minute in 0..60 {
        register.seen(at(minute * 60).wall, &id);
    }
    assert_eq!(register.poll_op(), None);
    register.seen(at(3_600).wall, &id);
    register.seen(at(3_601).wall, &id);
    assert!(written(&mut register).1.contains(r#""last_seen":1788603600000"#));
    assert_eq!(register.poll_op(), None);
    // A clock that was set back.
    register.seen(at(0).wall, &id);
    assert!(written(&mut register).1.contains(r#""last_seen":1788600000000"#));
}

#[test]
fn no_file_is_no_device_and_writes_nothing() {
    let mut register = Register::new("/state");
    assert!(!register.is_ready(at(0)));
    let (tag, _) = next(&mut register);
    assert_eq!(register.caller(&TokenDigest::of("x")), Err(Unreadable));
    register.handle_outcome(at(0), tag, failed(FailureKind::NotFound, "No such file"));
    assert!(register.is_ready(at(0)));
    assert_eq!((register.caller(&TokenDigest::of("x")), register.poll_op()), (Ok(None), None));
}

#[test]
fn a_damaged_list_is_set_aside_before_it_is_written_over() {
    let mut register = Register::new("/state");
    register.is_ready(at(0));
    let (tag, _) = next(&mut register);
    register.handle_outcome(at(0), tag, Outcome::Bytes { bytes: b"{\"format\":1,", size_now: 12 });
    assert!(!register.is_ready(at(0)));
    let (tag, op) = next(&mut register);
    let place = "/state/devices.json.damaged-1788600000000";
    assert_eq!(op, Op::Write { path: place.into(), bytes: Bytes::from_static(b"{\"format\":1,") });
    assert_eq!(register.poll_op(), None);
    register.handle_outcome(at(0), tag, Outcome::Done);
    assert!(register.is_ready(at(0)));
    assert_eq!(written(&mut register).1, "{\"format\":1,\"devices\":[]}\n");
    let (_, said) = register.take_note().unwrap();
    assert!(said.starts_with("/state/devices.json is damaged (EOF while parsing"), "{said}");
    assert!(said.ends_with("): it is kept as /state/devices.json.damaged-1788600000000"), "{said}");
    let (_, said) = register.take_note().unwrap();
    assert_eq!(said, format!("no device is known any more: pair each again, or repair {place} and put it back"));
}

#[test]
fn a_damaged_list_that_cannot_be_set_aside_stays() {
    let mut register = Register::new("/state");
    register.is_ready(at(0));
    let (tag, _) = next(&mut register);
    register.handle_outcome(at(0), tag, Outcome::Bytes { bytes: b"", size_now: 0 });
    let (tag, _) = next(&mut register);
    register.handle_outcome(at(0), tag, failed(FailureKind::Denied, "Permission denied"));
    assert!(register.is_ready(at(0)));
    assert_eq!((register.poll_op(), register.caller(&TokenDigest::of("x"))), (None, Err(Unreadable)));
    register.offer(at(0), PHONE, FULL);
    let (status, text) = refusal(&mut register);
    assert!(status == 500 && text.contains("is damaged, and cannot be kept as"), "{text}");
}

#[test]
fn a_list_that_cannot_be_read_is_tried_again() {
    let mut register = Register::new("/state");
    for (round, kind) in [FailureKind::Denied, FailureKind::TooLarge].into_iter().enumerate() {
        let now = at(round as u64 * 5);
        assert!(!register.is_ready(now));
        let (tag, _) = next(&mut register);
        register.handle_outcome(now, tag, failed(kind, "no"));
        assert!(register.is_ready(now));
        assert_eq!(register.caller(&TokenDigest::of("x")), Err(Unreadable));
        assert_eq!(
            register.devices().map(Iterator::count).map_err(|why| why.contains("/state/devices.json")),
            Err(true)
        );
        assert!(!register.revoke(PHONE, &DeviceId::from("00000001")));
        assert_eq!(refusal(&mut register).0, 500);
        assert_eq!(register.poll_op(), None);
    }
    assert!(!register.is_ready(at(10)));
    let (tag, _) = next(&mut register);
    let bytes = kept::write(&[device(1)]);
    register.handle_outcome(at(10), tag, Outcome::Bytes { bytes: &bytes, size_now: 0 });
    assert!(matches!(register.caller(&TokenDigest::of("bearer 1")), Ok(Some(Caller::Device(..)))));
}
