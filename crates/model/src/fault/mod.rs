//! What goes wrong, and when: a plan of rules that replays from its seed.
//!
//! ```
//! # use model::{Fault, FaultPlan, When};
//! let plan = FaultPlan::new(42).with(Fault::LostWrite, When::Nth(7)).with(Fault::BitRot, When::OneIn(1000));
//! assert_eq!(plan.to_string(), "seed 42: lost write, the 7th; bit rot, one in 1000");
//! ```
//!
//! To fail at every I/O in turn, run with `Fault::Error(Operation::Any)` at `When::Nth(n)` for n =
//! 1, 2, ... until a run ends with nothing injected.

mod strike;

pub use strike::Faults;
pub(crate) use strike::Strike;

use block::{Command, Instant};
use std::fmt;

/// What can go wrong with one request of one drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It fails: a read with [`block::IoError::Medium`], the others with EIO. The next attempt may
    /// succeed. What a failed write leaves is old or new, sector by sector; a failed flush covers
    /// nothing.
    Error(Operation),
    /// A read finds sectors that cannot be read until they are rewritten.
    LatentError {
        /// How many, from one of the read's on, at most to its end.
        sectors: u32,
    },
    /// A read finds that one bit of its sectors changed some time ago. The drive does not notice.
    BitRot,
    /// A write lands at another place of the same drive. Acknowledged.
    MisdirectedWrite,
    /// A write is acknowledged and stored nowhere.
    LostWrite,
    /// A flush is acknowledged and covers nothing.
    LyingFlush,
    /// Any request takes this many times as long.
    Slow {
        /// Of the latency that it would have had; at least 2.
        times: u32,
    },
    /// The drive falls off the bus, and what is in flight with it. It does not come back.
    Gone,
}

/// Which requests a [`Fault::Error`] can strike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// All of them.
    Any,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Flushes.
    Flush,
    /// Discards.
    Discard,
}

/// Which of the requests that a fault can strike it does strike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// This one, counted from 1, and no other.
    Nth(u64),
    /// Every one whose number this divides.
    Every(u64),
    /// Each with a probability of one in so many.
    OneIn(u64),
    /// Each that is submitted from the first instant on and before the second. [`Fault::Gone`]
    /// needs no request: the drive is gone from the first instant on.
    During(Instant, Instant),
}

/// One line of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultRule {
    /// What goes wrong.
    pub fault: Fault,
    /// With which requests.
    pub when: When,
}

/// Rules, and the seed of what they leave to chance. Every rule draws from streams of its own, so
/// that one more does not change what the others do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultPlan {
    seed: u64,
    rules: Vec<FaultRule>,
}

impl FaultPlan {
    /// Nothing goes wrong.
    pub fn new(seed: u64) -> Self {
        Self { seed, rules: Vec::new() }
    }

    /// The same with one more rule.
    ///
    /// # Panics
    /// For the 0th request, one in 0, an empty period, a slowness below 2 or a latent error of no
    /// sector.
    #[must_use]
    pub fn with(mut self, fault: Fault, when: When) -> Self {
        let strikes = match when {
            When::Nth(count) | When::Every(count) | When::OneIn(count) => count > 0,
            When::During(from, until) => from < until,
        };
        assert!(strikes, "a rule that never strikes: {when:?}");
        let harms = match fault {
            Fault::Slow { times } => times > 1,
            Fault::LatentError { sectors } => sectors > 0,
            _ => true,
        };
        assert!(harms, "a fault that does no harm: {fault:?}");
        self.rules.push(FaultRule { fault, when });
        self
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Its rules.
    pub fn rules(&self) -> &[FaultRule] {
        &self.rules
    }
}

impl Fault {
    /// Whether it can strike a request with this command.
    fn concerns(self, command: &Command) -> bool {
        match self {
            Self::Slow { .. } | Self::Gone => true,
            Self::Error(operation) => operation.is(command),
            Self::LatentError { .. } | Self::BitRot => matches!(command, Command::Read { .. }),
            Self::MisdirectedWrite | Self::LostWrite => matches!(command, Command::Write { .. }),
            Self::LyingFlush => matches!(command, Command::Flush),
        }
    }
}

impl Operation {
    fn is(self, command: &Command) -> bool {
        match self {
            Self::Any => true,
            Self::Read => matches!(command, Command::Read { .. }),
            Self::Write => matches!(command, Command::Write { .. }),
            Self::Flush => matches!(command, Command::Flush),
            Self::Discard => matches!(command, Command::Discard { .. }),
        }
    }
}

impl fmt::Display for FaultPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "seed {}:", self.seed)?;
        if self.rules.is_empty() {
            return formatter.write_str(" no faults");
        }
        for (index, rule) in self.rules.iter().enumerate() {
            write!(formatter, "{} {rule}", if index > 0 { ";" } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for FaultRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}", self.fault, self.when)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(Operation::Any) => formatter.write_str("error"),
            Self::Error(Operation::Read) => formatter.write_str("read error"),
            Self::Error(Operation::Write) => formatter.write_str("write error"),
            Self::Error(Operation::Flush) => formatter.write_str("flush error"),
            Self::Error(Operation::Discard) => formatter.write_str("discard error"),
            Self::LatentError { sectors } => write!(formatter, "latent error of {sectors} sectors"),
            Self::BitRot => formatter.write_str("bit rot"),
            Self::MisdirectedWrite => formatter.write_str("misdirected write"),
            Self::LostWrite => formatter.write_str("lost write"),
            Self::LyingFlush => formatter.write_str("lying flush"),
            Self::Slow { times } => write!(formatter, "{times} times slower"),
            Self::Gone => formatter.write_str("gone"),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nth(number) => write!(formatter, "the {number}{}", ordinal_ending(*number)),
            Self::Every(number) => write!(formatter, "every {number}{}", ordinal_ending(*number)),
            Self::OneIn(count) => write!(formatter, "one in {count}"),
            Self::During(from, Instant::NEVER) => write!(formatter, "from {} ns on", from.0),
            Self::During(from, until) => {
                write!(formatter, "from {} ns until {} ns", from.0, until.0)
            }
        }
    }
}

fn ordinal_ending(number: u64) -> &'static str {
    match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}
