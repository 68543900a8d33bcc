//! Counts what the drives are asked for, as a kernel's `/proc/diskstats` does.

use block::{Command, Completion, Drive, Effects, Geometry, Instant, Machine, Request};
use std::{cell::Cell, rc::Rc};

/// Bytes that all drives together were asked for.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    read_bytes: Rc<Cell<u64>>,
    written_bytes: Rc<Cell<u64>>,
}

impl Traffic {
    /// Bytes read from the drives.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.get()
    }

    /// Bytes written to them.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.get()
    }
}

/// Drives with a meter in front. Budget: 1 ns a command.
pub(super) struct Metered<M> {
    pub machine: M,
    pub traffic: Traffic,
}

impl<M: Machine> Machine for Metered<M> {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.machine.geometry(drive)
    }

    #[inline]
    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        let (counter, at) = match &request.command {
            Command::Read { at, .. } => (&self.traffic.read_bytes, Some(at)),
            Command::Write { at, .. } => (&self.traffic.written_bytes, Some(at)),
            Command::Flush | Command::Discard { .. } => (&self.traffic.read_bytes, None),
        };
        counter.set(counter.get() + at.map_or(0, |at| u64::from(at.bytes)));
        self.machine.on_request(now, request, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        self.machine.on_completion(now, completion, effects);
    }

    #[inline]
    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.machine.on_wakeup(now, effects);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.machine.next_wakeup()
    }
}
