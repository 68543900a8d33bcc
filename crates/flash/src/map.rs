//! Where every block is. Pages of 4,096 B, as they lie on the drive: what is not mapped takes no
//! room.

use crate::{format::block_crc, layout::Layout, shape::Checksums};

/// Reads as zeroes.
pub const UNMAPPED: u32 = 0;
/// Cannot be read any more. Neither number is in a segment.
pub const LOST: u32 = 1;

/// Memory for each page of the map: its entries and what the allocator adds to three allocations,
/// its place, its location and CRC, and whether it is dirty.
pub(crate) const PAGE_MEMORY_BYTES: u64 = 4096 + 3 * 16 + (size_of::<Page>() + 8 + 8 + 1) as u64;

/// The map, and where its pages are on the drive.
#[derive(Debug)]
pub(crate) struct Map {
    page_entries: u32,
    checksums: Checksums,
    pages: Vec<Option<Box<Page>>>,
    dirty: Vec<bool>,
    /// Location and CRC of each page; 0 for one in which nothing is mapped.
    directory: Vec<(u32, u32)>,
    /// Blocks that are mapped or lost.
    mapped: u32,
}

#[derive(Debug)]
struct Page {
    locations: Box<[u32]>,
    crcs: Box<[u32]>,
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
        Self {
            page_entries,
            checksums,
            pages: (0..pages).map(|_| None).collect(),
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

    /// A block's location, and the CRC of its data where the map has checksums.
    #[inline]
    pub fn get(&self, block: u32) -> (u32, Option<u32>) {
        let (page, at) = (block / self.page_entries, (block % self.page_entries) as usize);
        match &self.pages[page as usize] {
            None => (UNMAPPED, None),
            Some(page) => (page.locations[at], page.crcs.get(at).copied()),
        }
    }

    /// Puts a block to a location and says where it was.
    #[inline]
    pub fn set(&mut self, block: u32, location: u32, crc: u32) -> u32 {
        let (number, at) = (block / self.page_entries, (block % self.page_entries) as usize);
        let place = &mut self.pages[number as usize];
        if location == UNMAPPED && place.is_none() {
            return UNMAPPED;
        }
        let page = place.get_or_insert_with(|| Page::new(self.page_entries, self.checksums));
        let before = std::mem::replace(&mut page.locations[at], location);
        if let Some(place) = page.crcs.get_mut(at) {
            *place = crc;
        }
        self.dirty[number as usize] = true;
        let change = |count: u32| {
            let left = (count + u32::from(location != UNMAPPED))
                .checked_sub(u32::from(before != UNMAPPED));
            left.expect("what is taken away was counted")
        };
        page.mapped = change(page.mapped);
        self.mapped = change(self.mapped);
        if page.mapped == 0 {
            *place = None;
        }
        before
    }

    /// The first mapped block of `from..end`: whole pages without one are passed over.
    pub fn next_mapped(&self, from: u32, end: u32) -> Option<u32> {
        let mut block = from;
        while block < end {
            let page_end = (block / self.page_entries + 1) * self.page_entries;
            if let Some(page) = &self.pages[(block / self.page_entries) as usize] {
                let at = (block % self.page_entries) as usize;
                let found = page.locations[at..].iter().position(|&place| place != UNMAPPED);
                if let Some(after) = found {
                    let found = block + after as u32;
                    return (found < end).then_some(found);
                }
            }
            block = page_end;
        }
        None
    }

    /// Every mapped block with its location, and those lost.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let pages = self.pages.iter().zip((0..).step_by(self.page_entries as usize));
        pages
            .filter_map(|(page, first)| Some((page.as_ref()?, first)))
            .flat_map(|(page, first)| {
                page.locations.iter().zip(first..).map(|(&location, block)| (block, location))
            })
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
        let Some(page) = &self.pages[page as usize] else { return false };
        let words = bytes.chunks_exact_mut(4);
        match self.checksums {
            Checksums::OnCleaning => words
                .zip(&page.locations)
                .for_each(|(word, value)| word.copy_from_slice(&value.to_le_bytes())),
            Checksums::OnRead => words
                .zip(page.locations.iter().zip(&page.crcs).flat_map(|(a, b)| [a, b]))
                .for_each(|(word, value)| word.copy_from_slice(&value.to_le_bytes())),
        }
        true
    }

    /// Takes in a page that was read, if it is the one that the directory means and sane.
    pub fn decode(&mut self, layout: &Layout, number: u32, bytes: &[u8]) -> bool {
        if block_crc(number, &bytes[..4096]) != self.directory[number as usize].1 {
            return false;
        }
        let word = |at: usize| {
            u32::from_le_bytes(bytes[at * 4..at * 4 + 4].try_into().expect("four bytes"))
        };
        let mut page = Page::new(self.page_entries, self.checksums);
        for at in 0..self.page_entries as usize {
            let (location, crc) = match self.checksums {
                Checksums::OnCleaning => (word(at), None),
                Checksums::OnRead => (word(at * 2), Some(word(at * 2 + 1))),
            };
            let block = number * self.page_entries + at as u32;
            let is_beyond = block >= layout.exported_blocks && location != UNMAPPED;
            if is_beyond || location > LOST && !layout.contains(location) {
                return false;
            }
            page.locations[at] = location;
            if let Some(crc) = crc {
                page.crcs[at] = crc;
            }
            page.mapped += u32::from(location != UNMAPPED);
        }
        let place = &mut self.pages[number as usize];
        assert!(place.is_none(), "page {number} is read once");
        self.mapped += page.mapped;
        *place = Some(page);
        true
    }

    /// Counts everything anew.
    ///
    /// # Panics
    /// If a count disagrees, or a page is not where the directory says and will not be written.
    pub fn audit(&self) {
        let mut mapped = 0;
        for (number, page) in self.pages.iter().enumerate() {
            let Some(page) = page else { continue };
            let count = page.locations.iter().filter(|&&place| place != UNMAPPED).count() as u32;
            assert_eq!(count, page.mapped, "blocks mapped by page {number}");
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
        let first = number * self.page_entries;
        for block in first..(first + self.page_entries).min(exported_blocks) {
            self.set(block, LOST, 0);
        }
    }
}

impl Page {
    fn new(entries: u32, checksums: Checksums) -> Box<Self> {
        let entries = entries as usize;
        let crcs = if checksums == Checksums::OnRead { entries } else { 0 };
        Box::new(Self {
            locations: vec![UNMAPPED; entries].into(),
            crcs: vec![0; crcs].into(),
            mapped: 0,
        })
    }
}
