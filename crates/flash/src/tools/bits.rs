//! A set of blocks or locations, a bit each: as large as a drive, and never larger.

/// Numbers from `first` on.
#[derive(Debug)]
pub(super) struct Bits {
    first: u32,
    words: Vec<u64>,
}

impl Bits {
    /// None of `count` numbers from `first` on.
    pub fn new(first: u32, count: usize) -> Self {
        Self { first, words: vec![0; count.div_ceil(64)] }
    }

    fn place(&self, number: u32) -> (usize, u64) {
        let at = (number - self.first) as usize;
        (at / 64, 1 << (at % 64))
    }

    /// Whether it was not there before.
    pub fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = self.place(number);
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    pub fn remove(&mut self, number: u32) {
        let (word, bit) = self.place(number);
        self.words[word] &= !bit;
    }

    pub fn contains(&self, number: u32) -> bool {
        let (word, bit) = self.place(number);
        self.words[word] & bit != 0
    }
}
