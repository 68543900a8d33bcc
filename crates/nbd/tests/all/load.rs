//! Many clients at once: good ones, silent ones, rude ones, and an end in the middle of it all.

use crate::common::{
    Running,
    client::{Client, FLUSH, FUA, READ, Replies, TRIM, WRITE, WRITE_ZEROES, request},
    eventually, quick,
};
use block::{Geometry, Rng};
use nbd::{
    Options,
    protocol::{ErrorCode, Export},
};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    thread,
    time::Duration,
};
use testkit::memory::{Delay, Did, FaultyMemory, Pace, geometry};

const MIB: u64 = 1 << 20;

fn shuffled(seed: u64) -> Pace {
    Pace::Shuffled(Rng::new(seed, 1))
}

/// Keeps up to `depth` requests of all kinds under way in `range`, checks every read against its
/// own account, and returns that account.
fn work(
    path: &Path,
    replies: Replies,
    range: std::ops::Range<u64>,
    depth: usize,
    requests: u32,
) -> Vec<u8> {
    let mut client = Client::connect(path, replies);
    let mut rng = Rng::new(range.start, 9);
    let mut oracle = vec![0u8; (range.end - range.start) as usize];
    // Ranges under way: nothing that overlaps is sent, so every read has one right answer.
    let mut under_way: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut sent = 0;
    while sent < requests || !under_way.is_empty() {
        if sent < requests && under_way.len() < depth {
            let bytes_max = [512, 4096, 9000, 40_000][rng.below(4) as usize];
            let bytes = 1 + rng.below(bytes_max);
            let at = rng.below(range.end - range.start - bytes);
            let free = |&(from, to): &(u64, u64)| to <= at || at + bytes <= from;
            if under_way.values().all(free) {
                let place = at as usize..(at + bytes) as usize;
                let flags = if rng.below(8) == 0 { FUA } else { 0 };
                let (offset, length) = (range.start + at, bytes as u32);
                let cookie = match rng.below(10) {
                    0 => {
                        oracle[place].fill(0);
                        client.send(flags, WRITE_ZEROES, offset, length, &[])
                    }
                    1 => client.send(0, FLUSH, 0, 0, &[]),
                    2..6 => {
                        rng.fill(&mut oracle[place.clone()]);
                        client.send(flags, WRITE, offset, length, &oracle[place])
                    }
                    _ => client.send(0, READ, offset, length, &[]),
                };
                under_way.insert(cookie, (at, at + bytes));
                sent += 1;
                continue;
            }
        }
        let (cookie, reply) = client.any_reply();
        assert_eq!(reply.error, 0);
        under_way.remove(&cookie).expect("it was asked for");
        for (offset, data) in reply.data {
            let from = (offset - range.start) as usize;
            assert!(oracle[from..from + data.len()] == data, "{offset} + {}", data.len());
        }
    }
    assert_eq!(client.flush(), 0);
    client.leave();
    oracle
}

