//! A log's cuts, dealt to several processes.

use super::{Places, ReplayOrder};
use std::{fmt, num::NonZeroU32, str::FromStr};

/// Operations that follow each other stay together: their cuts leave much the same.
const RUN: u64 = 8;

/// A process should have so many cuts: each replays the whole log.
const CUTS_MIN: u64 = 32;

const WORKERS_A_PROCESSOR: u64 = 3;

/// Which cuts are a process's own. Its text is `2/8`, the second of eight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    number: NonZeroU32,
    of: NonZeroU32,
}

impl Share {
    /// All cuts.
    pub const WHOLE: Self = Self { number: NonZeroU32::MIN, of: NonZeroU32::MIN };

    /// Those of so many processes.
    pub fn all(of: NonZeroU32) -> impl Iterator<Item = Self> {
        (1..=of.get()).filter_map(move |number| Some(Self { number: NonZeroU32::new(number)?, of }))
    }

    /// Whether the cuts in and behind an operation are among them.
    pub(super) fn has(self, operation: u64) -> bool {
        operation / RUN % u64::from(self.of.get()) == u64::from(self.number.get() - 1)
    }
}

/// How many processes cut side by side where nobody says: mounting waits more than it works, so
/// that `processors` of them do not keep as many busy.
pub fn workers(order: &ReplayOrder, processors: u32) -> NonZeroU32 {
    let cuts = match order.places {
        Places::One(_) => 1,
        Places::All => order.survey.operations,
        Places::Drawn(count) => order.survey.flushes.saturating_add(count),
    };
    let most = u64::from(processors) * WORKERS_A_PROCESSOR;
    let workers = most.min(cuts / CUTS_MIN).min(order.images_max()).max(1);
    NonZeroU32::new(workers as u32).unwrap_or(NonZeroU32::MIN)
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        parsed.filter(|share| share.number <= share.of).ok_or_else(|| "it is K/N".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_is_in_one_share() {
        for of in 1..9 {
            let shares: Vec<Share> = Share::all(NonZeroU32::new(of).expect("not 0")).collect();
            for operation in 1..1000 {
                let having = shares.iter().filter(|share| share.has(operation)).count();
                assert_eq!(having, 1, "{operation} of {of}");
            }
        }
        assert!((1..1000).all(|operation| Share::WHOLE.has(operation)));
    }

    #[test]
    fn a_share_is_read_as_it_is_written() {
        for share in Share::all(NonZeroU32::new(3).expect("not 0")) {
            assert_eq!(share.to_string().parse(), Ok(share));
        }
        for text in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
