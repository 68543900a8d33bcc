//! What lies on the medium: sparse pages of cells, one cell a sector. A cell is the sector's bytes,
//! or the eight bytes of its stamp.
//!
//! Pages are shared between clones until one of them writes, so that a medium can be copied at
//! every point of a crash test for the price of its map.

use block::is_zero;
use std::{collections::BTreeMap, ops::Range, sync::Arc};

const PAGE_BYTES: usize = 4096;
static ZEROES: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
type Page = Arc<[u8; PAGE_BYTES]>;

/// Cells that were never written, or were discarded, hold zeroes and take no room.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    cell_bytes: usize,
    pages: BTreeMap<u64, Page>,
}

impl Cells {
    pub(super) fn new(cell_bytes: usize) -> Self {
        assert!(PAGE_BYTES.is_multiple_of(cell_bytes), "cells of {cell_bytes} B");
        Self { cell_bytes, pages: BTreeMap::new() }
    }

    pub(super) fn cell_bytes(&self) -> usize {
        self.cell_bytes
    }

    /// Memory taken by the pages, bytes.
    pub(super) fn resident_bytes(&self) -> u64 {
        (self.pages.len() * PAGE_BYTES) as u64
    }

    pub(super) fn get(&self, sector: u64) -> &[u8] {
        let (page, start) = self.place(sector);
        let page = self.pages.get(&page).map_or(&ZEROES, |page| &**page);
        &page[start..start + self.cell_bytes]
    }

    /// Whole cells from that sector on.
    pub(super) fn read(&self, sector: u64, into: &mut [u8]) {
        assert!(into.len().is_multiple_of(self.cell_bytes), "whole cells");
        let (first, start) = self.place(sector);
        let end = start + into.len();
        into.fill(0);
        let pages = first..first + end.div_ceil(PAGE_BYTES) as u64;
        for (&number, page) in self.pages.range(pages) {
            // Where the page lies, counted from the first page's beginning.
            let at = (number - first) as usize * PAGE_BYTES;
            let (from, to) = (at.max(start), (at + PAGE_BYTES).min(end));
            into[from - start..to - start].copy_from_slice(&page[from - at..to - at]);
        }
    }

    pub(super) fn set(&mut self, sector: u64, cell: &[u8]) {
        let (number, start) = self.place(sector);
        if !is_zero(cell) {
            let page = self.pages.entry(number).or_insert_with(|| Arc::new(ZEROES));
            match <&[u8; PAGE_BYTES]>::try_from(cell) {
                // Nothing of a shared page is worth a copy.
                Ok(whole) if Arc::get_mut(page).is_none() => *page = Arc::new(*whole),
                _ => Arc::make_mut(page)[start..start + self.cell_bytes].copy_from_slice(cell),
            }
        } else if let Some(page) = self.pages.get_mut(&number) {
            let page = Arc::make_mut(page);
            page[start..start + self.cell_bytes].fill(0);
            if is_zero(page) {
                self.pages.remove(&number);
            }
        }
    }

    /// Takes over a cell of other cells of the same size: whole pages are shared.
    pub(super) fn copy(&mut self, sector: u64, from: &Self, of: u64) {
        if self.cell_bytes < PAGE_BYTES {
            return self.set(sector, from.get(of));
        }
        match from.pages.get(&of) {
            Some(page) => self.pages.insert(sector, Arc::clone(page)),
            None => self.pages.remove(&sector),
        };
    }

    /// The sectors of `range` that may hold something else than zeroes: those of resident pages.
    pub(super) fn resident(&self, range: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let of_page = (PAGE_BYTES / self.cell_bytes) as u64;
        let pages = range.start / of_page..range.end.div_ceil(of_page);
        self.pages
            .range(pages)
            .flat_map(move |(&page, _)| page * of_page..(page + 1) * of_page)
            .filter(move |sector| range.contains(sector))
    }

    fn place(&self, sector: u64) -> (u64, usize) {
        let of_page = (PAGE_BYTES / self.cell_bytes) as u64;
        (sector / of_page, (sector % of_page) as usize * self.cell_bytes)
    }
}

/// Pages that both share are not looked at. A page of zeroes is never kept, so that equal contents
/// have equal pages.
impl PartialEq for Cells {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(one, two): ((&u64, &Page), (&u64, &Page))| {
            one.0 == two.0 && (Arc::ptr_eq(one.1, two.1) || one.1 == two.1)
        };
        self.cell_bytes == other.cell_bytes
            && self.pages.len() == other.pages.len()
            && self.pages.iter().zip(&other.pages).all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_at_once_are_those_read_one_by_one() {
        let mut cells = Cells::new(512);
        for sector in [0, 3, 8, 9, 15, 40, 41] {
            cells.set(sector, &[sector as u8 + 1; 512]);
        }
        for first in 0..20 {
            for count in [0, 1, 5, 8, 30] {
                let mut read = vec![7; count * 512];
                cells.read(first, &mut read);
                let one_by_one = (first..first + count as u64).flat_map(|it| cells.get(it));
                assert!(one_by_one.eq(&read), "{count} from {first}");
            }
        }
    }

    #[test]
    fn zeroes_take_no_room_and_clones_part_when_one_writes() {
        let mut cells = Cells::new(512);
        cells.set(9, &[7; 512]);
        let before = cells.clone();
        cells.set(9, &[0; 512]);
        cells.set(1 << 40, &[0; 512]);
        assert_eq!((cells.resident_bytes(), before.resident_bytes()), (0, PAGE_BYTES as u64));
        assert_eq!((cells.get(9), before.get(9)), ([0; 512].as_slice(), [7; 512].as_slice()));
        assert!(before != cells && before == before.clone());
        cells.set(9, &[7; 512]);
        assert!(before == cells, "the same bytes, on pages of their own");
        assert!(before.resident(9..10).eq([9]) && before.resident(0..u64::MAX).eq(8..16));
    }
}
