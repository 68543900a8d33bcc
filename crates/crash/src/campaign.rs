//! Seeded campaigns: lives that end with a power cut, and at many moments of each life the cuts
//! that could have ended it.
//!
//! ```text
//!   life:  open --- serve --- serve --- ... --- cut --> the next life opens what is left
//!                     |         |
//!                     |         '-- a clone of the media, cut in several ways: crash points
//!                     '-- and some of these recoveries, cut at every event in their turn
//! ```

use super::{
    backing::Below,
    bench::{ID, flush},
    caller::Caller,
    oracle::ENOSPC,
    point::{Reading, Subsets, cut_recovery, mend, recover},
    roots::Fallback,
    scenario::Scenario,
    tally::{Doing, Tally},
};
use block::{Drive, Engine, Rng, Stack};
use flash::{Step, Volume};
use model::Media;

/// Ways to cut one moment of a life.
const CUTS: usize = 10;
/// Ways to cut one moment of a recovery.
const CUTS_OF_RECOVERY: usize = 5;
/// One recovery in so many is cut too.
const RECOVERIES_ONE_IN: u64 = 100;
/// One point in so many is also read through the volume.
const END_TO_END_ONE_IN: u64 = 16;

type Bench = Stack<Volume, Box<dyn Below>>;

struct Campaign {
    scenario: Scenario,
    rng: Rng,
    caller: Caller,
    tally: Tally,
}

/// What a power cut left, and the values that a recovery finds there.
struct Left {
    media: Vec<Media>,
    values: Vec<u64>,
}

/// Runs the scenario until so many crash points were tried.
///
/// # Panics
/// When a volume does what it must not.
pub fn campaign(scenario: &Scenario, points: u64) -> Tally {
    let sectors = scenario.shape.exported_bytes / 512;
    let mut campaign = Campaign {
        scenario: *scenario,
        rng: Rng::new(scenario.seed, 7),
        caller: Caller::new(scenario.seed, sectors, scenario.mix),
        tally: Tally { campaigns: 1, ..Tally::default() },
    };
    let mut left = None;
    while campaign.tally.total() < points {
        left = Some(campaign.life(left));
    }
    campaign.tally.acknowledged = campaign.caller.acknowledged;
    campaign.tally.refused = campaign.caller.failed.len() as u64;
    campaign.tally
}

impl Campaign {
    /// From one power cut to the next.
    fn life(&mut self, left: Option<Left>) -> Left {
        let mut bench = match left {
            None => self.create(),
            Some(left) => {
                let Left { media, values } = self.cut_while_opening(left);
                self.caller.oracle.restart(values);
                self.caller.forget();
                self.open(media)
            }
        };
        flush(&mut bench).expect("it opens");
        let events = 20 + self.rng.below(600);
        let (mut done, mut revision) = (Vec::new(), bench.engine.revision());
        for _ in 0..events {
            self.caller.fill(&mut bench, self.scenario.depth);
            let next = bench.next_wakeup().max(bench.now().after(1));
            bench.wait(next, &mut done);
            self.caller.take(&mut done);
            let now = bench.engine.revision();
            if now != revision && self.is_worth_a_look(&bench) {
                self.look(&bench);
            }
            revision = now;
        }
        let unexpected = self.caller.failed.iter().find(|error| **error != ENOSPC);
        assert_eq!(unexpected, None, "a healthy drive, and a request failed");
        bench.machine.audit();
        self.tally.attests += bench.machine.counters().expect("it is open").attests;
        self.power_cut(bench)
    }

    fn create(&mut self) -> Bench {
        let Scenario { backing, shape, sector_bytes, settings, .. } = self.scenario;
        let below = backing.stand(backing.media(shape.device_bytes, sector_bytes), self.rng.next());
        let volume = Volume::create(below.geometry(Drive(0)), shape, ID, settings);
        Stack::new(volume.expect("it fits"), below)
    }

    fn open(&mut self, media: Vec<Media>) -> Bench {
        let below = self.scenario.backing.stand(media, self.rng.next());
        Stack::new(Volume::open(below.geometry(Drive(0)), self.scenario.settings), below)
    }

    /// Sometimes recovery is cut, and the next one too. What the next one finds may be another of
    /// the admissible states: a checkpoint's page, written again where a torn chunk lay, once made
    /// that chunk whole, and the one behind it counted. Nobody had been answered in between, and a
    /// soak took it for a write come back from the dead.
    fn cut_while_opening(&mut self, mut left: Left) -> Left {
        while self.rng.below(3) == 0 {
            let mut bench = self.open(left.media);
            let (mut done, events) = (Vec::new(), self.rng.below(120));
            for _ in 0..events {
                let next = bench.next_wakeup().max(bench.now().after(1));
                bench.wait(next, &mut done);
                if bench.machine.step() >= Step::Open {
                    break;
                }
            }
            left = self.power_cut(bench);
        }
        left
    }

    fn power_cut(&mut self, bench: Bench) -> Left {
        let doing = Doing::of(&bench.machine);
        self.caller.expect_refusals(&bench.machine.refused());
        let media = self.lose_power(bench);
        self.tally.positions += 1;
        let values = self.point(doing, media.clone());
        Left { media, values }
    }

    fn lose_power(&mut self, mut bench: Bench) -> Vec<Media> {
        bench.engine.lose_power(self.rng.next());
        let mut media: Vec<Media> = bench.engine.media().into_iter().cloned().collect();
        mend(self.scenario.backing, &mut media, self.rng.next());
        media
    }

