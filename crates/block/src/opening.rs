//! How a file is opened, and what is done to one: the words that engines, models and workloads
//! share.

/// Whether the page cache takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Caching {
    /// `O_DIRECT`: past the page cache.
    #[default]
    Direct,
    /// Through the page cache.
    Buffered,
}

/// When a write returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Syncing {
    /// When the drive or the cache has it.
    #[default]
    None,
    /// When its data and the metadata needed to find it are durable (`O_DSYNC`).
    Dsync,
    /// When its data and all metadata, times included, are durable (`O_SYNC`).
    Sync,
}

/// What a read of a discarded range gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discarded {
    /// Zeroes, at once and for ever: zeroing may be done by discarding, and is then fast.
    ReadsZero,
    /// Anything: zeroing writes zeroes.
    Unknown,
}
