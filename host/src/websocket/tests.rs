use super::*;

/// A frame as a client sends it, masked with zeros.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match u16::try_from(payload.len()).unwrap() {
        length @ 0..=125 => frame.push(0x80 | u8::try_from(length).unwrap()),
        length => {
            frame.push(0x80 | 126);
            frame.extend(length.to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

fn close_frame(code: u16, reason: &str) -> Vec<u8> {
    let mut frame = vec![0x88, u8::try_from(reason.len() + 2).unwrap()];
    frame.extend(code.to_be_bytes());
    frame.extend(reason.as_bytes());
    frame
}

fn receive(socket: &mut WebSocket, mut bytes: &[u8]) -> Vec<Received> {
    let mut received = Vec::new();
    while let Some(next) = socket.receive(&mut bytes) {
        received.push(next);
    }
    assert!(bytes.is_empty(), "all is taken");
    received
}

/// Everything queued, taken in writes of at most `most` bytes through at most `slices` slices, and the credit.
fn take(socket: &mut WebSocket, most: usize, slices: usize) -> (Vec<u8>, usize) {
    let (mut out, mut credit) = (Vec::new(), 0);
    while !socket.is_flushed() {
        let mut room = vec![IoSlice::new(&[]); slices];
        let used = socket.fill(&mut room);
        assert!(used > 0);
        let bytes: Vec<u8> = room[..used].iter().flat_map(|slice| slice.to_vec()).take(most).collect();
        credit += socket.advance(bytes.len());
        out.extend(bytes);
    }
    assert_eq!(socket.fill(&mut [IoSlice::new(&[])]), 0);
    (out, credit)
}

fn text(text: &str) -> Received {
    Received::Text(text.into())
}

#[test]
fn messages_come_out_whole_however_they_are_cut() {
    let mut bytes = masked(0x81, b"{\"type\":\"load_older\"}");
    bytes.extend(masked(0x82, &[1, 2, 3]));
    bytes.extend(masked(0x01, "h\u{e4}".as_bytes().split_at(2).0)); // a character cut by fragmentation
    bytes.extend(masked(0x8a, b""));
    bytes.extend(masked(0x80, "h\u{e4}".as_bytes().split_at(2).1));
    let expected = vec![
        text("{\"type\":\"load_older\"}"),
        Received::Binary(vec![1, 2, 3].into()),
        Received::Pong,
        text("h\u{e4}"),
    ];
    for size in 1..=bytes.len() {
        let mut socket = WebSocket::server();
        let received: Vec<_> = bytes.chunks(size).flat_map(|chunk| receive(&mut socket, chunk)).collect();
        assert_eq!(received, expected, "pieces of {size}");
    }
}

#[test]
fn received_messages_are_the_cores() {
    assert_eq!(text("a").as_message(), Some(Message::Text("a")));
    assert_eq!(Received::Binary(Bytes::from_static(b"b")).as_message(), Some(Message::Binary(b"b")));
    assert_eq!(Received::Pong.as_message(), Some(Message::Pong));
    assert_eq!(Received::Fault(Fault::TooLarge).as_message(), Some(Message::Fault(Fault::TooLarge)));
    assert_eq!(Received::Closed.as_message(), None);
}

#[test]
fn frames_leave_in_order_and_credit_counts_their_payload_alone() {
    let long = "x".repeat(300);
    let huge = "y".repeat(70_000);
    let mut expected = vec![0x81, 2, b'h', b'i', 0x82, 1, 9, 0x89, 0, 0x81, 126, 1, 44];
    expected.extend(long.as_bytes());
    expected.extend([0x81, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]);
    expected.extend(huge.as_bytes());
    expected.extend([0x81, 0]);
    for (most, slices) in [(usize::MAX, 64), (1, 1), (7, 3), (1000, 2), (65_536, 4)] {
        let mut socket = WebSocket::server();
        for frame in [
            Frame::Text(Bytes::from_static(b"hi")),
            Frame::Binary(Bytes::from_static(&[9])),
            Frame::Ping,
            Frame::Text(long.clone().into()),
            Frame::Text(huge.clone().into()),
            Frame::Text(Bytes::new()),
        ] {
            socket.send(frame);
        }
        let (out, credit) = take(&mut socket, most, slices);
        assert!(out == expected, "writes of {most} through {slices}");
        assert_eq!(credit, 2 + 1 + 300 + 70_000);
    }
}

#[test]
fn a_payload_is_shared_and_not_copied() {
    let payload = Bytes::from(vec![b'z'; 1000]);
    let mut socket = WebSocket::server();
    socket.send(Frame::Text(payload.clone()));
    let mut slices = [IoSlice::new(&[]); 4];
    assert_eq!(socket.fill(&mut slices), 2);
    assert_eq!(slices[1].as_ptr(), payload.as_ptr());
}

#[test]
fn an_emptied_queue_gives_its_room_back() {
    let mut socket = WebSocket::server();
    for _ in 0..500 {
        socket.send(Frame::Ping);
    }
    take(&mut socket, usize::MAX, 1000);
    assert_eq!(socket.queue.capacity(), 0);
}

#[test]
fn a_ping_is_answered_with_its_own_words() {
    let mut socket = WebSocket::server();
    assert_eq!(receive(&mut socket, &masked(0x89, b"you")), []);
    assert_eq!(take(&mut socket, usize::MAX, 8), (vec![0x8a, 3, b'y', b'o', b'u'], 0));
}

#[test]
fn a_flood_of_pings_from_one_that_never_reads_takes_no_memory() {
    let mut socket = WebSocket::server();
    socket.send(Frame::Text(Bytes::from_static(b"page")));
    for number in 0..10_000_u32 {
        receive(&mut socket, &masked(0x89, &number.to_be_bytes()));
    }
    assert_eq!(socket.queue.len(), 2);
    let (out, credit) = take(&mut socket, usize::MAX, 8);
    assert_eq!((out, credit), (b"\x81\x04page\x8a\x04\x00\x00\x27\x0f".to_vec(), 4));
}

#[test]
fn a_half_sent_pong_is_left_alone() {
    let mut socket = WebSocket::server();
    receive(&mut socket, &masked(0x89, b"one"));
    assert_eq!(socket.advance(2), 0);
    receive(&mut socket, &masked(0x89, b"two"));
    receive(&mut socket, &masked(0x89, b"six"));
    assert_eq!(take(&mut socket, usize::MAX, 8).0, b"one\x8a\x03six");
}

#[test]
fn our_close_comes_after_what_was_sent_and_waits_for_the_answer() {
    let mut socket = WebSocket::server();
    socket.send(Frame::Text(Bytes::from_static(b"last")));
    socket.close(CloseCode::Normal, "unrecognized control frame");
    socket.send(Frame::Text(Bytes::from_static(b"too late")));
    let mut expected = b"\x81\x04last".to_vec();
    expected.extend(close_frame(1000, "unrecognized control frame"));
    assert_eq!(take(&mut socket, usize::MAX, 8), (expected, 4));
    assert_eq!(socket.ending(), Ending::AwaitPeer);
    // What was on its way is dropped.
    let mut bytes = masked(0x81, b"hello?");
    bytes.extend(masked(0x89, b"ping"));
    bytes.extend(masked(0x88, &1000_u16.to_be_bytes()));
    assert_eq!(receive(&mut socket, &bytes), [Received::Closed]);
    assert_eq!((socket.ending(), socket.is_flushed()), (Ending::Done, true));
    assert_eq!(receive(&mut socket, b"and more"), []);
}

#[test]
fn a_clients_close_is_answered_before_what_waits_but_never_inside_a_frame() {
    let mut socket = WebSocket::server();
    socket.send(Frame::Text(Bytes::from_static(b"half sent")));
    socket.send(Frame::Text(Bytes::from_static(b"not begun")));
    socket.advance(6);
    let mut payload = 1001_u16.to_be_bytes().to_vec();
    payload.extend(b"bye");
    assert_eq!(receive(&mut socket, &masked(0x88, &payload)), [Received::Closed]);
    assert_eq!(socket.ending(), Ending::Done);
    let mut expected = b" sent".to_vec();
    expected.extend(close_frame(1001, "bye"));
    assert_eq!(take(&mut socket, usize::MAX, 8), (expected, 5));
    socket.send(Frame::Text(Bytes::from_static(b"too late")));
    socket.close(CloseCode::Normal, "");
    assert!(socket.is_flushed());
}

#[test]
fn an_empty_close_is_answered_with_an_empty_close() {
    let mut socket = WebSocket::server();
    assert_eq!(receive(&mut socket, &masked(0x88, b"")), [Received::Closed]);
    assert_eq!(take(&mut socket, usize::MAX, 8), (vec![0x88, 0], 0));
}

#[test]
fn every_fault_has_its_kind_and_its_close_frame_still_leaves() {
    let over = vec![b'x'; MAX_MESSAGE_BYTES + 1];
    let mut fragments = masked(0x01, &over[..3000]);
    fragments.extend(masked(0x80, &over[..3000]));
    let cases: [(&str, Vec<u8>, Fault, CloseCode); 11] = [
        ("too long", masked(0x81, &over), Fault::TooLarge, CloseCode::TooLarge),
        ("too long in all", fragments, Fault::TooLarge, CloseCode::TooLarge),
        (
            "a length of 2^62",
            vec![0x82, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            Fault::TooLarge,
            CloseCode::TooLarge,
        ),
        ("not UTF-8", masked(0x81, &[b'a', 0xff]), Fault::NotUtf8, CloseCode::NotUtf8),
        ("not masked", vec![0x81, 1, b'a'], Fault::Protocol, CloseCode::Protocol),
        ("reserved opcode", masked(0x83, b""), Fault::Protocol, CloseCode::Protocol),
        ("reserved bit", masked(0xc1, b"a"), Fault::Protocol, CloseCode::Protocol),
        ("a continuation of nothing", masked(0x80, b"a"), Fault::Protocol, CloseCode::Protocol),
        ("half a close code", masked(0x88, &[3]), Fault::Protocol, CloseCode::Protocol),
        ("a close reason that is not UTF-8", masked(0x88, &[3, 0xe8, 0xff]), Fault::NotUtf8, CloseCode::NotUtf8),
        ("a fragmented ping", masked(0x09, b""), Fault::Protocol, CloseCode::Protocol),
    ];
    for (name, bytes, fault, code) in cases {
        let mut socket = WebSocket::server();
        assert_eq!(receive(&mut socket, &bytes), [Received::Fault(fault)], "{name}");
        assert_eq!(receive(&mut socket, &masked(0x81, b"more")), [], "{name}");
        assert_eq!(socket.ending(), Ending::Open, "{name}: the close frame is still to come");
        socket.close(code, "");
        assert_eq!(take(&mut socket, usize::MAX, 8), (close_frame(code.get(), ""), 0), "{name}");
        assert_eq!(socket.ending(), Ending::Discard, "{name}");
    }
}

#[test]
fn the_longest_message_is_no_fault() {
    let mut socket = WebSocket::server();
    let message = "x".repeat(MAX_MESSAGE_BYTES);
    assert_eq!(receive(&mut socket, &masked(0x81, message.as_bytes())), [text(&message)]);
}

#[test]
fn garbage_after_our_close_is_discarded_without_a_word() {
    let mut socket = WebSocket::server();
    socket.close(CloseCode::TooLarge, "");
    assert_eq!(receive(&mut socket, &[0xff; 100]), []);
    assert_eq!(socket.ending(), Ending::Discard);
    assert_eq!(take(&mut socket, usize::MAX, 8).0, close_frame(1009, ""));
}
