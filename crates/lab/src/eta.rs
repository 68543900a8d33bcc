//! How long a run will still take, from its first moment on.
//!
//! A cell ends when it is known well enough, and before it ran nobody knows when that is. What it
//! took in an earlier run says most; without one, it is taken to end between the shortest and the
//! longest time of its plan. Every cell that ends tells how much the others are off.

use crate::plan::{FAST, Plan, SLOW, Step};
use record::Record;
use std::num::NonZeroU32;

/// Rounds that a steady state takes at least.
const ROUNDS_LEAST: f64 = 5.0;

/// Passes of a search, about.
const PROBES_USUAL: u32 = 12;

/// What a step is expected to take, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Expected {
    /// Most likely.
    pub seconds: f64,
    /// At most.
    pub seconds_max: f64,
}

/// Where between the shortest and the longest time, on a logarithmic scale: a little above the
/// middle, as what is measured beside other programs takes the longest more often.
const PLACE: f64 = 0.6;
/// A first guess counts as much as this many cells that ended.
const GUESS_CELLS: f64 = 2.0;

impl Expected {
    /// Of a step of which only the range is known.
    pub fn between((shortest, longest): (f64, f64)) -> Self {
        let least = shortest.max(longest * 1e-3).max(1e-6);
        let seconds = least * (longest / least).max(1.0).powf(PLACE);
        Self { seconds, seconds_max: longest.max(least) }
    }

    /// Of a step that took so long in an earlier run.
    pub fn as_before(seconds: f64, (shortest, longest): (f64, f64)) -> Self {
        let seconds = seconds.max(shortest.min(longest)).min(longest);
        Self { seconds, seconds_max: longest }
    }

    fn slower(self, factor: f64) -> f64 {
        (self.seconds * factor).min(self.seconds_max)
    }
}

/// What is left of a run. Times are given as seconds since it began.
pub struct Eta {
    steps: Vec<Expected>,
    /// The area is written before the first cell: what that takes in all.
    fill_s: f64,
    /// The step that runs, and when it began.
    running: Option<(usize, f64)>,
    /// What the steps took that have ended, and what was expected of them.
    taken_s: f64,
    expected_s: f64,
}

impl Eta {
    /// The estimate for `plan` on so many targets, before its first byte: from an earlier run like
    /// it, where there is one.
    pub fn of(plan: &Plan, targets: usize, earlier: Option<&Record>) -> Self {
        let fill_s = earlier.and_then(until_first).unwrap_or_else(|| {
            let bytes = plan.fill_bytes() as f64 * targets as f64;
            Expected::between((bytes / FAST.bytes_per_s, bytes / SLOW.bytes_per_s)).seconds
        });
        // Where rounds end by themselves, between the least and the most of them.
        let rounds = match plan.method.file.rounds {
            // So many a search takes that finds what it seeks.
            None if plan.until.is_some() => PROBES_USUAL,
            Some(_) => (ROUNDS_LEAST * f64::from(plan.passes)).sqrt().ceil() as u32,
            None => plan.passes,
        };
        let steps = plan.steps.iter().map(|step| {
            let range = plan.seconds_of(step.cell);
            let name = &plan.cells[step.cell].name;
            match earlier.and_then(|earlier| took(earlier, name, *step)) {
                _ if step.pass >= rounds => Expected { seconds: 0.0, seconds_max: range.1 },
                Some(seconds) => Expected::as_before(seconds, range),
                None => Expected::between(range),
            }
        });
        Self::new(fill_s, steps.collect())
    }

    /// The same in this machine's time, of which so many times as much passes.
    pub fn times(mut self, slower: NonZeroU32) -> Self {
        let times = f64::from(slower.get());
        self.fill_s *= times;
        for step in &mut self.steps {
            step.seconds *= times;
            step.seconds_max *= times;
        }
        self
    }

    /// Before the first byte.
    pub fn new(fill_s: f64, steps: Vec<Expected>) -> Self {
        Self { steps, fill_s, running: None, taken_s: 0.0, expected_s: 0.0 }
    }

    /// A share of the fill is done.
    pub fn fill(&mut self, now_s: f64, share: f64) {
        if share > 0.0 {
            self.fill_s = now_s / share;
        }
    }

    /// A step begins; those that a resumed run leaves out never do.
    pub fn begin(&mut self, now_s: f64, step: usize) {
        self.running = Some((step, now_s));
    }

    /// The running step has ended.
    pub fn end(&mut self, now_s: f64) {
        if let Some((step, began_s)) = self.running {
            self.taken_s += now_s - began_s;
            self.expected_s += self.steps[step].seconds;
        }
    }

