//! What it is worth to a page-mapped drive to hear of deleted files: nothing while it is fresh,
//! much when it is nearly full. The same life as `drivelab matrix --discard on,off --fill 0,90`
//! gives a drive, in virtual time and without a file system's books.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use matrix::{Axes, Axis, Configuration, Durability as Class, Effect, Outcome, effects};
use target::{
    catalog::Catalog,
    stack::{Opened, open},
};

/// The drive that TRIM was made for, with little flash, so that its life is short.
const STACK: &str = "intel-x25m-80:capacity=1G";
const BLOCK_BYTES: u64 = 4096;
const PIECE_BYTES: u64 = 256 << 10;
const DEPTH: u64 = 8;
/// Places of files on the drive; so many of them hold one while it is churned, and when it is
/// measured.
const PLACES: u64 = 256;
const CHURNED: usize = 243;
const KEPT: usize = 230;
/// Of the kept places, those that are overwritten at random.
const TESTED: usize = 100;
/// Overwrites until nothing changes any more, and those that count.
const BEFORE: u64 = 40_000;
const COUNTED: u64 = 20_000;

/// A drive, with requests under way, and which places hold a file.
struct User {
    drive: Opened,
    done: Vec<Completion>,
    under_way: u64,
    rng: Rng,
    living: Vec<u64>,
    free: Vec<u64>,
}

impl User {
    fn new(seed: u64) -> Self {
        let catalog = Catalog::built_in().expect("a catalog");
        let drive = open(&STACK.parse().expect("a stack"), &catalog, seed).expect("a drive");
        Self {
            drive,
            done: Vec::new(),
            under_way: 0,
            rng: Rng::new(seed, 1),
            living: Vec::new(),
            free: (0..PLACES).collect(),
        }
    }

    fn ask(&mut self, command: Command) {
        while self.under_way == DEPTH {
            self.drive.wait(Instant::NEVER, &mut self.done);
            self.under_way -= self.done.drain(..).count() as u64;
        }
        self.under_way += 1;
        self.drive.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
    }

    fn write(&mut self, offset: u64, bytes: u64) {
        let at = Extent { offset, bytes: bytes as u32 };
        self.ask(Command::Write { at, from: Payload::None, durability: Durability::Cached });
    }

    fn file_bytes(&self) -> u64 {
        self.drive.contract().capacity_bytes / PLACES / PIECE_BYTES * PIECE_BYTES
    }

    fn add_file(&mut self) {
        let at = self.rng.below(self.free.len() as u64) as usize;
        let (place, bytes) = (self.free.swap_remove(at), self.file_bytes());
        for within in (0..bytes).step_by(PIECE_BYTES as usize) {
            self.write(place * bytes + within, PIECE_BYTES);
        }
        self.living.push(place);
    }

    fn remove_file(&mut self, is_told: bool) {
        let at = self.rng.below(self.living.len() as u64) as usize;
        let (place, len) = (self.living.swap_remove(at), self.file_bytes());
        if is_told {
            self.ask(Command::Discard { offset: place * len, len });
        }
        self.free.push(place);
    }

    fn overwrite(&mut self, tested: &[u64], count: u64) {
        let (bytes, blocks) = (self.file_bytes(), self.file_bytes() / BLOCK_BYTES);
        for _ in 0..count {
            let block = self.rng.below(blocks * tested.len() as u64);
            let start = tested[(block / blocks) as usize] * bytes;
            self.write(start + block % blocks * BLOCK_BYTES, BLOCK_BYTES);
        }
    }
}

/// Random overwrites a second.
fn rate(configuration: &Configuration, seed: u64) -> f64 {
    let mut user = User::new(seed);
    let is_told = configuration.level(Axis::Discard) == Some("on");
    // Even a fresh drive has lost a file or two.
    (0..TESTED).for_each(|_| user.add_file());
    (0..TESTED).for_each(|_| user.remove_file(is_told));
    if configuration.level(Axis::Fill) == Some("90") {
        (0..CHURNED).for_each(|_| user.add_file());
        for _ in 0..CHURNED / 2 {
            user.remove_file(is_told);
            user.add_file();
        }
        (KEPT - TESTED..CHURNED).for_each(|_| user.remove_file(is_told));
    }
    let old = user.living.len();
    (0..TESTED).for_each(|_| user.add_file());
    let tested = user.living[old..].to_vec();
    user.overwrite(&tested, BEFORE);
    let start = user.drive.now();
    user.overwrite(&tested, COUNTED);
    COUNTED as f64 * 1e9 / user.drive.now().since(start) as f64
}

/// The effect of not telling the drive, where it is so full.
fn effect_at(fill: &str) -> Effect {
    let mut axes = Axes::default();
    for (axis, levels) in [(Axis::Fs, "ext4"), (Axis::Discard, "on,off"), (Axis::Fill, fill)] {
        axes.add(axis, levels).expect("levels");
    }
    let outcome = |configuration: Configuration| {
        let passes = [0, 1, 2].map(|pass| (pass, rate(&configuration, u64::from(pass))));
        let durability = Class::SurvivesPowerLoss;
        Outcome { configuration, durability, rate: passes[0].1, passes: passes.into() }
    };
    let outcomes: Vec<Outcome> = axes.configurations().into_iter().map(outcome).collect();
    effects(&[Axis::Discard], &outcomes).remove(0)
}

#[test]
fn a_fresh_drive_gains_nothing_from_hearing_of_deleted_files() {
    let [low, high] = effect_at("0").ci95.expect("three rounds");
    assert!(low <= 1.0 && 1.0 <= high, "{low} to {high}");
}

/// What it copies to make room it cannot know to be dead: with a spare of a few percent that is
/// most of what it does.
#[test]
fn a_nearly_full_drive_that_hears_nothing_of_deleted_files_is_far_slower() {
    let effect = effect_at("90");
    let [low, high] = effect.ci95.expect("three rounds");
    assert!(low < high && high < 0.5, "{effect:?}");
}
