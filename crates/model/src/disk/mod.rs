//! Rotating magnetic disks: zoned recording, a seek curve, a platter that really turns, caches and a command
//! queue. What a request costs follows from where arm and platter are when its turn comes.

mod layout;
mod params;
mod seek;

pub use params::{DiskParams, Shingling, WriteCaching};

use layout::Layout;
use seek::SeekCurve;

/// A disk.
#[derive(Debug)]
pub struct Disk {
    params: DiskParams,
    queue_depth: u32,
    layout: Layout,
    seeks: SeekCurve,
}

impl Disk {
    /// Builds the disk and its tables. At most `queue_depth` requests may be outstanding; the drive itself
    /// looks at [`DiskParams::command_queue_depth`] of them, the others wait in front of it.
    ///
    /// # Panics
    /// Where the parameters contradict each other.
    pub fn new(params: DiskParams, queue_depth: u32) -> Self {
        params.check();
        assert!(queue_depth > 0, "a disk that takes no request");
        let cache_bytes = params.shingling.map_or(0, |shingling| shingling.media_cache_bytes);
        let sectors = (params.capacity_bytes + cache_bytes) / u64::from(params.sector_bytes);
        let layout = Layout::new(&params, sectors);
        let seeks = SeekCurve::new(&params, layout.cylinders());
        Self { params, queue_depth, layout, seeks }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A 7,200 rpm SATA disk of 1 TB as of 2008.
    pub fn params() -> DiskParams {
        DiskParams {
            capacity_bytes: 1_000_204_886_016,
            sector_bytes: 512,
            rpm: 7200,
            surfaces: 6,
            outer_bytes_per_s: 110_000_000,
            inner_bytes_per_s: 55_000_000,
            zones: 16,
            track_to_track_ns: 800_000,
            average_seek_ns: 8_900_000,
            full_stroke_ns: 18_000_000,
            settle_ns: None,
            write_settle_ns: 500_000,
            command_ns: 10_000,
            link_bytes_per_s: 300_000_000,
            command_queue_depth: 32,
            age_limit_ns: 1_000_000_000,
            read_segments: 16,
            read_segment_bytes: 1 << 20,
            prefetch_min_bytes: 0,
            write_caching: WriteCaching::On,
            write_cache_bytes: 16 << 20,
            write_cache_commands: 32,
            shingling: None,
        }
    }
}
