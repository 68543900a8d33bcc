//! The moves of a tier: those to be made, the one under way, and who waits for it.

use std::collections::VecDeque;

/// How far a move is; mover.rs says what each stage is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Draining,
    Reading,
    Writing,
    Settling,
    Recording,
    Sealing,
    Doubtful,
}

/// One extent on its way to another place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub extent: u32,
    pub to: u32,
    /// Whose turn it is when this has been done.
    pub partner: Option<u32>,
    pub stage: Stage,
    pub copied: u64,
    /// It failed once its record may have been written.
    pub is_undone: bool,
}

/// A part of a request that waits for a move to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub parent: u32,
    pub range: (u64, u64),
    pub asked_bytes: u64,
}

/// Moves that are to be made, and the one that is.
#[derive(Debug)]
pub(super) struct Mover {
    /// The one place where no extent lies.
    pub free: u32,
    pub under_way: Option<Move>,
    /// A hot extent, and the cold one that gives way to it.
    pub pairs: VecDeque<(u32, u32)>,
    /// The cold one of a pair whose hot one has moved.
    pub owed: Option<u32>,
    pub held: Vec<Held>,
    /// Of each page of the map, as it is durable.
    pub sequences: Vec<u64>,
}

impl Mover {
    pub fn new(free: u32, pages: u32) -> Self {
        Self {
            free,
            under_way: None,
            pairs: VecDeque::new(),
            owed: None,
            held: Vec::new(),
            sequences: vec![0; pages as usize],
        }
    }

    /// Whether a write of this extent has to wait.
    pub fn holds(&self, extent: u32) -> bool {
        self.under_way.is_some_and(|own| own.extent == extent && !own.is_undone)
    }

    /// Where else a write of this extent has to go.
    pub fn also(&self, extent: u32) -> Option<u32> {
        self.under_way.filter(|own| own.extent == extent && own.is_undone).map(|own| own.to)
    }
}
