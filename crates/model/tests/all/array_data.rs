//! An array returns what was written, whatever happens to its members. The oracle is a plain vector
//! of bytes; the members are plain vectors too.

use crate::array_shelf;

use array_shelf::Shelf;
use block::{
    Actor, Buf, Command, Completion, Data, Drive, Durability, Engine, Extent, Instant, IoError,
    Payload, Request, Rng, Stack, Tag,
};
use model::{Array, ArrayParams, Level, MIXED_STAMPS, Rebuild, Sim};

const CHUNK: u64 = 16 << 10;
const MEMBER: u64 = 160 * CHUNK + 512;

type Stacked = Stack<Array, Sim<Shelf>>;

fn stack(level: Level, members: usize) -> Stacked {
    let sim = Sim::new(Shelf::new(members, MEMBER));
    let geometries = vec![sim.geometry(Drive(0)); members];
    let params = ArrayParams { level, chunk_bytes: CHUNK as u32 };
    Stack::new(Array::new(params, &geometries), sim)
}

/// A user who knows what the array must hold.
struct User {
    stack: Stacked,
    expected: Vec<u8>,
    rng: Rng,
    done: Vec<Completion>,
}

impl User {
    fn new(level: Level, members: usize, seed: u64) -> Self {
        let stack = stack(level, members);
        let capacity = stack.geometry(Drive(0)).capacity_bytes as usize;
        Self { stack, expected: vec![0; capacity], rng: Rng::new(seed, 1), done: Vec::new() }
    }

    fn submit(&mut self, actor: u16, offset: u64, bytes: u32, writes: bool) {
        let mut buffer = Buf::zeroed(bytes as usize);
        let at = Extent { offset, bytes };
        let command = if writes {
            self.rng.fill(&mut buffer.bytes_mut()[..bytes as usize]);
            self.expected[offset as usize..][..bytes as usize]
                .copy_from_slice(&buffer.bytes()[..bytes as usize]);
            let from = Payload::Bytes(buffer);
            Command::Write { at, from, durability: Durability::Cached }
        } else {
            Command::Read { at, into: Payload::Bytes(buffer) }
        };
        let sectors = u64::from(bytes / 512);
        let tag = u64::from(actor) | u64::from(writes) << 16 | sectors << 17 | (offset / 512) << 32;
        let tag = Tag(tag);
        self.stack.submit(Request { tag, actor: Actor(actor), drive: Drive(0), command });
    }

    /// Waits for at least `count` answers and compares what was read.
    fn collect(&mut self, count: usize) -> Vec<u16> {
        let mut actors = Vec::new();
        while actors.len() < count {
            self.stack.wait(Instant::NEVER, &mut self.done);
            for completion in self.done.drain(..) {
                assert_eq!(completion.result, Ok(()));
                assert!(completion.finished > completion.issued, "an answer in no time");
                actors.push(completion.tag.0 as u16);
                if completion.tag.0 >> 16 & 1 == 0 {
                    let offset = (completion.tag.0 >> 32) as usize * 512;
                    let length = (completion.tag.0 >> 17 & 0x7fff) as usize * 512;
                    let Payload::Bytes(buffer) = completion.payload else { panic!("no bytes") };
                    let expected = &self.expected[offset..offset + length];
                    assert!(buffer.bytes()[..length] == *expected, "wrong bytes at {offset}");
                }
            }
        }
        actors
    }

    /// Long transfers one at a time, anywhere.
    fn long_ones(&mut self, count: usize) {
        for _ in 0..count {
            let sectors = self.expected.len() as u64 / 512;
            let offset = self.rng.below(sectors);
            let bytes = (1 + self.rng.below((sectors - offset).min(512))) * 512;
            let writes = self.rng.below(2) == 0;
            self.submit(0, offset * 512, bytes as u32, writes);
            self.collect(1);
        }
    }

    /// Short transfers, eight at a time, in twelve chunks. No two threads share a block, but they
    /// share rows and the columns of rows.
    fn short_ones(&mut self, count: usize) {
        let chunks = self.expected.len() as u64 / CHUNK;
        let base = self.rng.below(chunks - 12);
        let ask = |user: &mut Self, actor: u16| {
            let chunk = base + user.rng.below(12);
            let column = user.rng.below(CHUNK / 4096) * 8 + (chunk + u64::from(actor)) % 8;
            let writes = user.rng.below(3) > 0;
            user.submit(actor, chunk * CHUNK + column * 512, 512, writes);
        };
        (0..8).for_each(|actor| ask(self, actor));
        for _ in 0..count {
            for actor in self.collect(1) {
                ask(self, actor);
            }
        }
        self.collect(8);
    }

