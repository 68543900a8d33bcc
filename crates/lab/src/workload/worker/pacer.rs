//! What keeps a worker from asking at once: a stream that starts later, a schedule, think time, and
//! a hot spot that moves by the clock. A worker that asks as fast as it goes has none.

use super::Stream;
use crate::workload::{Moves, Rate, Think};
use block::{Instant, Rng};

/// When a worker's next operation may start.
#[derive(Debug)]
pub(super) struct Pacer {
    /// Start of the stream after the start of the pass.
    start_after_ns: u64,
    /// When the stream started.
    started: Instant,
    /// Nothing is issued before.
    not_before: Instant,
    schedule: Option<Schedule>,
    think: Option<Thinking>,
    /// The time between two moves of the hot spot.
    moves_ns: Option<u64>,
}

#[derive(Debug)]
struct Thinking {
    of: Think,
    /// Operations since the last pause.
    issued: u32,
}

impl Pacer {
    /// For a worker of `stream`, if anything holds it; `ramp_s` is how long a rate takes from its
    /// start to its end.
    pub fn new(stream: &Stream, ramp_s: f64) -> Option<Box<Self>> {
        let moves_ns = match stream.moves {
            Some(Moves::Seconds(seconds)) => Some((seconds * 1e9).round() as u64),
            Some(Moves::Operations(_)) | None => None,
        };
        let pacer = Self {
            start_after_ns: (stream.start_after_s * 1e9).round() as u64,
            started: Instant(0),
            not_before: Instant(0),
            schedule: stream.rate.map(|rate| Schedule::new(rate.of_worker(stream.threads), ramp_s)),
            think: stream.think.map(|of| Thinking { of, issued: 0 }),
            moves_ns,
        };
        let holds = pacer.start_after_ns > 0
            || pacer.schedule.is_some()
            || pacer.think.is_some()
            || pacer.moves_ns.is_some();
        holds.then(|| Box::new(pacer))
    }

    /// The pass begins.
    pub fn start(&mut self, start: Instant, rng: &mut Rng) {
        self.started = start.after(self.start_after_ns);
        self.not_before = self.started;
        if let Some(schedule) = &mut self.schedule {
            // Workers of a stream take turns within one interval.
            let turn = rng.unit() * schedule.first_interval_ns();
            schedule.begin(self.started.after(turn as u64));
            schedule.draw_from(rng);
        }
    }

    /// When the next operation may start; never while a pause waits for answers.
    pub fn next_due(&self) -> Instant {
        if self.think.as_ref().is_some_and(|think| think.issued >= think.of.every) {
            return Instant::NEVER;
        }
        match &self.schedule {
            Some(schedule) => schedule.next.max(self.not_before),
            None => self.not_before,
        }
    }

    /// An operation starts; when it was due, if it has a schedule.
    pub fn issue(&mut self) -> Option<Instant> {
        if let Some(think) = &mut self.think {
            think.issued += 1;
        }
        self.schedule.as_mut().map(Schedule::advance)
    }

    /// Nothing is in flight any more: where a pause waited for that, it begins.
    pub fn quiet(&mut self, now: Instant) {
        if let Some(think) = &mut self.think
            && think.issued >= think.of.every
        {
            think.issued = 0;
            self.not_before = now.after(think.of.time_ns);
        }
    }

    /// How often the hot spot has moved by now, where the clock moves it.
    pub fn moved(&self, now: Instant) -> Option<u64> {
        Some(now.since(self.started) / self.moves_ns?)
    }

    /// Whether the clock moves a hot spot.
    pub fn is_moving(&self) -> bool {
        self.moves_ns.is_some()
    }
}

/// An open loop's schedule: when operation `k` is due.
#[derive(Debug)]
struct Schedule {
    start: Instant,
    issued: u64,
    next: Instant,
    curve: Curve,
}

/// The time from the start at which so many operations are due.
#[derive(Debug)]
enum Curve {
    Constant { interval_ns: f64 },
    Poisson { interval_ns: f64, due_ns: f64, rng: Rng },
    Linear { from: f64, to: f64, seconds: f64 },
    Steps(Steps),
}

/// Levels of the same length; the last one goes on.
#[derive(Debug)]
struct Steps {
    from: f64,
    to: f64,
    steps: u32,
    level_s: f64,
    /// The level that the last operation was of.
    level: u32,
    /// Operations due before it.
    before: f64,
}

impl Schedule {
    fn new(rate: Rate, seconds: f64) -> Self {
        let curve = match rate {
            Rate::Constant(rate) => Curve::Constant { interval_ns: 1e9 / rate },
            Rate::Poisson(rate) => {
                Curve::Poisson { interval_ns: 1e9 / rate, due_ns: 0.0, rng: Rng::new(0, 0) }
            }
            Rate::Ramp { from, to, steps: None } => Curve::Linear { from, to, seconds },
            Rate::Ramp { from, to, steps: Some(steps) } => {
                let level_s = seconds / f64::from(steps);
                Curve::Steps(Steps { from, to, steps, level_s, level: 0, before: 0.0 })
            }
        };
        Self { start: Instant(0), issued: 0, next: Instant(0), curve }
    }

