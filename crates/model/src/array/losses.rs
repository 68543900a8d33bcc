//! What goes wrong with members: lost ones, and ones that cannot be read at a row.

use super::{Array, Level, Phase, layout::Members, plan::Piece};
use block::{Effects, Instant, IoError};

impl Array {
    /// Marks `member` as failed if the rest can do without it.
    pub(super) fn lose(&mut self, member: u64) -> bool {
        let bit = 1 << member;
        let lost = self.absent.at(u64::MAX) | bit;
        let partner = match self.layout.level {
            Level::Raid10 if self.layout.members.is_multiple_of(2) => 1 << (member ^ 1),
            _ => Members::MAX,
        };
        let losses_max = match self.layout.level {
            Level::Raid10 if self.layout.members.is_multiple_of(2) => 1,
            _ => self.layout.losses(),
        };
        if u64::from((lost & (partner | bit)).count_ones()) > losses_max {
            return false;
        }
        self.absent.always |= bit;
        if self.absent.rebuilding.is_some_and(|(rebuilding, _)| rebuilding == member) {
            self.absent.rebuilding = None;
            self.rebuild = None;
        }
        true
    }

    /// Notes a member's error, and loses the member where that is what it means.
    pub(super) fn note_error(&mut self, number: u32, piece: Piece, error: IoError) {
        let chunk_bytes = self.layout.chunk_bytes;
        let first_row = piece.offset / chunk_bytes;
        let last_row = (piece.offset + piece.bytes.max(1) - 1) / chunk_bytes;
        let operation = self.operations.get_mut(number);
        operation.error = Some(error);
        let is_gone = operation.phase != Phase::Reading || error == IoError::Offline;
        if !is_gone && (operation.row_by_row || first_row == last_row) {
            operation.unreadable.extend((first_row..=last_row).map(|row| (row, 1 << piece.member)));
        }
        let already = self.absent.at(u64::MAX) >> piece.member & 1 == 1;
        let survives = already || !is_gone || self.lose(piece.member);
        self.operations.get_mut(number).survives &= survives && self.layout.losses() > 0;
    }

    /// Reads again, row by row and around what could not be read.
    pub(super) fn retry(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        (operation.error, operation.stamp) = (None, None);
        (operation.phase, operation.row_by_row) = (Phase::Queued, true);
        self.begin(now, number, effects);
    }

    /// Whether the operation may read row by row now. One at a time may: it needs more commands
    /// than others. It holds its stripes by then, so that it waits for nobody who waits for it.
    pub(super) fn has_its_turn(&mut self, number: u32) -> bool {
        let has_turn = *self.row_by_row.get_or_insert(number) == number;
        if !has_turn {
            self.patient.push_back(number);
        }
        has_turn
    }
}
