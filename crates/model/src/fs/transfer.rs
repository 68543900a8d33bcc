//! Requests to the device: queued, given to it, and what their end means to whom.

use super::{
    FileSystem,
    layout::{FIRST, SECOND},
    queue::Direction,
};
use block::{
    Actor, Command, Drive, Durability, Effects, Extent, Instant, IoError, Payload, Request, Tag,
};

/// One request to the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    owner: Owner,
    actor: Actor,
    drive: Drive,
    offset: u64,
    bytes: u64,
    generation: u32,
}

/// Whom its end concerns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// The page cache: `first..end` are read.
    Pages { first: u64, end: u64 },
    /// The page cache: `first..end` are written.
    WriteBack { first: u64, end: u64, epoch: u64 },
    /// A direct call.
    Call { slot: u32, direction: Direction },
    /// The running commit: a write if it has bytes, else a flush.
    Commit,
    /// A discard, of a call or of a truncation that nobody waits for.
    Discard { call: Option<u32> },
}

impl Transfer {
    pub fn new(owner: Owner, actor: Actor, offset: u64, bytes: u64) -> Self {
        Self { owner, actor, drive: FIRST, offset, bytes, generation: 0 }
    }

    /// Which half of the queue it went through; none if it was urgent.
    fn direction(&self) -> Option<Direction> {
        match self.owner {
            Owner::Pages { .. } => Some(Direction::Read),
            Owner::WriteBack { .. } => Some(Direction::Write),
            Owner::Call { direction, .. } => Some(direction),
            Owner::Commit | Owner::Discard { .. } => None,
        }
    }

    fn command(&self) -> Command {
        let at = || Extent {
            offset: self.offset,
            bytes: u32::try_from(self.bytes).expect("cut to the largest request"),
        };
        let write =
            || Command::Write { at: at(), from: Payload::None, durability: Durability::Cached };
        match self.owner {
            Owner::Pages { .. } | Owner::Call { direction: Direction::Read, .. } => {
                Command::Read { at: at(), into: Payload::None }
            }
            Owner::WriteBack { .. } | Owner::Call { direction: Direction::Write, .. } => write(),
            Owner::Commit if self.bytes > 0 => write(),
            Owner::Commit => Command::Flush,
            Owner::Discard { .. } => Command::Discard { offset: self.offset, len: self.bytes },
        }
    }

    fn request(&self, number: u32) -> Request {
        Request {
            tag: Tag(u64::from(number)),
            actor: self.actor,
            drive: self.drive,
            command: self.command(),
        }
    }
}

impl FileSystem {
    /// Puts a transfer before the elevator. The caller has looked for room.
    pub(super) fn enqueue(&mut self, direction: Direction, transfer: Transfer) {
        let offset = transfer.offset;
        let generation = self.generation;
        let number = self.transfers.insert(Transfer { generation, ..transfer });
        self.queue.push(direction, offset, number);
    }

    /// Puts a transfer ahead of everything that the elevator sorts.
    pub(super) fn enqueue_urgent(&mut self, transfer: Transfer) {
        let number = self.transfers.insert(transfer);
        self.queue.push_urgent(number);
    }

    /// Gives a transfer to the second drive, whose queue is its own: a commit has one step under
    /// way.
    pub(super) fn enqueue_second(&mut self, transfer: Transfer) {
        let number = self.transfers.insert(Transfer { drive: SECOND, ..transfer });
        let waiting = self.for_second.replace(number);
        assert!(waiting.is_none(), "a commit takes one step after the other");
    }

    /// Lets calls that found the queue full try again.
    pub(super) fn feed_starved(&mut self, now: Instant) {
        while self.queue.has_room(Direction::Read)
            && let Some(slot) = self.starved_readers.pop_front()
        {
            self.step(now, slot);
        }
        while self.queue.has_room(Direction::Write)
            && let Some(slot) = self.starved_writers.pop_front()
        {
            self.step(now, slot);
        }
    }

    /// Gives the devices what they take.
    pub(super) fn dispatch(&mut self, effects: &mut Effects) {
        if let Some(number) = self.for_second.take() {
            effects.down.push(self.transfers.get_mut(number).request(number));
        }
        while self.at_device < self.device_depth
            && let Some(number) = self.queue.pop()
        {
            let transfer = self.transfers.get_mut(number);
            if transfer.bytes > 0 {
                self.queue.moved_to(transfer.offset + transfer.bytes);
            }
            self.at_device += 1;
            effects.down.push(transfer.request(number));
        }
    }

    /// The device has answered.
    pub(super) fn end_transfer(&mut self, now: Instant, number: u32, result: Result<(), IoError>) {
        let transfer = self.transfers.remove(number);
        if transfer.drive == FIRST {
            self.at_device -= 1;
        }
        if let Some(direction) = transfer.direction() {
            self.queue.ended(direction);
        }
        let is_current = transfer.generation == self.generation;
        match transfer.owner {
            Owner::Pages { first, end } if is_current => {
                self.end_read(now, first, end, result.err());
            }
            Owner::WriteBack { first, end, epoch } if is_current => {
                self.syncs.end_transfer(epoch);
                self.end_write_back(now, (first, end), result.err());
            }
            Owner::Pages { .. } | Owner::WriteBack { .. } => {} // Of a file that is no more.
            Owner::Call { slot, .. } => self.end_direct(now, slot, result),
            Owner::Commit => self.end_commit_step(now, result),
            Owner::Discard { call: Some(slot) } => self.end_direct(now, slot, result),
            Owner::Discard { call: None } => self.truncations -= 1,
        }
    }
}
