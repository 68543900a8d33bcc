//! One bit a page, with a bit above each word that says whether anything is set in it: the next set
//! bit of a sparse map of 16 million pages (64 GiB) is found in a few thousand words at worst, in
//! one or two as a rule.

use std::ops::Range;

const BITS: u64 = 64;

/// A set of page numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    /// Bit `n` of this map says that word `n` is not 0.
    occupied: Vec<u64>,
    count: u64,
}

impl Bitmap {
    /// Makes room for pages below `pages`; what was in the set stays.
    pub fn grow(&mut self, pages: u64) {
        let words = pages.div_ceil(BITS) as usize;
        if words > self.words.len() {
            self.words.resize(words, 0);
            self.occupied.resize(words.div_ceil(BITS as usize), 0);
        }
    }

    /// How many are in the set.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many of `pages` are in the set.
    pub fn count_in(&self, pages: Range<u64>) -> u64 {
        let each = masks(pages.start, pages.end.min(self.words.len() as u64 * BITS));
        each.map(|(word, mask)| u64::from((self.word(word) & mask).count_ones())).sum()
    }

    #[inline]
    pub fn contains(&self, page: u64) -> bool {
        self.words.get((page / BITS) as usize).is_some_and(|word| word >> (page % BITS) & 1 == 1)
    }

    /// Takes in `first..end`.
    #[inline]
    pub fn insert(&mut self, first: u64, end: u64) {
        for (word, mask) in masks(first, end) {
            self.count += u64::from((mask & !self.words[word]).count_ones());
            self.words[word] |= mask;
            self.occupied[word / BITS as usize] |= 1 << (word as u64 % BITS);
        }
    }

    /// Takes out `first..end`.
    #[inline]
    pub fn remove(&mut self, first: u64, end: u64) {
        for (word, mask) in masks(first, end) {
            self.remove_mask(word, mask);
        }
    }

    /// Takes out every page.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.occupied.fill(0);
        self.count = 0;
    }

    /// The 64 pages from `64 * word` on.
    #[inline]
    pub fn word(&self, word: usize) -> u64 {
        self.words.get(word).copied().unwrap_or(0)
    }

    /// Takes in those of the 64 pages from `64 * word` on that `mask` names.
    #[inline]
    pub fn insert_mask(&mut self, word: usize, mask: u64) {
        if mask != 0 {
            self.count += u64::from((mask & !self.words[word]).count_ones());
            self.words[word] |= mask;
            self.occupied[word / BITS as usize] |= 1 << (word as u64 % BITS);
        }
    }

    /// Takes out those of the 64 pages from `64 * word` on that `mask` names.
    #[inline]
    pub fn remove_mask(&mut self, word: usize, mask: u64) {
        self.count -= u64::from((mask & self.words[word]).count_ones());
        self.words[word] &= !mask;
        if self.words[word] == 0 {
            self.occupied[word / BITS as usize] &= !(1 << (word as u64 % BITS));
        }
    }

    /// The first page of the set in `from..end`.
    #[inline]
    pub fn next(&self, from: u64, end: u64) -> Option<u64> {
        if from >= end {
            return None;
        }
        let word = (from / BITS) as usize;
        let rest = self.word(word) & (u64::MAX << (from % BITS));
        let found = if rest == 0 {
            let word = self.next_occupied(word as u64 + 1)?;
            word * BITS + u64::from(self.words[word as usize].trailing_zeros())
        } else {
            word as u64 * BITS + u64::from(rest.trailing_zeros())
        };
        (found < end).then_some(found)
    }

    /// The first page of `from..end` that is not in the set, `end` if all are.
    #[inline]
    pub fn next_absent(&self, from: u64, end: u64) -> u64 {
        let mut at = from;
        while at < end {
            let absent = !self.word((at / BITS) as usize) & (u64::MAX << (at % BITS));
            at = at / BITS * BITS;
            if absent != 0 {
                return end.min(at + u64::from(absent.trailing_zeros()));
            }
            at += BITS;
        }
        end
    }

    fn next_occupied(&self, from: u64) -> Option<u64> {
        let mut at = (from / BITS) as usize;
        let mut rest = self.occupied.get(at)? & (u64::MAX << (from % BITS));
        while rest == 0 {
            at += 1;
            rest = *self.occupied.get(at)?;
        }
        Some(at as u64 * BITS + u64::from(rest.trailing_zeros()))
    }
}

/// The words that `first..end` touches, each with the bits of it.
#[inline]
pub(super) fn masks(first: u64, end: u64) -> impl Iterator<Item = (usize, u64)> {
    let words = if first < end { first / BITS..(end - 1) / BITS + 1 } else { 0..0 };
    words.map(move |word| {
        let start = word * BITS;
        let from = first.saturating_sub(start);
        let to = (end - start).min(BITS);
        (word as usize, (u64::MAX << from) & (u64::MAX >> (BITS - to)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn a_bitmap_agrees_with_an_ordered_set() {
        const PAGES: u64 = 20_000;
        let (mut bitmap, mut set, mut rng) = (Bitmap::default(), BTreeSet::new(), Rng::new(5, 0));
        bitmap.grow(PAGES);
        for _ in 0..4_000 {
            let first = rng.below(PAGES);
            let end = PAGES.min(first + rng.below(200));
            match rng.below(5) {
                0 | 1 => {
                    bitmap.insert(first, end);
                    set.extend(first..end);
                }
                2 | 3 => {
                    bitmap.remove(first, end);
                    (first..end).for_each(|page| {
                        set.remove(&page);
                    });
                }
                _ => {
                    assert_eq!(bitmap.next(first, PAGES), set.range(first..).next().copied());
                    let absent = (first..end).find(|page| !set.contains(page)).unwrap_or(end);
                    assert_eq!(bitmap.next_absent(first, end), absent);
                    assert_eq!(bitmap.contains(first), set.contains(&first));
                    let inside = set.range(first..end).count() as u64;
                    assert_eq!(bitmap.count_in(first..end), inside);
                }
            }
            assert_eq!(bitmap.count(), set.len() as u64);
        }
    }

    #[test]
    fn a_lone_page_is_found_far_away_and_a_bound_is_kept() {
        let mut bitmap = Bitmap::default();
        bitmap.grow(16 << 20);
        bitmap.insert(15_999_999, 16_000_000);
        assert_eq!(bitmap.next(0, 16 << 20), Some(15_999_999));
        assert_eq!(bitmap.next(0, 15_999_999), None);
        assert_eq!(bitmap.next(16_000_000, 16 << 20), None);
    }
}
