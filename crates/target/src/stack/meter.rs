//! Counts what the drives are asked for, as a kernel's `/proc/diskstats` does.

use block::{Command, Completion, Drive, Effects, Geometry, Instant, Machine, Request};
use std::{cell::Cell, rc::Rc};

/// Bytes that all drives together were asked for.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    read_bytes: Rc<Cell<u64>>,
    written_bytes: Rc<Cell<u64>>,
    /// Which drive is flash beside the others, if one is; and what it was written.
    beside: Rc<Cell<Option<(Drive, u64)>>>,
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

    /// Of them, those to the flash drive beside disks; `None` where there is none.
    pub fn beside_written_bytes(&self) -> Option<u64> {
        self.beside.get().map(|(_, bytes)| bytes)
    }

    /// This drive is flash beside the others.
    pub(super) fn set_beside(&self, drive: Drive) {
        self.beside.set(Some((drive, 0)));
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
        let bytes = at.map_or(0, |at| u64::from(at.bytes));
        counter.set(counter.get() + bytes);
        if let Some((drive, written)) = self.traffic.beside.get()
            && drive == request.drive
            && matches!(request.command, Command::Write { .. })
        {
            self.traffic.beside.set(Some((drive, written + bytes)));
        }
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

    /// Without a meter.
    fn copy(&self) -> Option<Box<dyn Machine>> {
        self.machine.copy()
    }
}