    fn read_everything(&mut self) {
        for offset in (0..self.expected.len() as u64).step_by(4096) {
            self.submit(0, offset, 4096, false);
            self.collect(1);
        }
    }

    fn wait_for_rebuild(&mut self) {
        let mut until = self.stack.now();
        while self.stack.machine.missing_members() > 0 {
            until = until.after(1_000_000);
            self.stack.wait(until, &mut self.done);
        }
    }
}

fn parity_holds(user: &User) {
    let drives = &user.stack.engine.machine.drives;
    for column in 0..(MEMBER / CHUNK * CHUNK) as usize {
        let fold = drives.iter().fold(0, |fold, drive| fold ^ drive[column]);
        assert_eq!(fold, 0, "parity at {column}");
    }
}

const PACE: Rebuild = Rebuild { idle_bytes_per_s: 200 << 20, busy_bytes_per_s: 20 << 20 };

#[test]
fn every_level_returns_what_was_written_while_members_come_and_go() {
    let levels = [(Level::Raid1, 2), (Level::Raid1, 3), (Level::Raid10, 4), (Level::Raid10, 3)];
    let parity = [(Level::Raid5, 3), (Level::Raid5, 4), (Level::Raid5, 8)];
    for (seed, (level, members)) in levels.into_iter().chain(parity).enumerate() {
        let mut user = User::new(level, members, seed as u64);
        user.long_ones(100);
        user.short_ones(500);
        let lost = user.rng.below(members as u64) as u16;
        assert!(user.stack.machine.fail(lost));
        user.stack.engine.machine.drives[usize::from(lost)].fill(0xee);
        user.short_ones(500);
        user.long_ones(100);
        user.read_everything();
        let now = user.stack.now();
        user.stack.machine.replace(now, lost, PACE);
        user.short_ones(300);
        user.long_ones(30);
        user.wait_for_rebuild();
        assert_eq!(user.stack.machine.missing_members(), 0);
        user.read_everything();
        // Another one, so that what was rebuilt is read.
        assert!(user.stack.machine.fail((lost + 1) % members as u16));
        user.read_everything();
        if level == Level::Raid5 {
            let now = user.stack.now();
            user.stack.machine.replace(now, (lost + 1) % members as u16, PACE);
            user.wait_for_rebuild();
            parity_holds(&user);
        }
    }
}

#[test]
fn stripes_without_redundancy_return_what_was_written() {
    let mut user = User::new(Level::Raid0, 3, 1);
    user.long_ones(200);
    user.short_ones(500);
    user.read_everything();
    assert!(!user.stack.machine.fail(0), "nothing can be spared");
}

#[test]
fn a_drive_that_goes_away_in_the_middle_is_done_without() {
    for (level, members) in [(Level::Raid1, 2), (Level::Raid5, 4), (Level::Raid10, 4)] {
        let mut user = User::new(level, members, 5);
        user.long_ones(50);
        user.short_ones(200);
        user.stack.engine.machine.is_gone[1] = true;
        user.short_ones(500);
        user.long_ones(50);
        assert_eq!(user.stack.machine.missing_members(), 1);
        user.read_everything();
    }
}

#[test]
fn an_unreadable_sector_is_worked_out_from_the_others_and_costs_no_member() {
    let levels = [(Level::Raid1, 2), (Level::Raid5, 4), (Level::Raid5, 8), (Level::Raid10, 4)];
    for (level, members) in levels {
        let mut user = User::new(level, members, 6);
        user.long_ones(100);
        user.stack.engine.machine.bad =
            (0..32).map(|row| (row / 2 % members, row as u64 * CHUNK)).collect();
        user.read_everything();
        // A sector of every row, so that unreadable data and unreadable parity are written around.
        let row_bytes = user.expected.len() as u64 / 160;
        for row in 0..32 {
            user.submit(0, row * row_bytes, 512, true);
            user.collect(1);
        }
        user.read_everything();
        user.short_ones(300);
        user.long_ones(100);
        assert_eq!(user.stack.machine.missing_members(), 0);
    }
}

#[test]
fn what_cannot_be_had_any_more_is_an_error() {
    let mut user = User::new(Level::Raid5, 3, 7);
    user.stack.engine.machine.is_gone[0] = true;
    user.long_ones(20);
    user.stack.engine.machine.is_gone[2] = true;
    for writes in [false, true] {
        user.submit(0, 0, 64 << 10, writes);
        let mut done = Vec::new();
        user.stack.wait(Instant::NEVER, &mut done);
        assert_eq!(done[0].result, Err(IoError::Offline));
        assert!(done[0].finished > done[0].issued);
    }
}

