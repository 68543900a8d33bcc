//! One client and a server over memory: every command, every error, every kind of reply.

use crate::common::{
    self, Running,
    client::{
        BLOCK_STATUS, Client, DF, FLUSH, FUA, NO_HOLE, READ, Replies, TRIM, WRITE, WRITE_ZEROES,
    },
    quick,
};
use block::{
    Actor, Completion, Drive, Durability, Effects, Extent, Geometry, Instant, IoError, Machine,
    Rng, Stack, Tag,
};
use nbd::{
    ServeError,
    protocol::{Access, Discarded, ErrorCode, Export},
};
use std::{collections::BTreeMap, time::Duration};
use testkit::memory::{Delay, Did, FaultyMemory, Pace, Queue, geometry};

const MIB: u64 = 1 << 20;
const BOTH: [Replies; 2] = [Replies::Simple, Replies::Structured];

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    Rng::new(seed, 0).fill(&mut noise);
    noise
}

fn shuffled(seed: u64) -> Pace {
    Pace::Shuffled(Rng::new(seed, 1))
}

#[test]
fn what_was_written_is_read_again_at_any_offset_and_length() {
    for replies in BOTH {
        let (server, view) = Running::of_memory(geometry(4 * MIB), shuffled(3));
        let mut client = Client::connect(&server.path, replies);
        assert_eq!(client.size_bytes, 4 * MIB);
        let mut oracle = vec![0u8; 4 * MIB as usize];
        let mut rng = Rng::new(11, 2);
        for round in 0..200 {
            let bytes = 1 + rng.below([700, 5000, 70_000, 300_000][round % 4]);
            let offset = rng.below(4 * MIB - bytes);
            let range = offset as usize..(offset + bytes) as usize;
            let data = noise(round as u64, bytes as usize);
            assert_eq!(client.write(if round % 5 == 0 { FUA } else { 0 }, offset, &data), 0);
            oracle[range].copy_from_slice(&data);
            let bytes = 1 + rng.below(400_000);
            let offset = rng.below(4 * MIB - bytes);
            let range = offset as usize..(offset + bytes) as usize;
            assert_eq!(client.read(offset, bytes as u32), Ok(oracle[range].to_vec()));
        }
        assert_eq!(client.flush(), 0);
        assert!(view.look().durable == oracle, "{replies:?}");
        client.leave();
        assert_eq!(server.stop(), Ok(()));
    }
}

#[test]
fn an_engine_that_takes_one_request_at_a_time_is_served_too() {
    let single =
        Geometry { queue_depth: 1, block_bytes: 512, transfer_bytes_max: 512, ..geometry(MIB) };
    for pace in [Pace::AtOnce, shuffled(1), Delay::after(Duration::from_micros(50))] {
        let (server, view) = Running::of_memory(single, pace);
        let mut client = Client::connect(&server.path, Replies::Simple);
        let data = noise(5, 10_001);
        let write = client.send(FUA, WRITE, 77, data.len() as u32, &data);
        let flush = client.send(0, 3, 0, 0, &[]);
        let read = client.send(0, READ, 0, 4096, &[]);
        for cookie in [write, flush, read] {
            assert_eq!(client.reply_to(cookie).error, 0);
        }
        assert_eq!(client.read(77, 10_001), Ok(data.clone()));
        assert_eq!(client.flush(), 0);
        assert_eq!(view.look().durable[77..77 + 10_001], data[..]);
        drop(client);
        assert_eq!(server.stop(), Ok(()));
    }
}

