//! What a cache is asked, and what every policy answers.

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
