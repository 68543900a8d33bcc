//! From logical units to physical ones. What was written in order is kept as runs, what was
//! planted is computed, and only what was written at random has a word for every unit.
//!
//! ```text
//!   a page of 1,024 logical units is
//!     as at the start   nothing mapped, or all as planted
//!     runs              of units that lie one after the other
//!     a table           a word a unit: 0 nothing, 1 + its place, or "as planted"
//! ```

use super::planted::Planted;
use std::{mem, ops::Range};

/// Units of a page of the map: as many as have 4 KiB of words.
const PAGE: u32 = 1 << PAGE_SHIFT;
const PAGE_SHIFT: u32 = 10;
/// Runs of a page at most; a table takes over where more are needed.
const RUNS_MAX: usize = 64;
/// Stands in a table for a unit that lies where it was planted.
const AS_PLANTED: u32 = u32::MAX;

type Table = [u32; PAGE as usize];

/// Logical units of one page that lie one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    /// Within the page.
    first: u16,
    count: u16,
    physical: u32,
}

impl Run {
    fn end(self) -> u16 {
        self.first + self.count
    }

    /// The part of it from `first` to before `end`.
    fn part(self, first: u16, end: u16) -> Self {
        let physical = self.physical + u32::from(first - self.first);
        Self { first, count: end - first, physical }
    }
}

/// The map.
#[derive(Debug)]
pub struct Map {
    exported: u32,
    tables: Vec<Option<Box<Table>>>,
    /// Runs by their first unit, of pages without a table; `None` is as at the start. A vector of
    /// these takes no memory before it is used.
    runs: Vec<Option<Box<[Run]>>>,
    planted: Option<Planted>,
    /// So many pages were planted as a whole.
    planted_pages: usize,
}

impl Map {
    /// Of `exported` units, none mapped.
    pub fn new(exported: u32) -> Self {
        let pages = exported.div_ceil(PAGE) as usize;
        Self {
            exported,
            tables: vec![None; pages],
            runs: vec![None; pages],
            planted: None,
            planted_pages: 0,
        }
    }

    /// Everything lies as `planted` says from now on.
    pub fn plant(&mut self, planted: Planted) {
        let whole = (planted.used() / PAGE) as usize;
        self.planted_pages = whole;
        let rest = planted.used() % PAGE;
        if rest > 0 {
            let mut table = empty_table();
            table[..rest as usize].fill(AS_PLANTED);
            self.tables[whole] = Some(table);
        }
        self.planted = Some(planted);
    }

    /// Where units lie that were never written since.
    pub fn planted(&self) -> Option<&Planted> {
        self.planted.as_ref()
    }

    /// `logical` will be looked for soon.
    #[inline]
    pub fn prefetch(&self, logical: u32) {
        if let Some(table) = &self.tables[(logical >> PAGE_SHIFT) as usize] {
            block::prefetch(&table[(logical % PAGE) as usize]);
        }
    }

    /// The physical unit that holds `logical`.
    #[inline]
    pub fn find(&self, logical: u32) -> Option<u32> {
        if let Some(table) = &self.tables[(logical >> PAGE_SHIFT) as usize] {
            let entry = table[(logical % PAGE) as usize];
            if entry == AS_PLANTED {
                return Some(self.planted_place(logical));
            }
            return entry.checked_sub(1);
        }
        self.find_without_table(logical)
    }

    /// The same, and from then on none does.
    #[inline]
    pub fn take(&mut self, logical: u32) -> Option<u32> {
        if let Some(table) = &mut self.tables[(logical >> PAGE_SHIFT) as usize] {
            let entry = mem::take(&mut table[(logical % PAGE) as usize]);
            return match entry {
                AS_PLANTED => Some(self.planted_place(logical)),
                entry => entry.checked_sub(1),
            };
        }
        let physical = self.find_without_table(logical)?;
        self.clear(logical, logical + 1);
        Some(physical)
    }

