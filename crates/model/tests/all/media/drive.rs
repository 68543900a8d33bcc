//! Requests to a simulated drive, and how many at a time.

use block::{Command, Completion, Drive, Engine, Extent, Request, Tag};

/// Requests that a caller keeps outstanding.
pub const DEPTH: u32 = 16;

pub fn request(tag: u64, drive: Drive, command: Command) -> Request {
    Request { tag: Tag(tag), actor: block::Actor(0), drive, command }
}

/// Submits one command and waits for its answer, which must be the only one.
pub fn ask(engine: &mut impl Engine, command: Command) -> Completion {
    block::submit_and_wait(engine, command)
}

pub fn sectors(first: u64, count: u64) -> Extent {
    Extent { offset: first * 512, bytes: count as u32 * 512 }
}
