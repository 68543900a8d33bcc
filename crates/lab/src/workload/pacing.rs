//! When a stream asks: its rate, its think time, and how often its hot spot moves.

use std::fmt;

/// Most operations per second that a stream may be asked for.
const PER_S_MAX: f64 = 1e9;
/// Most levels of a rate that rises or falls in steps.
const STEPS_MAX: u32 = 1000;

/// Operations per second of a stream whose operations are due on a schedule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rate {
    /// The same all the time.
    Constant(f64),
    /// The same in the mean, each operation due at random after the one before: arrivals of a
    /// Poisson process.
    Poisson(f64),
    /// From one rate to another over the pass.
    Ramp {
        /// At the start of the stream.
        from: f64,
        /// At the end of the pass.
        to: f64,
        /// So many levels, each as long as the others; `None` for a straight line.
        steps: Option<u32>,
    },
}

impl Rate {
    /// Reads `1000`, `1000 poisson`, `1000..5000`, `1000..5000 in 5 steps`.
    ///
    /// # Errors
    /// A sentence with the cure.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "rate = {text}: operations per second, above 0, such as 1000, \"1000..5000\" or \
                 \"1000..5000 in 5 steps\""
            )
        };
        let number = |text: &str| {
            let number = text.trim().parse::<f64>().ok();
            number.filter(|rate| *rate > 0.0 && *rate <= PER_S_MAX).ok_or_else(wrong)
        };
        if let Some(mean) = text.strip_suffix(" poisson") {
            return Ok(Self::Poisson(number(mean)?));
        }
        let Some((from, rest)) = text.split_once("..") else {
            return Ok(Self::Constant(number(text)?));
        };
        let (to, steps) = match rest.split_once(" in ") {
            None => (rest, None),
            Some((to, steps)) => {
                let steps = steps.trim().strip_suffix(" steps").ok_or_else(wrong)?;
                let steps = steps.trim().parse().ok();
                let steps = steps.filter(|steps| (2..=STEPS_MAX).contains(steps));
                (to, Some(steps.ok_or_else(wrong)?))
            }
        };
        Ok(Self::Ramp { from: number(from)?, to: number(to)?, steps })
    }

    /// The mean over a whole pass.
    pub fn mean(self) -> f64 {
        match self {
            Self::Constant(rate) | Self::Poisson(rate) => rate,
            Self::Ramp { from, to, .. } => (from + to) / 2.0,
        }
    }

    /// Whether it changes over the pass: then there is no steady rate to look for.
    pub fn is_ramp(self) -> bool {
        matches!(self, Self::Ramp { .. })
    }

    /// The same for one of so many workers.
    pub fn of_worker(self, workers: u16) -> Self {
        let share = |rate: f64| rate / f64::from(workers);
        match self {
            Self::Constant(rate) => Self::Constant(share(rate)),
            Self::Poisson(rate) => Self::Poisson(share(rate)),
            Self::Ramp { from, to, steps } => {
                Self::Ramp { from: share(from), to: share(to), steps }
            }
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(rate) => rate.fmt(formatter),
            Self::Poisson(rate) => write!(formatter, "{rate} poisson"),
            Self::Ramp { from, to, steps: None } => write!(formatter, "{from}..{to}"),
            Self::Ramp { from, to, steps: Some(steps) } => {
                write!(formatter, "{from}..{to} in {steps} steps")
            }
        }
    }
}

/// A pause of each worker: what was asked for is answered, then nothing is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Think {
    /// How long, ns.
    pub time_ns: u64,
    /// After so many operations of the worker.
    pub every: u32,
}

/// How often the hot spot of a skewed pattern moves: other blocks are hot from then on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Moves {
    /// After so many operations of the stream.
    Operations(u64),
    /// After so many seconds.
    Seconds(f64),
}

impl Moves {
    /// Reads `10000` (operations) and `5 s`.
    ///
    /// # Errors
    /// A sentence with the cure.
    pub fn parse(text: &str) -> Result<Self, String> {
        let seconds = |text: &str| {
            let seconds = text.trim_end().parse::<f64>().ok();
            Some(Self::Seconds(seconds.filter(|seconds| (0.001..=86_400.0).contains(seconds))?))
        };
        let found = match text.strip_suffix('s') {
            Some(text) => seconds(text),
            None => text.parse().ok().filter(|&count| count > 0).map(Self::Operations),
        };
        found.ok_or_else(|| {
            format!(
                "moves_every = `{text}`: a number of operations such as 10000, or seconds such as \
                 \"5 s\", from 0.001 to 86400"
            )
        })
    }
}

impl fmt::Display for Moves {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operations(count) => count.fmt(formatter),
            Self::Seconds(seconds) => write!(formatter, "{seconds} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_moves_are_read_as_they_are_written() {
        for text in ["1000", "0.5", "200 poisson", "1000..5000", "5000..10", "1..9 in 5 steps"] {
            assert_eq!(Rate::parse(text).expect(text).to_string(), text);
        }
        for text in ["0", "-1", "1e10", "x", "0..5", "1..", "1..5 in 1 steps", "1..5 in 5", ""] {
            assert!(Rate::parse(text).is_err_and(|error| error.contains("above 0")), "{text}");
        }
        for text in ["10000", "5 s", "0.25 s"] {
            assert_eq!(Moves::parse(text).expect(text).to_string(), text);
        }
        for text in ["0", "0 s", "5 m", "-1", "s", "1e9 s"] {
            assert!(Moves::parse(text).is_err_and(|error| error.contains("\"5 s\"")), "{text}");
        }
    }

    #[test]
    fn workers_share_a_rate() {
        let ramp = Rate::parse("1000..5000").expect("a rate");
        assert_eq!((ramp.mean(), ramp.of_worker(4).to_string()), (3000.0, "250..1250".to_owned()));
    }
}