#[test]
fn an_export_may_end_within_a_block() {
    let (engine, view) = FaultyMemory::new(geometry(MIB), shuffled(4));
    let size_bytes = MIB - 4096 + 513;
    let export = Export { size_bytes, ..Export::of(&geometry(MIB)) };
    view.look().bytes[size_bytes as usize..].fill(0xee);
    let server = Running::start(engine, export, quick());
    let mut client = Client::connect(&server.path, Replies::Structured);
    assert_eq!(client.size_bytes, size_bytes);
    assert_eq!(client.write(0, size_bytes - 600, &[7; 600]), 0);
    assert_eq!(client.read(size_bytes - 601, 601), Ok([vec![0], vec![7; 600]].concat()));
    assert_eq!(client.ask(0, WRITE_ZEROES, size_bytes - 10, 10, &[]).error, 0);
    assert_eq!(client.read(size_bytes - 11, 11), Ok([vec![7], vec![0; 10]].concat()));
    assert_eq!(client.write(0, size_bytes - 1, &[1, 2]), ErrorCode::NoSpace as u32);
    assert!(view.look().bytes[size_bytes as usize..].iter().all(|&byte| byte == 0xee));
}

#[test]
fn fua_is_honoured_on_writes_zeroes_and_trims() {
    let (engine, view) = FaultyMemory::new(geometry(MIB), shuffled(5));
    let export = Export { discarded: Discarded::ReadsZero, ..Export::of(&geometry(MIB)) };
    let server = Running::start(engine, export, quick());
    let mut client = Client::connect(&server.path, Replies::Structured);
    let durable = |range: std::ops::Range<usize>| view.look().durable[range].to_vec();

    assert_eq!(client.write(FUA, 100, &[1; 20_000]), 0);
    assert_eq!(durable(100..20_100), [1; 20_000]);
    assert_eq!(view.count(|did| *did == Did::Flush), 0, "the engine forces a write by itself");

    // With holes allowed this is merged, discarded and merged; a discard is forced by a flush.
    assert_eq!(client.ask(FUA, WRITE_ZEROES, 200, 12_200, &[]).error, 0);
    assert_eq!(durable(200..12_400), [0; 12_200]);
    assert_eq!(view.count(|did| matches!(did, Did::Discard { offset: 4096, len: 8192 })), 1);

    assert_eq!(client.ask(FUA, TRIM, 12_288, 8000, &[]).error, 0);
    assert_eq!(durable(12_288..16_384), [0; 4096]);
    assert_eq!(durable(16_384..20_100), [1; 3716], "a trim spares blocks it covers in part");

    assert_eq!(client.ask(FUA | NO_HOLE, WRITE_ZEROES, 16_384, 4096, &[]).error, 0);
    assert_eq!(durable(16_384..20_480), [0; 4096]);
    assert_eq!(view.count(|did| matches!(did, Did::Discard { offset: 16_384, .. })), 0);
}

#[test]
fn without_fua_nothing_is_flushed_until_asked() {
    let (server, view) = Running::of_memory(geometry(MIB), Pace::AtOnce);
    let mut client = Client::connect(&server.path, Replies::Simple);
    assert_eq!(client.write(0, 0, &[1; 4096]), 0);
    assert_eq!(client.ask(0, WRITE_ZEROES, 4096, 4096, &[]).error, 0);
    assert_eq!(view.count(|did| matches!(did, Did::Flush | Did::Write(_, Durability::Fua))), 0);
    assert_eq!(view.count(|did| matches!(did, Did::Discard { .. })), 0, "discards give anything");
    assert_eq!(view.look().durable[0], 0);
    assert_eq!(client.flush(), 0);
    assert_eq!(view.look().durable[0], 1);
}

#[test]
fn a_flush_covers_what_was_acknowledged_on_other_connections() {
    let (server, view) = Running::of_memory(geometry(MIB), shuffled(6));
    let mut one = Client::connect(&server.path, Replies::Simple);
    let mut other = Client::connect(&server.path, Replies::Structured);
    for round in 0..50u8 {
        let offset = u64::from(round) * 5000;
        assert_eq!(one.write(0, offset, &[round; 5000]), 0);
        assert_eq!(other.flush(), 0);
        let from = offset as usize;
        assert_eq!(view.look().durable[from..from + 5000], [round; 5000]);
    }
}

