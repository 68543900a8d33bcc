//! Memory for a part of the map: a drive without DRAM keeps some of it in the host's memory (NVM
//! Express' Host Memory Buffer) or in its own, and reads the rest from flash when it is asked for.
//! Pages of the map that were not needed for longest give way.

use super::params::UNIT_BYTES;
use cache::{Access, Policy, Replacement};
use std::{fmt, ops::RangeInclusive};

/// Bytes of the map for a unit.
const ENTRY_BYTES: u64 = 4;
/// Units that a page of the map tells the places of.
const UNITS_PER_PAGE: u32 = UNIT_BYTES / ENTRY_BYTES as u32;

/// Which pages of the map are in memory.
pub struct MapMemory {
    pages: Box<dyn Replacement>,
}

impl MapMemory {
    /// Empty; of a drive with `units` units. `None` where all of its map finds room.
    pub fn new(bytes: u64, units: u64) -> Option<Self> {
        let pages = units.div_ceil(u64::from(UNITS_PER_PAGE));
        let room = bytes / u64::from(UNIT_BYTES);
        (room < pages).then(|| Self { pages: Policy::Lru.cache(room.max(1) as usize) })
    }

    /// The pages of the map that have the units from `first` to before `end`.
    pub fn pages_of(first: u32, end: u32) -> RangeInclusive<u32> {
        first / UNITS_PER_PAGE..=(end - 1) / UNITS_PER_PAGE
    }

    /// A page of the map is needed; whether it has to be read first.
    pub fn misses(&mut self, page: u32) -> bool {
        self.pages.access(page.into()) != Access::Hit
    }
}

impl fmt::Debug for MapMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapMemory({} pages)", self.pages.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_all_of_the_map_is_as_none() {
        let units = u64::from(3 * UNITS_PER_PAGE);
        assert!(MapMemory::new(3 * u64::from(UNIT_BYTES), units).is_none());
        assert!(MapMemory::new(2 * u64::from(UNIT_BYTES), units).is_some());
    }

    #[test]
    fn units_side_by_side_are_on_one_page_or_on_neighbours() {
        assert_eq!(MapMemory::pages_of(0, UNITS_PER_PAGE), 0..=0);
        assert_eq!(MapMemory::pages_of(UNITS_PER_PAGE - 1, UNITS_PER_PAGE + 1), 0..=1);
    }
}
