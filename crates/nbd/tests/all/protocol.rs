//! The protocol by literal bytes, as the protocol document (NetworkBlockDevice/nbd, doc/proto.md)
//! has them.

use block::Allocation;
use nbd::protocol::{
    Access, Chunk, Command, Discarded, ErrorCode, Event, Export, Extents, Flushing, Holes, Pieces,
    ReplyStyle, Session,
};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn export() -> Export {
    Export {
        name: "vol".to_owned(),
        description: "a volume".to_owned(),
        size_bytes: MIB,
        block_bytes_preferred: 4096,
        access: Access::ReadWrite,
        discarded: Discarded::Unknown,
        flushing: Flushing::Needed,
    }
}

/// Bytes written as hexadecimal digits, text in quotes, and spaces.
fn bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        if index % 2 == 1 {
            out.extend(part.as_bytes());
            continue;
        }
        let digits: Vec<u8> = part.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        assert!(digits.len().is_multiple_of(2), "half a byte in {part}");
        for pair in digits.chunks(2) {
            let pair = std::str::from_utf8(pair).expect("ASCII");
            out.push(u8::from_str_radix(pair, 16).expect("hexadecimal"));
        }
    }
    out
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything a session said behind the greeting, and what it was asked.
fn converse(export: Export, input: &[u8]) -> (Vec<u8>, Vec<Event>) {
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut session = Session::new(export, &mut out);
    assert_eq!(shown(&out), shown(&bytes("\"NBDMAGIC\" \"IHAVEOPT\" 0003")));
    out.clear();
    session.feed(input, &mut out, |event, _, _| {
        if event != Event::Taken {
            events.push(event);
        }
    });
    (out, events)
}

/// After `NO_ZEROES | FIXED_NEWSTYLE`.
fn haggle(options: &str) -> (String, Vec<Event>) {
    let (out, events) = converse(export(), &bytes(&format!("00000003 {options}")));
    (shown(&out), events)
}

fn option(kind: u32, data: &str) -> String {
    let data = shown(&bytes(data));
    format!("\"IHAVEOPT\" {kind:08x} {:08x} {data}", data.len() / 2)
}

fn replied(kind: u32, reply: u32, data: &str) -> String {
    let data = shown(&bytes(data));
    format!("0003e889045565a9{kind:08x}{reply:08x}{:08x}{data}", data.len() / 2)
}

const ACK: u32 = 1;
const UNSUP: u32 = 0x8000_0001;
const INVALID: u32 = 0x8000_0003;
const UNKNOWN: u32 = 0x8000_0006;
const SHUTDOWN: u32 = 0x8000_0007;
const TOO_BIG: u32 = 0x8000_0009;

/// HAS_FLAGS, FLUSH, FUA, TRIM, WRITE_ZEROES, MULTI_CONN, CACHE, FAST_ZERO.
const FLAGS: u16 = 0b1101_0110_1101;
const DF: u16 = 1 << 7;

#[test]
fn export_name_is_answered_with_size_and_flags_and_padding_unless_declined() {
    let size_and_flags = format!("0000000000100000{FLAGS:04x}");
    let (out, _) = haggle(&option(1, "\"vol\""));
    assert_eq!(out, size_and_flags);
    let (out, _) = converse(export(), &bytes(&format!("00000001 {}", option(1, ""))));
    assert_eq!(shown(&out), format!("{size_and_flags}{}", "00".repeat(124)));
    // The first newstyle clients set no flag at all.
    let (out, _) = converse(export(), &bytes(&format!("00000000 {}", option(1, "\"vol\""))));
    assert_eq!(out.len(), 10 + 124);
}

#[test]
fn export_name_of_a_stranger_ends_the_session_since_it_knows_no_refusal() {
    assert_eq!(haggle(&option(1, "\"other\"")), (String::new(), vec![Event::Violation]));
}

#[test]
fn go_tells_what_was_asked_for_and_enters_transmission() {
    let asked = "00000003 \"vol\" 0003 0001 0002 0003";
    let told = [
        replied(7, 3, &format!("0000 0000000000100000 {FLAGS:04x}")),
        replied(7, 3, "0001 \"vol\""),
        replied(7, 3, "0002 \"a volume\""),
        replied(7, 3, "0003 00000001 00001000 02000000"),
        replied(7, ACK, ""),
    ];
    let flush = "25609513 0000 0003 0000000000000007 0000000000000000 00000000";
    let (out, events) = haggle(&format!("{} {flush}", option(7, asked)));
    assert_eq!(out, told.concat());
    let [Event::Asked(request)] = events[..] else { panic!("{events:?}") };
    assert_eq!((request.cookie, request.command), (7, Command::Flush));
}

