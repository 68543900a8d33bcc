//! The volatile write cache: what it is asked for it keeps as long as it lives, and what it left
//! below when it died is what a power cut leaves.

use block::{
    Actor, Buf, Command, Completion, Data, Drive, Durability, Effects, Engine, Extent, Geometry,
    Instant, Machine, Payload, Request, Rng, Stack, Tag,
};
use model::{CELL_BYTES, Outbox, Sim, VolatileCache};

const CELLS: u64 = 64;
const CELL: u64 = CELL_BYTES as u64;

/// A drive that keeps bytes and answers after a random time; requests take effect when they are
/// answered.
struct Store {
    bytes: Vec<u8>,
    under_way: Vec<(Instant, Request)>,
    rng: Rng,
    answers: Outbox,
}

impl Store {
    fn new(seed: u64) -> Self {
        let bytes = vec![0; (CELLS * CELL) as usize];
        Self { bytes, under_way: Vec::new(), rng: Rng::new(seed, 5), answers: Outbox::new(64) }
    }

    fn perform(&mut self, command: &mut Command) {
        let range = |at: &Extent| at.offset as usize..at.offset as usize + at.bytes as usize;
        match command {
            Command::Read { at, into: Payload::Bytes(into) } => {
                into.bytes_mut()[..at.bytes as usize].copy_from_slice(&self.bytes[range(at)]);
            }
            Command::Write { at, from: Payload::Bytes(from), .. } => {
                self.bytes[range(at)].copy_from_slice(&from.bytes()[..at.bytes as usize]);
            }
            Command::Discard { offset, len } => {
                self.bytes[*offset as usize..(*offset + *len) as usize].fill(0);
            }
            Command::Flush => {}
            _ => panic!("a transfer without memory"),
        }
    }
}

impl Machine for Store {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: CELLS * CELL,
            block_bytes: 512,
            transfer_bytes_max: 64 << 10,
            queue_depth: 16,
            data: Data::Stored,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        assert!(self.under_way.len() < 16, "queue depth exceeded");
        self.under_way.push((now.after(1 + self.rng.below(1000)), request));
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("it is the bottom")
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(at) = self.under_way.iter().position(|(due, _)| *due <= now) {
            let (_, Request { tag, mut command, .. }) = self.under_way.swap_remove(at);
            self.perform(&mut command);
            let (result, payload) = (Ok(()), command.into_payload());
            self.answers.put(Completion { tag, issued: now, finished: now, result, payload });
        }
        self.answers.release(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        let due = self.under_way.iter().map(|(due, _)| *due).min().unwrap_or(Instant::NEVER);
        due.min(self.answers.next())
    }
}

type Cached = Stack<VolatileCache, Sim<Store>>;

fn cached(seed: u64) -> Cached {
    let below = Sim::new(Store::new(seed));
    let cache = VolatileCache::new(below.geometry(Drive(0)), seed);
    Stack::new(cache, below)
}

fn write(cells: std::ops::Range<u64>, word: u64, durability: Durability) -> Command {
    let at =
        Extent { offset: cells.start * CELL, bytes: ((cells.end - cells.start) * CELL) as u32 };
    let mut buffer = Buf::zeroed(at.bytes as usize);
    buffer.bytes_mut().chunks_exact_mut(8).for_each(|to| to.copy_from_slice(&word.to_le_bytes()));
    Command::Write { at, from: Payload::Bytes(buffer), durability }
}

/// Submits all and waits for all.
fn ask(engine: &mut Cached, commands: Vec<Command>) -> Vec<Completion> {
    let count = commands.len();
    for (tag, command) in (0..).zip(commands) {
        engine.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
    }
    let mut done = Vec::new();
    while done.len() < count {
        engine.wait(Instant::NEVER, &mut done);
    }
    done.sort_by_key(|completion| completion.tag);
    assert!(done.iter().all(|completion| completion.result.is_ok()));
    done
}

/// The word that fills a cell; a cell of two words is torn within, which nothing may do.
fn word(bytes: &[u8], cell: u64) -> u64 {
    let cell = &bytes[(cell * CELL) as usize..((cell + 1) * CELL) as usize];
    let word = u64::from_le_bytes(cell[..8].try_into().expect("eight bytes"));
    assert!(cell.chunks_exact(8).all(|at| at == word.to_le_bytes()), "a torn cell");
    word
}