#[test]
fn a_flush_asked_for_during_another_is_not_answered_by_it() {
    // The one under way need not cover what was acknowledged since it began.
    let (server, view) = Running::of_memory(geometry(MIB), Pace::AtOnce);
    let mut one = Client::connect(&server.path, Replies::Simple);
    let mut other = Client::connect(&server.path, Replies::Simple);
    view.look().hold_flushes = true;
    let first = one.send(0, FLUSH, 0, 0, &[]);
    common::eventually("the flush is at the engine", || view.look().depth_seen == 1);
    assert_eq!(other.write(0, 0, &[1; 4096]), 0);
    let second = other.send(0, FLUSH, 0, 0, &[]);
    assert_eq!(other.read(0, 4096), Ok(vec![1; 4096]), "the second flush has been taken in");
    view.look().hold_flushes = false;
    assert_eq!(one.reply_to(first).error, 0);
    assert_eq!(other.reply_to(second).error, 0);
    assert_eq!(view.count(|did| *did == Did::Flush), 2);
}

#[test]
fn requests_longer_than_a_transfer_are_cut_and_small_ones_merged() {
    let (server, view) = Running::of_memory(geometry(MIB), Pace::AtOnce);
    let mut client = Client::connect(&server.path, Replies::Structured);
    assert_eq!(client.write(0, 512, &noise(1, 140_000)), 0);
    let mut writes = Vec::new();
    for did in &view.look().log {
        if let Did::Write(Extent { offset, bytes }, _) = *did {
            writes.push((offset, bytes));
        }
    }
    writes.sort_unstable();
    assert_eq!(
        writes,
        [(0, 4096), (4096, 65_536), (69_632, 65_536), (135_168, 4096), (139_264, 4096)]
    );
    assert_eq!(view.count(|did| matches!(did, Did::Read(_))), 2, "a merge at each end");
}

#[test]
fn df_gives_one_chunk_or_an_overflow() {
    let small = Geometry { transfer_bytes_max: 4096, ..geometry(MIB) };
    let (server, view) = Running::of_memory(small, shuffled(7));
    let data = noise(3, MIB as usize);
    view.look().bytes.copy_from_slice(&data);
    let mut client = Client::connect(&server.path, Replies::Structured);
    let reply = client.ask(DF, READ, 1000, 65_536, &[]);
    assert_eq!((reply.error, reply.data.len()), (0, 1));
    assert_eq!(reply.data[&1000], data[1000..66_536]);
    assert_eq!(client.ask(DF, READ, 0, 65_537, &[]).error, ErrorCode::Overflow as u32);
    assert!(client.ask(0, READ, 0, 65_537, &[]).data.len() > 1);
    // A piece that fails amid the chunk leaves it whole; the error follows.
    view.look().bad_byte = Some((40_000, IoError::Medium));
    let reply = client.ask(DF, READ, 1000, 65_536, &[]);
    assert_eq!(reply.error, ErrorCode::Io as u32);
    if let Some(chunk) = reply.data.get(&1000) {
        assert_eq!(chunk.len(), 65_536);
    }
    assert_eq!(client.read(0, 4096), Ok(data[..4096].to_vec()), "the stream kept its step");
}

#[test]
fn a_bad_spot_fails_what_touches_it_and_nothing_else() {
    for replies in BOTH {
        let (server, view) = Running::of_memory(geometry(MIB), shuffled(8));
        let mut client = Client::connect(&server.path, replies);
        view.look().bad_byte = Some((100_000, IoError::Medium));
        assert_eq!(client.read(98_304, 4096), Err(ErrorCode::Io as u32));
        assert_eq!(client.read(102_400, 4096), Ok(vec![0; 4096]));
        assert_eq!(client.write(0, 98_304, &[1; 4096]), ErrorCode::Io as u32);
        assert_eq!(client.write(0, 98_305, &[1; 40]), ErrorCode::Io as u32, "a merge reads it");
        assert_eq!(client.write(0, 102_400, &[1; 4096]), 0);
        view.look().bad_byte = Some((100_000, IoError::Os(28)));
        assert_eq!(client.write(FUA, 98_304, &[1; 4096]), ErrorCode::NoSpace as u32);
        view.look().bad_byte = None;
        assert_eq!(client.flush(), 0, "no space is no loss of what is there");
        if replies == Replies::Structured {
            view.look().bad_byte = Some((100_000, IoError::Medium));
            let reply = client.ask(0, READ, 0, 200_000, &[]);
            let spared: usize = reply.data.values().map(Vec::len).sum();
            assert_eq!((reply.error, reply.error_offset), (5, Some(65_536)));
            assert_eq!(spared, 200_000 - 65_536, "the other pieces are there");
        }
        drop(client);
        assert_eq!(server.stop(), Ok(()));
    }
}

