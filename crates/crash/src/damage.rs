//! Damage after the fact: a volume is stopped, killed or loses its power, bits flip in what it
//! left, and whatever is wrong then must be named.
//!
//! ```text
//!   life --- stop | kill | power cut --- flips in one kind of structure
//!                                           |-- opened: each block right, an error, or nothing at all
//!                                           |-- check: blocks that it names
//!                                           `-- rescue: blocks that it copies, doubts, loses
//! ```

use super::{
    bench::{self, Bench, create, flush, open},
    caller::{Caller, Mix},
    oracle::Oracle,
    scan::chunks_behind_checkpoint,
    scenario::{cramped, ringed},
};
use block::{Command, Drive, Engine, Payload, Rng};
use flash::{
    BLOCK_BYTES, Checksums, Classes, Settings, Shape,
    testing::{copies, look},
    tools::{self, Finding, Plan, RescueReport},
};
use model::{Grain, Media};
use std::{collections::BTreeMap, fmt, ops::ControlFlow, ops::Range};

/// How a life ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// Stopped.
    Stopped,
    /// The process was killed: whatever had been written is there.
    Killed,
    /// The power went: of what no flush covered anything may be there.
    Cut,
}

/// Where bits flip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// In a copy of the superblock.
    Superblock,
    /// In a block of a root.
    Root,
    /// In the header of a chunk.
    Header,
    /// In a block of data, or of the map.
    Payload,
    /// In a record of the ring, or where one will be.
    Ring,
}

/// Of trials.
#[derive(Clone, Debug, Default)]
pub struct Toll {
    /// By end and place: trials; those in which something was wrong or an error; those that did not
    /// open.
    pub trials: BTreeMap<(End, Place), [u64; 3]>,
    /// Blocks that opening gave, and that were wrong.
    pub wrong: u64,
    /// Blocks that were errors.
    pub errors: u64,
    /// Of the wrong ones, those that neither `check` nor `rescue` names.
    pub unnamed: Vec<String>,
    /// Blocks that `rescue` called recovered, and that were wrong.
    pub rescued_wrong: Vec<String>,
    /// Openings that gave something wrong and said nothing of it.
    pub silent: Vec<String>,
    /// Blocks that are older than what was flushed in the last moment before the end, and that
    /// nobody names: opening gave them, `rescue` called them recovered.
    pub unattested: [u64; 2],
    /// Blocks that `rescue` doubts or loses.
    pub doubted: u64,
}

impl fmt::Display for Toll {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "end      place       trials  not all right  refused")?;
        for ((end, place), [trials, marked, refused]) in &self.trials {
            let (end, place) = (format!("{end:?}"), format!("{place:?}"));
            writeln!(formatter, "{end:<8} {place:<11} {trials:>6} {marked:>14} {refused:>8}")?;
        }
        write!(
            formatter,
            "{} blocks wrong, {} errors; {} of the wrong ones named by nobody, {} wrong ones called \
             recovered, {} openings that said nothing; {} blocks doubted or lost by rescue; of what was \
             flushed in the last moment, {} blocks old and not named, {} called recovered",
            self.wrong,
            self.errors,
            self.unnamed.len(),
            self.rescued_wrong.len(),
            self.silent.len(),
            self.doubted,
            self.unattested[0],
            self.unattested[1]
        )
    }
}

fn shape_of(seed: u64, place: Place) -> Shape {
    match seed % 4 {
        0 if place == Place::Ring => {
            Shape { device_bytes: 7 << 20, classes: Classes::SEPBIT, ..ringed() }
        }
        _ if place == Place::Ring => ringed(),
        0 => cramped(),
        1 => ringed(),
        2 => Shape { device_bytes: 3 << 20, classes: Classes::SEPBIT, ..cramped() },
        _ => Shape { checksums: Checksums::OnCleaning, ..cramped() },
    }
}

fn settings(shape: &Shape) -> Settings {
    let cleaning = match shape.classes == Classes::SEPBIT {
        true => flash::Cleaning::SepBit,
        false => flash::Cleaning::Greedy,
    };
    Settings { queue_depth: 16, answer_ns: 500, chunks: 6, cleaning, ..Settings::default() }
}

fn patient() -> impl FnMut(tools::Progress) -> ControlFlow<()> {
    |_| ControlFlow::Continue(())
}

