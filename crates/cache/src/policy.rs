//! The policies by name.

use crate::{
    arc::Arc,
    lirs::Lirs,
    queue::{Clock, Fifo, Lru},
    replacement::Replacement,
    s3fifo::S3Fifo,
    smq::Smq,
    tinylfu::TinyLfu,
    two_queues::TwoQueues,
};

/// Most blocks that a cache can hold: ghosts beside them are counted by 32 bits.
pub const CAPACITY_MAX: usize = 1 << 28;

/// Which block goes when one must.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Policy {
    /// The one that came first.
    Fifo,
    /// The least recently used.
    Lru,
    /// The one that came first, but for those used since the hand passed (Corbató, 1968).
    Clock,
    /// Newcomers in a queue of their own, who comes back in a list (Johnson and Shasha, 1994).
    TwoQ,
    /// Recency and reuse share the room as their ghosts are asked for (Megiddo and Modha, 2003).
    Arc,
    /// The one whose last two uses lie apart furthest (Jiang and Zhang, 2002).
    Lirs,
    /// Three queues, first in, first out (Yang and others, 2023).
    S3Fifo,
    /// The one asked for less often than who wants its place (Einziger and others, 2017).
    TinyLfu,
    /// As dm-cache of Linux since 4.12: blocks of regions that miss much.
    Smq,
}

impl Policy {
    /// All of them, the plain ones first.
    pub const ALL: [Self; 9] = [
        Self::Fifo,
        Self::Lru,
        Self::Clock,
        Self::TwoQ,
        Self::Arc,
        Self::Lirs,
        Self::S3Fifo,
        Self::TinyLfu,
        Self::Smq,
    ];

    /// Its name in words that users write.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Lru => "lru",
            Self::Clock => "clock",
            Self::TwoQ => "2q",
            Self::Arc => "arc",
            Self::Lirs => "lirs",
            Self::S3Fifo => "s3fifo",
            Self::TinyLfu => "tinylfu",
            Self::Smq => "smq",
        }
    }

    /// The policy of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// An empty cache of `capacity` blocks.
    ///
    /// # Panics
    /// When that is 0, or more than [`CAPACITY_MAX`].
    pub fn cache(self, capacity: usize) -> Box<dyn Replacement> {
        assert!((1..=CAPACITY_MAX).contains(&capacity), "a cache of {capacity} blocks");
        match self {
            Self::Fifo => Box::new(Fifo::new(capacity)),
            Self::Lru => Box::new(Lru::new(capacity)),
            Self::Clock => Box::new(Clock::new(capacity)),
            Self::TwoQ => Box::new(TwoQueues::new(capacity)),
            Self::Arc => Box::new(Arc::new(capacity)),
            Self::Lirs => Box::new(Lirs::new(capacity)),
            Self::S3Fifo => Box::new(S3Fifo::new(capacity)),
            Self::TinyLfu => Box::new(TinyLfu::new(capacity)),
            Self::Smq => Box::new(Smq::new(capacity)),
        }
    }
}
