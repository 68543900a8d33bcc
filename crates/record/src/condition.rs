//! What arrays and thin volumes are about while they are measured.

/// What a device under a target is about, beside answering.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// The device: `md0`.
    pub device: String,
    /// What it is about.
    pub state: DeviceState,
}

/// What a device may be about, beside answering.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceState {
    /// It copies or compares its members.
    Syncing {
        /// The kernel's word: `resync`, `recover`, `check`, `repair`, `reshape`.
        action: String,
        /// How far it is, in percent, where the kernel tells.
        percent: Option<u8>,
    },
    /// So many of its members are missing.
    Degraded(u32),
    /// So many bytes have been allocated to it so far.
    Allocated(u64),
}
