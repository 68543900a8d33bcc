//! A load that overlaps itself, and all that may be read of each sector.

use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Engine, Extent, Instant, Machine, Payload,
    Request, Rng, Stack, Tag, submit_and_wait,
};
use model::{
    Array, ArrayParams, Bank, BatteryCache, BatteryCacheParams, BatteryMemory, Contents,
    GatheredRow, Level, Media, Origin, Rig, Sim, WriteCache,
};
use std::collections::BTreeMap;
use testkit::Shuffling;

pub const CHUNK: u64 = 16 << 10;
const SECTOR: u64 = 512;
const MEMBER_BYTES: u64 = 48 * CHUNK;

type Below = Stack<Array, Sim<Rig<Bank<dyn Machine>>>>;

/// So little memory that it is full soon.
pub fn memory(row: GatheredRow) -> BatteryCacheParams {
    BatteryCacheParams {
        size_bytes: 16 * row.bytes(),
        row,
        command_ns: 10_000,
        bytes_per_s: 1_000_000_000,
        eager_per_mille: 500,
        age_ns: 2_000_000,
        rows_max: 8,
    }
}

pub struct World {
    pub engine: Stack<BatteryCache, Below>,
    pub rng: Rng,
    /// Whether the load discards, too.
    pub discards: bool,
    array: ArrayParams,
    members: u16,
    sectors: Vec<Sector>,
    under_way: BTreeMap<u64, Asked>,
    next: u64,
}

/// What a sector may hold.
#[derive(Clone, Default)]
struct Sector {
    values: Vec<u64>,
    /// Changes under way; `values` from `since` on are theirs and those of changes beside them.
    changes: u32,
    since: usize,
}

struct Asked {
    sectors: std::ops::Range<u64>,
    what: What,
    /// For a read: what there was when it was asked for.
    before: Vec<Vec<u64>>,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Read,
    Write(u64),
    Discard,
    Flush,
}

fn medium(_: u16) -> Media {
    let cache = WriteCache::Volatile { bytes_max: u64::MAX };
    Media::new(MEMBER_BYTES, SECTOR as u32, Contents::Bytes).with_cache(cache)
}

impl World {
    pub fn new(level: Level, members: u16, seed: u64) -> Self {
        let array = ArrayParams { level, chunk_bytes: CHUNK as u32 };
        let media = (0..members).map(medium).collect();
        Self::on(array, members, seed, media, Origin::Nothing)
    }

    fn on(array: ArrayParams, members: u16, seed: u64, media: Vec<Media>, from: Origin) -> Self {
        let drive = |number: u16| -> Box<dyn Machine> {
            Box::new(Shuffling::new(MEMBER_BYTES, seed * 8 + u64::from(number)))
        };
        let bank = Bank::new((0..members).map(drive).collect());
        let sim = Sim::new(Rig::new(bank, media));
        let geometries: Vec<_> = (0..members).map(|number| sim.geometry(Drive(number))).collect();
        let below = Stack::new(Array::new(array.clone(), &geometries), sim);
        let mut row = GatheredRow::of(&array, members.into());
        if row.parities == 0 {
            row.chunk_bytes = 2 * CHUNK;
        }
        let params = memory(row);
        let cache = BatteryCache::new(params, below.geometry(Drive(0)), from);
        let engine = Stack::new(cache, below);
        let sectors = engine.geometry(Drive(0)).capacity_bytes / SECTOR;
        Self {
            engine,
            rng: Rng::new(seed, 0xba77),
            discards: false,
            array,
            members,
            sectors: vec![Sector { values: vec![0], ..Sector::default() }; sectors as usize],
            under_way: BTreeMap::new(),
            next: 1,
        }
    }

