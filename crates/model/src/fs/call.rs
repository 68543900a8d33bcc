//! A request from above on its way through: what it is, where it stands, and its end.

use super::{Caching, FileSystem, PAGE_BYTES, Syncing, ahead::Window};
use crate::nanoseconds_for;
use block::{Actor, Command, Completion, Instant, IoError, Payload, Request, Tag};

/// How an actor opened the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub caching: Caching,
    pub syncing: Syncing,
    pub window: Window,
}

/// A request from above, under way.
#[derive(Debug)]
pub(super) struct Call {
    pub tag: Tag,
    pub actor: Actor,
    pub issued: Instant,
    pub kind: CallKind,
    pub stage: Stage,
    pub syncing: Syncing,
    pub offset: u64,
    pub end: u64,
    /// Up to where it is done, or asked for.
    pub next: u64,
    /// Transfers of its own that are under way.
    pub pending: u32,
    /// Pages that it added to the page cache by writing.
    pub new_pages: u64,
    pub result: Result<(), IoError>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    BufferedRead,
    BufferedWrite,
    DirectRead,
    DirectWrite,
    Sync,
    Discard,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Direct only: cached pages of the range are written first.
    DrainFirst,
    /// Its own bytes.
    Moving,
    /// Waits until dirty pages are on the drive.
    Draining,
    /// Waits for a commit.
    Committing,
}

impl FileSystem {
    /// The actor's open file.
    pub(super) fn open(&mut self, actor: Actor) -> &mut Open {
        let number = usize::from(actor.0);
        if self.opens.len() <= number {
            let (caching, syncing) = (Caching::Buffered, Syncing::None);
            self.opens.resize(number + 1, Open { caching, syncing, window: Window::default() });
        }
        &mut self.opens[number]
    }

    pub(super) fn accept(&mut self, now: Instant, request: Request) -> Call {
        let Request { tag, actor, command, .. } = request;
        let open = *self.open(actor);
        let direct = open.caching == Caching::Direct;
        let (kind, offset, bytes) = match command {
            Command::Read { at, into: Payload::None } if direct => {
                (CallKind::DirectRead, at.offset, u64::from(at.bytes))
            }
            Command::Read { at, into: Payload::None } => {
                (CallKind::BufferedRead, at.offset, u64::from(at.bytes))
            }
            Command::Write { at, from: Payload::None, .. } if direct => {
                (CallKind::DirectWrite, at.offset, u64::from(at.bytes))
            }
            Command::Write { at, from: Payload::None, .. } => {
                (CallKind::BufferedWrite, at.offset, u64::from(at.bytes))
            }
            Command::Flush => (CallKind::Sync, 0, 0),
            Command::Discard { offset, len } => (CallKind::Discard, offset, len),
            Command::Read { .. } | Command::Write { .. } => panic!("a payload where time is all"),
        };
        let end = offset + bytes;
        let block = u64::from(self.geometry.block_bytes);
        assert!(end <= self.geometry.capacity_bytes, "{offset} + {bytes} B leaves the file");
        assert!(offset.is_multiple_of(block) && bytes.is_multiple_of(block), "splits a block");
        if let CallKind::BufferedRead | CallKind::BufferedWrite = kind {
            self.cache.reach(end.div_ceil(PAGE_BYTES));
        }
        let stage = match kind {
            CallKind::DirectRead | CallKind::DirectWrite => Stage::DrainFirst,
            _ => Stage::Moving,
        };
        let (issued, next) = (now, offset);
        let (syncing, pending, new_pages, result) = (open.syncing, 0, 0, Ok(()));
        Call {
            tag,
            actor,
            issued,
            kind,
            stage,
            syncing,
            offset,
            end,
            next,
            pending,
            new_pages,
            result,
        }
    }

    /// Takes a call as far as it goes now.
    pub(super) fn step(&mut self, now: Instant, slot: u32) {
        let call = self.calls.get_mut(slot);
        match call.kind {
            CallKind::BufferedRead => self.step_read(now, slot),
            CallKind::BufferedWrite => self.step_write(now, slot),
            CallKind::DirectRead | CallKind::DirectWrite => self.step_direct(now, slot),
            CallKind::Sync => self.begin_sync(now, slot),
            CallKind::Discard => self.step_discard(now, slot),
        }
    }

    /// The call is served; its processor time remains.
    pub(super) fn finish(&mut self, now: Instant, slot: u32) {
        let call = self.calls.remove(slot);
        let copied = match call.kind {
            CallKind::BufferedRead | CallKind::BufferedWrite => call.end - call.offset,
            _ => 0,
        };
        let copy_ns = match self.memory {
            Some((memory, through)) if copied > 0 => {
                let walked = (call.new_pages == 0).then_some(self.length_bytes);
                memory.record_ns(copied, walked, through) + call.new_pages * memory.new_page_ns
            }
            _ => nanoseconds_for(copied, self.params.copy_bytes_per_s),
        };
        let cpu_ns = self.params.call_ns + copy_ns;
        let mut finished = now.after(cpu_ns);
        if call.kind == CallKind::BufferedWrite {
            // Buffered writers of one file take turns (`i_mutex`).
            finished = finished.max(self.inode_free.after(cpu_ns));
            self.inode_free = finished;
        }
        let Call { tag, issued, result, .. } = call;
        self.outbox.put(Completion { tag, issued, finished, result, payload: Payload::None });
    }
}