#[test]
fn info_tells_and_haggling_goes_on() {
    let (out, events) = haggle(&format!("{} {}", option(6, "00000000 0000"), option(2, "")));
    let told = replied(6, 3, &format!("0000 0000000000100000 {FLAGS:04x}"));
    assert_eq!(out, [told, replied(6, ACK, ""), replied(2, ACK, "")].concat());
    assert_eq!(events, [Event::Leave]);
}

#[test]
fn a_read_only_export_says_so_and_offers_no_change() {
    let read_only = Export { access: Access::ReadOnly, ..export() };
    let (out, _) = converse(read_only, &bytes(&format!("00000003 {}", option(1, ""))));
    assert_eq!(shown(&out), "0000000000100000050f"); // HAS_FLAGS READ_ONLY FLUSH FUA MULTI_CONN CACHE
}

#[test]
fn an_export_whose_writes_are_durable_offers_no_flush() {
    let through = Export { flushing: Flushing::Unneeded, ..export() };
    let (out, _) = converse(through, &bytes(&format!("00000003 {}", option(1, ""))));
    let flags = u16::from_be_bytes([out[out.len() - 2], out[out.len() - 1]]);
    assert_eq!(FLAGS & !flags, 0b1100, "FLUSH and FUA are left out, nothing else");
}

#[test]
fn list_names_the_export() {
    let told = [replied(3, 2, "00000003 \"vol\""), replied(3, ACK, "")];
    assert_eq!(haggle(&option(3, "")).0, told.concat());
}

#[test]
fn options_that_are_unknown_malformed_or_too_long_are_refused_and_the_next_one_is_heard() {
    let long = shown(&[b'x'; 20_000]);
    let context = |name: &str, rest: &str| format!("{} {name} {rest}", "00000000");
    let cases = [
        (5, String::new(), UNSUP),                             // STARTTLS
        (4, "\"vol\"".to_owned(), UNSUP),                      // PEEK_EXPORT, withdrawn
        (11, String::new(), UNSUP),                            // EXTENDED_HEADERS
        (0xdead_beef, "00ff00ff".to_owned(), UNSUP),           // nobody's
        (3, "00".to_owned(), INVALID),                         // LIST with data
        (8, "00".to_owned(), INVALID),                         // STRUCTURED_REPLY with data
        (6, String::new(), INVALID),                           // INFO without a name
        (7, "ffffffff \"vol\" 0000".to_owned(), INVALID),      // GO with a name beyond its end
        (7, "00000003 \"vol\" 0002 0003".to_owned(), INVALID), // fewer pieces than said
        (7, "00000003 \"vol\" 0000 00".to_owned(), INVALID),   // more
        (7, "00000003 \"nix\" 0000".to_owned(), UNKNOWN),
        (10, context("", "00000001 0000000f \"base:allocation\""), INVALID), // too early
        (6, long, TOO_BIG),
    ];
    for (kind, data, refusal) in cases {
        let (out, events) = haggle(&format!("{} {}", option(kind, &data), option(2, "")));
        let head = format!("0003e889045565a9{kind:08x}{refusal:08x}");
        assert!(out.starts_with(&head), "option {kind}: {out}");
        assert!(out.ends_with(&replied(2, ACK, "")), "option {kind} cost the step: {out}");
        assert_eq!(events, [Event::Leave]);
    }
}

#[test]
fn metadata_contexts_are_listed_and_set_after_structured_replies() {
    let all = "00000003 \"vol\" 00000000";
    let base = "00000003 \"vol\" 00000001 00000005 \"base:\"";
    let this = "00000003 \"vol\" 00000002 00000003 \"x:y\" 0000000f \"base:allocation\"";
    let other = "00000003 \"vol\" 00000001 00000003 \"x:y\"";
    let short = "00000003 \"vol\" 00000002 00000003 \"x:y\"";
    let context = |kind, number| replied(kind, 4, &format!("{number:08x} \"base:allocation\""));
    let cases = [
        (9, all, context(9, 0) + &replied(9, ACK, "")),
        (9, base, context(9, 0) + &replied(9, ACK, "")),
        (9, other, replied(9, ACK, "")),
        (10, all, replied(10, ACK, "")),
        (10, base, replied(10, ACK, "")),
        (10, this, context(10, 1) + &replied(10, ACK, "")),
        (10, short, replied(10, INVALID, "\"malformed\"")),
    ];
    for (kind, data, told) in cases {
        let (out, _) = haggle(&format!("{} {}", option(8, ""), option(kind, data)));
        assert_eq!(out, replied(8, ACK, "") + &told, "option {kind}, {data}");
    }
}

