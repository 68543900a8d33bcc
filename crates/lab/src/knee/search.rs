//! Which rate is tried next: a bracket around the knee, halved in the logarithm of the rate; then
//! both of its ends again.

use record::{KneeOutcome, KneeProbe, KneeVerdict};

/// Most passes of a search, its closed loop among them.
pub const PROBES_MAX: usize = 25;
/// Passes at one rate, at most: two of three decide.
const REPEATS_MAX: usize = 3;
/// Of the closed loop's rate: where a search begins, where it goes on when that holds, and beyond.
const BEGIN: f64 = 0.5;
const NEAR: f64 = 0.9;
const BEYOND: f64 = 1.05;
const FURTHER: f64 = 1.25;
/// Of the closed loop's rate: what holds there holds at every rate.
const MOST: f64 = 4.0;
/// Of the closed loop's rate: what was overloaded there and failed did so for want of capacity.
const CAPACITY: f64 = 0.97;

/// A search for the highest rate that holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Search {
    /// Operations per second of the closed loop.
    pub closed_loop: f64,
    /// Lower rates have too few operations in the time of a pass.
    pub floor: f64,
    /// How far apart the ends of the bracket may be in the end, as a share.
    pub precision: f64,
}

/// What follows from the probes so far.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Next {
    /// This rate is tried.
    Rate(f64),
    /// The search is over.
    Over(KneeOutcome),
}

/// All passes at one rate.
#[derive(Clone, Copy, Debug)]
struct Point {
    rate: f64,
    passes: usize,
    verdict: KneeVerdict,
    /// As far as it is known.
    holds: bool,
    overload: bool,
}

impl Point {
    fn of(probes: &[&KneeProbe]) -> Self {
        let count = |wanted| probes.iter().filter(|probe| probe.verdict == wanted).count();
        let (holds, fails) = (count(KneeVerdict::Holds), count(KneeVerdict::Fails));
        // One alone decides until it is looked at again; then both must agree, or two of three.
        let enough = probes.len().min(2);
        let verdict = match (holds, fails) {
            _ if holds >= enough => KneeVerdict::Holds,
            _ if fails >= enough => KneeVerdict::Fails,
            _ => KneeVerdict::Open,
        };
        let mut ratios: Vec<f64> = probes.iter().map(|probe| probe.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let overloads = probes.iter().filter(|probe| probe.overload).count();
        let overload = 2 * overloads > probes.len();
        Self {
            rate: probes[0].rate,
            passes: probes.len(),
            verdict,
            holds: match verdict {
                KneeVerdict::Holds => true,
                KneeVerdict::Fails => false,
                KneeVerdict::Open => !overload && ratios[(ratios.len() - 1) / 2] <= 1.0,
            },
            overload,
        }
    }

    /// Whether another pass at this rate would say more.
    fn is_unsure(&self) -> bool {
        let known = self.passes >= 2 && self.verdict != KneeVerdict::Open;
        self.passes < REPEATS_MAX && !known
    }
}

/// The probes of each rate together, by rate.
fn points(probes: &[KneeProbe]) -> Vec<Point> {
    let mut sorted: Vec<&KneeProbe> = probes.iter().collect();
    sorted.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    sorted.chunk_by(|a, b| a.rate == b.rate).map(Point::of).collect()
}

/// The highest rate that holds with none below it that fails, and the lowest that fails.
fn bracket(points: &[Point]) -> (Option<Point>, Option<Point>) {
    let fails = points.iter().position(|point| !point.holds);
    let holds = fails.unwrap_or(points.len()).checked_sub(1);
    (holds.map(|at| points[at]), fails.map(|at| points[at]))
}

impl Search {
    /// What is tried next, after these passes.
    pub fn next(&self, probes: &[KneeProbe]) -> Next {
        let points = points(probes);
        let found = bracket(&points);
        if probes.len() + 1 >= PROBES_MAX {
            return Next::Over(self.outcome(found));
        }
        let wider = match found {
            (None, None) => Some(BEGIN * self.closed_loop),
            (Some(low), None) => self.above(low.rate),
            (None, Some(high)) => Some(high.rate / 2.0).filter(|rate| *rate >= self.floor),
            (Some(low), Some(high)) => self.between(low.rate, high.rate),
        };
        if let Some(rate) = wider.map(|rate| four_digits(rate.max(self.floor))) {
            return Next::Rate(rate);
        }
        let ends = [found.1, found.0].into_iter().flatten();
        match ends.into_iter().find(Point::is_unsure) {
            Some(end) => Next::Rate(end.rate),
            None => Next::Over(self.outcome(found)),
        }
    }

