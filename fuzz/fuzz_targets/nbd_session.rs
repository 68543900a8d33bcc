//! What an NBD client sends: any bytes, split anywhere, from the first or after a good handshake.
//! The answers depend on the bytes alone and never on how they are split, and every request passed
//! on is in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nbd::protocol::{
    Access, Command, Discarded, Event, Export, Flushing, REQUEST_BYTES_MAX, Request, Session,
};

/// A handshake with structured replies and `base:allocation`, as libnbd shakes hands.
const HANDSHAKE: &[&[u8]] = &[
    &[0, 0, 0, 3],
    b"IHAVEOPT",
    &[0, 0, 0, 8, 0, 0, 0, 0],
    b"IHAVEOPT",
    &[0, 0, 0, 10, 0, 0, 0, 27, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 15],
    b"base:allocation",
    b"IHAVEOPT",
    &[0, 0, 0, 7, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0],
];

/// What a session made of its client.
#[derive(Default, PartialEq, Debug)]
struct Heard {
    answers: Vec<u8>,
    requests: Vec<Request>,
    payload_bytes: usize,
    is_over: bool,
}

fn export(mode: u8) -> Export {
    Export {
        name: "volume".to_owned(),
        description: "on test".to_owned(),
        size_bytes: (1 << 20) + 512,
        block_bytes_preferred: 4096,
        access: if mode & 1 == 0 { Access::ReadWrite } else { Access::ReadOnly },
        discarded: if mode & 2 == 0 { Discarded::ReadsZero } else { Discarded::Unknown },
        flushing: if mode & 4 == 0 { Flushing::Needed } else { Flushing::Unneeded },
    }
}

/// Feeds `input` in pieces of 1 to 255 bytes, or at once where there are none.
fn hear(mode: u8, input: &[u8], pieces: &[u8]) -> Heard {
    let mut heard = Heard::default();
    let mut session = Session::new(export(mode), &mut heard.answers);
    if mode & 4 != 0 {
        let hands = HANDSHAKE.concat();
        session.feed(&hands, &mut heard.answers, |event, _, _| assert_eq!(event, Event::Taken));
        assert!(session.is_transmitting());
    }
    match mode & 0x18 {
        0x08 => session.refuse_all(),
        0x10 => session.turn_away(),
        _ => {}
    }
    let mut rest = input;
    let mut sizes = pieces.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |&size| usize::from(size).max(1));
        let (piece, later) = rest.split_at(size.min(rest.len()));
        session.feed(piece, &mut heard.answers, |event, bytes, _| match event {
            Event::Asked(request) => {
                check(mode, &request);
                heard.requests.push(request);
            }
            Event::Payload => heard.payload_bytes += bytes.len(),
            Event::Taken | Event::Leave | Event::Violation => {}
        });
        rest = later;
    }
    heard.is_over = session.is_over();
    heard
}

fn check(mode: u8, request: &Request) {
    let export = export(mode);
    assert_eq!(mode & 0x18, 0, "everything is refused");
    assert!(request.offset + u64::from(request.bytes) <= export.size_bytes);
    match request.command {
        Command::Read(_) | Command::Write => assert!(request.bytes <= REQUEST_BYTES_MAX),
        _ => {}
    }
    let changes = matches!(request.command, Command::Write | Command::Trim | Command::WriteZeroes(_));
    assert!(!changes || export.access == Access::ReadWrite);
}

fuzz_target!(|data: &[u8]| {
    let [mode, count, rest @ ..] = data else { return };
    // Both modes of refusal at once are none.
    let mode = if mode & 0x18 == 0x18 { mode & !0x18 } else { *mode };
    let (pieces, input) = rest.split_at(usize::from(count % 16).min(rest.len()));
    let whole = hear(mode, input, &[]);
    let written = |request: &Request| match request.command {
        Command::Write => request.bytes as usize,
        _ => 0,
    };
    let announced: usize = whole.requests.iter().map(written).sum();
    assert!(whole.payload_bytes <= announced);
    assert!(whole.answers.len() <= 1024 + 64 * input.len(), "answers grow with what is asked");
    assert_eq!(hear(mode, input, pieces), whole);
    assert_eq!(hear(mode, input, &[1]), whole);
});
