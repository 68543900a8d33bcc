//! What is asked of a stack.

use lab::workload::{BlockMix, Op, Pattern, Stream};

/// A mix of reads and writes of one thread, as fast as they go.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Share of the operations that read, 0 to 1.
    pub reads: f64,
    /// Bytes of one operation; where they differ the mean, in whole ones of the smallest.
    pub block_bytes: u32,
    /// Where operations differ in size.
    pub lengths: Option<Lengths>,
    /// Operations in flight.
    pub depth: u16,
    /// Where they go.
    pub order: Order,
    /// Share of the operations of random order that go on where the one before ended, 0 to 1.
    pub sequential: f64,
}

/// How long operations are that differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Lengths {
    /// Those that read.
    pub reads: BlockMix,
    /// Those that write.
    pub writes: BlockMix,
    /// Both together.
    pub all: BlockMix,
}

/// Where operations go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Anywhere in the area, aligned, each place as likely as any.
    Random,
    /// From the front to the end of the area, over and over.
    Sequential,
}

impl Workload {
    /// Operations of one size, none of which follows the one before unless all do.
    pub fn plain(reads: f64, block_bytes: u32, depth: u16, order: Order) -> Self {
        Self { reads, block_bytes, lengths: None, depth, order, sequential: 0.0 }
    }

    /// How long operations are of which this share reads: all, none, or those of the mix.
    fn lengths(&self, reads: f64) -> Option<&BlockMix> {
        let lengths = self.lengths.as_ref()?;
        Some(match reads {
            1.0 => &lengths.reads,
            0.0 => &lengths.writes,
            _ => &lengths.all,
        })
    }

    /// Bytes of an operation in the mean, where this share of them reads.
    pub fn bytes_mean(&self, reads: f64) -> f64 {
        self.lengths(reads).map_or_else(|| f64::from(self.block_bytes), BlockMix::mean)
    }

    /// Bytes of the smallest operation: all places are multiples of it.
    pub fn smallest(&self) -> u32 {
        self.lengths.as_ref().map_or(self.block_bytes, |lengths| lengths.all.smallest())
    }

    /// Bytes of the largest operation.
    pub fn largest(&self) -> u32 {
        self.lengths.as_ref().map_or(self.block_bytes, |lengths| lengths.all.largest())
    }

    /// Bytes of a write in the mean, in whole ones of the smallest.
    pub fn written_block_bytes(&self) -> u32 {
        let smallest = f64::from(self.smallest());
        ((self.bytes_mean(0.0) / smallest).round().max(1.0) * smallest) as u32
    }

    /// Its operations, of which this share reads.
    pub fn stream(&self, reads: f64) -> Stream {
        let mix = self.lengths(reads).cloned();
        let block_bytes = mix.as_ref().map_or(self.block_bytes, BlockMix::largest);
        let op = Op::Mixed { read_percent: 100.0 * reads };
        let sequential = if self.order == Order::Random { self.sequential } else { 0.0 };
        Stream {
            mix,
            queue_depth: self.depth.into(),
            sequential_percent: 100.0 * sequential,
            ..Stream::new(op, self.order.pattern(), block_bytes)
        }
    }
}

impl Order {
    /// How it is drawn.
    pub fn pattern(self) -> Pattern {
        match self {
            Self::Random => Pattern::Random,
            Self::Sequential => Pattern::Sequential,
        }
    }
}
