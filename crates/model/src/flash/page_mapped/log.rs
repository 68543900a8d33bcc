//! Where every unit lies: the map, the log that grows over all planes, and the cleaner behind it.
//! No time passes here; what flash has to do for it is told to a [`Work`].
//!
//! ```text
//!   superblock   one block of every plane; units run over the planes first:
//!
//!      plane 0   plane 1   ...   plane p-1
//!     | 0 1 2 3 | 4 5 6 7 |     |         |   a row of NAND pages (here of four units)
//!     |         |         |     |         |   the next row
//!
//!   free  -> open (written by host and cleaner) -> closed -> victim -> free
//! ```
//!
//! The cleaner is paced: from the moment a victim is chosen, every unit of the host moves as many
//! of the victim's as make it empty when the open superblock is full. No write waits for a whole
//! superblock.

use super::{
    contents::Contents,
    divider::Divider,
    map::Map,
    params::Cleaning,
    victims::{Candidate, Victims},
    wear::WearCount,
    work::{Counters, Origin, Work},
};
use std::collections::VecDeque;

/// The sizes that a log needs to know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Shape {
    /// Units the host may address.
    pub exported: u32,
    /// Superblocks of the drive.
    pub superblocks: u32,
    /// NAND pages that a superblock has on one plane.
    pub pages_per_block: u32,
    /// Planes.
    pub planes: u32,
    /// log2 of the units in a NAND page.
    pub page_shift: u32,
    /// Superblocks kept free, the open one among them.
    pub reserve: u32,
    /// How the cleaner chooses.
    pub cleaning: Cleaning,
    /// Spread of erase counts that calls for levelling.
    pub wear_spread: u32,
}

impl Shape {
    /// Units of a superblock.
    pub fn units(&self) -> u32 {
        (self.planes * self.pages_per_block) << self.page_shift
    }
}

/// A superblock that is being emptied.
#[derive(Clone, Copy, Debug)]
struct Victim {
    number: u32,
    /// The 64 places from this one on have been looked at,
    at: u32,
    /// and these of them, a bit each, held what is still to be moved.
    still_there: u64,
    /// Moves per `dead` units of the host.
    live: u32,
    dead: u32,
    owed: u32,
}

/// The map and the log.
#[derive(Debug)]
pub struct Log {
    pub(super) shape: Shape,
    pub(super) units: Divider,
    pub(super) map: Map,
    pub(super) contents: Contents,
    /// Mapped units of each superblock.
    pub(super) valid_in: Vec<u32>,
    pub(super) closed_at: Vec<u64>,
    /// All of them.
    pub(super) mapped: u64,
    pub(super) victims: Victims,
    pub(super) wear: WearCount,
    pub(super) free: VecDeque<u32>,
    /// The next unit of the open superblock, and where that ends.
    pub(super) next: u32,
    pub(super) end: u32,
    /// NAND pages to be filled until one more block of the next superblock is erased.
    until_erase: u32,
    victim: Option<Victim>,
    /// Units placed since the drive was made.
    pub(super) placed: u64,
    pub(super) counters: Counters,
}

impl Log {
    /// A drive that was never written.
    pub fn new(shape: Shape) -> Self {
        let (units, superblocks) = (shape.units(), shape.superblocks as usize);
        Self {
            shape,
            units: Divider::new(units),
            map: Map::new(shape.exported),
            contents: Contents::new(shape.superblocks, units),
            valid_in: vec![0; superblocks],
            closed_at: vec![0; superblocks],
            mapped: 0,
            victims: Victims::new(shape.cleaning, shape.superblocks, units),
            wear: WearCount::new(shape.superblocks),
            free: (1..shape.superblocks).collect(),
            next: 0,
            end: units,
            until_erase: shape.pages_per_block,
            victim: None,
            placed: 0,
            counters: Counters::default(),
        }
    }

    /// `logical` will be looked for soon.
    #[inline]
    pub fn prefetch(&self, logical: u32) {
        self.map.prefetch(logical);
    }

    /// The physical unit that holds `logical`.
    #[inline]
    pub fn find(&self, logical: u32) -> Option<u32> {
        self.map.find(logical)
    }

    /// How many NAND pages of the open superblock were completed after the one that holds
    /// `physical`; `None` if that lies elsewhere. The page that is being filled has completed
    /// `u32::MAX` pages ago.
    #[inline]
    pub fn pages_since(&self, physical: u32) -> Option<u32> {
        let start = self.end - self.shape.units();
        if physical < start || physical >= self.next {
            return None;
        }
        let page = physical >> self.shape.page_shift;
        Some((self.next >> self.shape.page_shift).wrapping_sub(page + 1))
    }

    /// The host writes units `first..end`, one after the other.
    #[inline]
    pub fn write(&mut self, first: u32, end: u32, work: &mut impl Work) {
        let mut logical = first;
        while logical < end {
            let many = (end - logical).min(self.end - self.next);
            if many > 1 && !self.is_cleaning() {
                self.write_run(logical, many, work);
                logical += many;
            } else {
                self.write_one(logical, work);
                logical += 1;
            }
        }
    }

