//! Telling the drive what is free. A discard is a hint: it is left out where somebody needs the
//! segment, and nothing relies on what is read afterwards. Until it is answered the segment is not
//! written: requests that are outstanding together take effect in any order.

use super::core::{Core, Discards, Gate, Why};
use crate::layout::{Layout, Levels};
use block::{Command, IoError};
use std::collections::VecDeque;

/// In flight at the same time: enough to keep a drive at it, and few for a read to wait for.
const FLYING: u32 = 4;

#[derive(Debug, Default)]
pub(super) struct Announcements {
    /// Segments that became free, in the order in which they will be taken.
    waiting: VecDeque<u32>,
    flying: u32,
    /// The drive does not know the command.
    refused: bool,
}

impl Core {
    /// These segments are free, durably so.
    pub fn announce_free(&mut self, freed: &[u32]) {
        if self.settings.discards == Discards::Sent && !self.announcements.refused {
            self.announcements.waiting.extend(freed);
        }
    }

    pub fn pump_discards(&mut self) {
        if self.gate != Gate::Open {
            return;
        }
        while self.announcements.flying < FLYING
            && let Some(segment) = self.announcements.waiting.pop_front()
        {
            let Levels { floor, margin, .. } = self.pacer.levels;
            let needed = self.segments.queue.len() <= floor + margin;
            if needed || !self.segments.begin_discard(segment) {
                continue;
            }
            self.announcements.flying += 1;
            let offset = Layout::offset(self.layout.location(segment));
            let len = self.layout.shape.segment_bytes;
            self.down.send(Why::Discard { segment }, Command::Discard { offset, len });
        }
    }

    pub fn discarded(&mut self, segment: u32, result: Result<(), IoError>) {
        self.announcements.flying -= 1;
        self.segments.get_mut(segment).discarding = false;
        match result {
            Ok(()) => self.counters.discarded_segments += 1,
            Err(_) => {
                self.announcements.refused = true;
                self.announcements.waiting.clear();
            }
        }
    }
}
