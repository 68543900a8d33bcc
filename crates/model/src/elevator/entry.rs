//! A request to the driver: one from above, or several that lie side by side.

use block::Actor;

/// Which way the bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Read,
    Write,
}

/// What kind of command it becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Bytes in one direction; whether others may join.
    Transfer(Direction, Joins),
    /// Ahead of everything, in the order they came.
    Urgent,
}

/// Whether a request may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Joins {
    Yes,
    /// It carries memory, or is to be durable by itself.
    No,
}

/// One request to the driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub kind: Kind,
    /// Of the first request in it.
    pub actor: Actor,
    pub offset: u64,
    pub bytes: u64,
    /// Ends of the list of requests from above.
    pub first: u32,
    pub last: u32,
}

impl Entry {
    pub fn end(&self) -> u64 {
        self.offset + self.bytes
    }

    /// # Panics
    /// Of an urgent one.
    pub fn direction(&self) -> Direction {
        match self.kind {
            Kind::Transfer(direction, _) => direction,
            Kind::Urgent => unreachable!("an urgent request is not sorted"),
        }
    }
}
