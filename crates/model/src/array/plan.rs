//! Which pieces of which members an operation reads and writes. Arithmetic on a scratch list: nothing is
//! kept and nothing allocated after the first operations.

use super::{
    Level,
    layout::{Layout, Members},
};

/// A range of one member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Piece {
    pub(super) member: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// More members are missing than the level can do without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lost;

/// Which members hold nothing readable at a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    /// At every row.
    pub(super) always: Members,
    /// A member being rebuilt and the first row it does not hold yet.
    pub(super) rebuilding: Option<(u64, u64)>,
}

impl Missing {
    /// At `row`.
    pub(super) fn at(&self, row: u64) -> Members {
        match self.rebuilding {
            Some((member, first)) if row >= first => self.always | 1 << member,
            _ => self.always,
        }
    }
}

/// How busy each member is, for levels with copies to choose from.
#[derive(Debug)]
pub(super) struct Load {
    /// Commands outstanding.
    pub(super) outstanding: Vec<u32>,
    /// Where the last one ended.
    pub(super) heads: Vec<u64>,
}

/// Columns of one row that a write treats alike: `from..to` within the chunk, covering the data chunks
/// `first..=last` of the row.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: u64,
    to: u64,
    first: u64,
    last: u64,
}

impl Segment {
    fn covers(&self, index: u64) -> bool {
        (self.first..=self.last).contains(&index)
    }
}

/// How a segment's new parity is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Parity {
    /// Old data and old parity are read (read-modify-write).
    Modify,
    /// The data that is not written is read (reconstruct-write).
    Reconstruct,
    /// As many members as there are data chunks are read, because neither can be had.
    Regenerate,
    /// No parity is left to keep.
    Nothing,
}

/// The list under construction.
#[derive(Debug)]
pub(super) struct Plan {
    layout: Layout,
    pub(super) pieces: Vec<Piece>,
}

