//! Where every block is. Pages of 4,096 B, as they lie on the drive: what is not mapped takes no
//! room. A look-up reads a page's place and a word of the page, no more: on a large volume each of
//! them is a miss of the processor's caches.

use crate::{format::block_crc, layout::Layout, shape::Checksums};

/// Reads as zeroes.
pub const UNMAPPED: u32 = 0;
/// Cannot be read any more. Neither number is in a segment.
pub const LOST: u32 = 1;

/// Memory for each page of the map: its words and what the allocator adds to them, its place, how
/// many of its blocks are mapped, its location and CRC, and whether it is dirty.
pub(crate) const PAGE_MEMORY_BYTES: u64 = 4096 + 16 + 8 + 4 + 8 + 1;

/// Words of a page.
const WORDS: usize = 1024;

/// Locations, each followed by the block's CRC where the map has checksums.
type Page = Box<[u32; WORDS]>;

/// The map, and where its pages are on the drive.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// A page has 2 to the power of this many entries.
    entries_log: u32,
    /// An entry has 2 to the power of this many words: 1 where the map has checksums, else 0.
    words_log: u32,
    pages: Vec<Option<Page>>,
    /// Of each page, how many of its blocks are mapped or lost.
    mapped_in: Vec<u32>,
    dirty: Vec<bool>,
    /// Location and CRC of each page; 0 for one in which nothing is mapped.
    directory: Vec<(u32, u32)>,
    /// Blocks that are mapped or lost.
    mapped: u32,
}

impl Map {
    pub fn new(layout: &Layout) -> Self {
        let (pages, entries) = (layout.pages as usize, layout.page_entries);
        Self::empty(pages, entries, layout.shape.checksums)
    }

    /// Of so many blocks, with checksums, whatever the volume's own map has.
    pub fn for_rescue(blocks: u32) -> Self {
        Self::empty(blocks.div_ceil(512) as usize, 512, Checksums::OnRead)
    }

    fn empty(pages: usize, page_entries: u32, checksums: Checksums) -> Self {
        let words_log = u32::from(checksums == Checksums::OnRead);
        assert_eq!((page_entries as usize) << words_log, WORDS, "entries fill a page");
        Self {
            entries_log: page_entries.trailing_zeros(),
            words_log,
            pages: (0..pages).map(|_| None).collect(),
            mapped_in: vec![0; pages],
            dirty: vec![false; pages],
            directory: vec![(0, 0); pages],
            mapped: 0,
        }
    }

    /// How many blocks are mapped.
    pub fn mapped(&self) -> u32 {
        self.mapped
    }

    /// How many pages there are.
    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Location and CRC of each page; 0 for one in which nothing is mapped.
    pub fn directory(&self) -> &[(u32, u32)] {
        &self.directory
    }

    /// Where the pages will be read from.
    ///
    /// # Panics
    /// If there are more or fewer of them, or some were read before.
    pub fn set_directory(&mut self, directory: &[(u32, u32)]) {
        assert_eq!(directory.len(), self.directory.len(), "a place for each page");
        assert_eq!(self.mapped, 0, "the pages are read after the directory");
        self.directory.copy_from_slice(directory);
    }

    /// A page was written as it is now, to this place, or nothing in it is mapped: says where it
    /// was.
    pub fn page_written(&mut self, page: u32, place: (u32, u32)) -> u32 {
        let is_mapped = self.pages[page as usize].is_some();
        assert_eq!(place.0 != 0, is_mapped, "page {page} at {place:?}");
        self.dirty[page as usize] = false;
        std::mem::replace(&mut self.directory[page as usize], place).0
    }

    /// A page lies elsewhere, its contents are the same.
    pub fn page_moved(&mut self, page: u32, location: u32) {
        let place = &mut self.directory[page as usize];
        assert!(place.0 > LOST && location > LOST, "page {page} from {place:?} to {location}");
        place.0 = location;
    }

    /// The page that a block is in, and the first word of its entry there.
    #[inline]
    fn place(&self, block: u32) -> (usize, usize) {
        let at = block & ((1 << self.entries_log) - 1);
        ((block >> self.entries_log) as usize, (at << self.words_log) as usize)
    }

    /// A block's location.
    #[inline]
    pub fn location(&self, block: u32) -> u32 {
        let (page, at) = self.place(block);
        self.pages[page].as_ref().map_or(UNMAPPED, |words| words[at])
    }

    /// A block's location, and the CRC of its data where the map has checksums.
    #[inline]
    pub fn get(&self, block: u32) -> (u32, Option<u32>) {
        let (page, at) = self.place(block);
        let crc = |words: &Page| (self.words_log == 1).then(|| words[at + 1]);
        let words = self.pages[page].as_ref();
        words.map_or((UNMAPPED, None), |words| (words[at], crc(words)))
    }

    /// Puts a block to a location and says where it was.
    #[inline]
    pub fn set(&mut self, block: u32, location: u32, crc: u32) -> u32 {
        let (number, at) = self.place(block);
        let page = &mut self.pages[number];
        if location == UNMAPPED && page.is_none() {
            return UNMAPPED;
        }
        let words = page.get_or_insert_with(blank);
        let before = std::mem::replace(&mut words[at], location);
        if self.words_log == 1 {
            words[at + 1] = crc;
        }
        self.dirty[number] = true;
        let change = |count: u32| {
            let left = (count + u32::from(location != UNMAPPED))
                .checked_sub(u32::from(before != UNMAPPED));
            left.expect("what is taken away was counted")
        };
        self.mapped_in[number] = change(self.mapped_in[number]);
        self.mapped = change(self.mapped);
        if self.mapped_in[number] == 0 {
            *page = None;
        }
        before
    }

