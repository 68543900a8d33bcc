//! The memory that the battery keeps: lines, and which rows are still to be written.

use super::Origin;
use block::{Extent, Instant, Payload};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

/// What memory is given out by.
pub(super) const LINE_BYTES: u64 = 4096;
/// What of a line is there or not.
pub(super) const SECTOR_BYTES: u64 = 512;
/// Sectors of a line.
const SECTORS: u64 = LINE_BYTES / SECTOR_BYTES;

/// Bytes of a line, where any are kept.
pub(super) type Bytes = Option<Arc<[u8; LINE_BYTES as usize]>>;

/// What the battery keeps over a power cut: everything that the members do not hold for sure.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BatteryMemory {
    pub(super) lines: BTreeMap<u64, Kept>,
    /// What was being discarded: its first byte, and how many.
    pub(super) discard: Option<(u64, u64)>,
}

/// Part of a line, newer than what lies below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Kept {
    /// Sectors that are there, bit by bit.
    pub sectors: u8,
    pub bytes: Bytes,
}

#[derive(Debug)]
pub(super) struct Line {
    pub kept: Kept,
    pub state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Dirty,
    /// On its way to the members.
    Destaging,
    /// With the members, by the write of this number, and no flush has covered it yet.
    Written(u64),
}

/// A row with something to write, or that is being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Dirty lines that nobody writes yet.
    pub dirty: u64,
    /// Since when.
    pub since: Instant,
    pub is_busy: bool,
    /// A power cut may have left its parity as it was before a write, or its data.
    pub is_doubtful: bool,
    /// It could not be written.
    pub is_stuck: bool,
}

/// Lines and rows.
#[derive(Debug)]
pub(super) struct Memory {
    lines: BTreeMap<u64, Line>,
    rows: BTreeMap<u64, Row>,
    /// Rows that could be destaged now, by place and by age.
    ready: BTreeSet<u64>,
    ages: BTreeSet<(Instant, u64)>,
    /// Lines that are dirty or being destaged, and the dirty ones alone.
    dirty: u64,
    unsent: u64,
    doubtful: u64,
    pub lines_max: u64,
    pub lines_per_row: u64,
}

impl Memory {
    pub fn new(lines_max: u64, lines_per_row: u64, origin: Origin) -> Self {
        let mut new = Self {
            lines: BTreeMap::new(),
            rows: BTreeMap::new(),
            ready: BTreeSet::new(),
            ages: BTreeSet::new(),
            dirty: 0,
            unsent: 0,
            doubtful: 0,
            lines_max,
            lines_per_row,
        };
        let Origin::PowerCut(kept) = origin else { return new };
        for (number, kept) in kept.lines {
            new.lines.insert(number, Line { kept, state: State::Dirty });
            new.dirty += 1;
            new.add_dirty(number / lines_per_row, Instant(0), true);
        }
        new
    }

    /// The lines that the battery keeps.
    pub fn kept(&self) -> BTreeMap<u64, Kept> {
        self.lines.iter().map(|(&at, line)| (at, line.kept.clone())).collect()
    }

