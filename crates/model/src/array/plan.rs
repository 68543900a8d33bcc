//! Which pieces of which members an operation reads and writes. Arithmetic on a scratch list:
//! nothing is kept and nothing allocated after the first operations.

use super::{
    Level,
    layout::{Layout, Members},
    missing::{Absent, Lost, Missing},
    parity::{Parity, Segment, for_segments, parity_by},
};

/// A range of one member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Piece {
    pub(super) member: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// How busy each member is, for levels with copies to choose from.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// Commands outstanding.
    pub(super) outstanding: Vec<u32>,
    /// Where the last one ended.
    pub(super) heads: Vec<u64>,
}

/// The list under construction.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    layout: Layout,
    pub(super) pieces: Vec<Piece>,
    /// Whether adjacent rows stay apart, so that an error names its row.
    pub(super) row_by_row: bool,
    /// The member chosen for each first copy, while a RAID-10 read is planned.
    choices: Vec<Option<u64>>,
}

impl Plan {
    pub(super) fn new(layout: Layout) -> Self {
        let choices = vec![None; layout.members as usize];
        Self { layout, pieces: Vec::with_capacity(256), row_by_row: false, choices }
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
            Level::Raid1 if !self.row_by_row => {
                let row = (offset + bytes - 1) / layout.chunk_bytes;
                let member = idlest(layout.members, offset, missing.at(row), load)?;
                self.pieces.push(Piece { member, offset, bytes });
            }
            Level::Raid1 => for_chunks(layout.chunk_bytes, offset, bytes, |row, from, to| {
                let at = row * layout.chunk_bytes + from;
                self.push(idlest(layout.members, at, missing.at(row), load)?, row, from, to);
                Ok(())
            })?,
            Level::Raid0 | Level::Raid5 | Level::Raid6 => {
                for_chunks(layout.chunk_bytes, offset, bytes, |chunk, from, to| {
                    let (row, index) = (chunk / layout.data(), chunk % layout.data());
                    self.read_data(row, index, from, to, missing.at(row))
                })?;
            }
            Level::Raid10 => {
                self.choices.fill(None);
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
            let layout = self.layout;
            for_segments(&layout, offset, bytes, |row, segment| {
                self.read_for_parity(row, segment, missing)
            })?;
            self.merge();
        }
        Ok(())
    }

    /// What it writes.
    pub(super) fn write(&mut self, offset: u64, bytes: u64, missing: Absent) -> Result<(), Lost> {
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
                for_segments(&layout, offset, bytes, |row, segment| {
                    self.write_row(row, segment, missing.at(row));
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
    pub(super) fn everywhere(&mut self, discards: bool, offset: u64, bytes: u64, missing: Absent) {
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

    /// Reads a chunk from the idler of its members. All chunks that one operation has on a pair are
    /// read from the same member of it, so that adjacent rows stay adjacent.
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
        let chosen = self.choices[copies[0].1 as usize];
        let (row, member) = copies
            .into_iter()
            .filter(|(row, member)| missing.at(*row) >> member & 1 == 0)
            .min_by_key(|&(row, member)| {
                let number = member as usize;
                let distance = place(row).abs_diff(load.heads[number]);
                (chosen != Some(member), load.outstanding[number], distance, member)
            })
            .ok_or(Lost)?;
        self.choices[copies[0].1 as usize].get_or_insert(member);
        self.push(member, row, from, to);
        Ok(())
    }

    fn write_mirrors(&mut self, offset: u64, bytes: u64, missing: Absent) -> Result<(), Lost> {
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

    fn read_for_parity(
        &mut self,
        row: u64,
        segment: Segment,
        missing: Missing,
    ) -> Result<(), Lost> {
        let layout = self.layout;
        let absent = missing.absent.at(row);
        if u64::from(absent.count_ones()) > layout.parities() {
            return Err(Lost);
        }
        let Segment { from, to, .. } = segment;
        let parity = parity_by(&layout, row, segment, missing);
        match parity {
            Parity::Nothing => {}
            Parity::Regenerate => self.read_survivors(row, from, to, missing.at(row))?,
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
                if absent >> member & 1 == 0 {
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
            if last.member == piece.member
                && (piece.offset < end || piece.offset == end && !self.row_by_row)
            {
                last.bytes = last.bytes.max(piece.offset + piece.bytes - last.offset);
            } else {
                kept += 1;
                self.pieces[kept] = piece;
            }
        }
        self.pieces.truncate(kept + 1);
    }
}

/// The member with the shortest queue, of these the one whose last command ended nearest.
fn idlest(members: u64, offset: u64, missing: Members, load: &Load) -> Result<u64, Lost> {
    (0..members)
        .filter(|member| missing >> member & 1 == 0)
        .min_by_key(|&member| {
            let number = member as usize;
            (load.outstanding[number], offset.abs_diff(load.heads[number]), member)
        })
        .ok_or(Lost)
}

/// Calls `act` with every chunk of the range and the columns of it.
pub(super) fn for_chunks(
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
