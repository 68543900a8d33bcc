//! A volume on a simulated drive, and a caller who believes its answers.

use super::{drive::Shuffling, oracle::Oracle};
use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Engine, Extent, Instant, IoError, Payload,
    Request, Rng, Stack, Tag,
};
use flash::{Checksums, Classes, Parity, Settings, Shape, Step, Volume, VolumeId};
use model::{Contents, FaultPlan, Faults, Media, Rig, Sim};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

pub type Bench = Stack<Volume, Sim<Rig<Shuffling>>>;

pub const ID: VolumeId = VolumeId(*b"a volume on test");

/// A shape small enough that all of it is used many times over.
pub fn small() -> Shape {
    Shape {
        device_bytes: 4 << 20,
        exported_bytes: 3 << 19,
        stripe_bytes: 4096,
        erase_unit_bytes: 4096,
        segment_bytes: 64 << 10,
        chunk_bytes: 32 << 10,
        ring_bytes: 0,
        parity: Parity::None,
        checksums: Checksums::OnRead,
        classes: Classes::TWO,
    }
}

/// The same with all classes of SepBIT.
pub fn classed() -> Shape {
    Shape { device_bytes: 5 << 20, classes: Classes::SEPBIT, ..small() }
}

/// Three data drives with 64 KiB each: not a power of two.
pub fn striped() -> Shape {
    Shape {
        device_bytes: 18 << 20,
        exported_bytes: 2 << 20,
        stripe_bytes: 192 << 10,
        erase_unit_bytes: 64 << 10,
        segment_bytes: 384 << 10,
        chunk_bytes: 192 << 10,
        ring_bytes: 8 * (192 << 10),
        parity: Parity::Protected,
        checksums: Checksums::OnCleaning,
        classes: Classes::TWO,
    }
}

pub fn media(shape: &Shape) -> Media {
    Media::new(shape.device_bytes, 4096, Contents::Bytes)
}

fn rig(media: Media, seed: u64) -> Rig<Shuffling> {
    Rig::new(Shuffling::new(media.capacity_bytes(), seed), vec![media])
}

/// A healthy drive with that medium.
pub fn sim(media: Media, seed: u64) -> Sim<Rig<Shuffling>> {
    Sim::new(rig(media, seed))
}

pub fn create(media: Media, shape: Shape, settings: Settings, seed: u64) -> Bench {
    let sim = Sim::new(rig(media, seed));
    let volume = Volume::create(sim.geometry(Drive(0)), shape, ID, settings).expect("it fits");
    Stack::new(volume, sim)
}

pub fn open(media: Media, settings: Settings, seed: u64) -> Bench {
    open_with(media, settings, seed, FaultPlan::new(0))
}

pub fn open_with(media: Media, settings: Settings, seed: u64, plan: FaultPlan) -> Bench {
    let sim = Sim::new(rig(media, seed).with_faults(Drive(0), Faults::new(plan, Drive(0))));
    Stack::new(Volume::open(sim.geometry(Drive(0)), settings), sim)
}

/// Cuts the power and takes the medium out.
pub fn cut(mut bench: Bench, seed: u64) -> Media {
    bench.engine.power_cut(seed);
    let Stack { engine, .. } = bench;
    engine.into_media().remove(0)
}

/// Submits one request and waits for its answer alone.
pub fn ask(bench: &mut Bench, command: Command) -> Completion {
    let mut done = Vec::new();
    bench.submit(Request { tag: Tag(u64::MAX), actor: Actor(0), drive: Drive(0), command });
    while done.is_empty() {
        bench.wait(Instant::NEVER, &mut done);
    }
    assert_eq!((done.len(), done[0].tag), (1, Tag(u64::MAX)));
    done.remove(0)
}

pub fn flush(bench: &mut Bench) -> Result<(), IoError> {
    ask(bench, Command::Flush).result
}

pub fn extent(sectors: Range<u64>) -> Extent {
    Extent { offset: sectors.start * 512, bytes: (sectors.end - sectors.start) as u32 * 512 }
}