    fn find_without_table(&self, logical: u32) -> Option<u32> {
        let page = (logical >> PAGE_SHIFT) as usize;
        if self.is_as_planted(page) {
            return Some(self.planted_place(logical));
        }
        let runs = self.runs[page].as_ref()?;
        let at = (logical % PAGE) as u16;
        let run = runs[..runs.partition_point(|run| run.first <= at)].last()?;
        (at < run.end()).then(|| run.physical + u32::from(at - run.first))
    }

    /// Whether every unit of `page` lies where it was planted.
    fn is_as_planted(&self, page: usize) -> bool {
        page < self.planted_pages && self.is_as_at_the_start(page)
    }

    fn is_as_at_the_start(&self, page: usize) -> bool {
        self.tables[page].is_none() && self.runs[page].is_none()
    }

    fn planted_place(&self, logical: u32) -> u32 {
        self.planted.as_ref().expect("what is as planted was planted").place_of(logical)
    }

    /// Whether `logical`, of which a superblock says that it was put into `physical`, is still
    /// there. A unit that lies as planted is named by no superblock but the one it was planted in.
    #[inline]
    pub fn is_at(&self, logical: u32, physical: u32) -> bool {
        if logical >= self.exported {
            return false; // Where a superblock holds nothing, it names what is not there.
        }
        let page = (logical >> PAGE_SHIFT) as usize;
        match &self.tables[page] {
            Some(table) => {
                let entry = table[(logical % PAGE) as usize];
                entry == physical + 1 || entry == AS_PLANTED
            }
            None => self.is_as_planted(page) || self.find_without_table(logical) == Some(physical),
        }
    }

    /// `logical` lies in `physical`.
    #[inline]
    pub fn set(&mut self, logical: u32, physical: u32) {
        match &mut self.tables[(logical >> PAGE_SHIFT) as usize] {
            Some(table) if logical % PAGE < PAGE - 1 => {
                table[(logical % PAGE) as usize] = physical + 1;
            }
            _ => self.set_run(logical, 1, physical),
        }
    }

    /// The first `used` units will be set one by one, in no order.
    pub fn expect_no_order(&mut self, used: u32) {
        self.tables[..used.div_ceil(PAGE) as usize].fill_with(|| Some(empty_table()));
    }

    /// `count` units from `logical` on lie in those from `physical` on.
    pub fn set_run(&mut self, logical: u32, count: u32, physical: u32) {
        for (page, within) in pages(logical..logical + count) {
            let to = physical + ((page as u32) << PAGE_SHIFT) + u32::from(within.start) - logical;
            let count = within.end - within.start;
            self.set_in_page(page, Run { first: within.start, count, physical: to });
        }
    }

    fn set_in_page(&mut self, page: usize, run: Run) {
        if u32::from(run.count) == PAGE {
            return self.become_runs(page, Box::new([run]));
        }
        if self.edit_runs(page, |runs| put(runs, run)) {
            return;
        }
        let table = self.table(page);
        let entries = &mut table[usize::from(run.first)..usize::from(run.end())];
        entries.iter_mut().zip(run.physical + 1..).for_each(|(entry, to)| *entry = to);
        if u32::from(run.end()) == PAGE && is_one_run(table) {
            // A writer in order has come to the end of the page.
            let whole = Run { first: 0, count: PAGE as u16, physical: table[0] - 1 };
            self.become_runs(page, Box::new([whole]));
        }
    }

    fn become_runs(&mut self, page: usize, runs: Box<[Run]>) {
        if self.tables[page].is_some() {
            self.tables[page] = None;
        }
        self.runs[page] = Some(runs);
    }

    /// Changes the runs of a page that may stay runs; false if it has to have a table.
    fn edit_runs(&mut self, page: usize, change: impl FnOnce(&mut Vec<Run>)) -> bool {
        if self.tables[page].is_some() || self.is_as_planted(page) {
            return false;
        }
        let mut runs = self.runs[page].take().unwrap_or_default().into_vec();
        if runs.len() + 2 > RUNS_MAX {
            self.runs[page] = Some(runs.into_boxed_slice());
            return false;
        }
        change(&mut runs);
        self.runs[page] = Some(runs.into_boxed_slice());
        true
    }