    /// A batch, with answers to all of it or, before the power goes, to some. Every other request
    /// of a batch lies on those before it.
    pub fn live(&mut self, ends_within: bool) {
        let depth = self.engine.geometry(Drive(0)).queue_depth;
        let count = 1 + self.rng.below(depth.min(24).into());
        let base = self.rng.below(self.sectors.len() as u64 - 1_200);
        let runs_on = self.rng.below(2) == 0;
        let mut first = base;
        for _ in 0..count {
            let what = match self.rng.below(24) {
                0..=6 => What::Read,
                7 => What::Flush,
                8 if self.discards && self.rng.below(8) == 0 => What::Discard,
                _ => What::Write(self.next),
            };
            let length = match self.rng.below(4) {
                0 => 1 + self.rng.below(9),
                1 => 8 * (1 + self.rng.below(32)),
                _ => 8,
            };
            first = match self.rng.below(8) {
                _ if runs_on => first,
                0..=3 => base + self.rng.below(40),
                _ => base + 8 * self.rng.below(40),
            };
            let end = first + length;
            if end > self.sectors.len() as u64 {
                break;
            }
            self.submit(first..end, what);
            first = end;
        }
        let all = self.under_way.len() as u64;
        let left = if ends_within { self.rng.below(all + 1) } else { 0 };
        let mut done: Vec<Completion> = Vec::new();
        while self.under_way.len() as u64 > left {
            self.engine.wait(Instant::NEVER, &mut done);
            done.drain(..).for_each(|completion| self.completed(completion));
        }
    }

    fn submit(&mut self, sectors: std::ops::Range<u64>, what: What) {
        let bytes = ((sectors.end - sectors.start) * SECTOR) as u32;
        let at = Extent { offset: sectors.start * SECTOR, bytes };
        let mut buffer = Buf::zeroed(bytes as usize);
        let mut before = Vec::new();
        let own = &mut self.sectors[sectors.start as usize..sectors.end as usize];
        let command = match what {
            What::Read => {
                before = own.iter().map(|sector| sector.values.clone()).collect();
                Command::Read { at, into: Payload::Bytes(buffer) }
            }
            What::Write(value) => {
                own.iter_mut().for_each(|sector| sector.begin(value));
                let words = buffer.bytes_mut().chunks_exact_mut(8);
                words.for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
                let durability = Durability::Cached;
                Command::Write { at, from: Payload::Bytes(buffer), durability }
            }
            What::Discard => {
                own.iter_mut().for_each(|sector| sector.begin(0));
                Command::Discard { offset: at.offset, len: bytes.into() }
            }
            What::Flush => Command::Flush,
        };
        let tag = self.next;
        self.next += 1;
        self.under_way.insert(tag, Asked { sectors, what, before });
        let (tag, actor, drive) = (Tag(tag), Actor(0), Drive(0));
        self.engine.submit(Request { tag, actor, drive, command });
    }

    fn completed(&mut self, completion: Completion) {
        assert_eq!(completion.result, Ok(()));
        assert!(completion.finished > completion.issued, "an answer in no time");
        let asked = self.under_way.remove(&completion.tag.0).expect("it was asked for");
        let own = asked.sectors.start as usize..asked.sectors.end as usize;
        match asked.what {
            What::Write(_) => self.sectors[own].iter_mut().for_each(|sector| sector.end(true)),
            What::Discard => self.sectors[own].iter_mut().for_each(|sector| sector.end(false)),
            What::Flush => {}
            What::Read => {
                let Payload::Bytes(buffer) = completion.payload else { panic!("no bytes") };
                for (at, number) in own.enumerate() {
                    let found = value(&buffer.bytes()[at * SECTOR as usize..]);
                    let may = &self.sectors[number].values;
                    let was = &asked.before[at];
                    assert!(may.contains(&found) || was.contains(&found), "sector {number}");
                }
            }
        }
    }

    /// Discards, from a memory that is empty, for some moments; says whether that was too short.
    pub fn discard_for_moments(&mut self) -> bool {
        let first = self.rng.below(self.sectors.len() as u64 - 1_200);
        let end = first + 1 + self.rng.below(1_200);
        self.submit(first..end, What::Discard);
        let until = self.engine.now().after(1 + self.rng.below(150_000));
        let mut done: Vec<Completion> = Vec::new();
        while self.engine.now() < until {
            self.engine.wait(until, &mut done);
        }
        done.drain(..).for_each(|completion| self.completed(completion));
        !self.under_way.is_empty()
    }

