//! The streams of the log.

use crate::shape::{HOST_CLASSES_MAX, META, STREAMS};

/// Where chunks are appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stream {
    /// What the host writes, by class.
    Host(u8),
    /// What the cleaner copies, by class.
    Cleaner(u8),
    /// Pages of the map.
    Meta,
}

impl Stream {
    pub const ALL: [Self; STREAMS] = [
        Self::Host(0),
        Self::Host(1),
        Self::Cleaner(0),
        Self::Cleaner(1),
        Self::Cleaner(2),
        Self::Cleaner(3),
        Self::Meta,
    ];

    pub fn number(self) -> u8 {
        match self {
            Self::Host(class) => class,
            Self::Cleaner(class) => HOST_CLASSES_MAX + class,
            Self::Meta => META,
        }
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.number())
    }
}
