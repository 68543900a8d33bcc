//! What each superblock was filled with, for the cleaner: the logical unit of every place.
//!
//! As in the map, what was written in order is runs, what was planted is computed, and the rest is
//! a word a unit. Nothing is taken out when a unit is overwritten or discarded: the map tells what
//! is still there.

use super::{map::Map, planted::Planted};
use std::mem;

/// Stands where nothing was put.
const NOBODY: u32 = u32::MAX;
/// A table takes over from runs when they are more than the superblock's units by this.
const UNITS_PER_RUN: u32 = 8;
/// Tables kept for the next superblocks.
const SPARE_MAX: usize = 2;

/// From `at` on, up to the next run, one logical unit after the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    at: u32,
    logical: u32,
}

impl Run {
    fn at_place(self, at: u32) -> u32 {
        self.logical.saturating_add(at - self.at)
    }
}

#[derive(Debug)]
enum Held {
    Runs(Vec<Run>),
    Table(Box<[u32]>),
    /// As the map's planted layout says.
    Planted,
}

/// Of all superblocks.
#[derive(Debug)]
pub struct Contents {
    units: u32,
    held: Vec<Held>,
    spare: Vec<Box<[u32]>>,
}

impl Contents {
    /// Nothing anywhere.
    pub fn new(superblocks: u32, units: u32) -> Self {
        let held = (0..superblocks).map(|_| Held::Runs(Vec::new())).collect();
        Self { units, held, spare: Vec::new() }
    }

    /// `superblock` holds what the map's planted layout says.
    pub fn plant(&mut self, superblock: u32) {
        self.held[superblock as usize] = Held::Planted;
    }

    /// `logical` is put into the place `at` of `superblock`.
    #[inline]
    pub fn put(&mut self, superblock: u32, at: u32, logical: u32) {
        match &mut self.held[superblock as usize] {
            Held::Table(table) => table[at as usize] = logical,
            _ => self.put_run(superblock, at, logical, 1),
        }
    }

    /// `count` units from `logical` on are put into the places from `at` on.
    pub fn put_run(&mut self, superblock: u32, at: u32, logical: u32, count: u32) {
        let runs_max = (self.units / UNITS_PER_RUN) as usize;
        match &mut self.held[superblock as usize] {
            Held::Table(table) => {
                let (run, places) = (Run { at, logical }, at..at + count);
                places.for_each(|at| table[at as usize] = run.at_place(at));
            }
            Held::Runs(runs) => {
                if runs.last().is_some_and(|run| run.at_place(at) == logical) {
                    return;
                }
                if runs.len() < runs_max {
                    runs.push(Run { at, logical });
                    return;
                }
                self.make_table(superblock, at);
                self.put_run(superblock, at, logical, count);
            }
            Held::Planted => unreachable!("superblock {superblock} was not emptied"),
        }
    }

    /// Nothing is put into the places from `at` on until something is.
    pub fn leave_empty(&mut self, superblock: u32, at: u32) {
        if matches!(self.held[superblock as usize], Held::Runs(_)) {
            self.put_run(superblock, at, NOBODY, 1);
        }
    }

    /// `superblock` is full.
    pub fn close(&mut self, superblock: u32) {
        let Held::Table(table) = &self.held[superblock as usize] else { return };
        let runs_max = (self.units / UNITS_PER_RUN) as usize;
        let goes_on = |place: usize| table[place] == table[place - 1].saturating_add(1);
        let starts = (0..table.len()).filter(|&place| place == 0 || !goes_on(place));
        let runs: Vec<Run> = starts
            .take(runs_max + 1)
            .map(|place| Run { at: place as u32, logical: table[place] })
            .collect();
        if runs.len() <= runs_max {
            self.empty(superblock);
            self.held[superblock as usize] = Held::Runs(runs);
        }
    }

