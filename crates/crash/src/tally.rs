//! What a campaign has tried, and where.

use flash::{Step, Volume};
use std::{collections::BTreeMap, fmt};

/// What a volume was doing when its power was cut.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Doing {
    /// Nothing but the host's requests.
    Serving,
    /// Copying blocks out of a segment.
    Cleaning,
    /// Writing the map, a root, a superblock.
    Checkpoint,
    /// Both.
    CleaningAndCheckpoint,
    /// A step of being opened after a power cut.
    Recovery(Step),
}

impl Doing {
    /// What the volume is doing now.
    pub fn of(volume: &Volume) -> Self {
        match volume.step() {
            Step::Open => match (volume.is_cleaning(), volume.is_checkpointing()) {
                (false, false) => Self::Serving,
                (true, false) => Self::Cleaning,
                (false, true) => Self::Checkpoint,
                (true, true) => Self::CleaningAndCheckpoint,
            },
            step => Self::Recovery(step),
        }
    }
}

impl fmt::Display for Doing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serving => formatter.write_str("serving alone"),
            Self::Cleaning => formatter.write_str("cleaning"),
            Self::Checkpoint => formatter.write_str("checkpoint"),
            Self::CleaningAndCheckpoint => formatter.write_str("cleaning and checkpoint"),
            Self::Recovery(step) => write!(formatter, "recovery: {step:?}"),
        }
    }
}

/// What was tried. Crash points are distinct: at no position of a run is one state counted twice.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By what the volume was doing.
    pub points: BTreeMap<Doing, u64>,
    /// Moments at which the power was cut, each in several ways.
    pub positions: u64,
    /// Runs, each with a seed of its own.
    pub campaigns: u64,
    /// Requests answered with success.
    pub acknowledged: u64,
    /// Requests refused for want of room.
    pub refused: u64,
    /// Chunks that recoveries rolled forward.
    pub replayed: u64,
    /// Chunks that recoveries cut off.
    pub torn: u64,
    /// Records of the ring whose entries no chunk held.
    pub records: u64,
    /// Records that were torn.
    pub records_torn: u64,
    /// Superblocks that said what a flush had covered.
    pub attests: u64,
    /// Points whose newest root was damaged, too, and that opened with the one before.
    pub older_roots: u64,
    /// Points whose volume was also read through itself, twice.
    pub end_to_end: u64,
}

impl Tally {
    /// All crash points.
    pub fn total(&self) -> u64 {
        self.points.values().sum()
    }

    /// Those inside cleaning, a checkpoint or recovery.
    pub fn inside(&self) -> u64 {
        self.total() - self.points.get(&Doing::Serving).copied().unwrap_or(0)
    }

    /// Adds another campaign's.
    pub fn add(&mut self, other: &Self) {
        for (&doing, points) in &other.points {
            *self.points.entry(doing).or_default() += points;
        }
        self.positions += other.positions;
        self.campaigns += other.campaigns;
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.replayed += other.replayed;
        self.torn += other.torn;
        self.records += other.records;
        self.records_torn += other.records_torn;
        self.attests += other.attests;
        self.older_roots += other.older_roots;
        self.end_to_end += other.end_to_end;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total().max(1);
        writeln!(
            formatter,
            "{} distinct crash points at {} positions of {} runs; {} of them ({} %) inside cleaning, \
             checkpoint or recovery",
            self.total(),
            self.positions,
            self.campaigns,
            self.inside(),
            self.inside() * 100 / total
        )?;
        let most = self.points.values().copied().max().unwrap_or(1);
        for (doing, points) in &self.points {
            let bar = "#".repeat((points * 40).div_ceil(most) as usize);
            writeln!(formatter, "  {:<26} {points:>9}  {bar}", doing.to_string())?;
        }
        write!(
            formatter,
            "{} requests acknowledged, {} refused for want of room; {} chunks rolled forward, {} torn \
             off; {} records of the ring replayed, {} torn; {} superblocks attested flushes; {} points read \
             through the volume too, {} of them from the root before the newest",
            self.acknowledged,
            self.refused,
            self.replayed,
            self.torn,
            self.records,
            self.records_torn,
            self.attests,
            self.end_to_end,
            self.older_roots
        )
    }
}