/// What the members saw of one request, sorted.
fn seen(user: &mut User, offset: u64, bytes: u64, writes: bool) -> Vec<(char, u16, u64, u32)> {
    user.stack.engine.machine.log.clear();
    user.submit(0, offset, bytes as u32, writes);
    user.collect(1);
    let mut log = std::mem::take(&mut user.stack.engine.machine.log);
    log.sort_unstable();
    log
}

#[test]
fn a_full_row_is_written_without_reading() {
    let mut user = User::new(Level::Raid5, 4, 8);
    let chunk = CHUNK as u32;
    let expected: Vec<_> = (0..4).map(|drive| ('w', drive, 5 * CHUNK, chunk)).collect();
    assert_eq!(seen(&mut user, 5 * 3 * CHUNK, 3 * CHUNK, true), expected);
}

/// Row 0 of four: data on 0, 1, 2, parity on 3. One chunk: two reads either way, and md then
/// reconstructs. Row 0 of eight: two reads against six.
#[test]
fn a_write_of_one_chunk_reads_what_md_would_read() {
    let chunk = CHUNK as u32;
    let mut user = User::new(Level::Raid5, 4, 8);
    let by_reconstruction =
        [('r', 0, 0, chunk), ('r', 2, 0, chunk), ('w', 1, 0, chunk), ('w', 3, 0, chunk)];
    assert_eq!(seen(&mut user, CHUNK, CHUNK, true), by_reconstruction);
    let mut user = User::new(Level::Raid5, 8, 8);
    let by_modification =
        [('r', 1, 0, 4096), ('r', 7, 0, 4096), ('w', 1, 0, 4096), ('w', 7, 0, 4096)];
    assert_eq!(seen(&mut user, CHUNK, 4096, true), by_modification);
}

#[test]
fn adjacent_rows_on_one_member_are_one_command() {
    let mut user = User::new(Level::Raid5, 4, 8);
    let two = 2 * CHUNK as u32;
    let one = CHUNK as u32;
    // Chunks 0 to 7: rows 0 1 2 P | 4 5 P 3 | . P 6 7.
    let expected = [
        ('r', 0, 0, two),
        ('r', 1, 0, two),
        ('r', 2, 0, one),
        ('r', 2, 2 * CHUNK, one),
        ('r', 3, CHUNK, two),
    ];
    assert_eq!(seen(&mut user, 0, 8 * CHUNK, false), expected);
}

/// Eight writers in one row of two chunks: every order of read and write must leave the parity
/// right.
#[test]
fn writes_to_one_row_take_turns() {
    let mut user = User::new(Level::Raid5, 3, 9);
    for _ in 0..200 {
        for actor in 0..8 {
            user.submit(actor, u64::from(actor) * 4096, 4096, true);
        }
        user.collect(8);
    }
    user.read_everything();
    parity_holds(&user);
}

#[test]
fn a_rebuild_keeps_its_pace() {
    let mut user = User::new(Level::Raid5, 4, 10);
    assert!(user.stack.machine.fail(2));
    let begun = user.stack.now();
    user.stack.machine.replace(begun, 2, PACE);
    user.wait_for_rebuild();
    let elapsed = user.stack.now().since(begun);
    // The last of three steps (of at most 1 MiB) ends when it is done.
    let two_steps = (2 << 20) * 1_000_000_000 / PACE.idle_bytes_per_s;
    assert!((two_steps..two_steps * 3 / 2).contains(&elapsed), "{elapsed} {two_steps}");
}

fn stamped(user: &mut User, offset: u64, bytes: u64, written: Option<u64>) -> u64 {
    let at = Extent { offset, bytes: bytes as u32 };
    let command = match written {
        Some(stamp) => {
            let from = Payload::Stamp(stamp);
            Command::Write { at, from, durability: Durability::Cached }
        }
        None => Command::Read { at, into: Payload::Stamp(0) },
    };
    user.stack.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
    user.done.clear();
    user.stack.wait(Instant::NEVER, &mut user.done);
    let Payload::Stamp(stamp) = user.done.remove(0).payload else { panic!("a stamp went down") };
    stamp
}

#[test]
fn stamps_survive_stripes_and_copies_and_differing_ones_are_mixed() {
    for (level, members) in [(Level::Raid0, 3), (Level::Raid1, 2), (Level::Raid10, 4)] {
        let mut user = User::new(level, members, 13);
        stamped(&mut user, 0, 4 * CHUNK, Some(7));
        assert_eq!(stamped(&mut user, 0, 4 * CHUNK, None), 7);
        stamped(&mut user, CHUNK, CHUNK, Some(9));
        assert_eq!(stamped(&mut user, CHUNK, CHUNK, None), 9);
        assert_eq!(stamped(&mut user, 0, 4 * CHUNK, None), MIXED_STAMPS);
    }
}

