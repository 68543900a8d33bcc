//! What a campaign is about: all of it follows from a seed.

use super::{
    backing::Backing,
    bench::{small, striped},
    caller::Mix,
};
use block::Rng;
use flash::{
    Attesting, Checksums, Classes, Cleaning, Discards, IdleCleaning, Parity, Settings, Shape,
};
use std::fmt;

/// A volume, what it stands on, and what is done to it.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// All else follows from it.
    pub seed: u64,
    /// Its kind.
    pub name: &'static str,
    pub(super) shape: Shape,
    pub(super) backing: Backing,
    pub(super) sector_bytes: u32,
    pub(super) settings: Settings,
    pub(super) mix: Mix,
    /// Requests outstanding.
    pub(super) depth: usize,
}

/// What there is, and how often: what is cheap to crash is crashed more.
const KINDS: [(&str, u64); 12] = [
    ("4 KiB", 6),
    ("4 KiB, checksums on cleaning", 4),
    ("classes of SepBIT", 4),
    ("4 KiB on sectors of 512 B", 3),
    ("requests that split blocks", 4),
    ("thin", 4),
    ("a map of many pages", 3),
    ("ring", 3),
    ("ring, classes of SepBIT", 3),
    ("stripes of 192 KiB with parity", 1),
    ("RAID-5 of 3+1", 1),
    ("RAID-5 of 4+1", 1),
];

/// Small, so that a crash point is cheap and every segment is used many times over.
pub fn cramped() -> Shape {
    Shape {
        device_bytes: 2 << 20,
        exported_bytes: 704 << 10,
        segment_bytes: 32 << 10,
        chunk_bytes: 16 << 10,
        ..small()
    }
}

/// Stripes of 32 KiB and a ring of few slots, so that all of it is used many times over.
pub fn ringed() -> Shape {
    Shape {
        device_bytes: 4 << 20,
        stripe_bytes: 32 << 10,
        segment_bytes: 64 << 10,
        chunk_bytes: 64 << 10,
        ring_bytes: 5 * (32 << 10),
        parity: Parity::Protected,
        ..cramped()
    }
}

/// On an array of so many data drives, 16 KiB in a row on each.
fn on_array(data: u64) -> (Shape, Backing) {
    let stripe_bytes = data * (16 << 10);
    let shape = Shape {
        device_bytes: stripe_bytes * 96,
        exported_bytes: 768 << 10,
        stripe_bytes,
        erase_unit_bytes: 4096,
        segment_bytes: stripe_bytes * 2,
        chunk_bytes: stripe_bytes,
        ring_bytes: 6 * stripe_bytes,
        parity: Parity::Protected,
        checksums: Checksums::OnRead,
        classes: Classes::TWO,
    };
    (shape, Backing::Raid5 { members: data as u16 + 1, chunk_bytes: 16 << 10 })
}

impl Scenario {
    /// The one that the seed draws.
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0x7363_656e);
        let mut draw = rng.below(KINDS.iter().map(|(_, share)| share).sum());
        let (name, _) = *KINDS
            .iter()
            .find(|(_, share)| {
                let found = draw < *share;
                draw = draw.saturating_sub(*share);
                found
            })
            .expect("the draw is below the sum");
        let mut scenario = Self::named(name, seed);
        scenario.settings.cleaning =
            [Cleaning::SepBit, Cleaning::Fifo, Cleaning::Greedy, Cleaning::CostBenefit]
                [rng.below(4) as usize];
        scenario.settings.chunks = 4 + rng.below(5) as u32;
        scenario.settings.discards = [Discards::Kept, Discards::Sent][rng.below(2) as usize];
        let idle = IdleCleaning { after_ns: 50_000 + rng.below(400_000), free_share: rng.unit() };
        let quiet_ns = 20_000 + rng.below(200_000);
        scenario.settings.attesting = Attesting { quiet_ns, every_ns: quiet_ns * 3 };
        scenario.settings.idle = (rng.below(3) == 0).then_some(idle);
        scenario.mix.flush_one_in = [3, 12, 40, 150][rng.below(4) as usize];
        scenario.mix.skewed = rng.below(2) == 0;
        scenario.depth = 1 + rng.below(14) as usize;
        scenario
    }

    /// One of the kinds, everything else as usual.
    ///
    /// # Panics
    /// Without a kind of that name.
    pub fn named(name: &'static str, seed: u64) -> Self {
        let mut scenario = Self {
            seed,
            name,
            shape: cramped(),
            backing: Backing::Single,
            sector_bytes: 4096,
            settings: Settings {
                queue_depth: 16,
                answer_ns: 500,
                chunks: 6,
                attesting: Attesting { quiet_ns: 150_000, every_ns: 600_000 },
                ..Settings::default()
            },
            mix: Mix { unaligned: false, flush_one_in: 20, skewed: seed % 2 == 1 },
            depth: 8,
        };
        match name {
            "4 KiB" => {}
            "4 KiB, checksums on cleaning" => scenario.shape.checksums = Checksums::OnCleaning,
            "classes of SepBIT" => {
                let device_bytes = 3 << 20;
                scenario.shape = Shape { device_bytes, classes: Classes::SEPBIT, ..scenario.shape };
                scenario.settings.cleaning = Cleaning::SepBit;
            }
            "4 KiB on sectors of 512 B" => scenario.sector_bytes = 512,
            "requests that split blocks" => scenario.mix.unaligned = true,
            "thin" => scenario.shape.exported_bytes = 2 << 20,
            // Of each page a few blocks; more pages than go into a chunk.
            "a map of many pages" => scenario.shape.exported_bytes = 12 << 20,
            "ring" => {
                scenario.shape = ringed();
                (scenario.mix.flush_one_in, scenario.depth) = (2 + seed % 3, 2);
            }
            "ring, classes of SepBIT" => {
                let device_bytes = 7 << 20;
                scenario.shape = Shape { device_bytes, classes: Classes::SEPBIT, ..ringed() };
                scenario.settings.cleaning = Cleaning::SepBit;
                (scenario.mix.flush_one_in, scenario.depth) = (2 + seed % 3, 2);
            }
            "stripes of 192 KiB with parity" => scenario.shape = striped(),
            "RAID-5 of 3+1" => (scenario.shape, scenario.backing) = on_array(3),
            "RAID-5 of 4+1" => (scenario.shape, scenario.backing) = on_array(4),
            _ => panic!("there is no kind `{name}`"),
        }
        scenario
    }

    /// The names of all kinds.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(name, _)| *name)
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "seed {}: {}, {:?}, {} chunks, depth {}, a flush in {}{}{}{}",
            self.seed,
            self.name,
            self.settings.cleaning,
            self.settings.chunks,
            self.depth,
            self.mix.flush_one_in,
            if self.mix.skewed { ", skewed" } else { "" },
            if self.settings.discards == Discards::Sent { ", discards sent" } else { "" },
            if self.settings.idle.is_some() { ", idle cleaning" } else { "" }
        )
    }
}