/// A session in transmission: with structured replies and `base:allocation`, or with neither.
fn transmit(export: Export, style: ReplyStyle, requests: &str) -> (String, Vec<Event>) {
    let go = option(7, "00000000 0000");
    let context = option(10, "00000000 00000001 0000000f \"base:allocation\"");
    let opening = match style {
        ReplyStyle::Simple => go,
        ReplyStyle::Structured => format!("{} {context} {go}", option(8, "")),
    };
    let (opened, _) = converse(export.clone(), &bytes(&format!("00000003 {opening}")));
    let (out, events) = converse(export, &bytes(&format!("00000003 {opening} {requests}")));
    (shown(&out[opened.len()..]), events)
}

fn request(flags: u16, kind: u16, offset: u64, length: u32) -> String {
    format!("25609513 {flags:04x} {kind:04x} 1122334455667788 {offset:016x} {length:08x}")
}

#[test]
fn requests_in_order_are_passed_on() {
    let cases = [
        (0, 0, 4096, 512, Command::Read(Pieces::Many)),
        (0b100, 0, 4096, 512, Command::Read(Pieces::One)),
        (1, 4, 0, 1 << 20, Command::Trim),
        (1, 3, 0, 0, Command::Flush),
        (0, 5, 1, 1, Command::Cache),
        (0, 6, 0, 1 << 20, Command::WriteZeroes(Holes::Allowed)),
        (0b11, 6, 0, 9, Command::WriteZeroes(Holes::Forbidden)),
        (0, 7, 0, 1 << 20, Command::BlockStatus(Extents::Many)),
        (0b1000, 7, 0, 1 << 20, Command::BlockStatus(Extents::One)),
        (0, 0, 1 << 20, 0, Command::Read(Pieces::Many)),
    ];
    for (flags, kind, offset, length, command) in cases {
        let wire = request(flags, kind, offset, length);
        let (out, events) = transmit(export(), ReplyStyle::Structured, &wire);
        let [Event::Asked(asked)] = events[..] else { panic!("{command:?}: {events:?} {out}") };
        assert_eq!((asked.command, asked.offset, asked.bytes), (command, offset, length));
        assert_eq!(asked.cookie, 0x1122_3344_5566_7788);
        assert_eq!(asked.durability == block::Durability::Fua, flags & 1 == 1);
        assert!(out.is_empty());
    }
}

#[test]
fn requests_out_of_order_are_refused_and_the_next_one_is_heard() {
    const PERM: u32 = 1;
    const INVAL: u32 = 22;
    const NOSPC: u32 = 28;
    const NOTSUP: u32 = 95;
    let read_only = Export { access: Access::ReadOnly, ..export() };
    let zeroing = Export { discarded: Discarded::ReadsZero, ..export() };
    let payload = "\"12345678\"";
    let cases: Vec<(&Export, ReplyStyle, String, u32)> = vec![
        (&read_only, ReplyStyle::Simple, request(0, 1, 0, 8) + payload, PERM),
        (&read_only, ReplyStyle::Simple, request(0, 4, 0, 8), PERM),
        (&read_only, ReplyStyle::Simple, request(0, 6, 0, 8), PERM),
        (&zeroing, ReplyStyle::Simple, request(0, 0, MIB - 1, 2), INVAL),
        (&zeroing, ReplyStyle::Simple, request(0, 0, u64::MAX, 2), INVAL),
        (&zeroing, ReplyStyle::Simple, request(0, 1, MIB - 7, 8) + payload, NOSPC),
        (&zeroing, ReplyStyle::Simple, request(0, 6, MIB, 1), NOSPC),
        (&zeroing, ReplyStyle::Simple, request(0, 4, MIB, 1), INVAL),
        (&zeroing, ReplyStyle::Simple, request(0, 3, 0, 1), INVAL), // a flush of something
        (&zeroing, ReplyStyle::Simple, request(0, 9, 0, 0), INVAL), // an unknown command
        (&zeroing, ReplyStyle::Simple, request(2, 0, 0, 8), INVAL), // NO_HOLE on a read
        (&zeroing, ReplyStyle::Simple, request(4, 0, 0, 8), INVAL), // DF without structured replies
        (&zeroing, ReplyStyle::Simple, request(32, 1, 0, 8) + payload, INVAL), // an unknown flag
        (&zeroing, ReplyStyle::Simple, request(0, 7, 0, 8), INVAL), // status without a context
        (&zeroing, ReplyStyle::Structured, request(0, 7, 0, 0), INVAL),
        (&zeroing, ReplyStyle::Structured, request(0b10010, 6, 0, 8), NOTSUP), // fast, but written
    ];
    for (export, style, wire, error) in cases {
        let flush = "25609513 0000 0003 0000000000000007 0000000000000000 00000000";
        let (out, events) = transmit(export.clone(), style, &format!("{wire} {flush}"));
        let told = match style {
            ReplyStyle::Simple => format!("67446698{error:08x}1122334455667788"),
            ReplyStyle::Structured => {
                format!("668e33ef00018001112233445566778800000006{error:08x}0000")
            }
        };
        assert_eq!(out, told, "{wire}");
        assert!(matches!(events[..], [Event::Asked(asked)] if asked.cookie == 7), "{wire}");
    }
    let slow = transmit(export(), ReplyStyle::Simple, &request(0b10000, 6, 0, 8)).0;
    assert_eq!(slow, format!("67446698{NOTSUP:08x}1122334455667788"));
    let (_, events) = transmit(zeroing, ReplyStyle::Simple, &request(0b10000, 6, 0, 8));
    assert_eq!(events.len(), 1, "zeroing by discarding is fast");
}

