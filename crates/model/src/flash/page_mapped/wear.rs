//! Erase counts, and which superblock static levelling empties.

/// Erases of the superblocks; each of its blocks has been erased as often.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wear {
    /// Of the least worn.
    pub min: u32,
    /// Over all.
    pub mean: f64,
    /// Of the most worn.
    pub max: u32,
}

/// The counts, with the least and the most worn at hand.
#[derive(Debug)]
pub struct WearCount {
    erases: Vec<u32>,
    /// How many superblocks have been erased so many times.
    with: Vec<u32>,
    min: u32,
}

impl WearCount {
    /// Nothing erased yet.
    pub fn new(superblocks: u32) -> Self {
        Self { erases: vec![0; superblocks as usize], with: vec![superblocks], min: 0 }
    }

    /// How often `superblock` was erased.
    pub fn of(&self, superblock: u32) -> u32 {
        self.erases[superblock as usize]
    }

    /// One more.
    pub fn erased(&mut self, superblock: u32) {
        let erases = &mut self.erases[superblock as usize];
        self.with[*erases as usize] -= 1;
        *erases += 1;
        if *erases as usize == self.with.len() {
            self.with.push(0);
        }
        self.with[*erases as usize] += 1;
        while self.with[self.min as usize] == 0 {
            self.min += 1;
        }
    }

    /// The least worn of `closed`, if the most worn of the drive is more than `spread` ahead of it:
    /// data lies there that nobody overwrites.
    pub fn levels(&self, spread: u32, closed: impl Iterator<Item = u32>) -> Option<u32> {
        let max = self.with.len() as u32 - 1;
        if max - self.min <= spread {
            return None;
        }
        closed
            .min_by_key(|&number| self.of(number))
            .filter(|&number| max - self.of(number) > spread)
    }

    /// The figures.
    pub fn summary(&self) -> Wear {
        let sum: u64 = self.erases.iter().map(|&erases| u64::from(erases)).sum();
        let mean = sum as f64 / self.erases.len() as f64;
        Wear { min: self.min, mean, max: self.with.len() as u32 - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_worn_is_named_once_the_spread_is_exceeded() {
        let mut wear = WearCount::new(3);
        for number in [0, 0, 1, 0] {
            wear.erased(number);
        }
        assert_eq!(wear.summary(), Wear { min: 0, mean: 4.0 / 3.0, max: 3 });
        assert_eq!(wear.levels(3, [0, 1, 2].into_iter()), None);
        assert_eq!(wear.levels(2, [0, 1, 2].into_iter()), Some(2));
        assert_eq!(wear.levels(2, [0, 1].into_iter()), None, "1 is two erases behind");
        wear.erased(2);
        assert_eq!(wear.summary().min, 1);
    }
}
