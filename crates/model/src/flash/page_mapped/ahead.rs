//! Reads whose place is looked up later than they come.
//!
//! A map that does not fit into the processor's cache makes it wait for memory at every look-up.
//! But when a read will be done need not be known before an event that comes for certain before
//! it: until then its word of the map is on its way, and the program goes on with other requests.
//! What is put off is done in the order in which it came, and before anything else that flash is
//! asked for, so that nobody can tell.

use super::host::ReadAtHost;
use block::{Instant, Payload, Tag};

/// Reads put off at most: what a few hundred nanoseconds of work on others amount to.
const PUT_OFF_MAX: usize = 4;

/// A read of one unit, up to where flash is asked.
#[derive(Debug)]
pub struct PutOff {
    pub tag: Tag,
    pub issued: Instant,
    pub host: ReadAtHost,
    pub logical: u32,
    pub payload: Payload,
}

impl PutOff {
    /// It cannot be done before.
    pub fn earliest(&self) -> Instant {
        Instant(self.host.start)
    }
}

/// Those put off, in their order.
#[derive(Debug, Default)]
pub struct Ahead {
    ring: [Option<PutOff>; PUT_OFF_MAX],
    first: usize,
    len: usize,
}

impl Ahead {
    /// Whether none more may be put off.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == PUT_OFF_MAX
    }

    /// Puts one off.
    #[inline]
    pub fn push(&mut self, read: PutOff) {
        assert!(!self.is_full(), "more reads put off than there are places");
        self.ring[(self.first + self.len) % PUT_OFF_MAX] = Some(read);
        self.len += 1;
    }

    /// The first, if it may be done before or at `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Instant) -> Option<PutOff> {
        if self.ring[self.first].as_ref()?.earliest() > until {
            return None;
        }
        let read = self.ring[self.first].take();
        self.first = (self.first + 1) % PUT_OFF_MAX;
        self.len -= 1;
        read
    }
}