impl Plan {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, pieces: Vec::with_capacity(256) }
    }

    /// What a read of the array's `offset..offset + bytes` reads.
    pub(super) fn read(
        &mut self,
        offset: u64,
        bytes: u64,
        missing: Missing,
        load: &Load,
    ) -> Result<(), Lost> {
        self.pieces.clear();
        let layout = self.layout;
        match layout.level {
            Level::Raid1 => {
                let member = self.idlest(0..layout.members, offset, bytes, missing, load)?;
                self.pieces.push(Piece { member, offset, bytes });
            }
            Level::Raid0 | Level::Raid5 | Level::Raid6 => {
                for_chunks(layout.chunk_bytes, offset, bytes, |chunk, from, to| {
                    let (row, index) = (chunk / layout.data(), chunk % layout.data());
                    self.read_data(row, index, from, to, missing.at(row))
                })?;
            }
            Level::Raid10 => {
                for_chunks(layout.chunk_bytes, offset, bytes, |chunk, from, to| {
                    self.read_copy(chunk, from, to, missing, load)
                })?;
            }
        }
        self.merge();
        Ok(())
    }

    /// What a write of the range reads first: nothing without parity.
    pub(super) fn read_before(
        &mut self,
        offset: u64,
        bytes: u64,
        missing: Missing,
    ) -> Result<(), Lost> {
        self.pieces.clear();
        if self.layout.parities() > 0 {
            self.for_segments(offset, bytes, |plan, row, segment| {
                plan.read_for_parity(row, segment, missing.at(row))
            })?;
            self.merge();
        }
        Ok(())
    }

    /// What it writes.
    pub(super) fn write(&mut self, offset: u64, bytes: u64, missing: Missing) -> Result<(), Lost> {
        self.pieces.clear();
        let layout = self.layout;
        let chunk_bytes = layout.chunk_bytes;
        match layout.level {
            Level::Raid0 => for_chunks(chunk_bytes, offset, bytes, |chunk, from, to| {
                let (row, index) = (chunk / layout.data(), chunk % layout.data());
                if missing.at(row) >> index & 1 == 1 {
                    return Err(Lost);
                }
                self.push(index, row, from, to);
                Ok(())
            })?,
            Level::Raid1 => self.write_mirrors(offset, bytes, missing)?,
            Level::Raid10 => for_chunks(chunk_bytes, offset, bytes, |chunk, from, to| {
                let before = self.pieces.len();
                for copy in 0..2 {
                    let (row, member) = layout.near_copy(chunk, copy);
                    if missing.at(row) >> member & 1 == 0 {
                        self.push(member, row, from, to);
                    }
                }
                if self.pieces.len() == before { Err(Lost) } else { Ok(()) }
            })?,
            Level::Raid5 | Level::Raid6 => {
                self.for_segments(offset, bytes, |plan, row, segment| {
                    plan.write_row(row, segment, missing.at(row));
                    Ok(())
                })?;
            }
        }
        self.merge();
        Ok(())
    }

    /// What must be read to fill `member` at `rows` rows from `row` on.
    pub(super) fn rebuild(
        &mut self,
        member: u64,
        row: u64,
        rows: u64,
        missing: Missing,
    ) -> Result<(), Lost> {
        self.pieces.clear();
        let layout = self.layout;
        for row in row..row + rows {
            let missing = missing.at(row) | 1 << member;
            match layout.level {
                Level::Raid0 => return Err(Lost),
                Level::Raid1 => {
                    let source = (0..layout.members).find(|source| missing >> source & 1 == 0);
                    self.push(source.ok_or(Lost)?, row, 0, layout.chunk_bytes);
                }
                Level::Raid10 => {
                    let position = row * layout.members + member;
                    let (row, source) = layout.near_copy(position / 2, 1 - position % 2);
                    if missing >> source & 1 == 1 {
                        return Err(Lost);
                    }
                    self.push(source, row, 0, layout.chunk_bytes);
                }
                Level::Raid5 | Level::Raid6 => {
                    self.read_survivors(row, 0, layout.chunk_bytes, missing)?;
                }
            }
        }
        self.merge();
        Ok(())
    }

    /// One piece for every member that is there: a flush, or the whole rows in a range to discard.
    pub(super) fn everywhere(&mut self, discards: bool, offset: u64, bytes: u64, missing: Missing) {
        self.pieces.clear();
        let layout = self.layout;
        let chunks_a_row = match layout.level {
            Level::Raid1 => 1,
            Level::Raid10 => layout.members / 2,
            Level::Raid0 | Level::Raid5 | Level::Raid6 => layout.data(),
        };
        let row_bytes = layout.chunk_bytes * chunks_a_row;
        let (first, end) = (offset.div_ceil(row_bytes), (offset + bytes) / row_bytes);
        let rows = if layout.level == Level::Raid10 && !layout.members.is_multiple_of(2) {
            0 // The copies of a chunk may lie in two rows: nothing is discarded.
        } else {
            end.saturating_sub(first)
        };
        if discards && rows == 0 {
            return;
        }
        let chunk_bytes = layout.chunk_bytes;
        let (offset, bytes) =
            if discards { (first * chunk_bytes, rows * chunk_bytes) } else { (0, 0) };
        for member in (0..layout.members).filter(|member| missing.always >> member & 1 == 0) {
            self.pieces.push(Piece { member, offset, bytes });
        }
    }

    fn push(&mut self, member: u64, row: u64, from: u64, to: u64) {
        let offset = row * self.layout.chunk_bytes + from;
        self.pieces.push(Piece { member, offset, bytes: to - from });
    }

    fn read_data(
        &mut self,
        row: u64,
        index: u64,
        from: u64,
        to: u64,
        missing: Members,
    ) -> Result<(), Lost> {
        let member = self.layout.data_member(row, index);
        if missing >> member & 1 == 0 {
            self.push(member, row, from, to);
            return Ok(());
        }
        self.read_survivors(row, from, to, missing)
    }

    /// As many members as there are data chunks: data first, then P, then Q.
    fn read_survivors(
        &mut self,
        row: u64,
        from: u64,
        to: u64,
        missing: Members,
    ) -> Result<(), Lost> {
        let layout = self.layout;
        let data = (0..layout.data()).map(|index| layout.data_member(row, index));
        let parity = (0..layout.parities()).map(|number| layout.parity_member(row, number));
        let mut wanted = layout.data();
        for member in data.chain(parity).filter(|member| missing >> member & 1 == 0) {
            if wanted > 0 {
                self.push(member, row, from, to);
                wanted -= 1;
            }
        }
        if wanted > 0 { Err(Lost) } else { Ok(()) }
    }

    fn read_copy(
        &mut self,
        chunk: u64,
        from: u64,
        to: u64,
        missing: Missing,
        load: &Load,
    ) -> Result<(), Lost> {
        let layout = self.layout;
        let copies = [layout.near_copy(chunk, 0), layout.near_copy(chunk, 1)];
        let place = |row: u64| row * layout.chunk_bytes + from;
        let (row, member) = copies
            .into_iter()
            .filter(|(row, member)| missing.at(*row) >> member & 1 == 0)
            .min_by_key(|&(row, member)| {
                let number = member as usize;
                (load.outstanding[number], place(row).abs_diff(load.heads[number]), member)
            })
            .ok_or(Lost)?;
        self.push(member, row, from, to);
        Ok(())
    }

    /// The member with the shortest queue, of these the one whose last command ended nearest.
    fn idlest(
        &self,
        members: std::ops::Range<u64>,
        offset: u64,
        bytes: u64,
        missing: Missing,
        load: &Load,
    ) -> Result<u64, Lost> {
        let missing = missing.at((offset + bytes - 1) / self.layout.chunk_bytes);
        members
            .filter(|member| missing >> member & 1 == 0)
            .min_by_key(|&member| {
                let number = member as usize;
                (load.outstanding[number], offset.abs_diff(load.heads[number]), member)
            })
            .ok_or(Lost)
    }

    fn write_mirrors(&mut self, offset: u64, bytes: u64, missing: Missing) -> Result<(), Lost> {
        let before_rebuilt = match missing.rebuilding {
            Some((_, row)) => (row * self.layout.chunk_bytes).saturating_sub(offset).min(bytes),
            None => bytes,
        };
        for member in 0..self.layout.members {
            let is_rebuilding = missing.rebuilding.is_some_and(|(number, _)| number == member);
            let bytes = if is_rebuilding { before_rebuilt } else { bytes };
            if missing.always >> member & 1 == 0 && bytes > 0 {
                self.pieces.push(Piece { member, offset, bytes });
            }
        }
        if self.pieces.is_empty() { Err(Lost) } else { Ok(()) }
    }

    /// Calls `act` for every row of the range and every band of columns written alike.
    fn for_segments(
        &mut self,
        offset: u64,
        bytes: u64,
        mut act: impl FnMut(&mut Self, u64, Segment) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        let chunk = self.layout.chunk_bytes;
        let row_bytes = chunk * self.layout.data();
        let end = offset + bytes;
        for row in offset / row_bytes..=(end - 1) / row_bytes {
            let start = offset.max(row * row_bytes) - row * row_bytes;
            let stop = end.min((row + 1) * row_bytes) - row * row_bytes;
            let (head, tail) = (start / chunk, (stop - 1) / chunk);
            let (head_from, tail_to) = (start % chunk, (stop - 1) % chunk + 1);
            if head == tail {
                let (from, to) = (head_from, tail_to);
                act(self, row, Segment { from, to, first: head, last: head })?;
                continue;
            }
            let (low, high) = (head_from.min(tail_to), head_from.max(tail_to));
            for (from, to) in [(0, low), (low, high), (high, chunk)] {
                let first = if from >= head_from { head } else { head + 1 };
                let last = if to <= tail_to { tail } else { tail - 1 };
                if from < to && first <= last {
                    act(self, row, Segment { from, to, first, last })?;
                }
            }
        }
        Ok(())
    }

    /// md's rule (raid5.c, `handle_stripe_dirtying`): whichever reads fewer, and on a tie the
    /// reconstruction.
    fn parity_by(&self, row: u64, segment: Segment, missing: Members) -> Parity {
        let layout = self.layout;
        let is_missing = |member: u64| missing >> member & 1 == 1;
        let kept = (0..layout.parities())
            .filter(|&number| !is_missing(layout.parity_member(row, number)))
            .count() as u64;
        if kept == 0 {
            return Parity::Nothing;
        }
        let covered = segment.last - segment.first + 1;
        let (mut can_modify, mut can_reconstruct) = (true, true);
        for index in 0..layout.data() {
            if is_missing(layout.data_member(row, index)) {
                let rules_out =
                    if segment.covers(index) { &mut can_modify } else { &mut can_reconstruct };
                *rules_out = false;
            }
        }
        match (can_modify, can_reconstruct) {
            (true, true) if covered + kept < layout.data() - covered => Parity::Modify,
            (_, true) => Parity::Reconstruct,
            (true, false) => Parity::Modify,
            (false, false) => Parity::Regenerate,
        }
    }

    fn read_for_parity(
        &mut self,
        row: u64,
        segment: Segment,
        missing: Members,
    ) -> Result<(), Lost> {
        let layout = self.layout;
        if u64::from((missing & self.row_mask()).count_ones()) > layout.parities() {
            return Err(Lost);
        }
        let Segment { from, to, .. } = segment;
        let parity = self.parity_by(row, segment, missing);
        match parity {
            Parity::Nothing => {}
            Parity::Regenerate => self.read_survivors(row, from, to, missing)?,
            Parity::Modify | Parity::Reconstruct => {
                let wants_covered = parity == Parity::Modify;
                for index in 0..layout.data() {
                    if segment.covers(index) == wants_covered {
                        self.push(layout.data_member(row, index), row, from, to);
                    }
                }
            }
        }
        if parity == Parity::Modify {
            for number in 0..layout.parities() {
                let member = layout.parity_member(row, number);
                if missing >> member & 1 == 0 {
                    self.push(member, row, from, to);
                }
            }
        }
        Ok(())
    }

    fn write_row(&mut self, row: u64, segment: Segment, missing: Members) {
        let layout = self.layout;
        let data = (segment.first..=segment.last).map(|index| layout.data_member(row, index));
        let parity = (0..layout.parities()).map(|number| layout.parity_member(row, number));
        for member in data.chain(parity).filter(|member| missing >> member & 1 == 0) {
            self.push(member, row, segment.from, segment.to);
        }
    }

    fn row_mask(&self) -> Members {
        Members::MAX >> (64 - self.layout.members)
    }

    /// Joins what touches: adjacent rows on one member become one command.
    fn merge(&mut self) {
        if self.pieces.len() < 2 {
            return;
        }
        self.pieces.sort_unstable();
        let mut kept = 0;
        for next in 1..self.pieces.len() {
            let piece = self.pieces[next];
            let last = &mut self.pieces[kept];
            let end = last.offset + last.bytes;
            if last.member == piece.member && piece.offset <= end {
                last.bytes = last.bytes.max(piece.offset + piece.bytes - last.offset);
            } else {
                kept += 1;
                self.pieces[kept] = piece;
            }
        }
        self.pieces.truncate(kept + 1);
    }
}

/// Calls `act` with every chunk of the range and the columns of it.
fn for_chunks(
    chunk_bytes: u64,
    offset: u64,
    bytes: u64,
    mut act: impl FnMut(u64, u64, u64) -> Result<(), Lost>,
) -> Result<(), Lost> {
    let end = offset + bytes;
    for chunk in offset / chunk_bytes..=(end - 1) / chunk_bytes {
        let start = chunk * chunk_bytes;
        act(chunk, offset.max(start) - start, end.min(start + chunk_bytes) - start)?;
    }
    Ok(())
}
