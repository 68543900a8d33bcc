//! What every policy answers: whom a request may join, and which one goes next.

use super::entry::{Direction, Entry};
use block::{Actor, Instant};
use std::fmt::Debug;

/// What goes to the driver now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// This request: it is no longer among those that wait.
    Take(u32),
    /// None until then, unless something comes or ends before.
    Pause(Instant),
    /// None, until something comes or ends.
    Nothing,
}

/// Requests that wait, by number.
pub(super) trait Order: Debug {
    /// A request to wait.
    fn insert(&mut self, now: Instant, number: u32, entry: &Entry);

    /// The nearest neighbours that one of `direction` by `actor` could join: the last that starts
    /// below `offset`, and the first that starts at `end` or beyond.
    fn neighbours(
        &self,
        direction: Direction,
        actor: Actor,
        offset: u64,
        end: u64,
    ) -> (Option<u32>, Option<u32>);

    /// Request `number` has grown to its front: it is `entry` now.
    fn moved(&mut self, number: u32, entry: &Entry);

    /// Request `gone`, which was `entry`, has become part of `number`.
    fn joined(&mut self, number: u32, gone: u32, entry: &Entry);

    /// Which one goes next.
    fn next(&mut self, now: Instant, entries: &block::Slots<Entry>) -> Next;

    /// The device is done with a request.
    fn ended(&mut self, now: Instant, entry: &Entry);
}
