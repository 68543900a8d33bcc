//! Filling a new member in the background, a few rows at a time, at a pace.

use super::{Array, Kind, Operation, Progress, REBUILD_STEP_BYTES};
use crate::{
    array::{missing::Lost, plan::Piece},
    nanoseconds_for,
};
use block::{Data, Effects, Instant, Payload, Tag};

impl Array {
    /// Begins the next step when its time has come.
    pub(super) fn go_on_rebuilding(&mut self, now: Instant, effects: &mut Effects) {
        let (Some(progress), Some((_, row))) = (&mut self.rebuild, self.absent.rebuilding) else {
            return;
        };
        if progress.next_at > now {
            return;
        }
        progress.next_at = Instant::NEVER;
        progress.begun_at = now;
        let number_of_rebuild = progress.number;
        let chunk_bytes = self.layout.chunk_bytes;
        let rows = (REBUILD_STEP_BYTES / chunk_bytes).clamp(1, self.layout.rows - row);
        let bytes = rows * chunk_bytes;
        let payload = match self.geometry.data {
            Data::Stored => Payload::Bytes(self.carrier.take(bytes)),
            Data::TimingOnly => Payload::None,
        };
        let mut step = Operation {
            tag: Tag(number_of_rebuild),
            issued: now,
            payload,
            ..Operation::of(Kind::Rebuild, row * chunk_bytes, bytes)
        };
        self.carrier.begin(&mut step);
        let number = self.operations.insert(step);
        self.begin(now, number, effects);
    }

    pub(super) fn plan_rebuild_read(&mut self, number: u32) -> Result<(), Lost> {
        let (member, _) = self.absent.rebuilding.ok_or(Lost)?;
        let step = self.operations.get_mut(number);
        let chunk_bytes = self.layout.chunk_bytes;
        let (row, rows) = (step.offset / chunk_bytes, step.bytes / chunk_bytes);
        self.plan.rebuild(member, row, rows, step.missing())
    }

    pub(super) fn plan_rebuild_write(&mut self, number: u32) {
        let step = self.operations.get_mut(number);
        self.plan.pieces.clear();
        let is_current = self.rebuild.is_some_and(|progress| Tag(progress.number) == step.tag);
        if let (true, Some((member, _))) = (is_current, self.absent.rebuilding) {
            let Operation { offset, bytes, .. } = *step;
            self.plan.pieces.push(Piece { member, offset, bytes });
        }
    }

    /// Moves on, at the pace of an array that is asked for something or of one that is not. A step
    /// that cannot be done ends the rebuild.
    pub(super) fn end_rebuild_step(&mut self, now: Instant, step: &Operation) {
        let is_busy = !self.operations.is_empty();
        let (Some(progress), Some((member, row))) =
            (&mut self.rebuild, &mut self.absent.rebuilding)
        else {
            return;
        };
        if Tag(progress.number) != step.tag {
            return;
        }
        if step.error.is_some() {
            self.absent.always |= 1 << *member;
            (self.rebuild, self.absent.rebuilding) = (None, None);
            return;
        }
        *row += step.bytes / self.layout.chunk_bytes;
        if *row == self.layout.rows {
            (self.rebuild, self.absent.rebuilding) = (None, None);
            return;
        }
        let Progress { pace, begun_at, .. } = *progress;
        let rate = if is_busy { pace.busy_bytes_per_s } else { pace.idle_bytes_per_s };
        progress.next_at = begun_at.after(nanoseconds_for(step.bytes, rate)).max(now.after(1));
    }
}