/// Row 0 of five lies Q 0 1 2 P.
#[test]
fn raid_6_works_around_two_members() {
    let mut shelf = Shelf::new(5, MEMBER);
    shelf.data = Data::TimingOnly;
    let sim = Sim::new(shelf);
    let params = ArrayParams { level: Level::Raid6, chunk_bytes: CHUNK as u32 };
    let mut stack = Stack::new(Array::new(params, &[sim.geometry(Drive(0)); 5]), sim);
    let log_of = |stack: &mut Stacked, command| {
        stack.engine.machine.log.clear();
        stack.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
        let mut done = Vec::new();
        stack.wait(Instant::NEVER, &mut done);
        assert_eq!(done[0].result, Ok(()));
        let mut log: Vec<_> =
            stack.engine.machine.log.iter().map(|seen| (seen.0, seen.1)).collect();
        log.sort_unstable();
        log
    };
    let at = Extent { offset: 0, bytes: 4096 };
    let read = || Command::Read { at, into: Payload::None };
    let write = || Command::Write { at, from: Payload::None, durability: Durability::Cached };
    assert_eq!(log_of(&mut stack, read()), [('r', 1)]);
    // The two other data chunks against old data and two old parities.
    let reconstructs = [('r', 2), ('r', 3), ('w', 0), ('w', 1), ('w', 4)];
    assert_eq!(log_of(&mut stack, write()), reconstructs);
    assert!(stack.machine.fail(1));
    assert_eq!(log_of(&mut stack, read()), [('r', 2), ('r', 3), ('r', 4)]);
    assert!(stack.machine.fail(4));
    assert_eq!(log_of(&mut stack, read()), [('r', 0), ('r', 2), ('r', 3)]);
    assert_eq!(log_of(&mut stack, write()), [('r', 2), ('r', 3), ('w', 0)]);
    assert!(!stack.machine.fail(0), "a third is one too many");
}

#[test]
fn two_reads_of_a_mirror_go_to_two_members() {
    for (level, members) in [(Level::Raid1, 2), (Level::Raid10, 2)] {
        let mut user = User::new(level, members, 14);
        user.submit(0, 0, 512, false);
        user.submit(1, 512, 512, false);
        user.collect(2);
        let drives: Vec<u16> = user.stack.engine.machine.log.iter().map(|seen| seen.1).collect();
        assert!(drives == [0, 1] || drives == [1, 0], "{drives:?}");
    }
}

/// The replacement dies during its first step, and the next one must still get every row.
#[test]
fn a_step_of_an_abandoned_rebuild_counts_for_nothing() {
    let mut user = User::new(Level::Raid5, 4, 12);
    user.long_ones(50);
    assert!(user.stack.machine.fail(2));
    for _ in 0..2 {
        user.stack.engine.machine.drives[2].fill(0xee);
        let now = user.stack.now();
        user.stack.machine.replace(now, 2, PACE);
        user.stack.wait(now.after(2_000), &mut user.done);
        assert!(user.stack.engine.machine.outstanding() > 0, "a step is under way");
        assert!(user.stack.machine.fail(2));
    }
    let now = user.stack.now();
    user.stack.machine.replace(now, 2, PACE);
    user.wait_for_rebuild();
    parity_holds(&user);
}

#[test]
fn a_flush_and_a_discard_reach_every_member() {
    let mut user = User::new(Level::Raid5, 3, 11);
    user.stack.engine.machine.log.clear();
    let discard = Command::Discard { offset: 1, len: 6 * CHUNK };
    for (tag, command) in [(0, Command::Flush), (1, discard)] {
        let (tag, actor) = (Tag(tag), Actor(0));
        user.stack.submit(Request { tag, actor, drive: Drive(0), command });
        user.done.clear();
        user.stack.wait(Instant::NEVER, &mut user.done);
    }
    user.done.clear();
    let mut log = std::mem::take(&mut user.stack.engine.machine.log);
    log[3..].sort_unstable();
    log[..3].sort_unstable();
    let whole_rows = |drive| ('d', drive, CHUNK, 2 * CHUNK as u32);
    let expected = [('f', 0, 0, 0), ('f', 1, 0, 0), ('f', 2, 0, 0)];
    assert_eq!(log[..3], expected);
    assert_eq!(log[3..], [whole_rows(0), whole_rows(1), whole_rows(2)]);
}