    /// The table of a page, with what the page said so far if it had none.
    fn table(&mut self, page: usize) -> &mut Table {
        if self.tables[page].is_none() {
            let mut table = empty_table();
            if self.is_as_planted(page) {
                table.fill(AS_PLANTED);
            }
            for run in self.runs[page].take().unwrap_or_default() {
                let entries = &mut table[usize::from(run.first)..usize::from(run.end())];
                entries.iter_mut().zip(run.physical + 1..).for_each(|(entry, to)| *entry = to);
            }
            self.tables[page] = Some(table);
        }
        self.tables[page].as_mut().expect("just made")
    }

    /// What units `first..end` map, in runs of at most a page each, in order: how many, and where
    /// the first lies.
    pub fn each_run(&self, first: u32, end: u32, mut what: impl FnMut(u32, u32)) {
        for (page, within) in pages(first..end) {
            if self.tables[page].is_none() && !self.is_as_planted(page) {
                for run in self.runs[page].iter().flatten() {
                    let (from, to) = (run.first.max(within.start), run.end().min(within.end));
                    if from < to {
                        what(u32::from(to - from), run.part(from, to).physical);
                    }
                }
                continue;
            }
            for at in within {
                let logical = ((page as u32) << PAGE_SHIFT) + u32::from(at);
                if let Some(physical) = self.find(logical) {
                    what(1, physical);
                }
            }
        }
    }

    /// Units `first..end` lie nowhere.
    pub fn clear(&mut self, first: u32, end: u32) {
        for (page, within) in pages(first..end) {
            if page >= self.planted_pages && self.is_as_at_the_start(page) {
                continue;
            }
            if within.len() == PAGE as usize {
                self.become_runs(page, Box::default());
            } else if !self.edit_runs(page, |runs| cut_out(runs, within.start, within.end)) {
                self.table(page)[usize::from(within.start)..usize::from(within.end)].fill(0);
            }
        }
    }
}

fn empty_table() -> Box<Table> {
    vec![0; PAGE as usize].into_boxed_slice().try_into().expect("as long as a table")
}

fn is_one_run(table: &Table) -> bool {
    (1..=AS_PLANTED - PAGE).contains(&table[0])
        && table.iter().zip(table[0]..).all(|(&entry, next)| entry == next)
}

/// A range of units by the pages of the map, and what of each.
fn pages(units: Range<u32>) -> impl Iterator<Item = (usize, Range<u16>)> {
    let Range { start, end } = units;
    (start >> PAGE_SHIFT..end.div_ceil(PAGE)).filter(move |_| start < end).map(move |page| {
        let begin = page << PAGE_SHIFT;
        let within = start.max(begin) - begin..(end - begin).min(PAGE);
        (page as usize, within.start as u16..within.end as u16)
    })
}

/// Which runs of `runs` have units in `first..end`.
fn touched(runs: &[Run], first: u16, end: u16) -> Range<usize> {
    let from = runs.partition_point(|run| run.end() <= first);
    from..from + runs[from..].partition_point(|run| run.first < end)
}

/// Takes `first..end` out.
fn cut_out(runs: &mut Vec<Run>, first: u16, end: u16) {
    let touched = touched(runs, first, end);
    let left = runs[touched.clone()].first().filter(|run| run.first < first).copied();
    let right = runs[touched.clone()].last().filter(|run| run.end() > end).copied();
    let left = left.map(|run| run.part(run.first, first));
    let right = right.map(|run| run.part(end, run.end()));
    if !touched.is_empty() {
        runs.splice(touched, left.into_iter().chain(right));
    }
}