    #[inline]
    fn write_one(&mut self, logical: u32, work: &mut impl Work) {
        // The cleaner, which moves before the unit has its new place, must not find it in the old.
        match self.map.take(logical) {
            Some(physical) => self.invalidate(physical),
            None => self.mapped += 1,
        }
        self.counters.host_units += 1;
        self.clean(work);
        self.append(logical, Origin::Host, work);
    }

    /// The same as writing `count` units one by one, where the open superblock has room for all of
    /// them and nothing is cleaned meanwhile.
    fn write_run(&mut self, logical: u32, count: u32, work: &mut impl Work) {
        self.mapped += u64::from(count);
        self.lose(logical, logical + count);
        self.counters.host_units += u64::from(count);
        let open = self.units.divide(self.next);
        let at = self.units.remainder(self.next);
        self.map.set_run(logical, count, self.next);
        self.contents.put_run(open, at, logical, count);
        self.valid_in[open as usize] += count;
        let end = self.next + count;
        let end_page = end >> self.shape.page_shift;
        self.placed += u64::from(count);
        loop {
            let page = self.next >> self.shape.page_shift;
            let pages = (end_page - page).min(self.until_erase);
            if pages == 0 {
                break;
            }
            (page..page + pages).for_each(|page| work.program(page, Origin::Host));
            self.next = (page + pages) << self.shape.page_shift;
            self.until_erase -= pages;
            if self.until_erase == 0 {
                self.until_erase = self.shape.pages_per_block;
                self.erase_ahead(work);
            }
        }
        self.next = end;
    }

    /// The host needs units `first..end` no more.
    pub fn discard(&mut self, first: u32, end: u32) {
        if first == 0 && end == self.shape.exported {
            for superblock in 0..self.shape.superblocks {
                self.lose_in(superblock, self.valid_in[superblock as usize]);
            }
            self.mapped = 0;
        } else {
            self.lose(first, end);
        }
        self.map.clear(first, end);
    }

    /// What units `first..end` map is valid no longer.
    fn lose(&mut self, first: u32, end: u32) {
        let Self { map, units, valid_in, victims, mapped, .. } = self;
        map.each_run(first, end, |count, physical| {
            *mapped -= u64::from(count);
            let (mut at, last) = (physical, physical + count);
            while at < last {
                let superblock = units.divide(at);
                let in_it = (last - at).min(units.divisor() - units.remainder(at));
                let valid = &mut valid_in[superblock as usize];
                *valid -= in_it;
                victims.lost(superblock, *valid);
                at += in_it;
            }
        });
    }

    fn lose_in(&mut self, superblock: u32, count: u32) {
        if count > 0 {
            let valid = &mut self.valid_in[superblock as usize];
            *valid -= count;
            self.victims.lost(superblock, *valid);
        }
    }

    /// Completes the NAND page that is being filled, if one is: with what the cleaner has to move,
    /// or else with nothing. Each unit left empty drives the cleaner on like one written.
    pub fn pad(&mut self, work: &mut impl Work) {
        let within_page = (1 << self.shape.page_shift) - 1;
        let page = self.next >> self.shape.page_shift;
        while self.next & within_page != 0 {
            self.clean(work);
            if self.next >> self.shape.page_shift != page {
                return;
            }
            let at = self.units.remainder(self.next);
            self.contents.leave_empty(self.units.divide(self.next), at);
            self.counters.padded_units += 1;
            self.placed += 1;
            self.next += 1;
            if self.next & within_page == 0 {
                self.complete_page(Origin::Host, work);
            }
        }
    }

    /// Mapped units.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    #[inline]
    fn invalidate(&mut self, physical: u32) {
        let superblock = self.units.divide(physical);
        let valid = &mut self.valid_in[superblock as usize];
        *valid -= 1;
        self.victims.lost(superblock, *valid);
    }

    /// The next unit of the log becomes `logical`'s.
    #[inline]
    fn append(&mut self, logical: u32, origin: Origin, work: &mut impl Work) {
        if self.next == self.end {
            self.open_next();
        }
        let physical = self.next;
        self.next += 1;
        self.placed += 1;
        let open = self.units.divide(physical);
        self.map.set(logical, physical);
        self.contents.put(open, self.units.remainder(physical), logical);
        self.valid_in[open as usize] += 1;
        if self.next & ((1 << self.shape.page_shift) - 1) == 0 {
            self.complete_page(origin, work);
        }
    }

    #[inline]
    fn complete_page(&mut self, origin: Origin, work: &mut impl Work) {
        work.program((self.next - 1) >> self.shape.page_shift, origin);
        self.until_erase -= 1;
        if self.until_erase == 0 {
            self.until_erase = self.shape.pages_per_block;
            self.erase_ahead(work);
        }
    }