    /// The next rate above one that holds while none is known to fail.
    fn above(&self, rate: f64) -> Option<f64> {
        let steps = [NEAR, BEYOND].map(|share| share * self.closed_loop);
        let next = steps.into_iter().find(|step| *step > rate * 1.01).unwrap_or(rate * FURTHER);
        (rate < MOST * self.closed_loop).then_some(next)
    }

    fn between(&self, low: f64, high: f64) -> Option<f64> {
        let middle = four_digits((low * high).sqrt());
        (high > low * (1.0 + self.precision) && middle > low && middle < high).then_some(middle)
    }

    fn outcome(&self, found: (Option<Point>, Option<Point>)) -> KneeOutcome {
        match found {
            (None, _) => KneeOutcome::NoneHolds,
            (Some(_), None) => KneeOutcome::AllHold,
            (Some(_), Some(high)) if high.overload && high.rate >= CAPACITY * self.closed_loop => {
                KneeOutcome::Capacity
            }
            (Some(_), Some(_)) => KneeOutcome::Latency,
        }
    }

    /// The highest rate that holds, and between which rates the knee lies beyond doubt.
    pub fn answer(&self, probes: &[KneeProbe]) -> (Option<f64>, Option<[f64; 2]>) {
        let points = points(probes);
        let (low, high) = bracket(&points);
        let Some(low) = low else { return (None, None) };
        let below = points.iter().filter(|point| point.rate <= low.rate);
        let sure = below.rev().find(|point| point.verdict == KneeVerdict::Holds);
        let mut above = points.iter().filter(|point| high.is_some_and(|it| point.rate >= it.rate));
        let not = above.find(|point| point.verdict == KneeVerdict::Fails);
        (Some(low.rate), sure.zip(not).map(|(sure, not)| [sure.rate, not.rate]))
    }
}

/// A rate as one would type it.
fn four_digits(rate: f64) -> f64 {
    if rate <= 0.0 || !rate.is_finite() {
        return rate;
    }
    let grain = 10f64.powi(rate.log10().floor() as i32 - 3);
    // Fractions of a decimal are no doubles: the text is what both sides agree on.
    format!("{:.6}", (rate / grain).round() * grain).parse().unwrap_or(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;

    fn probe(rate: f64, ratio: f64, half: f64, overload: bool) -> KneeProbe {
        let verdict = match () {
            () if overload || ratio - half > 1.0 => KneeVerdict::Fails,
            () if ratio + half < 1.0 => KneeVerdict::Holds,
            () => KneeVerdict::Open,
        };
        let (operations, latency_ns, ratio_half_width) = (10_000, None, Some(half));
        KneeProbe {
            pass: 1,
            rate,
            operations,
            latency_ns,
            ratio,
            ratio_half_width,
            overload,
            verdict,
        }
    }

    /// Runs a search on a drive whose ratio at a rate is this; how it ended, and its probes.
    fn run(
        search: Search,
        mut seen: impl FnMut(f64) -> KneeProbe,
    ) -> (KneeOutcome, Vec<KneeProbe>) {
        let mut probes = Vec::new();
        loop {
            match search.next(&probes) {
                Next::Rate(rate) => probes.push(seen(rate)),
                Next::Over(outcome) => return (outcome, probes),
            }
            assert!(probes.len() < PROBES_MAX, "a search ends");
        }
    }

    fn search(closed_loop: f64) -> Search {
        Search { closed_loop, floor: closed_loop / 4096.0, precision: 0.02 }
    }

    #[test]
    fn the_knee_is_found_wherever_it_lies() {
        for knee in [0.001, 0.02, 0.3, 0.55, 0.77, 0.93, 0.99, 1.02, 1.6, 3.0] {
            let search = search(50_000.0);
            let at = knee * search.closed_loop;
            let (outcome, probes) =
                run(search, |rate| probe(rate, (rate / at).powi(4), 0.01, rate > 3.5 * at));
            let (found, interval) = search.answer(&probes);
            let found = found.expect("a rate");
            assert_eq!(outcome, KneeOutcome::Latency, "{knee}");
            assert!(found <= at && found > at * 0.975, "{knee}: {found} of {at}");
            let [low, high] = interval.expect("both ends are sure");
            assert!(low <= at && at <= high && high / low < 1.045, "{knee}: {low} to {high}");
            assert!(probes.len() < 24, "{knee}: {} probes", probes.len());
        }
    }

    /// Passes near the knee come out either way, and a stall fails one far below it.
    #[test]
    fn noise_near_the_knee_and_a_stall_below_it_move_it_little() {
        let at = 31_000.0;
        let mut far = 0;
        for seed in 0..200 {
            let mut rng = Rng::new(seed, 0);
            let search = search(50_000.0);
            let (_, probes) = run(search, |rate| {
                let noise = 1.0 + 0.1 * (rng.unit() - 0.5);
                let stalled = rng.unit() < 0.03;
                let ratio = if stalled { 40.0 } else { (rate / at).powi(6) * noise };
                probe(rate, ratio, 0.05 * ratio, false)
            });
            let found = search.answer(&probes).0.expect("a rate");
            far += u32::from((found / at - 1.0).abs() > 0.03);
        }
        assert!(far <= 6, "{far} of 200 searches were off by more than 3 %");
    }

    #[test]
    fn a_condition_that_no_rate_or_every_rate_holds_is_told() {
        let (outcome, probes) = run(search(1000.0), |rate| probe(rate, 7.0, 0.1, false));
        assert_eq!(outcome, KneeOutcome::NoneHolds);
        assert_eq!(search(1000.0).answer(&probes), (None, None));
        assert!(probes.iter().all(|probe| probe.rate >= 1000.0 / 4096.0 * 0.999));
        let (outcome, probes) = run(search(1000.0), |rate| probe(rate, 0.1, 0.01, false));
        assert_eq!(outcome, KneeOutcome::AllHold);
        assert!(search(1000.0).answer(&probes).0.expect("the highest") >= 4000.0);
    }

    #[test]
    fn where_only_the_capacity_ends_it_that_is_the_outcome() {
        let (outcome, probes) = run(search(1000.0), |rate| {
            probe(rate, if rate > 990.0 { 2.0 } else { 0.1 }, 0.01, rate > 990.0)
        });
        assert_eq!(outcome, KneeOutcome::Capacity);
        let found = search(1000.0).answer(&probes).0.expect("a rate");
        assert!((970.0..=990.0).contains(&found), "{found}");
    }

    #[test]
    fn a_search_goes_on_from_its_probes() {
        let seen = |rate: f64| probe(rate, (rate / 610.0).powi(4), 0.01, false);
        let (outcome, probes) = run(search(1000.0), seen);
        for cut in 0..probes.len() {
            let Next::Rate(rate) = search(1000.0).next(&probes[..cut]) else { panic!("at {cut}") };
            assert_eq!(rate, probes[cut].rate);
        }
        assert_eq!(search(1000.0).next(&probes), Next::Over(outcome));
    }

    #[test]
    fn rates_have_four_digits() {
        for (rate, short) in [(12_345.678, 12_350.0), (0.123_456, 0.1235), (999.96, 1000.0)] {
            assert_eq!(four_digits(rate), short);
        }
    }
}