    /// The power goes, and comes back; with what the battery kept, or without it. How many sectors
    /// hold what they must not.
    pub fn cut(self, seed: u64, keeps: bool) -> (Self, usize) {
        let Self { engine, array, members, sectors, next, discards, .. } = self;
        let kept = engine.machine.kept();
        let mut drives = engine.engine.engine;
        drives.power_cut(seed);
        let kept = if keeps { kept } else { BatteryMemory::default() };
        let media = drives.into_media();
        let mut world = Self::on(array, members, seed ^ 0x5a5a, media, Origin::PowerCut(kept));
        (world.next, world.discards) = (next, discards);
        world.sectors = sectors;
        let lost = world.wrong_sectors();
        (world, lost)
    }

    /// Reads everything; what is found counts from now on.
    pub fn wrong_sectors(&mut self) -> usize {
        let mut wrong = 0;
        for first in (0..self.sectors.len()).step_by(96) {
            let end = (first + 96).min(self.sectors.len());
            let bytes = ((end - first) as u64 * SECTOR) as u32;
            let at = Extent { offset: first as u64 * SECTOR, bytes };
            let into = Payload::Bytes(Buf::zeroed(bytes as usize));
            let answer = submit_and_wait(&mut self.engine, Command::Read { at, into });
            assert_eq!(answer.result, Ok(()));
            let Payload::Bytes(buffer) = answer.payload else { panic!("no bytes") };
            for (at, sector) in self.sectors[first..end].iter_mut().enumerate() {
                let found = value(&buffer.bytes()[at * SECTOR as usize..]);
                wrong += usize::from(!sector.values.contains(&found));
                *sector = Sector { values: vec![found], ..Sector::default() };
            }
        }
        wrong
    }

    /// Waits until memory is empty: within a second, or it never is.
    pub fn come_to_rest(&mut self) {
        let mut none = Vec::new();
        let end = self.engine.now().after(1_000_000_000);
        while self.engine.machine.kept().bytes() > 0 {
            assert!(self.engine.now() < end, "{} B are left", self.engine.machine.kept().bytes());
            let until = self.engine.now().after(1_000_000);
            self.engine.wait(until, &mut none);
        }
    }

    /// Rows of which the exclusive or over all members is not zero; 0 without parity.
    pub fn rows_with_wrong_parity(&self) -> usize {
        if self.array.level != Level::Raid5 {
            return 0;
        }
        let rig = &self.engine.engine.engine.machine;
        let chunk = |member: u16, row: u64| {
            let mut into = Payload::Bytes(Buf::zeroed(CHUNK as usize));
            let at = Extent { offset: row * CHUNK, bytes: CHUNK as u32 };
            rig.media(Drive(member)).read(at, &mut into).expect("it can be read");
            let Payload::Bytes(buffer) = into else { panic!("no bytes") };
            buffer.bytes()[..CHUNK as usize].to_vec()
        };
        let is_wrong = |row: &u64| {
            let mut fold = vec![0; CHUNK as usize];
            for member in 0..self.members {
                fold.iter_mut().zip(chunk(member, *row)).for_each(|(fold, byte)| *fold ^= byte);
            }
            fold.iter().any(|byte| *byte != 0)
        };
        (0..MEMBER_BYTES / CHUNK).filter(is_wrong).count()
    }
}

impl Sector {
    fn begin(&mut self, value: u64) {
        if self.changes == 0 {
            self.since = self.values.len();
        }
        self.changes += 1;
        self.values.push(value);
    }

    /// Once one of them is done, what was there before is gone; after a discard it may be there.
    fn end(&mut self, replaces: bool) {
        self.changes -= 1;
        if replaces {
            self.values.drain(..self.since);
            self.since = 0;
        }
    }
}

/// The word that fills a sector.
fn value(bytes: &[u8]) -> u64 {
    let sector = &bytes[..SECTOR as usize];
    assert!(sector.chunks_exact(8).all(|word| word == &sector[..8]), "a torn sector");
    u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"))
}