    /// While a superblock fills, the next one is erased, a plane at a time.
    fn erase_ahead(&mut self, work: &mut impl Work) {
        let next_is_used = self.free.front().is_some_and(|&next| self.wear.of(next) > 0);
        if next_is_used {
            let units_left = self.end - self.next;
            let block_units = self.shape.pages_per_block << self.shape.page_shift;
            work.erase(units_left / block_units);
        }
    }

    fn open_next(&mut self) {
        let full = self.units.divide(self.next - 1);
        self.contents.close(full);
        self.closed_at[full as usize] = self.placed;
        self.victims.insert(full, self.valid_in[full as usize]);
        let open = self.free.pop_front().expect("the cleaner kept a superblock free");
        self.contents.open(open, full);
        self.next = open * self.shape.units();
        self.end = self.next + self.shape.units();
    }

    /// Units that can be written before something must have been emptied.
    fn room(&self) -> u64 {
        u64::from(self.end - self.next) + self.free.len() as u64 * u64::from(self.shape.units())
    }

    /// Whether something is being emptied, or has to be.
    #[inline]
    fn is_cleaning(&self) -> bool {
        self.victim.is_some() || self.free.len() < self.shape.reserve as usize
    }

    /// One unit of the host is about to be placed: moves what is due before it.
    #[inline]
    fn clean(&mut self, work: &mut impl Work) {
        if !self.is_cleaning() {
            return;
        }
        if self.victim.is_none() {
            self.choose_victim();
        }
        self.move_what_is_due(work);
        // The pace keeps room; only a drive of fully valid victims gets here and must wait for one.
        while self.room() <= self.room_needed() {
            self.empty_a_victim(work);
        }
    }

    /// What emptying the current victim, or the next, may take.
    fn room_needed(&self) -> u64 {
        match self.victim {
            Some(Victim { number, .. }) => u64::from(self.valid_in[number as usize]),
            None => u64::from(self.shape.units()),
        }
    }

    fn move_what_is_due(&mut self, work: &mut impl Work) {
        let Some(mut victim) = self.victim else { return };
        victim.owed += victim.live;
        while victim.owed >= victim.dead && self.holds_data(victim) {
            victim.owed -= victim.dead;
            self.move_next(&mut victim, work);
        }
        self.victim = Some(victim);
        if !self.holds_data(victim) {
            self.retire_victim();
        }
    }

    fn empty_a_victim(&mut self, work: &mut impl Work) {
        if self.victim.is_none() {
            self.choose_victim();
        }
        let mut victim = self.victim.expect("just chosen");
        while self.holds_data(victim) {
            self.move_next(&mut victim, work);
        }
        self.retire_victim();
    }

    #[inline]
    fn holds_data(&self, victim: Victim) -> bool {
        self.valid_in[victim.number as usize] > 0
    }

    fn choose_victim(&mut self) {
        let worn_least = self.wear.levels(self.shape.wear_spread, self.victims.iter());
        let number = worn_least.or_else(|| {
            self.victims.choose(|number| Candidate {
                valid: self.valid_in[number as usize],
                age: self.placed - self.closed_at[number as usize],
            })
        });
        let number = number.expect("a drive without room has closed superblocks");
        self.victims.remove(number);
        let (units, live) = (self.shape.units(), self.valid_in[number as usize]);
        // A victim that is nearly all valid is moved at 16 units for one of the host: beyond that
        // the reserve pays, not the host's latency.
        let dead = (units - live).max(units / 16).max(1);
        self.contents.look_at(number, &self.map);
        let still_there = self.contents.still_there(number, 0, &self.map);
        self.victim = Some(Victim { number, at: 0, still_there, live, dead, owed: 0 });
    }

    /// Moves the victim's next valid unit. Looking at 64 at a time lets the map's words come from
    /// memory side by side; what was overwritten since is left out when its turn has come.
    #[inline]
    fn move_next(&mut self, victim: &mut Victim, work: &mut impl Work) {
        let (physical, logical) = loop {
            while victim.still_there == 0 {
                victim.at += 64;
                assert!(victim.at < self.units.divisor(), "a count is wrong");
                victim.still_there = self.contents.still_there(victim.number, victim.at, &self.map);
            }
            let at = victim.at + victim.still_there.trailing_zeros();
            victim.still_there &= victim.still_there - 1;
            let physical = victim.number * self.units.divisor() + at;
            let logical = self.contents.logical(victim.number, at);
            if self.map.is_at(logical, physical) {
                break (physical, logical);
            }
        };
        work.read(physical >> self.shape.page_shift);
        self.counters.moved_units += 1;
        self.invalidate(physical);
        self.append(logical, Origin::Cleaner, work);
    }

    fn retire_victim(&mut self) {
        let Victim { number, .. } = self.victim.take().expect("a victim was being emptied");
        assert!(self.valid_in[number as usize] == 0, "superblock {number} still holds data");
        self.contents.empty(number);
        self.wear.erased(number);
        self.free.push_back(number);
    }
}