    /// Chance, weighed by what the volume is doing: most of the time it only serves.
    fn is_worth_a_look(&mut self, bench: &Bench) -> bool {
        let one_in = match Doing::of(&bench.machine) {
            Doing::Serving | Doing::Checkpoint | Doing::Recovery(_) => 40,
            Doing::Cleaning => 10,
            Doing::CleaningAndCheckpoint => 20,
        };
        self.rng.below(one_in) == 0
    }

    /// Cuts clones of the media as they are now, and recovers each.
    fn look(&mut self, bench: &Bench) {
        let doing = Doing::of(&bench.machine);
        self.caller.expect_refusals(&bench.machine.refused());
        let media = bench.engine.media();
        self.tally.positions += 1;
        let seed = self.rng.next();
        for (_, state) in Subsets::new(&media, seed).draw(&media, CUTS) {
            self.point(doing, state.clone());
            if self.rng.below(RECOVERIES_ONE_IN) == 0 {
                self.look_into_recovery(state);
            }
        }
    }

    /// Tries one point and says what was there.
    fn point(&mut self, doing: Doing, mut state: Vec<Media>) -> Vec<u64> {
        let seed = self.rng.next();
        mend(self.scenario.backing, &mut state, seed);
        let reading = match self.rng.below(END_TO_END_ONE_IN) {
            0 => Reading::EndToEnd,
            _ => Reading::FromTheMedium,
        };
        let medium = self.scenario.backing.flatten(&state);
        let found = recover(&medium, self.scenario.settings, &self.caller.oracle, reading, seed);
        *self.tally.points.entry(doing).or_default() += 1;
        self.tally.replayed += found.report.chunks_replayed;
        self.tally.torn += found.report.chunks_cut;
        self.tally.records += found.report.records_replayed;
        self.tally.records_torn += found.report.records_cut;
        self.tally.end_to_end += u64::from(reading == Reading::EndToEnd);
        self.tally.older_roots += u64::from(found.fallback == Some(Fallback::Same));
        found.values
    }

    /// Cuts the recovery of a state at every event. Nobody has been answered by then, so that the
    /// next one may find another of the admissible states than this one would have.
    fn look_into_recovery(&mut self, mut state: Vec<Media>) {
        let seed = self.rng.next();
        let (backing, settings) = (self.scenario.backing, self.scenario.settings);
        mend(backing, &mut state, seed);
        cut_recovery(backing, state, settings, seed, |step, revision, media| {
            self.tally.positions += 1;
            for (_, state) in Subsets::new(media, seed ^ revision).draw(media, CUTS_OF_RECOVERY) {
                self.point(Doing::Recovery(step), state);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty thousand over all of these.
    fn points(kind: &'static str, points: u64) -> Tally {
        let tally = campaign(&Scenario::named(kind, 1), points);
        eprintln!("{kind}: {tally}");
        assert!(tally.total() >= points && tally.inside() * 2 >= points, "{tally}");
        assert!(tally.replayed > 0 && tally.torn > 0 && tally.end_to_end > 0, "{tally}");
        tally
    }

    #[test]
    fn nothing_that_was_flushed_is_lost_in_any_of_many_power_cuts() {
        let tally = points("4 KiB", 4_000);
        assert!(tally.attests > 10 && tally.older_roots > 10, "{tally}");
    }

    #[test]
    fn nor_where_the_map_has_no_checksums() {
        points("4 KiB, checksums on cleaning", 4_000);
    }

    #[test]
    fn nor_where_short_lived_blocks_lie_apart() {
        points("classes of SepBIT", 3_000);
    }

    #[test]
    fn nor_where_a_block_can_be_torn() {
        points("4 KiB on sectors of 512 B", 2_000);
    }

    #[test]
    fn nor_with_requests_that_split_blocks() {
        points("requests that split blocks", 4_000);
    }

    #[test]
    fn nor_on_a_thin_volume_that_is_full() {
        points("thin", 4_000);
    }

    #[test]
    fn nor_what_only_the_ring_holds() {
        for kind in ["ring", "ring, classes of SepBIT"] {
            let tally = campaign(&Scenario::named(kind, 1), 2_000);
            eprintln!("{kind}: {tally}");
            assert!(tally.records > 100 && tally.records_torn > 10, "{tally}");
            assert!(tally.attests > 10, "{tally}");
        }
    }

    /// The volume was full, its cleaner in the middle of a victim, and a checkpoint took one more
    /// segment for its pages: nobody could go on, and writes that had been promised room failed.
    /// The reserve was one segment too small.
    #[test]
    fn nor_does_a_full_volume_whose_map_fills_a_segment_come_to_a_stand() {
        for seed in [20, 21] {
            let mut scenario = Scenario::named("a map of many pages", seed);
            scenario.mix.flush_one_in = 30;
            let tally = campaign(&scenario, 300);
            assert!(tally.refused > 0, "it was never full");
        }
    }

    /// A volume all but full refused two writes of two blocks, and a later one of a single block
    /// fitted. Cut before the refusals were answered, the later one was there without the earlier
    /// ones, and a soak took that for a loss.
    #[test]
    fn nor_is_a_write_lost_that_was_refused_and_not_told_yet() {
        campaign(&Scenario::of(91_000_003), 4_000);
    }

    #[test]
    fn nor_on_stripes_of_192_kib_with_parity() {
        points("stripes of 192 KiB with parity", 300);
    }

    #[test]
    fn nor_on_an_array_of_four_that_loses_one() {
        points("RAID-5 of 3+1", 300);
    }

    #[test]
    fn nor_on_an_array_of_five_that_loses_one() {
        points("RAID-5 of 4+1", 300);
    }
}
