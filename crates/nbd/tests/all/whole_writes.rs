//! A write is applied as a whole or not at all, and the memory for that is bounded.

use crate::common::{
    Running,
    client::{BLOCK_STATUS, Client, Replies, WRITE},
    quick,
};
use block::Rng;
use nbd::{Options, protocol::Export};
use std::{io::Read, thread, time::Duration};
use testkit::memory::{Did, FaultyMemory, Pace, geometry};

const MIB: u64 = 1 << 20;

fn shuffled(seed: u64) -> Pace {
    Pace::Shuffled(Rng::new(seed, 1))
}

/// A write of 1 MiB whose client went away after 700 KiB had changed the first 640 KiB; nbdkit
/// changes nothing then. What is right: a write is applied as a whole once all of it is here, and
/// not at all before.
#[test]
fn a_write_that_is_never_fully_received_changes_nothing() {
    for (offset, bytes) in [(0, MIB as u32), (100, 3 << 20), (4096, 20 << 20)] {
        for left in [1, 4096, bytes - 200_000] {
            let (server, view) = Running::of_memory(geometry(32 * MIB), shuffled(left.into()));
            let mut client = Client::connect(&server.path, Replies::Simple);
            let payload = vec![7; (bytes - left) as usize];
            client.send(0, WRITE, offset, bytes, &payload);
            // On another connection, so that the server has read all of that.
            let mut other = Client::connect(&server.path, Replies::Simple);
            assert_eq!(other.write(0, 31 * MIB, &[3; 4096]), 0);
            drop(client);
            assert_eq!(other.flush(), 0);
            assert_eq!(server.stop(), Ok(()));
            let written = view.count(|did| matches!(did, Did::Write(..)));
            assert_eq!(written, 1, "{bytes} bytes at {offset} without the last {left}");
            assert!(view.look().bytes[..31 * MIB as usize].iter().all(|&byte| byte == 0));
        }
    }
}

#[test]
fn a_write_that_is_here_as_a_whole_is_applied_as_a_whole_whoever_has_gone() {
    let (server, view) = Running::of_memory(geometry(8 * MIB), Pace::AtOnce);
    view.look().frozen = true;
    let mut client = Client::connect(&server.path, Replies::Simple);
    // 64 pieces, for an engine that takes 31 at a time.
    client.send(0, WRITE, 512, 4 << 20, &vec![7; 4 << 20]);
    let mut other = Client::connect(&server.path, Replies::Simple);
    assert_eq!(other.ask(0, BLOCK_STATUS, 0, 0, &[]).error, 22, "the server goes on");
    drop(client);
    thread::sleep(Duration::from_millis(50));
    view.look().frozen = false;
    assert_eq!(server.stop(), Ok(()));
    let inside = view.look();
    assert!(inside.durable[512..512 + (4 << 20)].iter().all(|&byte| byte == 7));
    assert!(inside.durable[..512].iter().all(|&byte| byte == 0));
}

/// Longer than its share of the memory, so it is lent some; one that stalls there is sent away for
/// the next.
#[test]
fn the_longest_writes_take_turns_and_one_that_stalls_is_sent_away_for_another() {
    let options = Options { stall_limit: Duration::from_millis(300), ..quick() };
    let (engine, view) = FaultyMemory::new(geometry(40 * MIB), shuffled(11));
    let server = Running::start(engine, Export::of(&geometry(40 * MIB)), options);
    let mut stalls = Client::connect(&server.path, Replies::Simple);
    stalls.send(0, WRITE, 0, 32 << 20, &vec![9; 1 << 20]);
    let mut short = Client::connect(&server.path, Replies::Simple);
    assert_eq!(short.write(0, 39 * MIB, &[4; 4096]), 0, "it holds up nobody else");
    thread::sleep(Duration::from_millis(600));
    assert_eq!(short.write(0, 39 * MIB, &[4; 4096]), 0);
    thread::scope(|scope| {
        for fill in [1, 2, 3] {
            let path = &server.path;
            scope.spawn(move || {
                let mut client = Client::connect(path, Replies::Simple);
                for _ in 0..2 {
                    assert_eq!(client.write(0, 0, &vec![fill; 32 << 20]), 0);
                }
            });
        }
    });
    assert_eq!(stalls.stream.read(&mut [0; 1]).expect("an end"), 0, "it was sent away");
    let fill = view.look().bytes[0];
    assert!((1..=3).contains(&fill));
    assert!(view.look().bytes[..32 << 20].iter().all(|byte| (1..=3).contains(byte)));
    assert_eq!(server.stop(), Ok(()));
}
