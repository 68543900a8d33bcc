//! A block-mapped flash drive: reads are quick, a random write merges a whole unit.

mod params;

pub use params::BlockMappedParams;

/// The drive.
#[derive(Debug)]
pub struct BlockMapped {
    params: BlockMappedParams,
    queue_depth: u32,
}

impl BlockMapped {
    /// A drive that has been written once from end to end. At most `queue_depth` requests may be
    /// outstanding; they are served one at a time, in order.
    ///
    /// # Panics
    /// On parameters that contradict each other.
    pub fn new(params: BlockMappedParams, queue_depth: u32) -> Self {
        params.check();
        assert!(queue_depth > 0, "a drive that takes no request");
        Self { params, queue_depth }
    }
}