#[test]
fn a_long_simple_read_that_fails_late_ends_the_connection_and_no_other() {
    let (server, view) = Running::of_memory(geometry(MIB), Pace::AtOnce);
    let mut bystander = Client::connect(&server.path, Replies::Simple);
    view.look().bad_byte = Some((500_000, IoError::Medium));
    let mut client = Client::connect(&server.path, Replies::Simple);
    assert_eq!(client.read(500_000, 400_000), Err(5), "at its first piece it can still be told");
    client.send(0, READ, 0, 600_000, &[]);
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut client.stream, &mut all).ok();
    assert!(all.len() < 16 + 600_000, "no data is made up");
    assert_eq!(bystander.read(0, 4096), Ok(vec![0; 4096]));
}

#[test]
fn long_simple_reads_among_short_ones_keep_their_bytes_together() {
    let (server, view) = Running::of_memory(geometry(MIB), shuffled(13));
    let content = noise(4, MIB as usize);
    view.look().bytes.copy_from_slice(&content);
    let mut client = Client::connect(&server.path, Replies::Simple);
    let mut rng = Rng::new(14, 0);
    for _ in 0..20 {
        let mut sent = BTreeMap::new();
        for n in 0..20 {
            let bytes = 1 + rng.below(if n % 3 == 0 { 400_000 } else { 3000 });
            let offset = rng.below(MIB - bytes);
            let cookie = client.send(0, READ, offset, bytes as u32, &[]);
            sent.insert(cookie, offset as usize..(offset + bytes) as usize);
        }
        while !sent.is_empty() {
            let (cookie, reply) = client.any_reply();
            let range = sent.remove(&cookie).expect("it was asked for");
            assert!(reply.data[&(range.start as u64)] == content[range], "request {cookie}");
        }
    }
}

#[test]
fn after_a_failed_flush_nothing_is_promised_and_reads_go_on() {
    let (server, view) = Running::of_memory(geometry(MIB), shuffled(9));
    let mut client = Client::connect(&server.path, Replies::Structured);
    let mut other = Client::connect(&server.path, Replies::Simple);
    assert_eq!(client.write(0, 0, &[1; 4096]), 0);
    view.look().fail_flushes = Some(IoError::Os(5));
    assert_eq!(client.flush(), ErrorCode::Io as u32);
    view.look().fail_flushes = None;
    for client in [&mut client, &mut other] {
        assert_eq!(client.flush(), ErrorCode::Io as u32);
        assert_eq!(client.write(0, 8192, &[1; 4096]), ErrorCode::Io as u32);
        assert_eq!(client.ask(0, WRITE_ZEROES, 0, 4096, &[]).error, ErrorCode::Io as u32);
        assert_eq!(client.ask(0, TRIM, 0, 4096, &[]).error, ErrorCode::Io as u32);
        assert!(client.read(0, 4096).is_ok());
    }
    drop((client, other));
    assert_eq!(server.stop(), Err(ServeError::NotDurable(ErrorCode::Io)));
}

