//! A read of several pieces whose reply must be one: pieces complete in any order and leave in
//! theirs.

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

/// The pieces of one read at a time. Made once for each connection.
#[derive(Debug)]
pub struct Stream {
    /// Number of the first piece that has not left.
    first: u32,
    /// Number of the next piece to be asked for.
    next: u32,
    arrived: VecDeque<Option<Arrival>>,
    /// Whether a read is under way.
    pub is_open: bool,
    /// Whether its reply's head has left.
    pub begun: bool,
}

impl Stream {
    /// With no read under way.
    pub fn new() -> Self {
        let arrived = VecDeque::with_capacity(WINDOW);
        Self { first: 0, next: 0, arrived, is_open: false, begun: false }
    }

    /// Begins a read, unless it is begun.
    pub fn open(&mut self) {
        if !self.is_open {
            (self.first, self.next, self.is_open, self.begun) = (0, 0, true, false);
        }
    }

    /// Ends the read; all its pieces have left.
    pub fn close(&mut self) {
        assert!(self.arrived.is_empty(), "pieces are left behind");
        self.is_open = false;
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

    /// Ends the read before its time: the memory of everything that is here.
    pub fn break_off(&mut self) -> impl Iterator<Item = Buf> + '_ {
        self.is_open = false;
        self.arrived.drain(..).filter_map(|piece| piece.map(|arrival| arrival.buffer))
    }
}