/// Every word of the sectors is the value.
pub fn image(sectors: u64, value: u64) -> Payload {
    let mut buffer = Buf::zeroed(sectors as usize * 512);
    buffer.bytes_mut().chunks_mut(8).for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
    Payload::Bytes(buffer)
}

pub fn write(sectors: Range<u64>, value: u64, durability: Durability) -> Command {
    let from = image(sectors.end - sectors.start, value);
    Command::Write { at: extent(sectors), from, durability }
}

/// The values of the sectors in a buffer.
pub fn values(payload: &Payload, sectors: u64) -> Vec<u64> {
    let Payload::Bytes(buffer) = payload else { panic!("bytes come back") };
    let sectors = buffer.bytes().chunks(512).take(sectors as usize);
    sectors
        .map(|sector| {
            assert!(sector.chunks(8).all(|word| word == &sector[..8]), "a sector is a mixture");
            u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"))
        })
        .collect()
}

pub fn read(bench: &mut Bench, sectors: Range<u64>) -> Result<Vec<u64>, IoError> {
    let count = sectors.end - sectors.start;
    let answer = ask(bench, Command::Read { at: extent(sectors), into: image(count, 77) });
    answer.result.map(|()| values(&answer.payload, count))
}

pub fn read_all(bench: &mut Bench, sectors: u64) -> Result<Vec<u64>, IoError> {
    let mut all = Vec::new();
    for start in (0..sectors).step_by(128) {
        all.extend(read(bench, start..(start + 128).min(sectors))?);
    }
    Ok(all)
}

/// Which requests a caller makes.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Requests split blocks.
    pub unaligned: bool,
    /// One request in so many is a flush, and one in so many is FUA.
    pub flush_one_in: u64,
    /// Few blocks take most writes.
    pub skewed: bool,
}

#[derive(Clone)]
enum Open {
    Change(Range<usize>, Range<u64>, bool),
    Flush(BTreeSet<usize>),
    Read(Range<u64>, Vec<Option<u64>>),
}

/// Keeps some requests outstanding, no two of them on one block, and checks what it reads.
#[derive(Clone)]
pub struct Caller {
    pub oracle: Oracle,
    rng: Rng,
    sectors: u64,
    mix: Mix,
    open: BTreeMap<u64, Open>,
    next_tag: u64,
    pub failed: Vec<IoError>,
    pub acknowledged: u64,
}

impl Caller {
    pub fn new(seed: u64, sectors: u64, mix: Mix) -> Self {
        let oracle = Oracle::new(sectors, !mix.unaligned);
        let (open, rng) = (BTreeMap::new(), Rng::new(seed, 2));
        Self { oracle, rng, sectors, mix, open, next_tag: 1, failed: vec![], acknowledged: 0 }
    }

    fn range(&mut self) -> Option<Range<u64>> {
        let grain = if self.mix.unaligned { 1 } else { 8 };
        let places = self.sectors / grain;
        let hot = self.mix.skewed && self.rng.below(10) > 0;
        let places = if hot { places.div_ceil(10) } else { places };
        let first = self.rng.below(places);
        let long = self.rng.below(8) == 0;
        let count = 1 + self.rng.below(if long { 12 } else { 2 });
        let range = first * grain..((first + count) * grain).min(self.sectors);
        let blocks = |range: &Range<u64>| range.start / 8..range.end.div_ceil(8);
        let mine = blocks(&range);
        let busy = self.open.values().any(|open| match open {
            Open::Change(_, other, ..) | Open::Read(other, _) => {
                let other = blocks(other);
                mine.start < other.end && other.start < mine.end
            }
            Open::Flush(_) => false,
        });
        (!busy).then_some(range)
    }

