//! Telling the drive what is free. A discard is a hint: it is left out where somebody needs the
//! segment, and nothing relies on what is read afterwards. Until it is answered the segment is not
//! written: requests that are outstanding together take effect in any order.

use super::{counters::Counters, io::Why, log::Log, pacing::Pacer, settings::Discards};
use crate::layout::{Layout, Levels};
use block::{Command, IoError};
use std::collections::VecDeque;

/// In flight at the same time: enough to keep a drive at it, and few for a read to wait for.
const FLYING: u32 = 4;

#[derive(Clone, Debug)]
pub(super) struct Announcements {
    /// None where the drive is told nothing, or does not know the command.
    discards: Discards,
    /// Segments that became free, in the order in which they will be taken.
    waiting: VecDeque<u32>,
    flying: u32,
    count: u64,
}

impl Announcements {
    pub fn new(discards: Discards) -> Self {
        Self { discards, waiting: VecDeque::new(), flying: 0, count: 0 }
    }

    /// These segments are free, durably so.
    pub fn free(&mut self, freed: &[u32]) {
        if self.discards == Discards::Sent {
            self.waiting.extend(freed);
        }
    }

    /// Tells the drive of those that nobody will need soon.
    pub fn pump(&mut self, log: &mut Log, pacer: &Pacer) {
        if !log.mode.is_open() {
            return;
        }
        while self.flying < FLYING
            && let Some(segment) = self.waiting.pop_front()
        {
            let Levels { floor, margin, .. } = pacer.levels();
            let needed = log.blocks.segments().free() <= floor + margin;
            if needed || !log.blocks.begin_discard(segment) {
                continue;
            }
            self.flying += 1;
            let layout = &log.blocks.layout;
            let offset = Layout::offset(layout.location(segment));
            let len = layout.shape.segment_bytes;
            log.io.send(Why::Discard { segment }, Command::Discard { offset, len });
        }
    }

    pub fn discarded(&mut self, log: &mut Log, segment: u32, result: Result<(), IoError>) {
        self.flying = self.flying.checked_sub(1).expect("a discard is answered once");
        log.blocks.end_discard(segment);
        match result {
            Ok(()) => self.count += 1,
            Err(_) => {
                self.discards = Discards::Kept;
                self.waiting.clear();
            }
        }
    }

    /// # Panics
    /// If the drive is told of other segments than those that are marked so.
    pub fn audit(&self, log: &Log) {
        let told = log.blocks.segments().iter().filter(|(_, entry)| entry.discarding).count();
        assert_eq!(told, self.flying as usize, "discards on their way");
        assert!(self.flying <= FLYING, "{} discards on their way", self.flying);
    }

    pub fn count(&self, counters: &mut Counters) {
        counters.discarded_segments = self.count;
    }
}