/// What may be in a volume: what was flushed is.
struct Oracles {
    /// Whenever it was flushed.
    all: Oracle,
    /// As long ago as an attest takes at most.
    attested: Oracle,
}

impl Oracles {
    fn may_hold(&self, block: u64, values: &[u64]) -> bool {
        (block * 8..).zip(values).all(|(sector, &value)| self.all.may_hold(sector, value))
    }

    /// Whether that would be right if what was flushed since the last attest had not been.
    fn is_unattested(&self, block: u64, values: &[u64]) -> bool {
        let issued = self.all.issued.as_deref().unwrap_or_default();
        (block * 8..).zip(values).all(|(sector, &value)| {
            let was_issued =
                |(sectors, other): &(Range<u64>, u64)| sectors.contains(&sector) && *other == value;
            self.attested.may_hold(sector, value) || issued.iter().any(was_issued)
        })
    }
}

/// A volume at the end of a life of several openings, and what may be in it.
fn life(seed: u64, end: End, place: Place) -> (Media, Shape, Oracles) {
    let (shape, mut rng) = (shape_of(seed, place), Rng::new(seed, 21));
    let sectors = shape.exported_bytes / 512;
    let flush_one_in = [3, 12, 40][rng.below(3) as usize];
    let mix = Mix { unaligned: false, flush_one_in, skewed: rng.below(2) == 0 };
    let mut caller = Caller::new(seed, sectors, mix);
    let mut volume = create(bench::media(&shape), shape, settings(&shape), seed);
    for round in 0..rng.below(3) {
        caller.requests(&mut volume, 50 + rng.below(400), 6);
        settle(&mut volume, &mut caller);
        if rng.below(2) == 0 {
            volume.machine.shut_down();
            flush(&mut volume).expect("healthy");
        }
        volume = open(bench::cut(volume, seed), settings(&shape), seed + round);
    }
    caller.requests(&mut volume, 20 + rng.below(500), 6);
    settle(&mut volume, &mut caller);
    if end == End::Stopped {
        volume.machine.shut_down();
        flush(&mut volume).expect("healthy");
        let oracles = Oracles { all: caller.oracle.clone(), attested: caller.oracle };
        return (bench::cut(volume, seed), shape, oracles);
    }
    // What was flushed has been for a while, and more is on its way.
    be_quiet(&mut volume);
    let attested = caller.oracle.clone();
    caller.oracle.issued = Some(Vec::new());
    let until = volume.now().after(rng.below(300_000));
    caller.work(&mut volume, 4, until);
    caller.forget();
    let oracles = Oracles { all: caller.oracle, attested };
    if end == End::Cut {
        return (bench::cut(volume, seed), shape, oracles);
    }
    let mut medium = volume.engine.machine.media(Drive(0)).clone();
    medium.power_cut_with(Grain::Write, &mut |choices| choices - 1);
    (medium, shape, oracles)
}

fn settle(volume: &mut Bench, caller: &mut Caller) {
    flush(volume).expect("healthy");
    let covered = caller.oracle.begin_flush();
    flush(volume).expect("healthy");
    caller.oracle.end_flush(&covered);
}

fn be_quiet(volume: &mut Bench) {
    let (mut done, end) = (Vec::new(), volume.now().after(1_500_000_000));
    while volume.now() < end {
        volume.wait(end, &mut done);
    }
}

/// Blocks of the drive where something of the kind is.
fn targets(medium: &Media, shape: &Shape, place: Place) -> Vec<u64> {
    let starts = |magic: &'static [u8]| {
        let blocks = 0..medium.capacity_bytes() / BLOCK_BYTES;
        blocks.filter(move |&block| medium.sector(block).is_some_and(|b| b.starts_with(magic)))
    };
    let offsets =
        |blocks: Vec<u64>| blocks.into_iter().map(|b| b * BLOCK_BYTES).collect::<Vec<u64>>();
    match place {
        Place::Superblock => copies(shape.device_bytes, shape.unit_bytes()).to_vec(),
        Place::Root => offsets(starts(b"DLrt").collect()),
        // Most are old: those that opening reads come up three times in four.
        Place::Header => {
            let behind = chunks_behind_checkpoint(medium);
            let all = offsets(starts(b"DLch").collect());
            let count = if behind.is_empty() { 0 } else { 3 * all.len() };
            let behind = behind.iter().map(|chunk| chunk.0).cycle().take(count);
            all.into_iter().chain(behind).collect()
        }
        Place::Ring => {
            let records = starts(b"DLrc");
            offsets(records.flat_map(|block| [block, block + 1]).collect())
        }
        Place::Payload => {
            let found = look(&mut bench::sim(medium.clone(), 1), &mut patient()).expect("healthy");
            let data = found.map.iter().map(|&(_, location)| u64::from(location));
            let pages = found.root.directory.iter().map(|page| u64::from(page.0));
            let all = offsets(data.chain(pages).filter(|&location| location > 1).collect());
            let behind = chunks_behind_checkpoint(medium).into_iter();
            let behind = behind.flat_map(|(at, blocks)| (1..blocks).map(move |n| at + n * 4096));
            all.into_iter().chain(behind).collect()
        }
    }
}

