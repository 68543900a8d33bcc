//! A read of several pieces whose reply must be one: pieces complete in any order and leave in theirs.

use crate::protocol::ErrorCode;
use block::Buf;
use std::{collections::VecDeque, ops::Range};

/// Pieces of one read that are out at once.
pub const WINDOW: usize = 16;

/// What became of a piece.
#[derive(Debug)]
pub struct Arrival {
    /// Its memory; also of one that failed.
    pub buffer: Buf,
    /// The client's bytes in it.
    pub range: Range<usize>,
    /// Why there are none.
    pub failure: Option<ErrorCode>,
}

/// The pieces of one read.
#[derive(Debug)]
pub struct Stream {
    /// Number of the first piece that has not left.
    first: u32,
    /// Number of the next piece to be asked for.
    next: u32,
    arrived: VecDeque<Option<Arrival>>,
    /// Whether the reply's head has left.
    pub begun: bool,
}

impl Stream {
    /// Before the first piece.
    pub fn new() -> Self {
        Self { first: 0, next: 0, arrived: VecDeque::with_capacity(WINDOW), begun: false }
    }

    /// Whether another piece may be asked for.
    pub fn has_room(&self) -> bool {
        self.arrived.len() < WINDOW
    }

    /// The number of the piece that is now asked for.
    pub fn ask(&mut self) -> u32 {
        assert!(self.has_room(), "more pieces than the window holds");
        self.arrived.push_back(None);
        self.next += 1;
        self.next - 1
    }

    /// Takes in a piece.
    pub fn arrive(&mut self, number: u32, arrival: Arrival) {
        self.arrived[(number - self.first) as usize] = Some(arrival);
    }

    /// The next piece in order, if it is here.
    pub fn leave(&mut self) -> Option<Arrival> {
        if !matches!(self.arrived.front(), Some(Some(_))) {
            return None;
        }
        self.first += 1;
        self.arrived.pop_front().flatten()
    }

    /// The memory of everything that is here.
    pub fn drain(&mut self) -> impl Iterator<Item = Buf> + '_ {
        self.arrived.iter_mut().filter_map(|piece| piece.take().map(|arrival| arrival.buffer))
    }
}