#[test]
fn a_failed_forced_write_ends_all_promises_too() {
    // The report of its loss may have been the report of an earlier write's.
    let (server, view) = Running::of_memory(geometry(MIB), Pace::AtOnce);
    let mut client = Client::connect(&server.path, Replies::Simple);
    view.look().bad_byte = Some((0, IoError::Os(5)));
    assert_eq!(client.write(FUA, 0, &[1; 4096]), ErrorCode::Io as u32);
    view.look().bad_byte = None;
    assert_eq!(client.flush(), ErrorCode::Io as u32);
    drop(client);
    assert_eq!(server.stop(), Err(ServeError::NotDurable(ErrorCode::Io)));
}

#[test]
fn a_drive_that_knows_no_trim_has_not_failed() {
    const EOPNOTSUPP: i32 = 95;
    let (server, view) = Running::of_memory(geometry(MIB), Pace::AtOnce);
    let mut client = Client::connect(&server.path, Replies::Simple);
    view.look().bad_byte = Some((0, IoError::Os(EOPNOTSUPP)));
    assert_eq!(client.ask(FUA, TRIM, 0, 8192, &[]).error, 0);
    assert_eq!(client.ask(0, TRIM, 8192, 8192, &[]).error, 0);
    view.look().bad_byte = Some((0, IoError::Os(5)));
    assert_eq!(client.ask(0, TRIM, 0, 8192, &[]).error, ErrorCode::Io as u32);
    drop(client);
    assert_eq!(server.stop(), Ok(()));
}

#[test]
fn a_read_only_export_is_not_changed() {
    let (engine, view) = FaultyMemory::new(geometry(MIB), Pace::AtOnce);
    let export = Export { access: Access::ReadOnly, ..Export::of(&geometry(MIB)) };
    let server = Running::start(engine, export, quick());
    let mut client = Client::connect(&server.path, Replies::Simple);
    assert_eq!(client.flags & 2, 2);
    assert_eq!(client.write(0, 0, &[1; 100_000]), ErrorCode::NotPermitted as u32);
    assert_eq!(client.ask(0, TRIM, 0, 4096, &[]).error, ErrorCode::NotPermitted as u32);
    assert_eq!(client.read(0, 4096), Ok(vec![0; 4096]));
    assert_eq!(view.count(|did| !matches!(did, Did::Read(_))), 0);
}

#[test]
fn status_tells_holes_from_data_as_far_as_the_engine_does() {
    let (server, view) = Running::of_memory(geometry(MIB), Pace::AtOnce);
    let mut client = Client::connect(&server.path, Replies::Structured);
    assert_eq!(client.ask(0, BLOCK_STATUS, 512, 100_000, &[]).status, [(100_000, 0)]);
    assert_eq!(client.ask(8, BLOCK_STATUS, 0, MIB as u32, &[]).status, [(MIB as u32, 0)]);
    view.look().sparse = true;
    assert_eq!(client.write(0, 8192, &[1; 4097]), 0);
    let said = [(7168, 3), (8192, 0), (49_152, 3)];
    assert_eq!(client.ask(0, BLOCK_STATUS, 1024, 64_512, &[]).status, said);
    assert_eq!(
        client.ask(8, BLOCK_STATUS, 1024, 64_512, &[]).status,
        said[..1],
        "one was asked for"
    );
    for block in (0..256).step_by(2) {
        assert_eq!(client.write(0, block * 4096, &[1; 4096]), 0);
    }
    let long = client.ask(0, BLOCK_STATUS, 0, MIB as u32, &[]).status;
    assert!(long.len() > 100 && long.iter().all(|&(bytes, _)| bytes <= 16_384), "{long:?}");
}

#[test]
fn replies_come_in_the_order_in_which_the_engine_completes() {
    let (server, view) = Running::of_memory(geometry(MIB), shuffled(10));
    let mut client = Client::connect(&server.path, Replies::Simple);
    view.look().frozen = true;
    let sent: Vec<u64> = (0..30).map(|n| client.send(0, READ, n * 4096, 4096, &[])).collect();
    common::eventually("all are at the engine", || view.look().depth_seen == 30);
    view.look().frozen = false;
    let came: Vec<u64> = sent.iter().map(|_| client.any_reply().0).collect();
    assert_ne!(came, sent);
    let mut sorted = came;
    sorted.sort_unstable();
    assert_eq!(sorted, sent);
}

