//! Flash that is run at one bit a cell, in front of the rest.
//!
//! ```text
//!   a host's page   the cache has room                    -> programmed at one bit a cell
//!                   none, but there is flash never filled -> programmed as the rest is
//!                   neither                               -> a cached page is folded for it
//!   an idle drive   folds what the cache holds
//! ```
//!
//! A page at one bit takes the cells of `bits_per_cell` pages. So a drive that is written whole at
//! once has three rates where its cache is large: until the cache is full, until the cells are all
//! taken, and after that at the rate of folding. Where the second ends follows from the flash that
//! there is; it is no parameter.

use super::params::SlcCache;

/// What a host's page costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placed {
    /// A program at one bit a cell.
    Cached,
    /// A program as of the rest.
    Direct,
    /// A program at one bit a cell, and before it a cached page moved to the rest.
    AfterFold,
}

/// The cache, in NAND pages.
#[derive(Debug)]
pub struct Slc {
    /// Program time at one bit a cell, ns.
    pub program_ns: u64,
    /// Time that a plane needs for a page that is folded into it, ns.
    pub fold_ns: u64,
    fixed: u64,
    /// What it has more of on a drive that holds nothing.
    dynamic: u64,
    bits_per_cell: u64,
    /// Pages of all flash, and of what is exported.
    physical: u64,
    exported: u64,
    /// Pages that are mapped, those in the cache among them.
    mapped: u64,
    used: u64,
    folded: u64,
    taken: u64,
}

impl Slc {
    /// Empty; `physical` and `exported` are the drive's NAND pages, `rest_ns` what a page of the
    /// rest takes to be read and programmed.
    pub fn new(
        cache: SlcCache,
        page_bytes: u64,
        physical: u64,
        exported: u64,
        rest_ns: u64,
    ) -> Self {
        Self {
            program_ns: cache.program_ns,
            fold_ns: cache.fold_ns.unwrap_or(rest_ns),
            fixed: cache.bytes / page_bytes,
            dynamic: cache.dynamic_bytes / page_bytes,
            bits_per_cell: u64::from(cache.bits_per_cell),
            physical,
            exported,
            mapped: 0,
            used: 0,
            folded: 0,
            taken: 0,
        }
    }

    /// How much of the drive is mapped, NAND pages.
    pub fn set_mapped(&mut self, pages: u64) {
        self.mapped = pages;
    }

    /// What the cache can take by now: its fixed part, and of the dynamic one the share that the
    /// drive's free space is of the drive.
    pub fn capacity(&self) -> u64 {
        let in_the_rest = self.mapped.saturating_sub(self.used).min(self.exported);
        let free = self.exported - in_the_rest;
        let share = u128::from(self.dynamic) * u128::from(free) / u128::from(self.exported.max(1));
        self.fixed + share as u64
    }

    /// Whether all cells are taken. The fixed part has cells of its own.
    fn is_out_of_cells(&self) -> bool {
        let borrowed = self.used.saturating_sub(self.fixed);
        borrowed > 0 && self.mapped + (self.bits_per_cell - 1) * borrowed >= self.physical
    }

    /// Places a page that the host has filled.
    pub fn place(&mut self) -> Placed {
        let is_out_of_cells = self.is_out_of_cells();
        if self.used < self.capacity() && !is_out_of_cells {
            self.used += 1;
            self.taken += 1;
            return Placed::Cached;
        }
        if !is_out_of_cells {
            return Placed::Direct;
        }
        self.taken += 1;
        self.folded += 1;
        Placed::AfterFold
    }

    /// An idle drive folds this many pages at most.
    pub fn fold(&mut self, pages: u64) {
        let pages = pages.min(self.used);
        self.used -= pages;
        self.folded += pages;
    }

    /// Pages in the cache.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Pages that were ever folded.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    /// Pages that were ever written into it.
    pub fn taken(&self) -> u64 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 pages exported of 1,100.
    fn slc(fixed: u64, dynamic: u64, bits_per_cell: u32) -> Slc {
        let cache = SlcCache {
            bytes: fixed,
            dynamic_bytes: dynamic,
            bits_per_cell,
            program_ns: 10,
            fold_ns: Some(100),
        };
        Slc::new(cache, 1, 1_100, 1_000, 60)
    }

    /// Pages of each way, in their order, for a drive that is written whole.
    fn whole(mut slc: Slc) -> Vec<(Placed, u64)> {
        let mut steps: Vec<(Placed, u64)> = Vec::new();
        for page in 0..1_000 {
            slc.set_mapped(page);
            let placed = slc.place();
            match steps.last_mut() {
                Some((last, count)) if *last == placed => *count += 1,
                _ => steps.push((placed, 1)),
            }
        }
        steps
    }

    #[test]
    fn a_drive_that_is_written_whole_has_the_steps_that_its_cells_allow() {
        // 280 pages at one bit take 840 of 1,100: 260 more go directly.
        let steps = whole(slc(0, 280, 3));
        assert_eq!(steps, [(Placed::Cached, 280), (Placed::Direct, 260), (Placed::AfterFold, 460)]);
    }

    #[test]
    fn a_used_drive_has_the_share_of_its_free_space() {
        let mut slc = slc(12, 280, 4);
        slc.set_mapped(800);
        assert_eq!(slc.capacity(), 12 + 56);
        slc.set_mapped(1_000);
        assert_eq!(slc.capacity(), 12);
    }

    #[test]
    fn a_fixed_cache_has_cells_of_its_own() {
        assert_eq!(whole(slc(100, 0, 3)), [(Placed::Cached, 100), (Placed::Direct, 900)]);
    }
}
