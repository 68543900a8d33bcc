//! What a write costs the flash behind the buffer, and how often each unit has been erased.
//!
//! ```text
//!   ns   |                                     ___---   all of it programmed at the sequential rate
//!        |                          ___----
//!        |                  _.-'                        seen to be a run: its bytes are not copied first
//!        |             _-'                              programmed on top of the merge
//!  merge |------------                                  taken in by the merge
//!        +------------|------|------------------|----
//!             merge_free  saved_from          unit      bytes since the run began
//! ```

use super::BlockMappedParams;
use crate::nanoseconds_for;

/// The mapped units and the run of writes that is being laid down.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    merge_ns: u64,
    merge_free_bytes: u64,
    write_bytes_per_s: u64,
    saved_from_bytes: u64,
    copy_ns_per_kib: u64,
    unit_bytes: u64,
    /// Where a write would continue the run.
    next: u64,
    /// How long the run is, bytes.
    length: u64,
    /// Erasures of each unit.
    erases: Vec<u32>,
    /// Units that hold nothing and need no merge.
    vacant: Vec<bool>,
}

impl Writer {
    pub(super) fn new(params: &BlockMappedParams) -> Self {
        let units = params.capacity_bytes.div_ceil(params.unit_bytes);
        let units = usize::try_from(units).expect("a drive's units fit memory");
        Self {
            merge_ns: params.merge_ns,
            merge_free_bytes: params.merge_free_bytes,
            write_bytes_per_s: params.write_bytes_per_s,
            saved_from_bytes: params.saved_from_bytes,
            copy_ns_per_kib: params.copy_ns_per_kib,
            unit_bytes: params.unit_bytes,
            next: u64::MAX,
            length: 0,
            erases: vec![0; units],
            vacant: vec![false; units],
        }
    }

    /// Lays down `bytes` at `offset` and says how long that takes, ns.
    pub(super) fn write(&mut self, offset: u64, bytes: u64) -> u64 {
        let first = offset / self.unit_bytes;
        let last = (offset + bytes - 1) / self.unit_bytes;
        let goes_on = self.goes_on(offset);
        let before = if goes_on {
            self.cumulative_ns(self.length)
        } else if self.vacant[first as usize] {
            // Nothing to merge with: as the later units of a run.
            self.length = self.unit_bytes;
            self.cumulative_ns(self.length)
        } else {
            self.length = 0;
            0
        };
        self.length += bytes;
        let before_end = self.next.wrapping_sub(1);
        self.next = offset + bytes;
        // The run has entered the unit of its last byte before.
        let entered = if goes_on { before_end / self.unit_bytes + 1 } else { first };
        for unit in entered..=last {
            let vacant = std::mem::replace(&mut self.vacant[unit as usize], false);
            self.erases[unit as usize] += u32::from(!vacant);
        }
        self.cumulative_ns(self.length).saturating_sub(before)
    }

    /// Whether a write belongs to the run that is being laid down: it begins where the last one
    /// ended, or further on in the same unit, whose merge copies what lies between anyway.
    fn goes_on(&self, offset: u64) -> bool {
        let in_its_unit = || (self.next - 1) / self.unit_bytes == offset / self.unit_bytes;
        self.next != u64::MAX && (offset == self.next || offset > self.next && in_its_unit())
    }

    /// Erases the units that lie whole in the range.
    pub(super) fn discard(&mut self, offset: u64, bytes: u64) {
        let end = (offset + bytes) / self.unit_bytes;
        for unit in offset.div_ceil(self.unit_bytes)..end {
            let vacant = std::mem::replace(&mut self.vacant[unit as usize], true);
            self.erases[unit as usize] += u32::from(!vacant);
        }
        self.next = u64::MAX;
    }

    pub(super) fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// What a run costs from its start to `length` bytes.
    fn cumulative_ns(&self, length: u64) -> u64 {
        let programmed = length.saturating_sub(self.merge_free_bytes);
        let saved = length.min(self.unit_bytes).saturating_sub(self.saved_from_bytes);
        self.merge_ns + nanoseconds_for(programmed, self.write_bytes_per_s)
            - saved * self.copy_ns_per_kib / 1024
    }
}