    /// `superblock` is about to be filled after `previous`, most likely in the same way.
    pub fn open(&mut self, superblock: u32, previous: u32) {
        let empty = matches!(&self.held[superblock as usize], Held::Runs(runs) if runs.is_empty());
        assert!(empty, "superblock {superblock} was not emptied");
        if matches!(self.held[previous as usize], Held::Table(_)) {
            self.make_table(superblock, 0);
        }
    }

    /// `superblock` is to be emptied: what it holds is written out, if it was only computed.
    pub fn look_at(&mut self, superblock: u32, map: &Map) {
        if matches!(self.held[superblock as usize], Held::Planted) {
            let planted = map.planted().expect("what is as planted was planted");
            let _ = self.write_out(superblock, planted);
        }
    }

    /// Fills `superblock` with what `planted` says, and tells: by place, the logical units.
    pub fn write_out(
        &mut self,
        superblock: u32,
        planted: &Planted,
    ) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut table = self.table();
        planted.held(superblock).for_each(|(at, logical)| table[at as usize] = logical);
        self.held[superblock as usize] = Held::Table(table);
        let Held::Table(table) = &self.held[superblock as usize] else { unreachable!("just made") };
        (0..).zip(table.iter().copied()).filter(|&(_, logical)| logical != NOBODY)
    }

    /// `superblock` holds nothing any more.
    pub fn empty(&mut self, superblock: u32) {
        let none = Held::Runs(Vec::new());
        let held = mem::replace(&mut self.held[superblock as usize], none);
        if let Held::Table(table) = held
            && self.spare.len() < SPARE_MAX
        {
            self.spare.push(table);
        }
    }

    /// Which of the 64 places from `at` on still hold what was put there, a bit each.
    pub fn still_there(&self, superblock: u32, at: u32, map: &Map) -> u64 {
        let places = at..(at + 64).min(self.units);
        let start = superblock * self.units;
        let bit =
            |place: u32, logical: u32| u64::from(map.is_at(logical, start + place)) << (place - at);
        match &self.held[superblock as usize] {
            Held::Table(table) => {
                let held = &table[places.start as usize..places.end as usize];
                held.iter()
                    .zip(places)
                    .fold(0, |word, (&logical, place)| word | bit(place, logical))
            }
            Held::Runs(_) => {
                places.fold(0, |word, place| word | bit(place, self.logical(superblock, place)))
            }
            Held::Planted => unreachable!("superblock {superblock} was looked at"),
        }
    }

    /// The logical unit that was put into the place `at` of `superblock`.
    #[inline]
    pub fn logical(&self, superblock: u32, at: u32) -> u32 {
        match &self.held[superblock as usize] {
            Held::Table(table) => table[at as usize],
            Held::Runs(runs) => {
                let run = runs[..runs.partition_point(|run| run.at <= at)].last();
                run.map_or(NOBODY, |run| run.at_place(at))
            }
            Held::Planted => unreachable!("superblock {superblock} was looked at"),
        }
    }

    /// The same of any superblock.
    #[cfg(test)]
    pub fn logical_or_planted(&self, superblock: u32, at: u32, map: &Map) -> u32 {
        if !self.is_planted(superblock) {
            return self.logical(superblock, at);
        }
        let planted = map.planted().expect("what is as planted was planted");
        let held = planted.held(superblock).find(|&(place, _)| place == at);
        held.map_or(NOBODY, |(_, logical)| logical)
    }

    /// Whether `superblock` is as planted.
    #[cfg(test)]
    pub fn is_planted(&self, superblock: u32) -> bool {
        matches!(self.held[superblock as usize], Held::Planted)
    }

    /// Writes out what the first `filled` places hold, so that more may follow in any order.
    #[cold]
    fn make_table(&mut self, superblock: u32, filled: u32) {
        let mut table = self.table();
        for at in 0..filled {
            table[at as usize] = self.logical(superblock, at);
        }
        self.held[superblock as usize] = Held::Table(table);
    }

    fn table(&mut self) -> Box<[u32]> {
        match self.spare.pop() {
            Some(mut table) => {
                table.fill(NOBODY);
                table
            }
            None => vec![NOBODY; self.units as usize].into_boxed_slice(),
        }
    }
}