#[test]
fn a_read_or_write_may_have_32_mib_and_not_a_byte_more() {
    let large = Export { size_bytes: 1 << 30, ..export() };
    let (_, events) = transmit(large.clone(), ReplyStyle::Simple, &request(0, 0, 0, 32 << 20));
    assert_eq!(events.len(), 1);
    let (out, events) = transmit(large, ReplyStyle::Simple, &request(0, 0, 0, (32 << 20) + 1));
    assert_eq!((out.as_str(), events.len()), ("67446698000000161122334455667788", 0));
}

#[test]
fn a_writes_payload_is_told_from_the_next_request() {
    let wire = format!("{} \"12345678\" {}", request(1, 1, 24, 8), request(0, 2, 0, 0));
    let (out, events) = transmit(export(), ReplyStyle::Simple, &wire);
    assert!(out.is_empty());
    let [Event::Asked(asked), Event::Payload, Event::Leave] = events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((asked.command, asked.offset, asked.bytes), (Command::Write, 24, 8));
}

#[test]
fn who_does_not_speak_the_protocol_is_disconnected() {
    for wire in [
        "00000004",                                // an unknown client flag
        "00000003 \"NBDMAGIC\" 00000007 00000000", // no option
        &format!("00000003 {} 12345678 {}", option(7, "00000000 0000"), "00".repeat(24)),
    ] {
        let (_, events) = converse(export(), &bytes(wire));
        assert_eq!(events, [Event::Violation], "{wire}");
    }
}

#[test]
fn a_server_that_ends_refuses_everything_but_keeps_its_step() {
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut session = Session::new(export(), &mut out);
    session.refuse_all();
    out.clear();
    let wire =
        format!("00000003 {} {} {}", option(7, "00000000 0000"), option(3, ""), option(2, ""));
    session.feed(&bytes(&wire), &mut out, |event, _, _| events.push(event));
    let told = [replied(7, SHUTDOWN, ""), replied(3, SHUTDOWN, ""), replied(2, ACK, "")];
    assert_eq!(shown(&out), told.concat());

    let mut session = Session::new(export(), &mut out);
    session.feed(
        &bytes(&format!("00000003 {}", option(7, "00000000 0000"))),
        &mut out,
        |_, _, _| {},
    );
    session.refuse_all();
    out.clear();
    let wire = format!("{} \"12345678\" {}", request(0, 1, 0, 8), request(0, 3, 0, 0));
    session.feed(&bytes(&wire), &mut out, |_, _, _| {});
    assert_eq!(shown(&out), "674466980000006c1122334455667788".repeat(2)); // ESHUTDOWN
}

