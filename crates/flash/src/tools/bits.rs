//! A set of blocks or locations, a bit each: as large as a drive, and never larger. Only parts in
//! which something is take memory, as a volume may be far larger than its drive.

/// Bits of a part: a page of 4 KiB.
const PART: usize = 32_768;
type Part = Box<[u64; PART / 64]>;

/// Numbers from `first` on.
#[derive(Debug)]
pub(super) struct Bits {
    first: u32,
    parts: Vec<Option<Part>>,
}

impl Bits {
    /// None of `count` numbers from `first` on.
    pub fn new(first: u32, count: usize) -> Self {
        Self { first, parts: (0..count.div_ceil(PART)).map(|_| None).collect() }
    }

    fn place(&self, number: u32) -> (usize, usize, u64) {
        let at = (number - self.first) as usize;
        (at / PART, at % PART / 64, 1 << (at % 64))
    }

    /// Whether it was not there before.
    pub fn insert(&mut self, number: u32) -> bool {
        let (part, word, bit) = self.place(number);
        let words = self.parts[part].get_or_insert_with(|| Box::new([0; PART / 64]));
        let new = words[word] & bit == 0;
        words[word] |= bit;
        new
    }

    pub fn remove(&mut self, number: u32) {
        let (part, word, bit) = self.place(number);
        if let Some(words) = &mut self.parts[part] {
            words[word] &= !bit;
        }
    }

    /// Those that are in it, upwards.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let parts = self.parts.iter().enumerate();
        let parts = parts.filter_map(|(number, part)| Some((number, part.as_ref()?)));
        let words = parts.flat_map(|(number, part)| (number * PART..).step_by(64).zip(part.iter()));
        words.flat_map(move |(first, &word)| {
            let set = (0..64).filter(move |bit| word >> bit & 1 == 1);
            set.map(move |bit| self.first + (first + bit) as u32)
        })
    }

    pub fn contains(&self, number: u32) -> bool {
        let (part, word, bit) = self.place(number);
        self.parts[part].as_ref().is_some_and(|words| words[word] & bit != 0)
    }
}
