//! What recovery found in the ring and no chunk holds: it is appended before anything else. Where
//! nothing may be appended it stays in memory.

use super::{
    log::{Log, NoRoom},
    placement::Placement,
};
use crate::{
    format::{Entry, Kind},
    map::LOST,
};
use std::collections::VecDeque;

/// What an entry of a record does that no chunk holds.
#[derive(Clone, Debug)]
pub(super) enum Replay {
    Write(u32, Box<[u8]>),
    /// From a block up to another.
    Trim(u32, u32),
    /// The record's data are damaged.
    Lost(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Replays {
    left: VecDeque<Replay>,
}

impl Replays {
    pub fn new(replays: Vec<Replay>) -> Self {
        Self { left: replays.into() }
    }

    /// How many there still are.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// Whether nothing is left.
    pub fn are_done(&self) -> bool {
        self.left.is_empty()
    }

    /// Where nothing may be written, it stays in memory and answers reads.
    pub fn keep(&mut self, log: &mut Log) {
        for replay in std::mem::take(&mut self.left) {
            match replay {
                Replay::Write(block, data) => log.blocks.keep(block, data),
                Replay::Lost(block) => {
                    log.blocks.forget(block, block + 1);
                    log.remap(block, LOST, 0);
                }
                Replay::Trim(from, end) => {
                    log.blocks.forget(from, end);
                    log.unmap(from, end);
                }
            }
        }
    }

    /// Appends what is left, as far as there is room. Whether the last one was.
    pub fn pump(&mut self, log: &mut Log, placement: &Placement) -> bool {
        if log.mode.latched().is_some() {
            self.left.clear();
        }
        while let Some(replay) = self.left.front() {
            if replay.append(log, placement) == Err(NoRoom) {
                return false;
            }
            self.left.pop_front();
            if self.left.is_empty() {
                return true;
            }
        }
        false
    }
}

impl Replay {
    fn append(&self, log: &mut Log, placement: &Placement) -> Result<(), NoRoom> {
        match *self {
            Self::Lost(block) => log.remap(block, LOST, 0),
            Self::Write(block, ref data) => {
                let stream = placement.stream_of_write(log, block);
                let entry = Entry { block, kind: Kind::Write, argument: 0, crc: 0 };
                let fill = |into: &mut [u8]| into.copy_from_slice(data);
                let (location, crc) = log.append(stream, entry, fill)?;
                log.remap(block, location, crc);
            }
            Self::Trim(from, end) => placement.append_trim(log, from, end)?,
        }
        Ok(())
    }
}