    /// Lines that are there.
    pub fn len(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Lines that are still to be written, or on their way.
    pub fn dirty(&self) -> u64 {
        self.dirty
    }

    /// Lines that are still to be written and not on their way.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Whether there are rows whose parity a power cut may have left wrong.
    pub fn has_doubtful(&self) -> bool {
        self.doubtful > 0
    }

    /// Whether there is room for a write.
    pub fn takes(&self, at: Extent) -> bool {
        let there = self.lines.range(lines_of(at)).count() as u64;
        let asked = lines_of(at);
        self.len() + (asked.end - asked.start) - there <= self.lines_max
    }

    /// Takes a write in.
    pub fn put(&mut self, now: Instant, at: Extent, from: &Payload) {
        for number in lines_of(at) {
            let (start, end) = within(at, number);
            let line = self.lines.entry(number).or_insert_with(|| Line {
                kept: Kept { sectors: 0, bytes: None },
                state: State::Written(0),
            });
            line.kept.sectors |= mask(start, end);
            if let Payload::Bytes(source) = from {
                let new = || Arc::new([0; LINE_BYTES as usize]);
                let bytes = Arc::make_mut(line.kept.bytes.get_or_insert_with(new));
                let from = (number * LINE_BYTES + start - at.offset) as usize;
                let length = (end - start) as usize;
                bytes[start as usize..end as usize]
                    .copy_from_slice(&source.bytes()[from..from + length]);
            }
            let was = std::mem::replace(&mut line.state, State::Dirty);
            self.dirty += u64::from(matches!(was, State::Written(_)));
            if was != State::Dirty {
                self.add_dirty(number / self.lines_per_row, now, false);
            }
        }
    }

    fn add_dirty(&mut self, number: u64, now: Instant, is_doubtful: bool) {
        let row = self.rows.entry(number).or_insert(Row {
            dirty: 0,
            since: now,
            is_busy: false,
            is_doubtful: false,
            is_stuck: false,
        });
        self.doubtful += u64::from(is_doubtful && !row.is_doubtful);
        row.is_doubtful |= is_doubtful;
        row.dirty += 1;
        self.unsent += 1;
        if row.dirty == 1 {
            row.since = now;
        }
        if !row.is_busy && !row.is_stuck {
            self.ready.insert(number);
            self.ages.insert((row.since, number));
        }
    }

    /// What is newer than below.
    pub fn newer(&self, at: Extent) -> Vec<(u64, Kept)> {
        self.lines.range(lines_of(at)).map(|(&line, own)| (line, own.kept.clone())).collect()
    }

    /// Whether all of a range is there.
    pub fn holds(&self, at: Extent) -> bool {
        lines_of(at).all(|number| {
            let (start, end) = within(at, number);
            let sectors = mask(start, end);
            self.lines.get(&number).is_some_and(|line| line.kept.sectors & sectors == sectors)
        })
    }

    /// The first row to be written from `sweep` on, going round.
    pub fn next_ready(&self, sweep: u64) -> Option<u64> {
        self.ready.range(sweep..).next().or_else(|| self.ready.first()).copied()
    }

    /// Since when the row has waited that has waited longest.
    pub fn oldest(&self) -> Option<Instant> {
        self.ages.first().map(|(since, _)| *since)
    }

    /// Whether the row could be destaged now and all of it is there.
    pub fn is_whole(&self, row: u64) -> bool {
        self.ready.contains(&row)
            && self.lines.range(self.lines_of_row(row)).filter(|(_, line)| line.is_full()).count()
                as u64
                == self.lines_per_row
    }

    /// Begins to write a row; how it stood.
    pub fn begin(&mut self, number: u64) -> Row {
        let row = self.rows.get_mut(&number).expect("a row that is ready");
        let was = *row;
        (row.is_busy, row.dirty) = (true, 0);
        self.unsent -= was.dirty;
        self.ready.remove(&number);
        self.ages.remove(&(was.since, number));
        for (_, line) in self.lines.range_mut(self.lines_of_row(number)) {
            if line.state == State::Dirty {
                line.state = State::Destaging;
            }
        }
        was
    }

    /// Ranges of a row that are on their way, from its begin, in bytes.
    pub fn runs(&self, row: u64) -> Vec<Range<u64>> {
        let start = row * self.lines_per_row;
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (number, line) in self.lines.range(self.lines_of_row(row)) {
            if line.state != State::Destaging {
                continue;
            }
            for sector in (0..SECTORS).filter(|sector| line.kept.sectors >> sector & 1 == 1) {
                let from = (number - start) * LINE_BYTES + sector * SECTOR_BYTES;
                match runs.last_mut() {
                    Some(run) if run.end == from => run.end += SECTOR_BYTES,
                    _ => runs.push(from..from + SECTOR_BYTES),
                }
            }
        }
        runs
    }

    /// From the first to the last byte of a row that is not there; none of a whole one.
    pub fn gap(&self, row: u64, row_bytes: u64) -> Option<Range<u64>> {
        let start = row * self.lines_per_row;
        let is_there = |sector: u64| {
            let line = self.lines.get(&(start + sector / SECTORS));
            line.is_some_and(|line| line.kept.sectors >> (sector % SECTORS) & 1 == 1)
        };
        let sectors = row_bytes / SECTOR_BYTES;
        let first = (0..sectors).find(|&sector| !is_there(sector))?;
        let last = (first..sectors).rev().find(|&sector| !is_there(sector))?;
        Some(first * SECTOR_BYTES..(last + 1) * SECTOR_BYTES)
    }

    /// A row is with the members, by the write of this number; gives its lines. Or it could not be
    /// written: then it stays as it is.
    pub fn end(&mut self, number: u64, written: Option<u64>, mut is_written: impl FnMut(u64)) {
        let row = self.rows.get_mut(&number).expect("a row that is written");
        row.is_busy = false;
        if written.is_some() {
            self.doubtful -= u64::from(row.is_doubtful);
            row.is_doubtful = false;
        }
        for (&at, line) in self
            .lines
            .range_mut(self.lines_per_row * number..)
            .take_while(|(at, _)| **at < (number + 1) * self.lines_per_row)
        {
            if line.state != State::Destaging {
                continue;
            }
            if let Some(sequence) = written {
                line.state = State::Written(sequence);
                self.dirty -= 1;
                is_written(at);
            } else {
                line.state = State::Dirty;
                row.dirty += 1;
                self.unsent += 1;
            }
        }
        let row = *row;
        match written {
            None => self.stick(number),
            Some(_) if row.dirty > 0 => {
                self.ready.insert(number);
                self.ages.insert((row.since, number));
            }
            Some(_) => _ = self.rows.remove(&number),
        }
    }

    /// A row that is not tried again: what it has stays in memory.
    fn stick(&mut self, number: u64) {
        let row = self.rows.get_mut(&number).expect("a row that could not be written");
        row.is_stuck = true;
        self.doubtful -= u64::from(row.is_doubtful);
        row.is_doubtful = false;
    }

    /// Gives a line's memory up if nothing has changed since that write. Not while its row is
    /// written: that write may be whole because of this line. Says whether to ask again.
    #[must_use]
    pub fn forget(&mut self, line: u64, sequence: u64) -> bool {
        if self.lines.get(&line).is_none_or(|line| line.state != State::Written(sequence)) {
            return false;
        }
        if self.rows.get(&(line / self.lines_per_row)).is_some_and(|row| row.is_busy) {
            return true;
        }
        self.lines.remove(&line);
        false
    }

    /// Lays what is there over bytes of what lies below.
    pub fn overlay(&self, payload: &mut Payload, at: Extent) {
        overlay(payload, at, self.lines.range(lines_of(at)).map(|(&at, line)| (at, &line.kept)));
    }

    fn lines_of_row(&self, row: u64) -> Range<u64> {
        row * self.lines_per_row..(row + 1) * self.lines_per_row
    }
}

impl Line {
    fn is_full(&self) -> bool {
        self.kept.sectors == u8::MAX
    }
}

impl BatteryMemory {
    /// How many bytes it has, in whole lines.
    pub fn bytes(&self) -> u64 {
        self.lines.len() as u64 * LINE_BYTES
    }
}

/// Lays parts of lines over the bytes of `at`.
pub(super) fn overlay<'a>(
    payload: &mut Payload,
    at: Extent,
    newer: impl Iterator<Item = (u64, &'a Kept)>,
) {
    let Payload::Bytes(target) = payload else { return };
    for (number, kept) in newer {
        let bytes = kept.bytes.as_ref().expect("bytes are kept for bytes");
        let (start, end) = within(at, number);
        for sector in start / SECTOR_BYTES..end / SECTOR_BYTES {
            if kept.sectors >> sector & 1 == 0 {
                continue;
            }
            let from = (sector * SECTOR_BYTES) as usize;
            let to = (number * LINE_BYTES + sector * SECTOR_BYTES - at.offset) as usize;
            let length = SECTOR_BYTES as usize;
            target.bytes_mut()[to..to + length].copy_from_slice(&bytes[from..from + length]);
        }
    }
}

/// Numbers of the lines that a range touches.
fn lines_of(at: Extent) -> Range<u64> {
    at.offset / LINE_BYTES..(at.offset + u64::from(at.bytes)).div_ceil(LINE_BYTES)
}

/// What a range covers of a line, from the line's begin.
fn within(at: Extent, line: u64) -> (u64, u64) {
    let begin = line * LINE_BYTES;
    let end = (at.offset + u64::from(at.bytes)).min(begin + LINE_BYTES);
    (at.offset.max(begin) - begin, end - begin)
}

/// The sectors of bytes `start..end` of a line.
fn mask(start: u64, end: u64) -> u8 {
    let (first, count) = (start / SECTOR_BYTES, (end - start) / SECTOR_BYTES);
    (u8::MAX >> (SECTORS - count)) << first
}
