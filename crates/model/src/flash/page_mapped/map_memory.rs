//! Memory for a part of the map: a drive without DRAM keeps some of it in the host's memory (NVM
//! Express' Host Memory Buffer) or in its own, and reads the rest from flash when it is asked for.
//! Pages of the map that were not needed for longest give way.

use super::params::UNIT_BYTES;

/// Bytes of the map for a unit.
const ENTRY_BYTES: u64 = 4;
/// Units that a page of the map tells the places of.
const UNITS_PER_PAGE: u32 = UNIT_BYTES / ENTRY_BYTES as u32;
/// No page.
const NONE: u32 = u32::MAX;

/// Which pages of the map are in memory.
#[derive(Debug)]
pub struct MapMemory {
    /// Of each page of the map, its neighbours in the order of use; [`NONE`] at the ends.
    links: Vec<Link>,
    newest: u32,
    oldest: u32,
    held: u32,
    /// Pages that there is memory for.
    room: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    newer: u32,
    older: u32,
    is_held: bool,
}

impl MapMemory {
    /// Empty; of a drive with `units` units. `None` where all of its map finds room.
    pub fn new(bytes: u64, units: u64) -> Option<Self> {
        let pages = units.div_ceil(u64::from(UNITS_PER_PAGE));
        let room = bytes / u64::from(UNIT_BYTES);
        let link = Link { newer: NONE, older: NONE, is_held: false };
        (room < pages).then(|| Self {
            links: vec![link; pages as usize],
            newest: NONE,
            oldest: NONE,
            held: 0,
            room: room.max(1) as u32,
        })
    }

    /// The page of the map that has `unit` is needed: it, where it has to be read first.
    #[inline]
    pub fn need(&mut self, unit: u32) -> Option<u32> {
        let page = unit / UNITS_PER_PAGE;
        if page == self.newest {
            return None;
        }
        let was_held = self.links[page as usize].is_held;
        if was_held {
            self.unlink(page);
        } else if self.held == self.room {
            let oldest = self.oldest;
            self.unlink(oldest);
            self.links[oldest as usize].is_held = false;
        } else {
            self.held += 1;
        }
        self.put_first(page);
        debug_assert!(self.held <= self.room && self.newest == page, "{} held", self.held);
        (!was_held).then_some(page)
    }

    fn unlink(&mut self, page: u32) {
        let Link { newer, older, .. } = self.links[page as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
    }

    fn put_first(&mut self, page: u32) {
        self.links[page as usize] = Link { newer: NONE, older: self.newest, is_held: true };
        match self.newest {
            NONE => self.oldest = page,
            newest => self.links[newest as usize].newer = page,
        }
        self.newest = page;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;

    #[test]
    fn what_was_not_needed_for_longest_gives_way_as_in_a_plain_list() {
        let pages = 40;
        let units = u64::from(pages * UNITS_PER_PAGE);
        let mut memory = MapMemory::new(7 * u64::from(UNIT_BYTES), units).expect("a part of it");
        let (mut list, mut rng) = (Vec::new(), Rng::new(1, 0));
        for _ in 0..20_000 {
            // Low pages more often, so that some are held again and again.
            let page = (rng.next() % u64::from(pages)).min(rng.next() % u64::from(pages)) as u32;
            let missed = match list.iter().position(|held| *held == page) {
                Some(at) => {
                    list.remove(at);
                    None
                }
                None => Some(page),
            };
            list.insert(0, page);
            list.truncate(7);
            assert_eq!(memory.need(page * UNITS_PER_PAGE + 5), missed);
        }
    }

    #[test]
    fn memory_for_all_of_the_map_is_as_none() {
        let units = u64::from(3 * UNITS_PER_PAGE);
        assert!(MapMemory::new(3 * u64::from(UNIT_BYTES), units).is_none());
        assert!(MapMemory::new(2 * u64::from(UNIT_BYTES), units).is_some());
    }
}
