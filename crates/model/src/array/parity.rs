//! How a write keeps a row's parity right.
//!
//! ```text
//!   columns   0 ......... 16 K ......... 48 K ......... 64 K
//!   chunk 0                              [ written      ]
//!   chunk 1   [ written                                 ]      three bands, each with its own
//!   chunk 2   [ written   ]                                    choice of what to read
//! ```

use super::{
    layout::Layout,
    missing::{Lost, Missing},
};

/// Columns of one row that a write treats alike: `from..to` within the chunk, covering the data
/// chunks `first..=last` of the row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Segment {
    pub(super) fn covers(&self, index: u64) -> bool {
        (self.first..=self.last).contains(&index)
    }
}

/// How a segment's new parity is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parity {
    /// Old data and old parity are read (read-modify-write).
    Modify,
    /// The data that is not written is read (reconstruct-write).
    Reconstruct,
    /// As many members as there are data chunks are read, because neither can be had.
    Regenerate,
    /// No parity is left to keep.
    Nothing,
}

/// Calls `act` for every row of the range and every band of columns written alike.
pub(super) fn for_segments(
    layout: &Layout,
    offset: u64,
    bytes: u64,
    mut act: impl FnMut(u64, Segment) -> Result<(), Lost>,
) -> Result<(), Lost> {
    let chunk = layout.chunk_bytes;
    let row_bytes = chunk * layout.data();
    let end = offset + bytes;
    for row in offset / row_bytes..=(end - 1) / row_bytes {
        let start = offset.max(row * row_bytes) - row * row_bytes;
        let stop = end.min((row + 1) * row_bytes) - row * row_bytes;
        let (head, tail) = (start / chunk, (stop - 1) / chunk);
        let (head_from, tail_to) = (start % chunk, (stop - 1) % chunk + 1);
        if head == tail {
            let (from, to) = (head_from, tail_to);
            act(row, Segment { from, to, first: head, last: head })?;
            continue;
        }
        let (low, high) = (head_from.min(tail_to), head_from.max(tail_to));
        for (from, to) in [(0, low), (low, high), (high, chunk)] {
            let first = if from >= head_from { head } else { head + 1 };
            let last = if to <= tail_to { tail } else { tail - 1 };
            if from < to && first <= last {
                act(row, Segment { from, to, first, last })?;
            }
        }
    }
    Ok(())
}

/// md's rule (raid5.c, `handle_stripe_dirtying`): whichever reads fewer, and on a tie the
/// reconstruction.
pub(super) fn parity_by(layout: &Layout, row: u64, segment: Segment, missing: Missing) -> Parity {
    let (absent, unreadable) = (missing.absent.at(row), missing.at(row));
    let (mut kept, mut can_modify, mut can_reconstruct) = (0, true, true);
    for number in 0..layout.parities() {
        let member = layout.parity_member(row, number);
        if absent >> member & 1 == 0 {
            kept += 1;
            can_modify &= unreadable >> member & 1 == 0;
        }
    }
    for index in 0..layout.data() {
        if unreadable >> layout.data_member(row, index) & 1 == 1 {
            let rules_out =
                if segment.covers(index) { &mut can_modify } else { &mut can_reconstruct };
            *rules_out = false;
        }
    }
    let covered = segment.last - segment.first + 1;
    match (can_modify, can_reconstruct) {
        _ if kept == 0 => Parity::Nothing,
        (true, true) if covered + kept < layout.data() - covered => Parity::Modify,
        (_, true) => Parity::Reconstruct,
        (true, false) => Parity::Modify,
        (false, false) => Parity::Regenerate,
    }
}