/// Asks all of it; every read finds what was written last.
fn ask_and_compare(engine: &mut Cached, commands: Vec<Command>, versions: &[Vec<u64>], seed: u64) {
    let reads: Vec<(usize, Extent)> = commands
        .iter()
        .enumerate()
        .filter_map(|(number, command)| match command {
            Command::Read { at, .. } => Some((number, *at)),
            _ => None,
        })
        .collect();
    let done = ask(engine, commands);
    for (number, at) in reads {
        let Payload::Bytes(found) = &done[number].payload else { panic!("memory comes back") };
        for cell in at.offset / CELL..(at.offset + u64::from(at.bytes)) / CELL {
            let held = word(found.bytes(), cell - at.offset / CELL);
            assert_eq!(Some(&held), versions[cell as usize].last(), "seed {seed}, cell {cell}");
        }
    }
}

/// One life: batches of requests that do not overlap, every read checked. Then it dies; says how
/// many cells below hold what was written last, how many something older, and how many writes were
/// torn.
fn live_and_die(seed: u64) -> [usize; 3] {
    let mut engine = cached(seed);
    let mut rng = Rng::new(seed, 1);
    // What each cell may hold below: its value at the last flush, and everything since.
    let mut versions: Vec<Vec<u64>> = vec![vec![0]; CELLS as usize];
    let mut torn: Vec<(std::ops::Range<u64>, u64)> = Vec::new();
    for round in 1..60 {
        let mut commands = Vec::new();
        let mut cell = rng.below(6);
        while cell < CELLS - 8 {
            let cells = cell..cell + 1 + rng.below(7);
            let value = round << 32 | cell;
            match rng.below(8) {
                0..=2 => {
                    let at = Extent {
                        offset: cells.start * CELL,
                        bytes: ((cells.end - cells.start) * CELL) as u32,
                    };
                    let into = Payload::Bytes(Buf::zeroed(at.bytes as usize));
                    commands.push(Command::Read { at, into });
                }
                3 => {
                    let len = (cells.end - cells.start) * CELL;
                    commands.push(Command::Discard { offset: cells.start * CELL, len });
                    // Sent down at once: durable or not, nothing older comes back.
                    cells.clone().for_each(|cell| versions[cell as usize] = vec![0]);
                }
                4 => {
                    commands.push(write(cells.clone(), value, Durability::Fua));
                    cells.clone().for_each(|cell| versions[cell as usize] = vec![value]);
                }
                _ => {
                    commands.push(write(cells.clone(), value, Durability::Cached));
                    cells.clone().for_each(|cell| versions[cell as usize].push(value));
                    torn.push((cells.clone(), value));
                }
            }
            cell = cells.end + rng.below(4);
        }
        ask_and_compare(&mut engine, commands, &versions, seed);
        if round % 20 == 0 {
            ask(&mut engine, vec![Command::Flush]);
            assert_eq!(engine.machine.unflushed(), 0);
            torn.clear();
            for versions in &mut versions {
                *versions = versions.last().copied().into_iter().collect();
            }
        }
    }
    let left = &engine.engine.machine.bytes;
    let (mut kept, mut lost) = (0, 0);
    for (cell, versions) in (0..).zip(&versions) {
        let word = word(left, cell);
        assert!(versions.contains(&word), "seed {seed}: cell {cell} holds {word:x}");
        match versions.last() == Some(&word) {
            true => kept += 1,
            false => lost += 1,
        }
    }
    let is_torn = |(cells, value): &(std::ops::Range<u64>, u64)| {
        let there = cells.clone().filter(|&cell| word(left, cell) == *value).count() as u64;
        there > 0 && there < cells.end - cells.start
    };
    [kept, lost, torn.iter().filter(|write| is_torn(write)).count()]
}

#[test]
fn dying_loses_any_part_of_what_was_not_flushed_and_nothing_else() {
    let mut sum = [0; 3];
    for seed in 0..40 {
        let left = live_and_die(seed);
        sum.iter_mut().zip(left).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&count| count > 50), "kept, lost, torn: {sum:?}");
}

#[test]
fn what_goes_down_early_replays_with_its_seed() {
    assert_eq!(live_and_die(3), live_and_die(3));
}
