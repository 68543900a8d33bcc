//! Where in a log the power is cut.

use block::{Rng, split_mix};
use std::{collections::BTreeMap, fmt, ops::Range, str::FromStr};
use target::write_log::{Operation, Survey};

/// A cut in an operation comes at latest so long after it was sent, in virtual time, as a power of
/// two of nanoseconds: 33 ms, some turns of a disk. From 1 us on each power of two is as likely.
const DELAY_POWERS: Range<u64> = 10..25;

/// A place in a log: an operation, and how often it was drawn before. Its text is `17:0`, behind
/// operation 17, or `17:3`, the third of those that were drawn while operation 17 is under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    operation: u64,
    draw: u32,
}

/// Which places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// Behind every flush, and so many that are drawn.
    Drawn(u64),
    /// Behind every operation.
    All,
    /// This one.
    One(Place),
}

/// The places of a log, in its order.
#[derive(Debug)]
pub struct Placed {
    places: Places,
    first: u64,
    last: u64,
    seed: u64,
    /// How many places are drawn in an operation.
    drawn: BTreeMap<u64, u32>,
}

impl Places {
    /// Refuses a place that the log does not have, or where nothing was promised.
    pub(super) fn check(self, survey: &Survey) -> Result<(), String> {
        let (Self::One(place), Some(first)) = (self, survey.first_promise()) else { return Ok(()) };
        let last = survey.operations;
        if place.operations_before() >= first && place.operation <= last {
            return Ok(());
        }
        Err(format!(
            "the cut {place} is none of this log: name one from {first}:0, behind the first \
             promise, to {last}:0"
        ))
    }

    /// Those of a log. The first is behind the first promise, or in the operation that follows:
    /// before there is nothing to check.
    pub fn of(self, survey: &Survey, seed: u64) -> Placed {
        let first = survey.first_promise().unwrap_or(survey.operations);
        let mut drawn = BTreeMap::new();
        if let Self::Drawn(count) = self {
            let mut rng = Rng::new(seed, 0x706c_6163_6573);
            let among = survey.operations - first;
            for _ in 0..if among > 0 { count } else { 0 } {
                *drawn.entry(first + 1 + rng.below(among)).or_default() += 1;
            }
        }
        let last = match self {
            Self::One(place) => place.operation.min(survey.operations),
            Self::Drawn(_) | Self::All => survey.operations,
        };
        Placed { places: self, first, last, seed, drawn }
    }
}

impl Placed {
    /// The last operation in which or behind which there is one.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Those in and behind an operation, in the order of time.
    pub fn at(&self, number: u64, operation: Operation) -> Vec<Place> {
        let place = |draw| Place { operation: number, draw };
        if let Places::One(one) = self.places {
            return if one.operation == number { vec![one] } else { Vec::new() };
        }
        if number < self.first {
            return Vec::new();
        }
        let count = self.drawn.get(&number).copied().unwrap_or_default();
        let mut places: Vec<Place> = (1..=count).map(place).collect();
        places.sort_by_key(|place| place.delay_ns(self.seed));
        if self.places == Places::All || operation == Operation::Flush {
            places.push(place(0));
        }
        places
    }
}

impl Place {
    /// How many operations are answered for certain.
    pub fn operations_before(self) -> u64 {
        if self.draw == 0 { self.operation } else { self.operation - 1 }
    }

    /// What the cut is drawn from.
    pub fn seed(self, seed: u64) -> u64 {
        let mut state = seed ^ self.operation << 20 ^ u64::from(self.draw);
        split_mix(&mut state)
    }

    /// How long the operation is under way then, if it takes so long; none behind it.
    pub fn delay_ns(self, seed: u64) -> Option<u64> {
        (self.draw > 0).then(|| {
            let mut rng = Rng::new(self.seed(seed), 0x0064_656c_6179);
            let power = DELAY_POWERS.start + rng.below(DELAY_POWERS.end - DELAY_POWERS.start);
            (1 << power) + rng.below(1 << power)
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.operation, self.draw)
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(operation, draw)| {
            Some(Self { operation: operation.parse().ok()?, draw: draw.parse().ok()? })
        });
        parsed.filter(|place| place.operation > 0).ok_or_else(|| {
            "it is OPERATION:DRAW, as the table of cuts names it, such as 1204:0".to_owned()
        })
    }
}

impl FromStr for Places {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            _ => text.parse().map(Self::Drawn).map_err(|_| {
                "it is a number of cuts beside those behind flushes, or `all`".to_owned()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use target::write_log::{Head, Promise};

    fn survey() -> Survey {
        Survey {
            head: Head { device_bytes: 1 << 20, block_bytes: 512 },
            operations: 100,
            flushes: 10,
            written_bytes: 0,
            promises: vec![Promise { after: 40, id: "0".to_owned() }],
            command: Vec::new(),
        }
    }

    fn all(places: Places, seed: u64) -> Vec<Place> {
        let placed = places.of(&survey(), seed);
        let operation = |number: u64| match number % 10 {
            0 => Operation::Flush,
            _ => Operation::Discard { offset: 0, bytes: 512 },
        };
        (1..=placed.last()).flat_map(|number| placed.at(number, operation(number))).collect()
    }

    #[test]
    fn every_flush_behind_the_first_promise_is_a_place_and_others_are_drawn() {
        let text = |places: &[Place]| places.iter().map(ToString::to_string).collect::<Vec<_>>();
        let flushes = ["40:0", "50:0", "60:0", "70:0", "80:0", "90:0", "100:0"];
        assert_eq!(text(&all(Places::Drawn(0), 1)), flushes);
        let drawn = all(Places::Drawn(200), 1);
        assert_eq!(drawn.len(), flushes.len() + 200);
        assert_eq!(drawn, all(Places::Drawn(200), 1), "they replay");
        assert_ne!(drawn, all(Places::Drawn(200), 2));
        assert!(drawn.iter().all(|place| place.operations_before() >= 40));
        let distinct: std::collections::BTreeSet<_> = drawn.iter().collect();
        assert_eq!(distinct.len(), drawn.len());
        assert_eq!(all(Places::All, 1).len(), 61);
        let one = drawn[17];
        assert_eq!(all(Places::One(one.to_string().parse().expect("its text")), 1), [one]);
    }

    #[test]
    fn those_in_an_operation_come_in_the_order_of_time_and_before_its_end() {
        let drawn = all(Places::Drawn(2000), 7);
        for pair in drawn.windows(2).filter(|pair| pair[0].operation == pair[1].operation) {
            let [earlier, later] = [0, 1].map(|at| pair[at].delay_ns(7));
            assert!(later.is_none() || earlier.is_some() && earlier <= later, "{pair:?}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for (text, is_one) in [("39:0", false), ("40:0", true), ("40:1", false), ("101:0", false)] {
            let places = Places::One(text.parse().expect("a place"));
            assert_eq!(places.check(&survey()).is_ok(), is_one, "{text}");
        }
        for text in ["", "7", "7:", ":0", "0:0", "a:b", "7:-1"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
        assert!("some".parse::<Places>().is_err());
    }
}