    /// Seconds that are left.
    pub fn left_s(&self, now_s: f64) -> f64 {
        let all: f64 = self.steps.iter().map(|step| step.seconds).sum();
        let guess_s = GUESS_CELLS * all / self.steps.len().max(1) as f64;
        let factor = (self.taken_s + guess_s) / (self.expected_s + guess_s).max(1e-9);
        let Some((running, began_s)) = self.running else {
            return (self.fill_s - now_s).max(0.0) + all;
        };
        let step = self.steps[running];
        let (expected_s, so_far_s) = (step.slower(factor), now_s - began_s);
        // What takes longer than expected may end any moment, or at its last.
        let own_s = match expected_s - so_far_s {
            left_s if left_s > 0.0 => left_s,
            _ => (step.seconds_max - so_far_s).max(0.0) / 2.0,
        };
        let later = self.steps[running + 1..].iter().map(|step| step.slower(factor));
        own_s + later.sum::<f64>()
    }
}

/// Seconds before the first cell.
fn until_first(earlier: &Record) -> Option<f64> {
    let passes = earlier.cells.iter().flat_map(|cell| &cell.passes);
    passes.map(|pass| pass.started_s).reduce(f64::min)
}

/// Seconds of the same pass, or of any pass of the same cell.
fn took(earlier: &Record, name: &str, step: Step) -> Option<f64> {
    let of_cell = || earlier.cells.iter().filter(|cell| cell.group == name);
    let passes = || of_cell().filter(|cell| cell.target == step.target).flat_map(|c| &c.passes);
    let same = passes().find(|pass| pass.pass == step.pass);
    let any = || of_cell().flat_map(|cell| &cell.passes).next();
    same.or_else(any).map(|pass| pass.total.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick() -> Eta {
        Eta::new(2.0, vec![Expected::between((3.45, 12.0)); 7])
    }

    /// Lets a run of seven cells of such lengths pass; the share of looks off by more than 1.5.
    fn off(mut eta: Eta, lengths: [f64; 7]) -> f64 {
        let all: f64 = lengths.iter().sum::<f64>();
        let (mut looks, mut bad, mut now_s) = (0, 0, 0.0);
        for (step, seconds) in lengths.into_iter().enumerate() {
            eta.begin(now_s, step);
            let began_s = now_s;
            while now_s < began_s + seconds {
                let ratio = eta.left_s(now_s) / (all - now_s);
                // The last moments are too short for a ratio to matter.
                if all - now_s > 5.0 {
                    looks += 1;
                    bad += i32::from(!(1.0 / 1.5..=1.5).contains(&ratio));
                }
                now_s += 0.1;
            }
            eta.end(now_s);
        }
        f64::from(bad) / f64::from(looks)
    }

    /// The bar's own estimate knew nothing before the first cell had ended, and took it that none
    /// ends before its longest time.
    #[test]
    fn the_first_guess_fits_runs_on_busy_and_on_quiet_machines() {
        for real_s in [2.0 + 7.0 * 5.2, 2.0 + 6.0 * 12.0 + 2.0, 2.0 + 7.0 * 11.0] {
            let ratio = quick().left_s(0.0) / real_s;
            assert!((1.0 / 1.5..=1.5).contains(&ratio), "{ratio:.2} of {real_s} s");
        }
    }

    #[test]
    fn every_cell_that_ends_teaches_the_rest() {
        assert!(off(quick(), [12.0, 12.0, 9.9, 12.0, 12.0, 12.0, 1.9]) < 0.2);
        assert!(off(quick(), [3.5, 3.5, 4.0, 3.5, 3.5, 4.6, 3.5]) < 0.5);
        let mut eta = quick();
        let mut now_s = 2.0;
        for step in 0..5 {
            eta.begin(now_s, step);
            now_s += 3.5;
            eta.end(now_s);
        }
        eta.begin(now_s, 5);
        assert!(eta.left_s(now_s) < 1.5 * 7.0, "{}", eta.left_s(now_s));
    }

    #[test]
    fn an_earlier_run_says_more_than_the_plan() {
        let earlier = [12.0, 12.0, 9.9, 12.0, 12.0, 12.0, 1.9];
        let steps = earlier.map(|seconds| Expected::as_before(seconds, (1.0, 12.0))).to_vec();
        let eta = Eta::new(1.0, steps);
        assert!((eta.left_s(0.0) - 72.8).abs() < 1e-6, "{}", eta.left_s(0.0));
        // Not beyond what this plan allows.
        assert!(Expected::as_before(60.0, (3.0, 12.0)).seconds <= 12.0);
    }

    #[test]
    fn the_fill_tells_how_long_it_is_itself() {
        let mut eta = quick();
        eta.fill(1.0, 0.1);
        let cells = quick().left_s(2.0);
        assert!((eta.left_s(1.0) - 9.0 - cells).abs() < 1e-6);
    }
}
