//! What a tier is set to, and where on flash what lies.

use super::{map, shape::Shape};
use block::Geometry;

/// Flash and disks as one volume whose extents move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierParams {
    /// Bytes of the flash drive that it takes.
    pub size_bytes: u64,
    /// Bytes of an extent: what moves. A power of two.
    pub extent_bytes: u64,
    /// How long accesses are counted before extents move.
    pub epoch_ns: u64,
}

/// Most extents of a tier: each takes 8 B of memory.
pub const EXTENTS_MAX: u64 = 1 << 22;
/// Fewest places on flash: one of them is always free.
pub const PLACES_MIN: u64 = 4;

impl TierParams {
    /// Places on the disks and on flash, on disks of so many bytes.
    pub fn places(&self, disks_bytes: u64) -> (u64, u64) {
        let disks = disks_bytes / self.extent_bytes;
        let data = self.size_bytes.saturating_sub(self.data_at(disks_bytes));
        (disks, data / self.extent_bytes)
    }

    /// Bytes of flash in front of the places: the map, for as many extents as there can be.
    pub fn data_at(&self, disks_bytes: u64) -> u64 {
        let most = disks_bytes / self.extent_bytes + self.size_bytes / self.extent_bytes;
        let pages = most.div_ceil(map::ENTRIES);
        map::place(pages as u32, 0).next_multiple_of(self.extent_bytes)
    }

    pub(super) fn shape(&self, disks: &Geometry, flash: &Geometry) -> Shape {
        assert!(self.extent_bytes.is_power_of_two(), "extents of {} B", self.extent_bytes);
        let block = disks.block_bytes.max(flash.block_bytes);
        assert!(self.extent_bytes >= u64::from(block), "extents of whole blocks");
        assert!(self.epoch_ns > 0, "an epoch that lasts");
        assert!(self.size_bytes <= flash.capacity_bytes, "a tier larger than its drive");
        let (on_disks, on_flash) = self.places(disks.capacity_bytes);
        assert!(on_disks > 0 && on_flash >= PLACES_MIN, "{on_disks} and {on_flash} places");
        assert!(on_disks + on_flash <= EXTENTS_MAX, "{} extents", on_disks + on_flash);
        let pages = (on_disks + on_flash).div_ceil(map::ENTRIES) as u32;
        let data_at = self.data_at(disks.capacity_bytes);
        Shape { disks: on_disks as u32, flash: on_flash as u32, pages, data_at }
    }
}