#[test]
fn replies_are_what_the_document_says() {
    type Reply = fn(ReplyStyle, &mut Vec<u8>);
    let cases: [(Reply, &str, &str); 6] = [
        (
            |style, out| style.done(7, out),
            "67446698 00000000 0000000000000007",
            "67446698 00000000 0000000000000007",
        ),
        (
            |style, out| style.failed(7, ErrorCode::Io, out),
            "67446698 00000005 0000000000000007",
            "668e33ef 0001 8001 0000000000000007 00000006 00000005 0000",
        ),
        (
            |style, out| style.data(7, 4096, 512, Chunk::Last, out),
            "67446698 00000000 0000000000000007",
            "668e33ef 0001 0001 0000000000000007 00000208 0000000000001000",
        ),
        (
            |style, out| style.data(7, 4096, 512, Chunk::Inner, out),
            "67446698 00000000 0000000000000007",
            "668e33ef 0000 0001 0000000000000007 00000208 0000000000001000",
        ),
        (
            |style, out| style.failed_at(7, 4096, ErrorCode::Overflow, Chunk::Inner, out),
            "67446698 0000004b 0000000000000007",
            "668e33ef 0000 8002 0000000000000007 0000000e 0000004b 0000 0000000000001000",
        ),
        (|style, out| style.end(7, out), "", "668e33ef 0001 0000 0000000000000007 00000000"),
    ];
    for (reply, simple, structured) in cases {
        for (style, wire) in [(ReplyStyle::Simple, simple), (ReplyStyle::Structured, structured)] {
            let mut out = Vec::new();
            reply(style, &mut out);
            assert_eq!(shown(&out), shown(&bytes(wire)));
            assert!(out.len() <= nbd::protocol::HEAD_BYTES_MAX);
        }
    }
    let mut out = Vec::new();
    let extents = [(Allocation::Data, 8192), (Allocation::Hole, 4096)];
    ReplyStyle::Structured.allocated(7, &extents, &mut out);
    let status = "668e33ef 0001 0005 0000000000000007 00000014 00000001 \
                  00002000 00000000 00001000 00000003";
    assert_eq!(shown(&out), shown(&bytes(status)));
    assert_eq!(DF | FLAGS, export_flags_after_structured());
}

fn export_flags_after_structured() -> u16 {
    let (out, _) = haggle(&format!("{} {}", option(8, ""), option(1, "")));
    u16::from_str_radix(&out[out.len() - 4..], 16).expect("flags")
}

/// Bytes that are likelier to get somewhere than any bytes.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    let message = prop_oneof![
        (0u32..14, proptest::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(kind, data)| { bytes(&option(kind, &shown(&data))) }),
        Just(bytes(&option(8, ""))),
        Just(bytes(&option(10, "00000000 00000001 0000000f \"base:allocation\""))),
        Just(bytes(&option(7, "00000000 0001 0003"))),
        Just(bytes(&option(7, "00000000 0001 0003"))),
        (0u16..40, 0u16..9, 0u64..2 * MIB, 0u32..200).prop_map(|(flags, kind, offset, length)| {
            let mut wire = bytes(&request(flags, kind, offset, length));
            if kind == 1 {
                wire.resize(wire.len() + length as usize, 0xab);
            }
            wire
        }),
        proptest::collection::vec(any::<u8>(), 0..30),
    ];
    let messages = proptest::collection::vec(message, 0..12);
    (prop_oneof![9 => Just(3u32), 1 => any::<u32>()], messages)
        .prop_map(|(flags, messages)| [flags.to_be_bytes().to_vec(), messages.concat()].concat())
}

/// What a session made of `input` in pieces of the given lengths, over and over.
fn digest(input: &[u8], lengths: &[usize]) -> (Vec<u8>, Vec<Event>, Vec<u8>) {
    let (mut out, mut events, mut payload) = (Vec::new(), Vec::new(), Vec::new());
    let mut session = Session::new(export(), &mut out);
    let mut rest = input;
    for &length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, left) = rest.split_at(length.min(rest.len()));
        rest = left;
        session.feed(piece, &mut out, |event, bytes, _| match event {
            Event::Payload => payload.extend(bytes),
            Event::Asked(_) => events.push(event),
            Event::Leave | Event::Violation if events.last() != Some(&event) => events.push(event),
            _ => {}
        });
    }
    (out, events, payload)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_split_anywhere_give_the_same_session(
        input in conversation(),
        lengths in proptest::collection::vec(1usize..70, 1..20),
    ) {
        let whole = digest(&input, &[usize::MAX]);
        prop_assert_eq!(&whole, &digest(&input, &lengths));
        prop_assert_eq!(&whole, &digest(&input, &[1]));
    }

    #[test]
    fn no_bytes_make_a_session_panic(input in proptest::collection::vec(any::<u8>(), 0..400)) {
        digest(&input, &[usize::MAX]);
        digest(&[&3u32.to_be_bytes()[..], &input].concat(), &[7]);
    }
}
