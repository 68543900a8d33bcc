//! Cutting a request into pieces that an engine takes: whole blocks, no longer than a transfer.
//!
//! ```text
//!   blocks   |--------|--------|--------|--------|
//!   change        |===|=================|==|          merge, whole blocks, merge
//!   read          |------------------------|          one span of whole blocks around it
//! ```

use block::Extent;

/// One piece of a request, and the whole blocks around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// What the client meant.
    pub offset: u64,
    /// Its length, never 0.
    pub bytes: u32,
    /// What is asked of the engine.
    pub span: Extent,
}

impl Piece {
    /// Whether the span holds bytes that the client did not mean.
    pub fn is_partial(&self) -> bool {
        self.bytes != self.span.bytes
    }

    /// Where the client's bytes lie in the span's memory.
    pub fn range(&self) -> std::ops::Range<usize> {
        let from = (self.offset - self.span.offset) as usize;
        from..from + self.bytes as usize
    }

    /// The client's first byte behind this piece.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}

/// The rules of one engine.
#[derive(Clone, Copy, Debug)]
pub struct Cutter {
    block_bytes: u64,
    /// Longest span: whole blocks.
    span_bytes_max: u64,
}

impl Cutter {
    /// For spans of whole blocks that fit `transfer_bytes`.
    ///
    /// # Panics
    /// If not even one block fits.
    pub fn new(block_bytes: u32, transfer_bytes: u32) -> Self {
        assert!(block_bytes.is_power_of_two(), "a block of {block_bytes} bytes");
        let (block_bytes, transfer_bytes) = (u64::from(block_bytes), u64::from(transfer_bytes));
        assert!(transfer_bytes >= block_bytes, "no block fits {transfer_bytes} bytes");
        Self { block_bytes, span_bytes_max: transfer_bytes - transfer_bytes % block_bytes }
    }

    /// The first piece of a read of `offset..end`.
    pub fn read(&self, offset: u64, end: u64) -> Piece {
        assert!(offset < end, "nothing to cut");
        let start = self.floor(offset);
        let stop = end.next_multiple_of(self.block_bytes).min(start + self.span_bytes_max);
        self.piece(offset, end.min(stop), start..stop)
    }

    /// The first piece of a change of `offset..end`: whole blocks, or a part of a single one.
    pub fn change(&self, offset: u64, end: u64) -> Piece {
        assert!(offset < end, "nothing to cut");
        let start = self.floor(offset);
        let whole = self.floor(end).min(start + self.span_bytes_max);
        if start < offset || whole <= start {
            let stop = start + self.block_bytes;
            return self.piece(offset, end.min(stop), start..stop);
        }
        self.piece(offset, whole, start..whole)
    }

    /// All pieces of a change of `offset..end`, in order.
    pub fn changes(self, offset: u64, end: u64) -> impl Iterator<Item = Piece> + Clone {
        let first = self.change(offset, end);
        std::iter::successors(Some(first), move |last| {
            (last.end() < end).then(|| self.change(last.end(), end))
        })
    }

    /// Most pieces of a change of so many bytes, wherever it begins.
    pub fn changes_max(&self, bytes: u32) -> usize {
        u64::from(bytes).div_ceil(self.span_bytes_max) as usize + 2
    }

    /// Longest span, in bytes.
    pub fn span_bytes_max(&self) -> u32 {
        self.span_bytes_max as u32
    }

    /// The whole blocks within `offset..end`; none if there are none.
    pub fn inside(&self, offset: u64, end: u64) -> Option<std::ops::Range<u64>> {
        let range = offset.next_multiple_of(self.block_bytes)..self.floor(end);
        (range.start < range.end).then_some(range)
    }

    /// Longest read that is a single piece wherever it starts.
    pub fn single_read_bytes_max(&self) -> u32 {
        (self.span_bytes_max - (self.block_bytes - 1)) as u32
    }

    /// Whether a read of `offset..end` is a single piece.
    pub fn is_single_read(&self, offset: u64, end: u64) -> bool {
        offset == end || self.read(offset, end).end() == end
    }

    fn floor(&self, offset: u64) -> u64 {
        offset - offset % self.block_bytes
    }

    fn piece(&self, offset: u64, end: u64, span: std::ops::Range<u64>) -> Piece {
        Piece {
            offset,
            bytes: (end - offset) as u32,
            span: Extent { offset: span.start, bytes: (span.end - span.start) as u32 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_tile_the_request_with_whole_blocks(
            block_shift in 0u32..14,
            blocks_max in 1u32..9,
            extra in 0u32..512,
            offset in 0u64..100_000,
            bytes in 1u64..300_000,
        ) {
            let block_bytes = 1u32 << block_shift;
            let transfer_bytes = block_bytes * blocks_max + extra % block_bytes;
            // A transfer of few bytes would only make this slow.
            let bytes = 1 + bytes % (u64::from(transfer_bytes) * 20);
            let cutter = Cutter::new(block_bytes, transfer_bytes);
            let end = offset + bytes;
            for cut in [Cutter::read, Cutter::change] {
                let mut next = offset;
                while next < end {
                    let piece = cut(&cutter, next, end);
                    prop_assert_eq!(piece.offset, next);
                    prop_assert!(piece.bytes > 0 && piece.end() <= end);
                    prop_assert!(piece.span.offset % u64::from(block_bytes) == 0);
                    prop_assert!(piece.span.bytes % block_bytes == 0);
                    prop_assert!(piece.span.bytes <= transfer_bytes);
                    prop_assert!(piece.span.offset <= piece.offset);
                    prop_assert!(piece.end() <= piece.span.offset + u64::from(piece.span.bytes));
                    next = piece.end();
                }
            }
        }

        #[test]
        fn a_change_merges_at_most_at_its_two_ends(
            offset in 0u64..20_000, bytes in 1u64..200_000,
        ) {
            let cutter = Cutter::new(4096, 65_536);
            let (mut next, mut partial) = (offset, 0);
            while next < offset + bytes {
                let piece = cutter.change(next, offset + bytes);
                partial += u32::from(piece.is_partial());
                prop_assert!(!piece.is_partial() || piece.span.bytes == 4096);
                next = piece.end();
            }
            let odd_ends = [offset, offset + bytes].iter().filter(|&&end| end % 4096 != 0).count();
            prop_assert!(partial as usize <= odd_ends);
            let pieces = cutter.changes(offset, offset + bytes);
            prop_assert!(pieces.clone().count() <= cutter.changes_max(bytes as u32));
            prop_assert_eq!(pieces.map(|piece| u64::from(piece.bytes)).sum::<u64>(), bytes);
        }
    }

    #[test]
    fn only_whole_blocks_lie_inside() {
        let cutter = Cutter::new(4096, 4096);
        assert_eq!(cutter.inside(1, 8191), None);
        assert_eq!(cutter.inside(0, 4095), None);
        assert_eq!(cutter.inside(1, 8192), Some(4096..8192));
        assert_eq!(cutter.inside(4096, 12_289), Some(4096..12_288));
    }
}
