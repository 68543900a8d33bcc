//! One crash point: a moment, and what a power cut leaves of it. The volume is opened on that and
//! held against the oracle, against a full scan, and against what it becomes.

use super::{
    backing::Backing,
    bench::{Bench, cut, flush, open, read_all},
    oracle::Oracle,
    roots::{Fallback, without_newest_root},
    scan::{scan, values},
};
use block::{Engine, Rng};
use flash::{OpenReport, Settings};
use model::{Choices, Grain, Media};

/// Subsets of what is at risk in all the media, each drawn or thought out; no two leave the same.
pub struct Subsets {
    seen: Vec<u64>,
    /// How many choices each write at risk leaves, drive by drive.
    questions: Vec<usize>,
    rng: Rng,
}

/// What of the writes at risk stays.
#[derive(Clone, Copy, Debug)]
enum Subset {
    Nothing,
    Everything,
    /// Everything but this one.
    Without(usize),
    /// This one is torn, the others stay.
    Torn(usize),
    /// This one alone.
    Only(usize),
    /// The first so many.
    First(usize),
    /// Whole writes or halves, drawn.
    Writes,
    /// Sector by sector, drawn.
    Sectors,
}

impl Subsets {
    pub fn new(media: &[&Media], seed: u64) -> Self {
        let mut questions = Vec::new();
        for medium in media.iter().filter(|medium| medium.is_at_risk()) {
            (*medium).clone().power_cut_with(Grain::Write, &mut |choices| {
                questions.push(choices);
                0
            });
        }
        Self { seen: Vec::new(), questions, rng: Rng::new(seed, 5) }
    }

    /// Up to `count` different states of the media.
    pub fn draw(&mut self, media: &[&Media], count: usize) -> Vec<(u64, Vec<Media>)> {
        let writes = self.questions.len();
        if writes == 0 {
            return vec![(0, media.iter().map(|&medium| medium.clone()).collect())];
        }
        let mut subsets = vec![Subset::Nothing, Subset::Everything];
        let mut more: Vec<Subset> = (0..writes)
            .flat_map(|at| {
                [Subset::Without(at), Subset::Torn(at), Subset::Only(at), Subset::First(at)]
            })
            .collect();
        more.extend([Subset::Writes, Subset::Sectors, Subset::Sectors]);
        self.rng.shuffle(&mut more);
        subsets.append(&mut more);
        let mut states = Vec::new();
        for subset in subsets {
            if states.len() == count {
                break;
            }
            let (survivors, state) = self.cut(media, subset);
            if !self.seen.contains(&survivors) {
                self.seen.push(survivors);
                states.push((survivors, state));
            }
        }
        states
    }

    fn cut(&mut self, media: &[&Media], subset: Subset) -> (u64, Vec<Media>) {
        let (mut at, mut survivors) = (0, 0u64);
        let rng = &mut self.rng;
        let mut choose = |choices: usize| {
            let (whole, here) = (choices - 1, at);
            at += 1;
            match subset {
                Subset::Nothing => 0,
                Subset::Everything => whole,
                Subset::Without(lost) => {
                    if here == lost {
                        0
                    } else {
                        whole
                    }
                }
                Subset::Torn(torn) => {
                    if here == torn {
                        whole / 2
                    } else {
                        whole
                    }
                }
                Subset::Only(kept) => {
                    if here == kept {
                        whole
                    } else {
                        0
                    }
                }
                Subset::First(count) => {
                    if here < count {
                        whole
                    } else {
                        0
                    }
                }
                Subset::Writes | Subset::Sectors => rng.below(choices as u64) as usize,
            }
        };
        let grain = if matches!(subset, Subset::Sectors) { Grain::Sector } else { Grain::Write };
        let mut state = Vec::with_capacity(media.len());
        for &medium in media {
            let mut medium = medium.clone();
            let loss = medium.power_cut_with(grain, &mut choose);
            survivors = survivors.rotate_left(7) ^ loss.survivors;
            state.push(medium);
        }
        (survivors, state)
    }
}

/// Sector by sector where that makes no more states than this.
const BY_SECTOR_MAX: u64 = 64;
/// Else write by write: lost, torn once, or kept; where that makes no more than this.
const BY_WRITE_MAX: u64 = 243;
/// Else so many drawn ones.
const DRAWN: usize = 128;

/// Every state that a cut can leave of the medium, each once.
pub fn every_state(media: &[&Media]) -> Vec<Vec<Media>> {
    let ways = |grain| {
        media.iter().fold(1u64, |ways, medium| ways.saturating_mul(medium.ways_to_cut(grain)))
    };
    let grain = if ways(Grain::Sector) <= BY_SECTOR_MAX { Grain::Sector } else { Grain::Write };
    if ways(grain) > BY_WRITE_MAX {
        let drawn = Subsets::new(media, 1).draw(media, DRAWN);
        return drawn.into_iter().map(|(_, state)| state).collect();
    }
    let (mut choices, mut seen, mut states) = (Choices::default(), Vec::new(), Vec::new());
    loop {
        let mut survivors = Vec::new();
        let cut = media.iter().map(|&medium| {
            let mut medium = medium.clone();
            let loss = medium.power_cut_with(grain, &mut |count| choices.pick(count));
            survivors.push(loss.survivors);
            medium
        });
        let state = cut.collect();
        if !seen.contains(&survivors) {
            seen.push(survivors);
            states.push(state);
        }
        if !choices.advance() {
            return states;
        }
    }
}

