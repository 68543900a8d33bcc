//! What an array is made of.

/// How data and redundancy lie on the members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Striped, no redundancy.
    Raid0,
    /// Every member holds everything.
    Raid1,
    /// Striped with one parity chunk a row, left-symmetric.
    Raid5,
    /// Striped with two parity chunks a row, left-symmetric.
    Raid6,
    /// Every chunk on two members side by side (md's near-2 layout), striped over the pairs.
    Raid10,
}

/// An array of drives. It has no number to fit: what the host spends on it stands in its port's
/// [`serial_ns`](crate::PortParams::serial_ns).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayParams {
    /// The layout.
    pub level: Level,
    /// How many bytes in a row lie on one member, bytes; a multiple of 512. On RAID-1 only the
    /// rebuild goes by it.
    pub chunk_bytes: u32,
}

/// The pace of a rebuild: md's `sync_speed_max` and `sync_speed_min`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rebuild {
    /// Rate of writing to the new member while nobody asks for anything, bytes per second.
    pub idle_bytes_per_s: u64,
    /// The same while requests are outstanding, bytes per second.
    pub busy_bytes_per_s: u64,
}

impl ArrayParams {
    /// # Panics
    /// When the level cannot be built of so many members.
    pub(super) fn check(&self, members: usize) {
        let least = match self.level {
            Level::Raid0 => 1,
            Level::Raid1 => 2,
            Level::Raid5 => 3,
            Level::Raid6 => 4,
            Level::Raid10 => 2,
        };
        assert!(members >= least, "{:?} of {members} members", self.level);
        assert!(members <= 64, "an array of {members} members");
        assert!(
            self.chunk_bytes >= 512 && self.chunk_bytes.is_multiple_of(512),
            "a chunk of {} B",
            self.chunk_bytes
        );
    }
}
