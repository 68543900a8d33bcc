//! A set of blocks or locations, a bit each: as large as a drive, and never larger. Only parts that
//! hold some numbers and lack others take memory, as a volume may be far larger than its drive.

use std::ops::Range;

/// Bits of a part: a page of 4 KiB.
const PART: usize = 32_768;
type Words = [u64; PART / 64];

#[derive(Debug)]
enum Part {
    Empty,
    Full,
    Mixed(Box<Words>),
}

impl Part {
    fn words(&mut self) -> &mut Words {
        if !matches!(self, Self::Mixed(_)) {
            let all = if matches!(self, Self::Full) { u64::MAX } else { 0 };
            *self = Self::Mixed(Box::new([all; PART / 64]));
        }
        match self {
            Self::Mixed(words) => words,
            Self::Empty | Self::Full => unreachable!("it was just made"),
        }
    }

    fn word(&self, at: usize) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Full => u64::MAX,
            Self::Mixed(words) => words[at],
        }
    }
}

/// Numbers from `first` on.
#[derive(Debug)]
pub(super) struct Bits {
    first: u32,
    count: usize,
    parts: Vec<Part>,
}

impl Bits {
    /// None of `count` numbers from `first` on.
    pub fn new(first: u32, count: usize) -> Self {
        let parts = (0..count.div_ceil(PART)).map(|_| Part::Empty).collect();
        Self { first, count, parts }
    }

    /// All numbers that are not in `others`, a set of the same.
    pub fn insert_all_but(&mut self, others: &Self) {
        assert!((self.first, self.count) == (others.first, others.count), "sets of the same");
        for (number, (part, other)) in self.parts.iter_mut().zip(&others.parts).enumerate() {
            let within = self.count - number * PART;
            match other {
                Part::Full => {}
                Part::Empty if within >= PART => *part = Part::Full,
                Part::Empty | Part::Mixed(_) => {
                    for (at, word) in part.words().iter_mut().enumerate() {
                        let left = within.saturating_sub(at * 64).min(64) as u32;
                        let there = u64::MAX.checked_shr(64 - left).unwrap_or(0);
                        *word |= !other.word(at) & there;
                    }
                }
            }
        }
    }

    fn place(&self, number: u32) -> (usize, usize, u64) {
        let at = (number - self.first) as usize;
        (at / PART, at % PART / 64, 1 << (at % 64))
    }

    /// Whether it was not there before.
    pub fn insert(&mut self, number: u32) -> bool {
        let (part, word, bit) = self.place(number);
        let new = self.parts[part].word(word) & bit == 0;
        if new {
            self.parts[part].words()[word] |= bit;
        }
        new
    }

    pub fn remove(&mut self, number: u32) {
        let (part, word, bit) = self.place(number);
        if self.parts[part].word(word) & bit != 0 {
            self.parts[part].words()[word] &= !bit;
        }
    }

    /// Those that are in it, upwards, as ranges of which some touch: what holds all numbers of a
    /// part is one.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        let mut place = 0;
        std::iter::from_fn(move || {
            while place < self.count {
                let first = place;
                let within = place % PART;
                let part = &self.parts[place / PART];
                let holds = match part {
                    Part::Empty | Part::Full => {
                        place += PART - within;
                        matches!(part, Part::Full)
                    }
                    Part::Mixed(words) => {
                        place += 1;
                        words[within / 64] & 1 << (within % 64) != 0
                    }
                };
                if holds {
                    return Some(self.first + first as u32..self.first + place as u32);
                }
            }
            None
        })
    }

    pub fn contains(&self, number: u32) -> bool {
        let (part, word, bit) = self.place(number);
        self.parts[part].word(word) & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rescue inserted the blocks of a volume one by one that was said to be far larger than its
    /// drive: a forged size of terabytes took minutes.
    #[test]
    fn all_but_some_are_those_that_were_not_there() {
        for count in [1, 63, 64, 65, PART - 1, PART, PART + 1, 3 * PART + 70] {
            let last = 10 + count as u32 - 1;
            let mut sure = Bits::new(10, count);
            let few = [10, last, 10 + count as u32 / 2];
            few.iter().for_each(|&number| _ = sure.insert(number));
            let mut rest = Bits::new(10, count);
            rest.insert_all_but(&sure);
            let expected: Vec<u32> = (10..=last).filter(|number| !few.contains(number)).collect();
            assert!(rest.ranges().flatten().eq(expected), "{count}");
            assert!(few.iter().all(|&number| !rest.contains(number) && sure.contains(number)));
            rest.insert_all_but(&Bits::new(10, count));
            assert_eq!(rest.ranges().flatten().count(), count);
            rest.remove(last);
            assert!(!rest.contains(last) && !sure.insert(last));
        }
    }

    #[test]
    fn the_largest_volume_takes_no_memory_of_its_size() {
        let count = u32::MAX as usize;
        let mut all = Bits::new(0, count);
        all.insert_all_but(&Bits::new(0, count));
        let mixed = all.parts.iter().filter(|part| matches!(part, Part::Mixed(_))).count();
        assert_eq!(mixed, 1);
        assert!(all.contains(0) && all.contains(u32::MAX - 1));
    }
}
