//! The rate over time in at most so many slices: when there are more, two become one.

use crate::access::{Access, Op};

/// Most slices.
const SLICES_MAX: usize = 512;
/// Width of the first ones, ns.
const WIDTH_NS: u64 = 1_000_000;

/// One slice of the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Slice {
    /// Reads that began in it.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes they read.
    pub read_bytes: u64,
    /// Bytes they wrote.
    pub written_bytes: u64,
}

/// The rate over time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OverTime {
    /// Width of a slice, ns.
    pub slice_ns: u64,
    /// From the first access on.
    pub slices: Vec<Slice>,
}

pub(super) struct Slices(OverTime);

impl Default for Slices {
    fn default() -> Self {
        Self(OverTime { slice_ns: WIDTH_NS, slices: Vec::new() })
    }
}

impl Slices {
    pub fn add(&mut self, since_ns: u64, access: &Access) {
        let over_time = &mut self.0;
        while since_ns / over_time.slice_ns >= SLICES_MAX as u64 {
            over_time.slices = over_time.slices.chunks(2).map(sum).collect();
            over_time.slice_ns *= 2;
        }
        let at = (since_ns / over_time.slice_ns) as usize;
        if over_time.slices.len() <= at {
            over_time.slices.resize(at + 1, Slice::default());
        }
        let slice = &mut over_time.slices[at];
        match access.op {
            Op::Read => {
                slice.reads += 1;
                slice.read_bytes = slice.read_bytes.saturating_add(access.bytes);
            }
            Op::Write => {
                slice.writes += 1;
                slice.written_bytes = slice.written_bytes.saturating_add(access.bytes);
            }
            Op::Flush | Op::Trim => {}
        }
    }

    pub fn conclude(self) -> OverTime {
        self.0
    }
}

fn sum(two: &[Slice]) -> Slice {
    two.iter().fold(Slice::default(), |a, b| Slice {
        reads: a.reads + b.reads,
        writes: a.writes + b.writes,
        read_bytes: a.read_bytes.saturating_add(b.read_bytes),
        written_bytes: a.written_bytes.saturating_add(b.written_bytes),
    })
}