#[test]
fn many_clients_in_their_own_ranges_leave_what_each_wrote() {
    for (pace, blocks) in [(shuffled(1), 4096), (Delay::after(Duration::from_micros(100)), 4096)] {
        let shape = Geometry { block_bytes: blocks, ..geometry(4 * MIB) };
        let (server, view) = Running::of_memory(shape, pace);
        // Ranges meet within blocks, so that neighbours change the same blocks.
        let cuts: Vec<u64> = (0..=8).map(|n| if n == 8 { 4 * MIB } else { n * 500_003 }).collect();
        let accounts: Vec<Vec<u8>> = thread::scope(|scope| {
            let workers: Vec<_> = cuts
                .windows(2)
                .enumerate()
                .map(|(number, cut)| {
                    let (path, range) = (&server.path, cut[0]..cut[1]);
                    let replies = [Replies::Simple, Replies::Structured][number % 2];
                    scope.spawn(move || work(path, replies, range, 24, 250))
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("no mismatch")).collect()
        });
        assert!(view.look().durable == accounts.concat());
        assert_eq!(server.stop(), Ok(()));
    }
}

#[test]
fn one_client_has_128_requests_under_way_and_no_more() {
    let deep = Geometry { queue_depth: 1024, ..geometry(MIB) };
    let (server, view) = Running::of_memory(deep, Pace::AtOnce);
    view.look().frozen = true;
    let mut client = Client::connect(&server.path, Replies::Simple);
    let sent: Vec<u64> =
        (0..300).map(|n| client.send(0, READ, (n % 256) * 4096, 4096, &[])).collect();
    eventually("128 are at the engine", || view.look().depth_seen == 128);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(view.look().depth_seen, 128);
    view.look().frozen = false;
    for cookie in sent {
        assert_eq!(client.reply_to(cookie).error, 0);
    }
}

#[test]
fn a_flush_finds_its_place_in_a_full_queue() {
    let (server, view) = Running::of_memory(geometry(MIB), Pace::AtOnce);
    view.look().frozen = true;
    let mut client = Client::connect(&server.path, Replies::Simple);
    let reads: Vec<u64> = (0..60).map(|n| client.send(0, READ, n * 4096, 4096, &[])).collect();
    eventually("the queue is full but for one", || view.look().depth_seen == 31);
    let mut other = Client::connect(&server.path, Replies::Simple);
    let flush = other.send(0, FLUSH, 0, 0, &[]);
    eventually("the flush is there too", || view.look().depth_seen == 32);
    view.look().frozen = false;
    assert_eq!(other.reply_to(flush).error, 0);
    for read in reads {
        assert_eq!(client.reply_to(read).error, 0);
    }
}

#[test]
fn clients_that_stop_reading_do_not_hold_up_the_others() {
    let (server, _view) = Running::of_memory(geometry(4 * MIB), Pace::AtOnce);
    let mut stalled: Vec<(Client, u32)> = (0..20)
        .map(|_| {
            let mut client = Client::connect(&server.path, Replies::Structured);
            // Far more than sockets and memory hold. The server stops reading; so must we stop
            // writing.
            let limit = Some(Duration::from_millis(20));
            client.stream.set_write_timeout(limit).expect("a limit");
            let mut send = |n| client.stream.write_all(&request(0, READ, n, 0, 65_536, &[]));
            let sent = (0..400).take_while(|&n| send(n).is_ok()).count();
            (client, sent as u32)
        })
        .collect();
    let account = work(&server.path, Replies::Structured, 0..MIB, 32, 300);
    assert_eq!(account.len() as u64, MIB);
    // And who takes up reading again gets everything.
    let (mut back, sent) = stalled.pop().expect("twenty");
    assert!(sent > 10, "{sent} requests");
    for _ in 0..sent {
        assert_eq!(back.any_reply().1.error, 0);
    }
    drop((stalled, back));
    work(&server.path, Replies::Simple, 0..MIB, 32, 0);
    assert_eq!(server.stop(), Ok(()));
}

#[test]
fn rude_clients_harm_nobody() {
    let (server, view) = Running::of_memory(geometry(4 * MIB), shuffled(2));
    let path = &server.path;
    thread::scope(|scope| {
        let good = scope.spawn(|| work(path, Replies::Structured, 0..2 * MIB, 16, 400));
        for seed in 0..30u64 {
            let mut rng = Rng::new(seed, 3);
            match seed % 6 {
                0 => {
                    // Garbage, from the first byte or after the client flags.
                    let mut stream = UnixStream::connect(path).expect("the server listens");
                    let mut garbage = vec![0; 5000];
                    rng.fill(&mut garbage);
                    if seed % 12 == 0 {
                        garbage[..4].copy_from_slice(&3u32.to_be_bytes());
                    }
                    stream.write_all(&garbage).ok();
                }
                1 => {
                    // Half a payload, and gone.
                    let mut client = Client::connect(path, Replies::Simple);
                    client.send(0, WRITE, 3 * MIB, 500_000, &vec![1; 200_000]);
                }
                2 => {
                    // Killed with much under way, in both directions.
                    let mut client = Client::connect(path, Replies::Structured);
                    for n in 0..50u64 {
                        client.send(0, READ, n * 30_000, 100_000, &[]);
                        client.send(FUA, WRITE, 3 * MIB + n, 3000, &[2; 3000]);
                        client.send(FUA, TRIM, 3 * MIB, 100_000, &[]);
                    }
                    client.stream.shutdown(Shutdown::Both).ok();
                }
                3 => {
                    // A long simple read, cut off.
                    let mut client = Client::connect(path, Replies::Simple);
                    client.send(0, READ, 0, 4 * MIB as u32, &[]);
                    client.stream.read_exact(&mut [0; 100]).ok();
                }
                4 => {
                    // Half a request.
                    let mut client = Client::connect(path, Replies::Simple);
                    client.stream.write_all(&[0x25, 0x60, 0x95, 0x13, 0, 0]).ok();
                }
                _ => {
                    // A wrong request amid good ones.
                    let mut client = Client::connect(path, Replies::Simple);
                    client.send(0, READ, 0, 4096, &[]);
                    client.stream.write_all(&[0x55; 28]).ok();
                }
            }
        }
        let account = good.join().expect("no mismatch");
        assert!(view.look().durable[..2 * MIB as usize] == account);
    });
    assert_eq!(server.stop(), Ok(()));
}

#[test]
fn what_a_client_asked_before_it_shut_its_side_is_done() {
    let (server, view) = Running::of_memory(geometry(MIB), shuffled(5));
    let mut client = Client::connect(&server.path, Replies::Simple);
    let writes: Vec<u64> =
        (0..20).map(|n| client.send(0, WRITE, n * 4096, 4096, &[9; 4096])).collect();
    client.stream.shutdown(Shutdown::Write).expect("half closed");
    for cookie in writes {
        assert_eq!(client.reply_to(cookie).error, 0);
    }
    assert_eq!(client.stream.read(&mut [0; 1]).expect("an end"), 0);
    assert_eq!(view.look().bytes[..81_920], [9; 81_920]);
}

#[test]
fn more_clients_than_places_wait_in_the_backlog_and_overdue_ones_are_dismissed() {
    let options =
        Options { connections_max: 2, handshake_limit: Duration::from_millis(100), ..quick() };
    let (engine, _view) = FaultyMemory::new(geometry(MIB), Pace::AtOnce);
    let server = Running::start(engine, Export::of(&geometry(MIB)), options);
    let dawdlers: Vec<UnixStream> =
        (0..5).map(|_| UnixStream::connect(&server.path).expect("room in the backlog")).collect();
    let mut client = Client::connect(&server.path, Replies::Simple);
    thread::sleep(Duration::from_millis(250));
    assert!(client.read(0, 4096).is_ok(), "who has shaken hands may be silent");
    drop(dawdlers);
}

#[test]
fn who_comes_when_all_places_are_taken_is_told_so_and_nobody_is_sent_away_for_him() {
    let options = Options { connections_max: 2, ..quick() };
    let (engine, _view) = FaultyMemory::new(geometry(MIB), Pace::AtOnce);
    let server = Running::start(engine, Export::of(&geometry(MIB)), options);
    let mut guests = [(); 2].map(|()| Client::connect(&server.path, Replies::Simple));
    for _ in 0..3 {
        let mut late = UnixStream::connect(&server.path).expect("room in the backlog");
        let go = [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 7, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0]];
        late.write_all(&go.concat()).expect("it is let in to be told");
        let mut told = [0; 18 + 20 + 20];
        late.read_exact(&mut told).expect("an answer");
        assert_eq!(told[30..34], 0x8000_0002_u32.to_be_bytes(), "NBD_REP_ERR_POLICY");
        assert_eq!(&told[38..], b"all places are taken");
    }
    assert!(guests.iter_mut().all(|guest| guest.read(0, 4096).is_ok()));
    let [gone, _staying] = guests;
    gone.leave();
    let mut next = Client::connect(&server.path, Replies::Simple);
    assert!(next.read(0, 4096).is_ok());
}