/// Puts `run` in, in place of what was there, and together with what it goes on from.
fn put(runs: &mut Vec<Run>, run: Run) {
    cut_out(runs, run.first, run.end());
    let at = runs.partition_point(|other| other.first < run.first);
    if let Some(previous) = runs[..at].last_mut()
        && previous.end() == run.first
        && previous.physical + u32::from(previous.count) == run.physical
    {
        previous.count += run.count;
        return;
    }
    runs.insert(at, run);
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;

    /// Four pages and a part of one.
    const EXPORTED: u32 = 4 * PAGE + 300;

    /// The map against one word for every unit, from a state of which `oracle` knows.
    fn follow(mut map: Map, mut oracle: Vec<Option<u32>>, seed: u64) {
        let mut rng = Rng::new(seed, 0);
        let mut next = 1_000_000;
        for step in 0..20_000 {
            let first = rng.below(u64::from(EXPORTED)) as u32;
            // Mostly short, so that tables come about, and long enough to make an end of them.
            let longest = [1, 1, 40, 3_000][rng.below(4) as usize];
            let end = (first + 1 + rng.below(longest) as u32).min(EXPORTED);
            let units = first as usize..end as usize;
            match rng.below(8) {
                0 => {
                    map.clear(first, end);
                    oracle[units].fill(None);
                }
                1 => assert_eq!(map.take(first), oracle[first as usize].take()),
                2 => {
                    let mut seen = Vec::new();
                    map.each_run(first, end, |count, from| seen.extend(from..from + count));
                    assert!(oracle[units].iter().flatten().eq(&seen), "step {step}");
                }
                3 => {
                    map.set(first, next);
                    oracle[first as usize] = Some(next);
                    next += 1;
                }
                // A writer in order from the beginning of a page, a few units at a time.
                4 => {
                    let (begin, few) = (first / PAGE * PAGE, 1 + rng.below(500) as u32);
                    for from in (begin..(begin + PAGE).min(EXPORTED)).step_by(few as usize) {
                        let count = few.min(begin + PAGE - from).min(EXPORTED - from);
                        map.set_run(from, count, next);
                        for logical in from..from + count {
                            oracle[logical as usize] = Some(next);
                            next += 1;
                        }
                    }
                }
                _ => {
                    map.set_run(first, end - first, next);
                    let places = oracle[units].iter_mut().zip(next..);
                    places.for_each(|(place, physical)| *place = Some(physical));
                    next += end - first;
                }
            }
            if step % 200 == 0 {
                let found = (0..EXPORTED).map(|logical| map.find(logical));
                assert!(found.eq(oracle.iter().copied()), "step {step}");
                let holds = (0..)
                    .zip(&oracle)
                    .all(|(logical, &place)| place.is_none_or(|place| map.is_at(logical, place)));
                assert!(holds, "step {step}");
            }
        }
    }

    #[test]
    fn it_tells_what_a_word_for_every_unit_tells() {
        for seed in 0..4 {
            follow(Map::new(EXPORTED), vec![None; EXPORTED as usize], seed);
        }
    }

    #[test]
    fn it_tells_what_was_planted_until_that_is_written() {
        for used in [500, PAGE, 2 * PAGE + 7, EXPORTED] {
            let planted = Planted::new(&[used / 2, used - used / 2, 0], EXPORTED, 3);
            let place = |logical| (logical < used).then(|| planted.place_of(logical));
            let oracle = (0..EXPORTED).map(place).collect();
            let mut map = Map::new(EXPORTED);
            map.plant(planted);
            follow(map, oracle, u64::from(used));
        }
    }

    #[test]
    fn what_was_written_in_order_takes_a_run_a_page() {
        let mut map = Map::new(EXPORTED);
        let mut rng = Rng::new(1, 0);
        for round in 0..3 {
            (0..EXPORTED).for_each(|logical| map.set(logical, logical + round));
            let runs = map.runs.iter().flatten().map(|runs| runs.len());
            assert_eq!((runs.sum::<usize>(), map.tables.iter().flatten().count()), (5, 0));
            for _ in 0..4 * RUNS_MAX {
                // Not in the last page, whose end no writer reaches.
                map.set(rng.below(u64::from(4 * PAGE)) as u32, 1_000_000);
            }
            assert!(map.tables.iter().flatten().count() > 0, "round {round}");
        }
    }
}
