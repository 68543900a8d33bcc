//! A layer over disks and flash in a small world: random requests, all that may be read, power
//! cuts.

use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Engine, Extent, Geometry, Instant, IoError,
    Machine, Payload, Request, Rng, Stack, Tag,
};
use model::{Bank, Contents, Media, Rig, Sim, WriteCache};
use std::os::fd::BorrowedFd;
use testkit::Shuffling;

pub const SECTOR: u64 = 512;
pub const DISK_SECTORS: u64 = 8192;

pub type Drives = Sim<Rig<Bank<dyn Machine>>>;

fn medium(bytes: u64) -> Media {
    let cache = WriteCache::Volatile { bytes_max: u64::MAX };
    Media::new(bytes, SECTOR as u32, Contents::Bytes).with_cache(cache)
}

fn drives(flash_bytes: u64, seed: u64, media: Option<Vec<Media>>) -> Drives {
    let sizes = [DISK_SECTORS * SECTOR, flash_bytes];
    let drive = |(number, size): (u64, &u64)| -> Box<dyn Machine> {
        Box::new(Shuffling::new(*size, seed * 2 + number))
    };
    let bank = Bank::new((0..).zip(&sizes).map(drive).collect());
    let media = media.unwrap_or_else(|| sizes.map(medium).into());
    Sim::new(Rig::new(bank, media))
}

/// A layer over disks and flash, as it is set.
pub trait Layer: Clone {
    type Machine: Machine;
    /// What is hot changes; otherwise it is the beginning.
    const HOT_MOVES: bool;

    fn flash_bytes(&self) -> u64;

    /// Sectors of the volume.
    fn sectors(&self) -> u64;

    /// Whether this command of the layer's own may fail.
    fn may_fail(&self, request: &Request) -> bool;

    fn open(&self, engine: &mut Drives) -> Self::Machine;
}

/// Commands of the layer's own fail, one in so many, done or not.
pub struct Failing<L> {
    pub inner: Drives,
    layer: L,
    one_in: Option<u64>,
    rng: Rng,
    /// Done, and answered with an error.
    struck: Vec<Tag>,
    refused: Vec<Completion>,
}

impl<L: Layer> Failing<L> {
    fn strikes(&mut self, request: &Request) -> bool {
        let Some(one_in) = self.one_in else { return false };
        self.layer.may_fail(request) && self.rng.below(one_in) == 0
    }
}

impl<L: Layer> Engine for Failing<L> {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.inner.geometry(drive)
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn submit(&mut self, request: Request) {
        if self.strikes(&request) {
            if self.rng.below(2) == 0 {
                let (tag, issued, result) = (request.tag, self.now(), Err(IoError::Os(5)));
                let payload = request.command.into_payload();
                let finished = issued;
                self.refused.push(Completion { tag, issued, finished, result, payload });
                return;
            }
            self.struck.push(request.tag);
        }
        self.inner.submit(request);
    }

    fn start(&mut self) {
        self.inner.start();
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        if !self.refused.is_empty() {
            return done.append(&mut self.refused);
        }
        let before = done.len();
        self.inner.wait(until, done);
        for completion in &mut done[before..] {
            if let Some(at) = self.struck.iter().position(|tag| *tag == completion.tag) {
                self.struck.remove(at);
                completion.result = Err(IoError::Os(5));
            }
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.inner.next_wakeup()
    }
}

/// What may be read of each sector after a power cut, the latest value last.
pub struct World<L: Layer> {
    pub engine: Stack<L::Machine, Failing<L>>,
    layer: L,
    hot: u64,
    versions: Vec<Vec<u64>>,
    pub rng: Rng,
    next: u64,
}

/// A request under way, and what it does to the sectors from `first` to before `end`.
struct Asked {
    first: u64,
    end: u64,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Read,
    Write(u64, Durability),
    Discard,
    Flush,
}

impl<L: Layer> World<L> {
    /// With these media, or new ones; commands of the layer's own fail, one in so many.
    pub fn new(layer: L, seed: u64, media: Option<Vec<Media>>, one_in: Option<u64>) -> Self {
        let mut inner = drives(layer.flash_bytes(), seed, media);
        let machine = layer.open(&mut inner);
        let versions = vec![vec![0]; layer.sectors() as usize];
        let (rng, fails) = (Rng::new(seed, 77), Rng::new(seed, 78));
        let (struck, refused) = (Vec::new(), Vec::new());
        let below = Failing { inner, layer: layer.clone(), one_in, rng: fails, struck, refused };
        Self { engine: Stack::new(machine, below), layer, hot: 0, versions, rng, next: 1 }
    }

    /// Requests that do not overlap, some hot, some one after the other.
    fn batch(&mut self) -> Vec<Asked> {
        let mut asked = Vec::new();
        let sectors_all = self.layer.sectors();
        if L::HOT_MOVES && self.rng.below(20) == 0 {
            self.hot = self.rng.below(sectors_all - 400);
        }
        let mut first = if self.rng.below(3) == 0 {
            self.rng.below(sectors_all / 2)
        } else {
            self.hot + self.rng.below(200)
        };
        for _ in 0..=self.rng.below(10) {
            let sectors = match self.rng.below(4) {
                0 => 1 + self.rng.below(7),
                1 => 8,
                _ => 8 * (1 + self.rng.below(24)),
            };
            if self.rng.below(2) == 0 {
                first = first.next_multiple_of(8);
            }
            let end = first + sectors;
            if end > sectors_all {
                break;
            }
            let what = match self.rng.below(20) {
                0..=6 => What::Read,
                7 => What::Write(self.next, Durability::Fua),
                // The largest units are of two sectors; what is discarded of one is anything.
                8 if first % 2 == 0 && end % 2 == 0 => What::Discard,
                _ => What::Write(self.next, Durability::Cached),
            };
            self.next += 1;
            asked.push(Asked { first, end, what });
            first = end + self.rng.below(40);
        }
        if self.rng.below(3) == 0 {
            asked.push(Asked { first: 0, end: 0, what: What::Flush });
        }
        asked
    }