#[test]
fn changes_of_parts_of_one_block_at_once_all_count() {
    let (server, view) = Running::of_memory(geometry(64 << 10), shuffled(12));
    let mut clients: Vec<Client> =
        (0..4).map(|_| Client::connect(&server.path, Replies::Structured)).collect();
    let mut oracle = vec![0u8; 64 << 10];
    for round in 0..40u8 {
        let mut sent = Vec::new();
        for slot in 0..128usize {
            // Non-overlapping pieces of 512 bytes, whole blocks and zeroes among them.
            let offset = slot * 512;
            let data = [round ^ slot as u8; 512];
            let client = &mut clients[slot % 4];
            let cookie = match (slot + round as usize) % 7 {
                0 => {
                    oracle[offset..offset + 512].fill(0);
                    client.send(0, WRITE_ZEROES, offset as u64, 512, &[])
                }
                _ => {
                    oracle[offset..offset + 512].copy_from_slice(&data);
                    client.send(0, WRITE, offset as u64, 512, &data)
                }
            };
            sent.push((slot % 4, cookie));
        }
        for (number, cookie) in sent {
            assert_eq!(clients[number].reply_to(cookie).error, 0);
        }
        assert!(view.look().bytes == oracle, "round {round}");
    }
}

/// Forwards each request in so many steps, one after the other: the next goes down when the one
/// before has come back, as the chunks of a flush do in a managed volume.
struct Steps {
    below: Geometry,
    steps: u32,
    under_way: Vec<(block::Request, u32)>,
}

impl Steps {
    fn step(&self, tag: usize, effects: &mut Effects) {
        let (tag, actor, drive) = (Tag(tag as u64), Actor(0), Drive(0));
        effects.down.push(block::Request { tag, actor, drive, command: block::Command::Flush });
    }
}

impl Machine for Steps {
    fn geometry(&self, _: Drive) -> Geometry {
        self.below
    }

    fn on_request(&mut self, _: Instant, request: block::Request, effects: &mut Effects) {
        assert!(self.under_way.is_empty(), "the client here is alone and waits");
        self.under_way.push((request, self.steps));
        self.step(0, effects);
    }

    fn on_completion(&mut self, now: Instant, step: Completion, effects: &mut Effects) {
        let (_, left) = &mut self.under_way[step.tag.0 as usize];
        *left -= 1;
        if *left > 0 {
            return self.step(0, effects);
        }
        let (request, _) = self.under_way.pop().expect("it was under way");
        effects.up.push(Completion {
            tag: request.tag,
            issued: now,
            finished: now,
            result: Ok(()),
            payload: request.command.into_payload(),
        });
    }

    fn on_wakeup(&mut self, _: Instant, _: &mut Effects) {}

    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }
}

#[test]
fn what_a_machine_asks_for_as_a_wait_ends_does_not_wait_for_the_servers_tick() {
    // A managed volume's flush of several chunks moved on by one of them for each tick of 100 ms:
    // the next was put into the engine's queue as the server's wait ended, and nothing told the
    // server to go on.
    const STEPS: u32 = 40;
    let below = geometry(MIB);
    let (engine, _) = FaultyMemory::new(below, Pace::Queued(Queue::empty()));
    let machine = Steps { below, steps: STEPS, under_way: Vec::new() };
    let server = Running::start(Stack::new(machine, engine), Export::of(&below), quick());
    let mut client = Client::connect(&server.path, Replies::Simple);
    let start = std::time::Instant::now();
    assert_eq!(client.write(0, 0, &noise(1, 4096)), 0);
    assert_eq!(client.flush(), 0);
    // Two operations of 40 steps took eight seconds by ticks.
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    drop(client);
    assert_eq!(server.stop(), Ok(()));
}