    /// The locations of a page, in the order of its blocks.
    fn locations<'a>(&self, words: &'a Page) -> impl Iterator<Item = u32> + use<'a> {
        words.iter().copied().step_by(1 << self.words_log)
    }

    /// The first mapped block of `from..end`: whole pages without one are passed over.
    pub fn next_mapped(&self, from: u32, end: u32) -> Option<u32> {
        let mut block = from;
        while block < end {
            let (page, _) = self.place(block);
            let in_page = (1 << self.entries_log) - 1;
            if let Some(words) = &self.pages[page] {
                let at = block & in_page;
                let mut locations = self.locations(words).skip(at as usize);
                if let Some(after) = locations.position(|place| place != UNMAPPED) {
                    let found = block + after as u32;
                    return (found < end).then_some(found);
                }
            }
            // Behind the last page there may be no number that 32 bits hold.
            block = (block | in_page).checked_add(1)?;
        }
        None
    }

    /// Every mapped block with its location, and those lost.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let pages = self.pages.iter().zip((0..).step_by(1 << self.entries_log));
        pages
            .filter_map(|(words, first)| Some((words.as_ref()?, first)))
            .flat_map(|(words, first): (_, u32)| (first..=u32::MAX).zip(self.locations(words)))
            .filter(|&(_, location)| location != UNMAPPED)
    }

    pub fn is_dirty(&self, page: u32) -> bool {
        self.dirty[page as usize]
    }

    pub fn mark_dirty(&mut self, page: u32) {
        self.dirty[page as usize] = true;
    }

    /// The page as it goes to the drive; none if nothing in it is mapped.
    pub fn encode(&self, page: u32, bytes: &mut [u8]) -> bool {
        let Some(words) = &self.pages[page as usize] else { return false };
        let places = bytes.chunks_exact_mut(4).zip(words.iter());
        places.for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        true
    }

    /// Takes in a page that was read, if it is the one that the directory means and sane.
    pub fn decode(&mut self, layout: &Layout, number: u32, bytes: &[u8]) -> bool {
        if block_crc(number, &bytes[..4096]) != self.directory[number as usize].1 {
            return false;
        }
        let mut words = blank();
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        }
        let mut mapped = 0;
        let blocks = number << self.entries_log..=u32::MAX;
        for (location, block) in self.locations(&words).zip(blocks) {
            let is_beyond = block >= layout.exported_blocks && location != UNMAPPED;
            if is_beyond || location > LOST && !layout.contains(location) {
                return false;
            }
            mapped += u32::from(location != UNMAPPED);
        }
        let page = &mut self.pages[number as usize];
        assert!(page.is_none(), "page {number} is read once");
        *page = Some(words);
        self.mapped_in[number as usize] = mapped;
        self.mapped += mapped;
        true
    }

    /// Counts everything anew.
    ///
    /// # Panics
    /// If a count disagrees, or a page is not where the directory says and will not be written.
    pub fn audit(&self) {
        let mut mapped = 0;
        for (number, page) in self.pages.iter().enumerate() {
            let locations = page.iter().flat_map(|words| self.locations(words));
            let count = locations.filter(|&place| place != UNMAPPED).count() as u32;
            assert_eq!(count, self.mapped_in[number], "blocks mapped by page {number}");
            mapped += count;
        }
        assert_eq!(mapped, self.mapped, "blocks mapped");
        for (number, place) in self.directory.iter().enumerate() {
            let differs = (place.0 != 0) != self.pages[number].is_some();
            assert!(!differs || self.dirty[number], "page {number} at {place:?} is not dirty");
        }
    }

    /// A page that cannot be read: all its blocks are lost.
    pub fn lose(&mut self, number: u32, exported_blocks: u32) {
        let first = number << self.entries_log;
        for block in first..first.saturating_add(1 << self.entries_log).min(exported_blocks) {
            self.set(block, LOST, 0);
        }
    }
}

/// A page in which nothing is mapped.
fn blank() -> Page {
    let words = vec![UNMAPPED; WORDS].into_boxed_slice();
    words.try_into().expect("as many as asked for")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind the last page of the largest volume comes block 2^32, which 32 bits do not hold: a
    /// search for what is mapped began again at block 0, for ever, and of a page that could not be
    /// read no block was lost.
    #[test]
    fn the_last_page_of_the_largest_volume_is_as_the_others() {
        let end = u32::MAX - 1;
        let mut map = Map::for_rescue(end);
        assert_eq!(map.next_mapped(end - 3, end), None);
        map.set(end - 2, 7, 0);
        assert_eq!(map.next_mapped(end - 600, end), Some(end - 2));
        assert_eq!(map.next_mapped(end - 1, end), None);
        assert!(map.iter().eq([(end - 2, 7)]));
        let last = end / 512;
        map.lose(last, end);
        assert!((last * 512..end).all(|block| map.location(block) == LOST));
        assert_eq!(map.mapped(), end - last * 512);
    }
}