/// Flips a bit in the first part of a block, where its structure is; anywhere where that is data.
fn flip(medium: &mut Media, offset: u64, place: Place, rng: &mut Rng) {
    let bytes = match place {
        Place::Superblock => 192,
        Place::Root | Place::Header | Place::Ring => 512,
        Place::Payload => BLOCK_BYTES,
    };
    let sector = medium.sector(offset / BLOCK_BYTES).expect("healthy").to_vec();
    let bit = rng.below(bytes * 8);
    let mut buffer = block::Buf::zeroed(BLOCK_BYTES as usize);
    buffer.bytes_mut()[..sector.len()].copy_from_slice(&sector);
    buffer.bytes_mut()[(bit / 8) as usize] ^= 1 << (bit % 8);
    let at = block::Extent { offset, bytes: BLOCK_BYTES as u32 };
    let write = medium.begin_write(at, &block::Payload::Bytes(buffer), block::Durability::Fua);
    medium.complete_write(write);
}

/// One trial; all of it follows from the seed.
///
/// # Panics
/// If a tool does what it must not.
pub fn trial(seed: u64, toll: &mut Toll) {
    let mut rng = Rng::new(seed, 22);
    let end = [End::Stopped, End::Killed, End::Killed, End::Cut][rng.below(4) as usize];
    let places = [Place::Superblock, Place::Root, Place::Header, Place::Payload, Place::Ring];
    let place = places[(seed / 4 % 5) as usize];
    let (mut medium, shape, oracles) = life(seed, end, place);
    let targets = targets(&medium, &shape, place);
    if targets.is_empty() {
        return;
    }
    for _ in 0..[1, 1, 1, 2, 4][rng.below(5) as usize] {
        let offset = targets[rng.below(targets.len() as u64) as usize];
        flip(&mut medium, offset, place, &mut rng);
    }
    let what = format!("seed {seed}, {end:?}, {place:?}");
    let rescued = rescue(&medium, &shape, &oracles, &what, toll);
    let named = named_by_check(&medium);
    let counts = toll.trials.entry((end, place)).or_default();
    counts[0] += 1;
    let mut volume = open(medium, settings(&shape), seed);
    if flush(&mut volume).is_err() && volume.machine.open_error().is_some() {
        counts[1] += 1;
        counts[2] += 1;
        return;
    }
    let (mut wrong, mut errors) = (0, 0);
    for block in 0..shape.exported_bytes / BLOCK_BYTES {
        let Some(values) = read(&mut volume, block) else {
            errors += 1;
            continue;
        };
        if oracles.may_hold(block, &values) {
            continue;
        }
        wrong += 1;
        let is_in = |ranges: &[Range<u32>]| ranges.iter().any(|r| r.contains(&(block as u32)));
        if is_in(&named) || is_in(&rescued) {
            continue;
        }
        if oracles.is_unattested(block, &values) {
            wrong -= 1;
            toll.unattested[0] += 1;
        } else {
            toll.unnamed.push(format!("{what}: block {block}"));
        }
    }
    let report = volume.machine.open_report().expect("it is open");
    if wrong > 0 && report.warnings().is_empty() && named.is_empty() {
        toll.silent.push(format!("{what}: {wrong} wrong, {report:?}"));
    }
    counts[1] += u64::from(wrong + errors > 0);
    toll.wrong += wrong;
    toll.errors += errors;
}

