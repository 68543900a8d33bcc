//! What a cache does with writes.

/// What becomes of a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// It goes to flash and to the disks.
    Through,
    /// It goes to flash, and to the disks later.
    Back,
    /// It goes to the disks.
    Around,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Through, Self::Back, Self::Around];

    /// Its name in a STACK.
    pub fn name(self) -> &'static str {
        match self {
            Self::Through => "writethrough",
            Self::Back => "writeback",
            Self::Around => "writearound",
        }
    }
}