    fn submit(&mut self, tag: u64, asked: &Asked) {
        let Asked { first, end, what } = *asked;
        let at = Extent { offset: first * SECTOR, bytes: ((end - first) * SECTOR) as u32 };
        let mut buffer = Buf::zeroed((at.bytes as usize).max(1));
        let command = match what {
            What::Read => Command::Read { at, into: Payload::Bytes(buffer) },
            What::Write(value, durability) => {
                let words = buffer.bytes_mut().chunks_exact_mut(8);
                words.for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
                Command::Write { at, from: Payload::Bytes(buffer), durability }
            }
            What::Discard => Command::Discard { offset: at.offset, len: u64::from(at.bytes) },
            What::Flush => Command::Flush,
        };
        if let Some(value) = what.value() {
            (first..end).for_each(|sector| self.versions[sector as usize].push(value));
        }
        self.engine.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
    }

    /// All of a batch, or a part of it: then the power goes in the middle.
    pub fn live(&mut self, ends_within: bool) {
        let asked = self.batch();
        // What a flush of this batch covers at least: how many versions there were before it.
        let before: Vec<usize> = self.versions.iter().map(Vec::len).collect();
        for (tag, asked) in (0..).zip(&asked) {
            self.submit(tag, asked);
        }
        let mut left = asked.len() as u64;
        if ends_within {
            left = self.rng.below(left + 1);
        }
        let mut done: Vec<Completion> = Vec::new();
        while left > 0 {
            self.engine.wait(Instant::NEVER, &mut done);
            for completion in done.drain(..) {
                left = left.saturating_sub(1);
                assert_eq!(completion.result, Ok(()));
                self.completed(&asked[completion.tag.0 as usize], &before, completion.payload);
            }
        }
    }

    fn completed(&mut self, asked: &Asked, before: &[usize], payload: Payload) {
        let sectors = asked.first as usize..asked.end as usize;
        match (asked.what, payload) {
            (What::Read, Payload::Bytes(buffer)) => {
                for (at, sector) in sectors.enumerate() {
                    let found = value(&buffer.bytes()[at * SECTOR as usize..]);
                    let latest = self.versions[sector].last();
                    assert_eq!(Some(&found), latest, "sector {sector} was read");
                }
            }
            (What::Write(_, Durability::Fua), _) => {
                for versions in &mut self.versions[sectors] {
                    versions.drain(..versions.len() - 1);
                }
            }
            (What::Flush, _) => {
                for (versions, before) in self.versions.iter_mut().zip(before) {
                    // A durable write of this batch may have forgotten more already.
                    let newer = versions.len().saturating_sub(*before);
                    let keep = (newer + 1).min(versions.len());
                    versions.drain(..versions.len() - keep);
                }
            }
            _ => {}
        }
    }

    /// The power goes; what came back is read, and how many sectors hold what they must not.
    pub fn cut(self, seed: u64) -> (Self, usize) {
        let Self { engine, layer, versions, .. } = self;
        let Failing { inner: mut drives, one_in, .. } = engine.engine;
        drives.power_cut(seed);
        let mut world = Self::new(layer, seed ^ 0x5a5a, Some(drives.into_media()), one_in);
        let mut lost = 0;
        let found: Vec<u64> =
            (0..versions.len() as u64).step_by(128).flat_map(|at| world.read(at)).collect();
        for (sector, (versions, found)) in versions.into_iter().zip(found).enumerate() {
            lost += usize::from(!versions.contains(&found));
            world.versions[sector] = vec![found];
        }
        world.next = 1 << 32;
        (world, lost)
    }

    /// What 128 sectors hold, or as many as there are.
    fn read(&mut self, first: u64) -> Vec<u64> {
        let sectors = (self.versions.len() as u64 - first).min(128);
        let at = Extent { offset: first * SECTOR, bytes: (sectors * SECTOR) as u32 };
        let into = Payload::Bytes(Buf::zeroed(at.bytes as usize));
        let answer = block::submit_and_wait(&mut self.engine, Command::Read { at, into });
        let Payload::Bytes(buffer) = answer.payload else { panic!("no memory came back") };
        assert_eq!(answer.result, Ok(()));
        buffer.bytes()[..at.bytes as usize].chunks(SECTOR as usize).map(value).collect()
    }
}

impl What {
    fn value(self) -> Option<u64> {
        match self {
            Self::Write(value, _) => Some(value),
            Self::Discard => Some(0),
            Self::Read | Self::Flush => None,
        }
    }
}

/// The word that fills a sector.
fn value(bytes: &[u8]) -> u64 {
    let sector = &bytes[..SECTOR as usize];
    assert!(sector.chunks_exact(8).all(|word| word == &sector[..8]), "a torn sector");
    u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"))
}