/// What the sectors of a block hold; none if it cannot be read.
fn read(volume: &mut Bench, block: u64) -> Option<Vec<u64>> {
    let at = bench::extent(block * 8..block * 8 + 8);
    let answer = bench::ask(volume, Command::Read { at, into: bench::image(8, 77) });
    let Payload::Bytes(buffer) = answer.payload else { panic!("bytes come back") };
    let sectors = buffer.bytes()[..BLOCK_BYTES as usize].chunks(512);
    answer.result.is_ok().then(|| sectors.map(value).collect())
}

/// What a sector holds: every word of it is its value, or a bit has flipped.
fn value(sector: &[u8]) -> u64 {
    let first = u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"));
    let whole = sector.chunks(8).all(|word| word == &sector[..8]);
    if whole { first } else { u64::MAX }
}

/// Blocks that a check names.
fn named_by_check(medium: &Media) -> Vec<Range<u32>> {
    let mut drive = bench::sim(medium.clone(), 1);
    let Ok(report) = tools::check(&mut drive, usize::MAX, &mut patient()) else { return vec![] };
    report
        .findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::TailBlocks { blocks }
            | Finding::MayBeOlder { blocks }
            | Finding::Page { blocks, .. }
            | Finding::Checksum { blocks, .. }
            | Finding::Unreadable { blocks, .. }
            | Finding::Unverified { blocks, .. }
            | Finding::KnownLost { blocks } => Some(blocks.clone()),
            _ => None,
        })
        .collect()
}

/// Blocks that rescue doubts or loses. What it calls recovered must be right.
fn rescue(
    medium: &Media,
    shape: &Shape,
    oracles: &Oracles,
    what: &str,
    toll: &mut Toll,
) -> Vec<Range<u32>> {
    let mut drive = bench::sim(medium.clone(), 1);
    let found = tools::survey(&mut drive, &Plan::default(), &mut patient()).expect("much is left");
    let mut values = vec![0; (shape.exported_bytes / 512) as usize];
    let mut put = |offset: u64, data: &[u8]| {
        for (sector, bytes) in (offset as usize / 512..).zip(data.chunks(512)) {
            values[sector] = value(bytes);
        }
        Ok(())
    };
    let report = found.copy_out(&mut drive, &mut put, &mut patient()).expect("healthy");
    let named: Vec<Range<u32>> = report.doubtful.iter().chain(&report.lost).cloned().collect();
    toll.doubted += RescueReport::blocks(&named);
    for (block, values) in (0..).zip(values.chunks(8)) {
        let excused = named.iter().any(|range| range.contains(&(block as u32)));
        if excused || oracles.may_hold(block, values) {
            continue;
        }
        if oracles.is_unattested(block, values) {
            toll.unattested[1] += 1;
        } else {
            let basis = report.basis;
            toll.rescued_wrong.push(format!("{what}: block {block}, {basis:?}"));
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(seeds: Range<u64>) {
        let mut toll = Toll::default();
        seeds.for_each(|seed| trial(seed, &mut toll));
        eprintln!("{toll}");
        let Toll { unnamed, rescued_wrong, silent, .. } = &toll;
        assert!(unnamed.is_empty(), "{unnamed:#?}");
        assert!(rescued_wrong.is_empty(), "{rescued_wrong:#?}");
        assert!(silent.is_empty(), "{silent:#?}");
        assert!(toll.errors > 0 && toll.doubted > 0, "{toll}");
    }

    /// 153 images were damaged, and in 5 of these `rescue` named fewer blocks than were wrong: 84
    /// of 265. The header of a chunk that a flush had covered was gone; opening said that a chunk
    /// was missing, and `rescue` took the number before it for the end of the log, or counted it
    /// and called what had been there before recovered. Nobody knows which blocks were in it: right
    /// is to doubt all that nothing younger speaks of.
    #[test]
    fn no_block_is_wrong_in_a_damaged_image_without_being_named() {
        held(0..60);
    }

    /// `cargo test -p drivelab-flash -- --ignored three_hundred_damaged_images`; `DAMAGE_SEED`
    /// names another first one.
    #[test]
    #[ignore = "a minute: the same for three hundred images"]
    #[allow(clippy::disallowed_methods)]
    fn three_hundred_damaged_images() {
        let first = std::env::var("DAMAGE_SEED").ok().and_then(|seed| seed.parse().ok());
        let first = first.unwrap_or(1000);
        held(first..first + 320);
    }
}
