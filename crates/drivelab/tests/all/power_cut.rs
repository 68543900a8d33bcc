//! The power of modelled drives that are served is cut from outside: what a flush covered is there
//! afterwards, and of the rest what the drives' write caches leave.

use crate::common;
use crate::nbd_client;

use common::{Bench, serving::Serving};
use nbd_client::{Client, FLUSH, READ, Replies, WRITE};
use record::ServerEvent;
use std::io::Read;

const PIECE_BYTES: u32 = 64 << 10;
/// Pieces that a flush covers, and as many that none does.
const PIECES: u64 = 32;

/// What is written to a piece in a round.
fn contents(round: u8, piece: u64) -> Vec<u8> {
    vec![round * 64 + piece as u8 + 1; PIECE_BYTES as usize]
}

fn write(client: &mut Client, round: u8, pieces: std::ops::Range<u64>) {
    for piece in pieces {
        let at = piece * u64::from(PIECE_BYTES);
        let cookie = client.send(0, WRITE, at, PIECE_BYTES, &contents(round, piece));
        client.reply_to(cookie);
    }
}

/// How many of these pieces hold what was written to them last.
fn intact(client: &mut Client, round: u8, pieces: std::ops::Range<u64>) -> u64 {
    let holds = |piece: &u64| {
        let at = piece * u64::from(PIECE_BYTES);
        let cookie = client.send(0, READ, at, PIECE_BYTES, &[]);
        client.reply_to(cookie).data[&at] == contents(round, *piece)
    };
    pieces.filter(holds).count() as u64
}

/// Writes and flushes, writes and does not, cuts the power; how much of either is there, of several
/// rounds.
fn rounds(server: &Serving) -> (u64, u64) {
    let (mut flushed, mut unflushed) = (0, 0);
    for round in [1, 2] {
        let mut client = Client::connect(&server.socket, Replies::Simple);
        write(&mut client, round, 0..PIECES);
        let cookie = client.send(0, FLUSH, 0, 0, &[]);
        client.reply_to(cookie);
        write(&mut client, round, PIECES..2 * PIECES);
        server.signal("USR1");
        let gone = client.stream.read(&mut [0; 16]).unwrap_or(0);
        assert_eq!(gone, 0, "nobody is answered any more");
        let mut client = Client::connect(&server.socket, Replies::Simple);
        flushed += intact(&mut client, round, 0..PIECES);
        unflushed += intact(&mut client, round, PIECES..2 * PIECES);
        client.leave();
    }
    (flushed, unflushed)
}

#[test]
fn a_power_cut_takes_what_no_flush_covered_and_nothing_else() {
    let bench = Bench::new();
    for stack in [
        "intel-x25e-32:capacity=256M",
        "hdd-7200-cmr",
        "2xintel-x25e-32:capacity=256M/raid0",
        "intel-x25e-32:capacity=256M/flash",
    ] {
        let server = Serving::start(&bench, &[&format!("model:{stack}"), "--power-cut", "7"]);
        let (flushed, unflushed) = rounds(&server);
        assert_eq!(flushed, 2 * PIECES, "{stack}");
        assert!(unflushed < 2 * PIECES, "{stack}: {unflushed} are there");
        let said = server.stop().stdout;
        assert_eq!(said.matches("the power was cut: ").count(), 2, "{said}");
    }
}

#[test]
fn a_drive_without_a_volatile_cache_loses_nothing() {
    let bench = Bench::new();
    for stack in ["intel-x25e-32:capacity=256M,write-cache=off", "nvme-plp"] {
        let server = Serving::start(&bench, &[&format!("model:{stack}"), "--power-cut", "7"]);
        assert_eq!(rounds(&server), (2 * PIECES, 2 * PIECES), "{stack}");
        let said = server.stop().stdout;
        assert!(said.contains("cut: 0 sectors were in the write caches"), "{said}");
    }
}

/// Whoever cut the power took the second number of an English sentence for what was lost.
#[test]
fn a_program_is_told_what_happened_in_json() {
    let bench = Bench::new();
    let words = ["model:intel-x25e-32:capacity=256M", "--power-cut", "7", "--json"];
    let server = Serving::start(&bench, &words);
    let uri = server.uri.clone();
    rounds(&server);
    let said = server.stop().stdout;
    let events: Vec<ServerEvent> =
        said.lines().map(|line| ServerEvent::of_line(line).expect(line)).collect();
    let [ready, cuts @ .., ServerEvent::Stopped { requests, failures }] = &events[..] else {
        panic!("{said}")
    };
    assert_eq!(*ready, ServerEvent::Ready { address: uri });
    assert!(*requests > 4 * PIECES && *failures == 0, "{said}");
    assert_eq!(cuts.len(), 2, "{said}");
    for cut in cuts {
        let ServerEvent::PowerCut { sectors_at_risk, sectors_changed } = cut else {
            panic!("{said}")
        };
        assert!(0 < *sectors_changed && sectors_changed <= sectors_at_risk, "{said}");
    }
}

#[test]
fn the_power_of_what_is_no_model_cannot_be_cut() {
    let bench = Bench::new();
    let nbd = format!("unix:{}", bench.path("s").display());
    let words = ["serve", "memory:1M", "--nbd", &nbd, "--power-cut", "1"];
    bench.drivelab_without_store(words).done().refused(&["model:STACK", "--volatile-cache"]);
}
