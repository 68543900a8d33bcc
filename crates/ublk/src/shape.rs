//! What the kernel is told of a disk. Pure.

use crate::Refusal;
use block::Geometry;
use engine::ublk::Parameters;
use nbd::protocol::{Access, Discarded, Export, Flushing};

/// Requests that are outstanding at most.
pub const QUEUE_DEPTH_MAX: u32 = 128;
/// Longest transfer, in bytes: the kernel cuts longer ones. With a buffer for each request, 32 MiB
/// in all.
pub const TRANSFER_BYTES_MAX: u32 = 256 << 10;
/// Longest range that is discarded or zeroed by one request, in bytes.
const RANGE_BYTES_MAX: u64 = 1 << 30;

/// The kernel's smallest block and its page: the limits of a disk's logical block.
const SECTOR_BYTES: u32 = 512;
const PAGE_BYTES: u32 = 4096;

/// A disk, and what its queue holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// What the disk tells the system.
    pub parameters: Parameters,
    /// Requests outstanding at most.
    pub queue_depth: u16,
    /// Bytes of the target behind the last whole block, which the disk does not reach.
    pub unreached_bytes: u64,
}

impl Shape {
    /// The disk that serves `export` from an engine of that geometry.
    ///
    /// # Errors
    /// A disk cannot be like that.
    pub fn of(export: &Export, geometry: &Geometry) -> Result<Self, Refusal> {
        let logical_block_bytes = geometry.block_bytes.max(SECTOR_BYTES);
        if logical_block_bytes > PAGE_BYTES {
            return Err(Refusal::LongBlocks { bytes: logical_block_bytes });
        }
        let transfer_bytes_max = geometry.transfer_bytes_max.min(TRANSFER_BYTES_MAX);
        let transfer_bytes_max = transfer_bytes_max / PAGE_BYTES * PAGE_BYTES;
        if transfer_bytes_max == 0 {
            return Err(Refusal::ShortTransfers { bytes: geometry.transfer_bytes_max });
        }
        let size_bytes = export.size_bytes / u64::from(logical_block_bytes);
        let size_bytes = size_bytes * u64::from(logical_block_bytes);
        if size_bytes == 0 {
            return Err(Refusal::Empty { bytes: export.size_bytes });
        }
        let read_only = export.access == Access::ReadOnly;
        let zeroes = !read_only && export.discarded == Discarded::ReadsZero;
        let parameters = Parameters {
            size_bytes,
            logical_block_bytes,
            physical_block_bytes: logical_block_bytes.max(PAGE_BYTES),
            transfer_bytes_max,
            read_only,
            volatile_cache: export.flushing == Flushing::Needed,
            discard_bytes_max: if read_only { 0 } else { RANGE_BYTES_MAX },
            zeroing_bytes_max: if zeroes { RANGE_BYTES_MAX } else { 0 },
        };
        let queue_depth = geometry.queue_depth.clamp(1, QUEUE_DEPTH_MAX) as u16;
        let unreached_bytes = export.size_bytes - size_bytes;
        Ok(Self { parameters, queue_depth, unreached_bytes })
    }

    /// Memory for requests: a buffer for each.
    pub fn memory_bytes(&self) -> u64 {
        u64::from(self.queue_depth) * u64::from(self.parameters.transfer_bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Data;

    fn geometry() -> Geometry {
        Geometry {
            capacity_bytes: 10 << 20,
            block_bytes: 512,
            transfer_bytes_max: 16 << 20,
            queue_depth: 256,
            data: Data::Stored,
        }
    }

    fn shape(export: impl FnOnce(&mut Export), geometry: Geometry) -> Result<Shape, Refusal> {
        let mut wished = Export::of(&geometry);
        export(&mut wished);
        Shape::of(&wished, &geometry)
    }

    #[test]
    fn a_disk_has_the_blocks_of_its_engine_and_not_its_depth() {
        let disk = shape(|_| {}, geometry()).expect("a disk");
        let Parameters { logical_block_bytes, physical_block_bytes, .. } = disk.parameters;
        assert_eq!((logical_block_bytes, physical_block_bytes), (512, 4096));
        assert_eq!((disk.parameters.transfer_bytes_max, disk.queue_depth), (256 << 10, 128));
        assert_eq!(disk.memory_bytes(), 32 << 20);
        let small = Geometry {
            block_bytes: 4096,
            transfer_bytes_max: 70_000,
            queue_depth: 1,
            ..geometry()
        };
        let disk = shape(|_| {}, small).expect("a disk");
        assert_eq!(disk.parameters.logical_block_bytes, 4096);
        assert_eq!((disk.parameters.transfer_bytes_max, disk.queue_depth), (69_632, 1));
    }

    #[test]
    fn what_a_disk_does_not_reach_is_said() {
        let odd = Geometry { block_bytes: 1, capacity_bytes: 10_001, ..geometry() };
        let disk = shape(|_| {}, odd).expect("a disk");
        assert_eq!((disk.parameters.size_bytes, disk.unreached_bytes), (9728, 273));
        assert_eq!(disk.parameters.logical_block_bytes, 512);
    }

    #[test]
    fn what_can_be_changed_and_lost_is_what_is_exported() {
        let plain = shape(|_| {}, geometry()).expect("a disk").parameters;
        assert!(!plain.read_only && plain.volatile_cache);
        assert_eq!((plain.discard_bytes_max, plain.zeroing_bytes_max), (1 << 30, 0));
        let volume = shape(|export| export.discarded = Discarded::ReadsZero, geometry());
        assert_eq!(volume.expect("a disk").parameters.zeroing_bytes_max, 1 << 30);
        let forbidden = |export: &mut Export| {
            export.access = Access::ReadOnly;
            export.discarded = Discarded::ReadsZero;
            export.flushing = Flushing::Unneeded;
        };
        let forbidden = shape(forbidden, geometry()).expect("a disk").parameters;
        assert!(forbidden.read_only && !forbidden.volatile_cache);
        assert_eq!((forbidden.discard_bytes_max, forbidden.zeroing_bytes_max), (0, 0));
    }

    #[test]
    fn what_the_kernel_would_not_take_is_refused() {
        let refused = |geometry| shape(|_| {}, geometry).expect_err("no disk");
        let long = refused(Geometry { block_bytes: 8192, ..geometry() });
        assert!(matches!(long, Refusal::LongBlocks { bytes: 8192 }), "{long}");
        let short = refused(Geometry { transfer_bytes_max: 512, ..geometry() });
        assert!(matches!(short, Refusal::ShortTransfers { bytes: 512 }), "{short}");
        let small = refused(Geometry { block_bytes: 1, capacity_bytes: 511, ..geometry() });
        assert!(small.to_string().contains("truncate"), "{small}");
    }
}
