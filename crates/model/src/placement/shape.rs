//! How many places a tier has on the disks and on flash, and where they begin.

/// How many extents there are, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// Places on the disks: 0 .. disks.
    pub disks: u32,
    /// Places on flash: disks .. disks + flash.
    pub flash: u32,
    /// Pages of the map, of which there are two copies.
    pub pages: u32,
    /// Where on flash the first place begins, bytes.
    pub data_at: u64,
}

impl Shape {
    /// Extents of the volume: one place of all is free.
    pub fn extents(&self) -> u32 {
        self.disks + self.flash - 1
    }

    pub fn is_flash(&self, place: u32) -> bool {
        place >= self.disks
    }
}
