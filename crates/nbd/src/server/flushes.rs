//! One flush at a time, for everybody who asked before it began; and what is left when one fails.
//!
//! An engine's flush covers every write that completed before it was submitted. A reply leaves only
//! after its write completed, so a flush submitted after it was asked for covers every write that
//! any client was told of before.
//!
//! After a failed flush nobody knows which of the acknowledged writes are lost: the operating
//! system reports a lost page once and then calls it clean. So nothing is promised from then on:
//! every write, zeroing, trim and flush is answered with EIO until the server is started anew.
//! Reads are still served, since they promise nothing and may be all that can be rescued.

use crate::protocol::ErrorCode;

/// Whether acknowledged writes can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// Every flush so far succeeded.
    Sound,
    /// One failed so, for good.
    Lost(ErrorCode),
}

/// Operations that wait for a flush.
#[derive(Debug)]
pub struct Flushes {
    /// Asked since the flush under way began.
    waiting: Vec<u32>,
    /// Covered by the flush under way, or to be answered after it.
    covered: Vec<u32>,
    under_way: bool,
    /// The server itself wants one.
    for_self: bool,
    trust: Trust,
}

impl Flushes {
    /// Room for so many operations that wait.
    pub fn with_capacity(operations: usize) -> Self {
        Self {
            waiting: Vec::with_capacity(operations),
            covered: Vec::with_capacity(operations),
            under_way: false,
            for_self: false,
            trust: Trust::Sound,
        }
    }

    /// An operation wants to be covered by the next flush.
    pub fn ask(&mut self, operation: u32) {
        self.waiting.push(operation);
    }

    /// The server wants a flush, and waits for it by [`is_under_way`](Self::is_under_way).
    pub fn ask_for_self(&mut self) {
        self.for_self = true;
    }

    /// Whether a flush is to be submitted now, which the caller then does.
    pub fn start(&mut self) -> bool {
        if self.under_way || self.waiting.is_empty() && !self.for_self {
            return false;
        }
        assert!(self.covered.is_empty(), "the last flush is answered");
        std::mem::swap(&mut self.waiting, &mut self.covered);
        self.for_self = false;
        self.under_way = true;
        true
    }

    /// The flush under way has ended; those it covered are to be [answered](Self::answer).
    pub fn end(&mut self, result: Result<(), ErrorCode>) {
        assert!(self.under_way, "a flush that nobody asked for");
        self.under_way = false;
        if let Err(error) = result {
            self.distrust(error);
        }
    }

    /// An operation that the last flush covered.
    pub fn answer(&mut self) -> Option<u32> {
        self.covered.pop()
    }

    /// Nothing is promised from now on.
    pub fn distrust(&mut self, error: ErrorCode) {
        if self.trust == Trust::Sound {
            self.trust = Trust::Lost(error);
        }
    }

    /// Whether acknowledged writes can be relied on.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Whether a flush is at the engine.
    pub fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// Whether no flush is at the engine and none is wanted.
    pub fn is_quiet(&self) -> bool {
        !self.under_way && self.waiting.is_empty() && !self.for_self
    }
}