#[test]
fn an_end_under_load_finishes_flushes_and_leaves_no_socket() {
    for round in 0..4 {
        let pace =
            if round % 2 == 0 { shuffled(round) } else { Delay::after(Duration::from_millis(2)) };
        let (server, view) = Running::of_memory(geometry(4 * MIB), pace);
        let path = server.path.clone();
        let loads: Vec<_> = (0..4u64)
            .map(|number| {
                let mut client = Client::connect(&path, Replies::Simple);
                thread::spawn(move || {
                    let mut acknowledged = BTreeMap::new();
                    for n in 0.. {
                        let offset = (number * 200 + n % 200) * 5000;
                        let fill = (n % 250) as u8 + 1;
                        // Told of the end, or too late for that.
                        match client.try_write(offset, &[fill; 5000]) {
                            Ok(0) => acknowledged.insert(offset, fill),
                            Ok(error) => {
                                assert_eq!(error, ErrorCode::Shutdown as u32);
                                return acknowledged;
                            }
                            Err(_) => {
                                // It may or may not have been written.
                                acknowledged.remove(&offset);
                                return acknowledged;
                            }
                        };
                    }
                    unreachable!("it writes until the end")
                })
            })
            .collect();
        eventually("the load is on", || view.count(|did| matches!(did, Did::Write(..))) > 200);
        assert_eq!(server.stop(), Ok(()));
        assert!(!path.exists());
        for load in loads {
            for (offset, fill) in load.join().expect("told of the end") {
                let from = offset as usize;
                assert_eq!(view.look().durable[from..from + 5000], [fill; 5000]);
            }
        }
    }
}

#[test]
fn an_end_waits_only_so_long_for_a_client_that_sends_half_a_write() {
    let (server, view) = Running::of_memory(geometry(MIB), shuffled(3));
    let mut client = Client::connect(&server.path, Replies::Simple);
    assert_eq!(client.write(0, 0, &[5; 4096]), 0);
    client.send(0, WRITE, 4096, 8192, &[6; 4096]);
    assert_eq!(server.stop(), Ok(()));
    assert_eq!(view.look().durable[..4096], [5; 4096]);
}