    fn first_interval_ns(&self) -> f64 {
        match &self.curve {
            Curve::Constant { interval_ns } | Curve::Poisson { interval_ns, .. } => *interval_ns,
            Curve::Linear { from, .. } | Curve::Steps(Steps { from, .. }) => 1e9 / from,
        }
    }

    fn begin(&mut self, start: Instant) {
        self.start = start;
        self.next = start;
    }

    /// Where arrivals are random, what they are drawn from; nothing else takes a number of `rng`.
    fn draw_from(&mut self, rng: &mut Rng) {
        if let Curve::Poisson { rng: own, .. } = &mut self.curve {
            *own = Rng::new(rng.next(), 0);
        }
    }

    /// When the operation that starts now was due.
    fn advance(&mut self) -> Instant {
        let due = self.next;
        self.issued += 1;
        let count = self.issued as f64;
        let ns = match &mut self.curve {
            Curve::Constant { interval_ns } => count * *interval_ns,
            Curve::Poisson { interval_ns, due_ns, rng } => {
                *due_ns -= (1.0 - rng.unit()).ln() * *interval_ns;
                *due_ns
            }
            Curve::Linear { from, to, seconds } => linear_s(*from, *to, *seconds, count) * 1e9,
            Curve::Steps(steps) => steps.at_s(count) * 1e9,
        };
        self.next = self.start.after(ns as u64);
        due
    }
}

/// When so many operations are due whose rate goes from one to the other in so many seconds and
/// stays there: the area under the line, solved for time without a difference of near numbers.
fn linear_s(from: f64, to: f64, seconds: f64, count: f64) -> f64 {
    let whole = (from + to) / 2.0 * seconds;
    if count >= whole {
        return seconds + (count - whole) / to;
    }
    let slope = (to - from) / seconds;
    2.0 * count / (from + (from * from + 2.0 * slope * count).max(0.0).sqrt())
}

impl Steps {
    fn rate(&self) -> f64 {
        let share = f64::from(self.level) / f64::from(self.steps - 1);
        self.from + (self.to - self.from) * share
    }

    fn at_s(&mut self, count: f64) -> f64 {
        while self.level + 1 < self.steps && count - self.before >= self.rate() * self.level_s {
            self.before += self.rate() * self.level_s;
            self.level += 1;
        }
        f64::from(self.level) * self.level_s + (count - self.before) / self.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations that a schedule makes due in each of so many equal parts of its time.
    fn parts(text: &str, seconds: f64, parts: usize) -> Vec<u64> {
        let mut schedule = Schedule::new(Rate::parse(text).expect("a rate"), seconds);
        schedule.begin(Instant(0));
        let mut counts = vec![0; parts];
        loop {
            let due_s = schedule.advance().0 as f64 / 1e9;
            let part = (due_s / seconds * parts as f64) as usize;
            if part >= parts {
                return counts;
            }
            counts[part] += 1;
        }
    }

    /// Between two arrivals of a Poisson process lies an exponential time: its standard deviation
    /// is its mean.
    #[test]
    fn random_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() {
        let mut schedule = Schedule::new(Rate::parse("1000 poisson").expect("a rate"), 1.0);
        schedule.begin(Instant(0));
        schedule.draw_from(&mut Rng::new(3, 3));
        let due: Vec<f64> = (0..100_001).map(|_| schedule.advance().0 as f64 / 1e9).collect();
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 1000.0 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn a_ramp_is_a_straight_line_up_and_down() {
        // The mean of each tenth: 1200, 1600, ... 4800 a second for one second each.
        for (text, down) in [("1000..5000", false), ("5000..1000", true)] {
            let mut seen = parts(text, 10.0, 10);
            if down {
                seen.reverse();
            }
            for (tenth, count) in (0..).zip(seen) {
                let expected = 1200 + 400 * tenth;
                assert!(count.abs_diff(expected) <= 1, "{text} {tenth}: {count} of {expected}");
            }
        }
        let level = parts("700..700", 10.0, 10);
        assert!(level.iter().all(|count| count.abs_diff(700) <= 1), "{level:?}");
    }

    #[test]
    fn steps_are_levels_of_equal_length() {
        let seen = parts("100..500 in 5 steps", 10.0, 5);
        for (count, expected) in seen.into_iter().zip([200, 400, 600, 800, 1000]) {
            assert!(u64::abs_diff(count, expected) <= 1, "{count} of {expected}");
        }
        assert_eq!(parts("100..500 in 5 steps", 10.0, 1).iter().sum::<u64>(), 3000);
    }

    #[test]
    fn a_ramp_that_has_ended_stays_at_its_end() {
        assert!((linear_s(100.0, 300.0, 10.0, 2000.0) - 10.0).abs() < 1e-9);
        assert!((linear_s(100.0, 300.0, 10.0, 2300.0) - 11.0).abs() < 1e-9);
        let mut schedule = Schedule::new(Rate::parse("100..300 in 2 steps").expect("a rate"), 10.0);
        schedule.begin(Instant(0));
        let last = (0..=2300).map(|_| schedule.advance()).last().expect("some");
        assert!((last.0 as f64 / 1e9 - 11.0).abs() < 1e-6, "{last:?}");
    }
}