    pub fn submit(&mut self, bench: &mut Bench) {
        let tag = self.next_tag;
        self.next_tag += 1;
        let flush = self.rng.below(self.mix.flush_one_in) == 0;
        let Some(range) = self.range() else { return };
        let kind = self.rng.below(16);
        let (command, open) = if flush {
            (Command::Flush, Open::Flush(self.oracle.begin_flush()))
        } else if kind < 2 {
            let expected = range.clone().map(|sector| self.oracle.visible(sector)).collect();
            let (count, at) = (range.end - range.start, extent(range.clone()));
            (Command::Read { at, into: image(count, 77) }, Open::Read(range, expected))
        } else if kind == 2 {
            let at = extent(range.clone());
            let changes = self.oracle.issue(range.clone(), 0);
            let open = Open::Change(changes, range, false);
            (Command::Discard { offset: at.offset, len: u64::from(at.bytes) }, open)
        } else {
            let fua = self.rng.below(self.mix.flush_one_in) == 0;
            let value = if kind == 3 { 0 } else { tag };
            let changes = self.oracle.issue(range.clone(), value);
            let durability = if fua { Durability::Fua } else { Durability::Cached };
            (write(range.clone(), value, durability), Open::Change(changes, range, fua))
        };
        self.open.insert(tag, open);
        bench.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
    }

    pub fn take(&mut self, done: &mut Vec<Completion>) {
        for completion in done.drain(..) {
            assert!(completion.finished > completion.issued, "no request takes no time");
            let open = self.open.remove(&completion.tag.0).expect("the tag is open");
            if let Err(error) = completion.result {
                self.failed.push(error);
                if let Open::Change(changes, ..) = open {
                    self.oracle.fail(changes);
                }
                continue;
            }
            self.acknowledged += 1;
            match open {
                Open::Change(changes, _, fua) => {
                    self.oracle.acknowledge(changes.clone());
                    if fua {
                        self.oracle.end_flush(&changes.collect());
                    }
                }
                Open::Flush(covered) => self.oracle.end_flush(&covered),
                Open::Read(range, expected) => {
                    let seen = values(&completion.payload, range.end - range.start);
                    for ((seen, expected), sector) in seen.iter().zip(expected).zip(range) {
                        let right = expected.is_none_or(|expected| expected == *seen);
                        assert!(right, "sector {sector} reads {seen}, not {expected:?}");
                    }
                }
            }
        }
    }

    /// Keeps `depth` requests outstanding until the clock says `until`.
    pub fn work(&mut self, bench: &mut Bench, depth: usize, until: Instant) {
        let mut done = Vec::new();
        while bench.now() < until {
            while self.open.len() < depth {
                let before = self.open.len();
                self.submit(bench);
                if self.open.len() == before {
                    break;
                }
            }
            bench.wait(until, &mut done);
            self.take(&mut done);
        }
    }

    /// Makes so many requests and waits for every answer.
    pub fn requests(&mut self, bench: &mut Bench, count: u64, depth: usize) {
        let (mut done, end) = (Vec::new(), self.next_tag + count);
        while self.next_tag < end {
            if self.open.len() < depth {
                self.submit(bench);
            } else {
                bench.wait(Instant::NEVER, &mut done);
                self.take(&mut done);
            }
        }
        self.finish(bench);
    }

    /// Waits for every answer.
    pub fn finish(&mut self, bench: &mut Bench) {
        let mut done = Vec::new();
        while !self.open.is_empty() {
            bench.wait(Instant::NEVER, &mut done);
            self.take(&mut done);
        }
    }

    /// The power was cut: what is outstanding is not answered any more.
    pub fn forget(&mut self) {
        self.open.clear();
    }
}

/// Lets the bench run until it is open, or until the instant.
pub fn run_until(bench: &mut Bench, until: Instant) -> Step {
    let mut done = Vec::new();
    while bench.now() < until && bench.machine.step() < Step::Open {
        let next = bench.next_wakeup().min(until);
        bench.wait(next.max(Instant(bench.now().0 + 1)).min(until), &mut done);
    }
    bench.machine.step()
}
