//! Flash in front of disks: what is asked for comes back, and what a power cut leaves of each mode.

use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Engine, Extent, Instant, Machine, Payload,
    Request, Rng, Stack, Tag,
};
use cache::Policy;
use model::{
    Bank, Contents, MapPlace, Media, Rig, Sim, SsdCache, SsdCacheCounters, SsdCacheParams,
    WriteCache, WriteMode,
};
use testkit::Shuffling;

const SECTOR: u64 = 512;
const DISK_SECTORS: u64 = 8192;

type Drives = Sim<Rig<Bank<dyn Machine>>>;

fn medium(bytes: u64) -> Media {
    let cache = WriteCache::Volatile { bytes_max: u64::MAX };
    Media::new(bytes, SECTOR as u32, Contents::Bytes).with_cache(cache)
}

fn drives(params: &SsdCacheParams, seed: u64, media: Option<Vec<Media>>) -> Drives {
    let sizes = [DISK_SECTORS * SECTOR, params.size_bytes];
    let drive = |(number, size): (u64, &u64)| -> Box<dyn Machine> {
        Box::new(Shuffling::new(*size, seed * 2 + number))
    };
    let bank = Bank::new((0..).zip(&sizes).map(drive).collect());
    let media = media.unwrap_or_else(|| sizes.map(medium).into());
    Sim::new(Rig::new(bank, media))
}

/// What may be read of each sector after a power cut, the latest value last.
struct World {
    engine: Stack<SsdCache, Drives>,
    versions: Vec<Vec<u64>>,
    rng: Rng,
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

impl World {
    fn new(params: SsdCacheParams, seed: u64, media: Option<Vec<Media>>) -> Self {
        let mut engine = drives(&params, seed, media);
        let cache = SsdCache::open(params, &mut engine).expect("flash answers");
        let versions = vec![vec![0]; DISK_SECTORS as usize];
        let rng = Rng::new(seed, 77);
        Self { engine: Stack::new(cache, engine), versions, rng, next: 1 }
    }

    /// Requests that do not overlap, some hot, some one after the other.
    fn batch(&mut self) -> Vec<Asked> {
        let mut asked = Vec::new();
        let mut first = if self.rng.below(3) == 0 {
            self.rng.below(DISK_SECTORS / 2)
        } else {
            self.rng.below(200)
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
            if end > DISK_SECTORS {
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
    fn live(&mut self, ends_within: bool) {
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
    fn cut(self, params: SsdCacheParams, seed: u64) -> (Self, usize) {
        let Self { engine, versions, .. } = self;
        let mut drives = engine.engine;
        drives.power_cut(seed);
        let mut world = Self::new(params, seed ^ 0x5a5a, Some(drives.into_media()));
        let mut lost = 0;
        let found: Vec<u64> =
            (0..DISK_SECTORS).step_by(128).flat_map(|at| world.read(at)).collect();
        for (sector, (versions, found)) in versions.into_iter().zip(found).enumerate() {
            lost += usize::from(!versions.contains(&found));
            world.versions[sector] = vec![found];
        }
        world.next = 1 << 32;
        (world, lost)
    }

    /// What 128 sectors hold.
    fn read(&mut self, first: u64) -> Vec<u64> {
        let at = Extent { offset: first * SECTOR, bytes: 128 * SECTOR as u32 };
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

fn params(mode: WriteMode, map: MapPlace, seed: u64) -> SsdCacheParams {
    let mut rng = Rng::new(seed, 3);
    let block_bytes = [4096, 4096, 16 << 10, 64 << 10][rng.below(4) as usize];
    SsdCacheParams {
        size_bytes: u64::from(block_bytes) * (80 + rng.below(40)),
        block_bytes,
        mode,
        policy: Policy::ALL[rng.below(8) as usize],
        map,
        bypass_bytes: [0, 128 << 10][rng.below(2) as usize],
        dirty_per_mille: [20, 100, 500][rng.below(3) as usize],
    }
}

/// Two lives, each ended by a power cut; how many sectors were lost.
fn two_lives(mode: WriteMode, map: MapPlace, seed: u64) -> (usize, SsdCacheCounters) {
    let params = params(mode, map, seed);
    let mut world = World::new(params, seed, None);
    let mut lost = 0;
    let mut counters = SsdCacheCounters::default();
    for life in 0..2 {
        let batches = 5 + world.rng.below(40);
        (0..batches).for_each(|_| world.live(false));
        world.live(true);
        counters = world.engine.machine.counters();
        let (next, missing) = world.cut(params, seed << 1 | life);
        (world, lost) = (next, lost + missing);
    }
    (lost, counters)
}

const SAFE: [(WriteMode, MapPlace); 3] = [
    (WriteMode::Back, MapPlace::Persistent),
    (WriteMode::Through, MapPlace::Memory),
    (WriteMode::Around, MapPlace::Memory),
];

fn no_flushed_write_is_lost(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        for (mode, map) in SAFE {
            let (lost, _) = two_lives(mode, map, seed);
            assert_eq!(lost, 0, "{mode:?}, map {map:?}, seed {seed}");
        }
    }
}

#[test]
fn no_flushed_write_is_lost_by_a_thousand_power_cuts() {
    no_flushed_write_is_lost(0..170);
}

/// It found, at seed 1498, that a durable write which passed flash by was lost: its block had left
/// the cache a moment ago, and the map still called its old place dirty.
#[test]
fn a_durable_write_is_not_contradicted_by_a_map_that_has_not_heard_of_it() {
    no_flushed_write_is_lost(1_498..1_499);
}

/// `cargo test -p drivelab-model --release -- --ignored a_hundred_thousand_power_cuts`.
#[test]
#[ignore = "minutes"]
fn no_flushed_write_is_lost_by_a_hundred_thousand_power_cuts() {
    no_flushed_write_is_lost(1_000..17_700);
}

#[test]
fn writes_that_go_back_without_a_map_on_flash_are_lost() {
    let (mut lives_with_a_loss, mut lost) = (0, 0);
    for seed in 0..50 {
        let (sectors, _) = two_lives(WriteMode::Back, MapPlace::Memory, seed);
        lives_with_a_loss += usize::from(sectors > 0);
        lost += sectors;
    }
    assert!(lives_with_a_loss > 25, "{lives_with_a_loss} of 50 lost {lost} sectors");
}

/// The loads above reach what they are to test.
#[test]
fn the_lives_clean_evict_hit_and_pass_by() {
    let mut sum = SsdCacheCounters::default();
    for seed in 0..20 {
        let (_, seen) = two_lives(WriteMode::Back, MapPlace::Persistent, seed);
        sum.hit_bytes += seen.hit_bytes;
        sum.missed_bytes += seen.missed_bytes;
        sum.bypassed_bytes += seen.bypassed_bytes;
        sum.cleaned_bytes += seen.cleaned_bytes;
        sum.dirty_blocks += seen.dirty_blocks;
    }
    for bytes in [sum.hit_bytes, sum.missed_bytes, sum.bypassed_bytes, sum.cleaned_bytes] {
        assert!(bytes > 1 << 20, "{sum:?}");
    }
    assert!(sum.dirty_blocks > 20, "{sum:?}");
}
