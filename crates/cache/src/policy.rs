//! The policies by name, and what all of them answer.

use crate::{
    arc::Arc,
    lirs::Lirs,
    queue::{Clock, Fifo, Lru},
    s3fifo::S3Fifo,
    smq::Smq,
    tinylfu::TinyLfu,
    two_queues::TwoQueues,
};

/// Most blocks that a cache can hold: ghosts beside them are counted by 32 bits.
pub const CAPACITY_MAX: usize = 1 << 28;

/// What an access found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The block was held.
    Hit,
    /// It was not, and is now.
    Miss {
        /// What had to go for it; nothing while there is room.
        evicted: Option<u64>,
    },
    /// It was not, and is not now.
    Passed {
        /// What was given up all the same, for one that may come.
        evicted: Option<u64>,
    },
}

impl Access {
    /// Which block is held no longer.
    pub fn evicted(self) -> Option<u64> {
        match self {
            Self::Hit => None,
            Self::Miss { evicted } | Self::Passed { evicted } => evicted,
        }
    }
}

/// A cache of a fixed number of blocks: which of them it holds.
pub trait Replacement {
    /// Asks for a block, which is held afterwards unless it [passed](Access::Passed).
    fn access(&mut self, block: u64) -> Access;

    /// Tells the time, ns since some beginning, to a policy that goes by it.
    fn pass_time(&mut self, _ns: u64) {}

    /// Takes in a block that was held before a restart.
    fn restore(&mut self, block: u64) {
        self.access(block);
    }

    /// Whether a block is held; this is no access.
    fn holds(&self, block: u64) -> bool;

    /// Gives a block up; whether it was held. It leaves no ghost.
    fn remove(&mut self, block: u64) -> bool;

    /// How many blocks are held.
    fn len(&self) -> usize;

    /// Whether none is.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

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
