//! What a volume is, as it is chosen when it is created: sizes, streams, and what lies below.

/// The unit of the map, of trim and of checksums.
pub const BLOCK_BYTES: u64 = 4096;
/// Host, cleaner, meta: numbers of streams, whether a volume uses them or not.
pub const STREAMS: usize = (HOST_CLASSES_MAX + CLEANER_CLASSES_MAX) as usize + 1;
/// The number of the stream of pages of the map.
pub const META: u8 = STREAMS as u8 - 1;
/// More would make the order of what two of them hold hard to tell.
pub(crate) const HOST_CLASSES_MAX: u8 = 2;
/// As many as SepBIT tells apart.
pub(crate) const CLEANER_CLASSES_MAX: u8 = 4;
/// Whether a torn stripe can damage parts of it that were not being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parity {
    /// A single drive, stripes without parity, mirrors.
    None,
    /// RAID-5 or RAID-6: what is flushed is padded to the stripe.
    Protected,
}

/// When the checksum of a block's data is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksums {
    /// At every read: 8 B of DRAM a block, 2 GiB for a TiB.
    OnRead,
    /// When the cleaner copies it and at a check: 4 B of DRAM a block.
    OnCleaning,
}

/// Streams apart for what will be overwritten soon and late. Each needs a segment and a chunk's
/// memory of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Classes {
    /// Of what the host writes: 1 or 2.
    pub host: u8,
    /// Of what the cleaner copies: 1 to 4.
    pub cleaner: u8,
}

impl Classes {
    /// Only the cleaner's blocks apart.
    pub const TWO: Self = Self { host: 1, cleaner: 1 };
    /// Six, by the age of what a write invalidates and of what a copy moves (Wang et al., SepBIT,
    /// FAST 2022).
    pub const SEPBIT: Self = Self { host: HOST_CLASSES_MAX, cleaner: CLEANER_CLASSES_MAX };

    /// Streams that are used: these and that of the map's pages.
    pub fn streams(self) -> u32 {
        u32::from(self.host) + u32::from(self.cleaner) + 1
    }

    pub(crate) fn are_possible(self) -> bool {
        (1..=HOST_CLASSES_MAX).contains(&self.host)
            && (1..=CLEANER_CLASSES_MAX).contains(&self.cleaner)
    }
}

/// What is chosen when a volume is created, and kept in its superblock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The drive's size.
    pub device_bytes: u64,
    /// The volume's size. More than the drive can hold is thin provisioning.
    pub exported_bytes: u64,
    /// The array's full stripe, or 4,096.
    pub stripe_bytes: u64,
    /// What the drive erases at once, or 4,096.
    pub erase_unit_bytes: u64,
    /// A multiple of both.
    pub segment_bytes: u64,
    /// The longest append; a multiple of the stripe where there is parity.
    pub chunk_bytes: u64,
    /// Where small synchronous writes go under parity: a multiple of stripe and erase unit, or 0
    /// for none. See
    /// [`Shape::usual_ring_bytes`].
    pub ring_bytes: u64,
    /// What is below.
    pub parity: Parity,
    /// What DRAM is spent on.
    pub checksums: Checksums,
    /// What is told apart.
    pub classes: Classes,
}