/// How much of a recovered volume is read through the volume itself. The rest is read from the
/// medium by the map, which is held against a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    FromTheMedium,
    EndToEnd,
}

/// What became of a state that a power cut left.
pub struct Recovered {
    /// First word of every sector.
    pub values: Vec<u64>,
    pub report: OpenReport,
    /// And with the newest root damaged; none where that was not tried.
    pub fallback: Option<Fallback>,
}

/// What an array does after a power cut: it works its parity out anew, or a member is gone and what
/// it held is worked out from the others.
pub fn mend(backing: Backing, media: &mut [Media], seed: u64) {
    if let Backing::Raid5 { members, .. } = backing {
        match Rng::new(seed, 6).below(u64::from(members) + 1) as usize {
            lost if lost < media.len() => backing.rebuild(media, lost),
            _ => backing.resync(media),
        }
    }
}

/// Opens what a power cut left, twice, and looks at it in every way.
///
/// # Panics
/// At whatever is not as it should be.
pub fn recover(
    medium: &Media,
    settings: Settings,
    oracle: &Oracle,
    reading: Reading,
    seed: u64,
) -> Recovered {
    let before = scan(medium).unwrap_or_else(|complaint| panic!("{complaint}"));
    assert_eq!(before.missing, 0, "chunks that were flushed are missing");
    let values = values(medium, &before);
    oracle.admits(&values).unwrap_or_else(|complaint| panic!("{complaint}"));

    let mut bench = open(medium.clone(), settings, seed);
    let report = settle(&mut bench);
    assert!(before.agrees_with(bench.machine.mappings()), "the map is not as scanned");
    bench.machine.audit();
    if reading == Reading::EndToEnd {
        let read = read_all(&mut bench, values.len() as u64).expect("nothing is damaged");
        assert!(read == values, "what is read is not what is mapped");
    }
    same_again(&cut(bench, seed ^ 1), settings, &values, reading, seed);
    let fallback = (reading == Reading::EndToEnd)
        .then(|| without_newest_root(medium, settings, &values, seed ^ 3));
    Recovered { values, report, fallback }
}

/// Waits until the volume is open, and looks at what opening says.
fn settle(bench: &mut Bench) -> OpenReport {
    if let Err(error) = flush(bench) {
        panic!("it does not open: {error:?}, {:?}", bench.machine.open_error());
    }
    let report = *bench.machine.open_report().expect("it is open");
    let missing = report.chunks_missing + report.records_missing + report.record_blocks_lost;
    assert_eq!((missing, report.pages_lost), (0, 0), "{report:?}");
    let layout = bench.machine.layout().expect("it is open");
    // And the open segments, of each stream one.
    let bound = layout.scan_bound() as usize + flash::testing::STREAMS;
    assert!(report.segments_walked <= bound as u64, "{report:?}");
    report
}

/// What recovery left is what it found.
fn same_again(medium: &Media, settings: Settings, expected: &[u64], reading: Reading, seed: u64) {
    let after = scan(medium).unwrap_or_else(|complaint| panic!("once recovered: {complaint}"));
    assert_eq!(after.missing, 0, "recovered, and chunks are missing");
    assert!(values(medium, &after) == expected, "recovered twice, and not the same");
    let mut bench = open(medium.clone(), settings, seed ^ 2);
    settle(&mut bench);
    if reading == Reading::EndToEnd {
        let read = read_all(&mut bench, expected.len() as u64).expect("nothing is damaged");
        assert!(read == expected, "recovered twice, and read differently");
    } else {
        assert!(after.agrees_with(bench.machine.mappings()), "the map is not as scanned");
    }
}

/// Opens what a power cut left, and shows `visit` the media after every event that changed
/// something until the volume is open.
pub fn cut_recovery(
    backing: Backing,
    media: Vec<Media>,
    settings: Settings,
    seed: u64,
    mut visit: impl FnMut(flash::Step, u64, &[&Media]),
) {
    let below = backing.stand(media, seed);
    let volume = flash::Volume::open(below.geometry(block::Drive(0)), settings);
    let mut bench = block::Stack::new(volume, below);
    let (mut done, mut revision) = (Vec::new(), bench.engine.revision());
    loop {
        let next = bench.next_wakeup().max(bench.now().after(1));
        bench.wait(next, &mut done);
        let step = bench.machine.step();
        if step >= flash::Step::Open {
            assert_eq!(step, flash::Step::Open, "{:?}", bench.machine.open_error());
            return;
        }
        if bench.engine.revision() != revision {
            revision = bench.engine.revision();
            visit(step, revision, &bench.engine.media());
        }
    }
}
