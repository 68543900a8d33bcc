//! What the volume asks of the drive: numbered, and held back where the drive's queue is full.

use block::{Actor, Command, Completion, Drive, Effects, IoError, Request, Slots, Tag};
use std::collections::VecDeque;

/// ENOSPC and EDQUOT, of a file with holes or a thin device.
pub(crate) const NO_SPACE: IoError = IoError::Os(28);
pub(crate) const NO_QUOTA: IoError = IoError::Os(122);

/// What may be asked of the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Reads, and nothing else: a volume that is looked at, open for reading only, or doubtful.
    Read,
    /// Everything.
    Change,
}

/// Requests on their way, each with the reason `W` why it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Down<W> {
    reach: Reach,
    flying: Slots<W>,
    /// Beyond the drive's queue depth; bounded by what the volume itself has in flight.
    backlog: VecDeque<(W, Command)>,
    ready: Vec<Request>,
    /// Reads that were sent, and their bytes.
    pub reads: u64,
    pub read_bytes: u64,
}

impl<W> Down<W> {
    pub fn new(queue_depth: u32, reach: Reach) -> Self {
        let (flying, backlog) = (Slots::new(queue_depth), VecDeque::new());
        Self { reach, flying, backlog, ready: Vec::new(), reads: 0, read_bytes: 0 }
    }

    /// # Panics
    /// If the drive may only be read, and this is no read: every request of the volume's goes
    /// through here.
    pub fn send(&mut self, why: W, command: Command) {
        let is_read = matches!(command, Command::Read { .. });
        assert!(is_read || self.reach == Reach::Change, "a drive that is only read: {command:?}");
        if self.flying.len() < self.flying.capacity() {
            if let Command::Read { at, .. } = &command {
                self.reads += 1;
                self.read_bytes += u64::from(at.bytes);
            }
            let tag = Tag(u64::from(self.flying.insert(why)));
            self.ready.push(Request { tag, actor: Actor(0), drive: Drive(0), command });
        } else {
            self.backlog.push_back((why, command));
        }
    }

    /// Why the answered request had been sent. The next of the backlog takes its place.
    pub fn take(&mut self, completion: &Completion) -> W {
        let why = self.flying.remove(completion.tag.0 as u32);
        if let Some((why, command)) = self.backlog.pop_front() {
            self.send(why, command);
        }
        why
    }

    pub fn is_idle(&self) -> bool {
        self.flying.is_empty()
    }

    pub fn drain_into(&mut self, effects: &mut Effects) {
        effects.down.append(&mut self.ready);
    }
}
