//! How the segments stand: which are free and in what order they will be taken, which are empty and
//! may not be taken yet.
//!
//! ```text
//!   free --open--> open --full--> closed --last live block gone--> prefree --checkpoint--> free
//!                    `--a write failed--> retired, for good
//! ```

use crate::broken::{Rule, broken};
use crate::format::SegmentRecord;
use crate::layout::{Layout, META};
use crate::victims::Victims;
use std::collections::VecDeque;

/// Memory for each segment: its entry here, in the queue or among those that wait for it, and in
/// the list of victims, a tree whose nodes are half full at worst.
pub(crate) const SEGMENT_MEMORY_BYTES: u64 =
    (size_of::<Segment>() + 2 * size_of::<u32>() + 1 + 40) as u64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Free,
    Open,
    Closed,
    /// Without live blocks, but a recovery could still need what is in it.
    Prefree,
    /// A write to it failed; never appended to again.
    Retired,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub state: State,
    pub stream: u8,
    /// Written, with headers and padding.
    pub blocks: u32,
    /// The last chunk in it.
    pub last_seq: u64,
    /// Blocks that the map or the directory points to.
    pub live: u32,
    /// Reads in flight.
    pub pins: u32,
    /// Chunks open or on their way.
    pub held: u32,
    /// The cleaner is at it.
    pub emptying: bool,
    /// The drive is being told that it is free.
    pub discarding: bool,
}

const FREE: Segment = Segment {
    state: State::Free,
    stream: 0,
    blocks: 0,
    last_seq: 0,
    live: 0,
    pins: 0,
    held: 0,
    emptying: false,
    discarding: false,
};

#[derive(Debug)]
pub(crate) struct Segments {
    pub table: Vec<Segment>,
    /// In the order in which they will be opened.
    pub queue: VecDeque<u32>,
    pub prefree: Vec<u32>,
    pub victims: Victims,
}

impl Segments {
    pub fn new(layout: &Layout) -> Self {
        let count = layout.segments;
        Self {
            table: vec![FREE; count as usize],
            queue: (0..count).collect(),
            prefree: Vec::new(),
            victims: Victims::new(count, layout.data_blocks()),
        }
    }

    /// Lists what could be emptied: the table was filled from a root.
    pub fn list_victims(&mut self) {
        (0..self.table.len() as u32).for_each(|segment| self.list(segment));
    }

    /// Keeps the list of victims: full segments with all of them on the drive, and no pages of the
    /// map.
    fn list(&mut self, segment: u32) {
        let entry = self.table[segment as usize];
        let is_victim = matches!(entry.state, State::Closed | State::Retired)
            && entry.held == 0
            && entry.live > 0
            && !entry.emptying
            && entry.stream != META;
        if is_victim {
            let retired = entry.state == State::Retired;
            self.victims.list(segment, entry.last_seq, entry.live, retired);
        } else {
            self.victims.strike(segment, entry.last_seq);
        }
    }

    /// The cleaner begins with a segment: nobody uses it again before the cleaner ends.
    pub fn begin_emptying(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        (entry.emptying, entry.pins) = (true, entry.pins + 1);
        self.list(segment);
    }

    pub fn end_emptying(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        (entry.emptying, entry.pins) = (false, entry.pins - 1);
        self.list(segment);
    }

    pub fn get(&self, segment: u32) -> &Segment {
        &self.table[segment as usize]
    }

    pub fn get_mut(&mut self, segment: u32) -> &mut Segment {
        &mut self.table[segment as usize]
    }

    /// The next free one is opened for a stream.
    pub fn open(&mut self, stream: u8) -> u32 {
        let segment = self.queue.pop_front().expect("the caller looked whether one is free");
        let entry = self.get_mut(segment);
        assert!(entry.state == State::Free && entry.live == 0, "{entry:?}");
        *entry = Segment { state: State::Open, stream, pins: entry.pins, ..FREE };
        segment
    }

    /// Whether a segment is still free, and nobody has told the drive yet: then somebody does now.
    pub fn begin_discard(&mut self, segment: u32) -> bool {
        let entry = self.get_mut(segment);
        let begins = entry.state == State::Free && !entry.discarding;
        entry.discarding |= begins;
        begins
    }

    /// Whether the next free one may be opened now.
    pub fn next_is_ready(&self) -> bool {
        self.queue.front().is_none_or(|&segment| !self.get(segment).discarding)
    }

    /// Nothing more is appended to it.
    pub fn close(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        assert_eq!(entry.state, State::Open);
        entry.state = State::Closed;
        self.settle(segment);
    }

    /// A write to it failed.
    pub fn retire(&mut self, segment: u32) {
        self.get_mut(segment).state = State::Retired;
        self.prefree.retain(|&other| other != segment);
        self.list(segment);
    }

    /// How many a stream has, and nobody waits for to be free.
    pub fn of_stream(&self, stream: u8) -> u64 {
        let used = |entry: &&Segment| !matches!(entry.state, State::Free | State::Prefree);
        self.table.iter().filter(used).filter(|entry| entry.stream == stream).count() as u64
    }

    pub fn gain(&mut self, segment: u32) {
        self.get_mut(segment).live += 1;
        self.list(segment);
    }

    pub fn lose(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        entry.live = entry.live.checked_sub(1).expect("what is taken away was counted");
        self.settle(segment);
    }

    /// A chunk of it has come to its end.
    pub fn release(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        entry.held = entry.held.checked_sub(1).expect("the chunk was held");
        self.settle(segment);
    }

    fn settle(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        if entry.state == State::Closed && entry.live == 0 && entry.held == 0 {
            entry.state = State::Prefree;
            self.prefree.push(segment);
            if broken(Rule::Prefree) {
                self.set_free(&[segment]);
            }
        }
        self.list(segment);
    }

    /// The prefree ones that a checkpoint at `seq` sets free, in order of their last chunk. Those
    /// being read wait for the next checkpoint.
    pub fn freed_by(&self, seq: u64) -> Vec<u32> {
        let free = |&segment: &u32| {
            let entry = self.get(segment);
            entry.last_seq <= seq && (entry.pins == 0 || broken(Rule::Pins))
        };
        let mut freed: Vec<u32> = self.prefree.iter().copied().filter(free).collect();
        freed.sort_unstable_by_key(|&segment| (self.get(segment).last_seq, segment));
        freed
    }

    /// The checkpoint is durable: they join the queue.
    pub fn set_free(&mut self, freed: &[u32]) {
        for &segment in freed {
            let entry = self.get_mut(segment);
            assert!(entry.state == State::Prefree && entry.live == 0);
            let pins = entry.pins;
            *entry = Segment { pins, ..FREE };
            self.queue.push_back(segment);
        }
        let table = &self.table;
        self.prefree.retain(|&segment| table[segment as usize].state == State::Prefree);
    }

    /// The table for the root, `freed` already free.
    pub fn records(&self, freed: &[u32]) -> Vec<SegmentRecord> {
        let mut records: Vec<SegmentRecord> = self.table.iter().map(Segment::record).collect();
        for &segment in freed {
            records[segment as usize] = FREE.record();
        }
        records
    }
}

impl Segment {
    fn record(&self) -> SegmentRecord {
        let state = match self.state {
            State::Free => 0,
            State::Open => 1,
            State::Closed | State::Prefree => 2,
            State::Retired => 3,
        };
        let &Self { stream, blocks, last_seq, .. } = self;
        SegmentRecord { state, stream, blocks, last_seq }
    }

    /// As it stood when the root was written; live blocks are counted later.
    pub fn from_record(record: &SegmentRecord) -> Option<Self> {
        let state = match record.state {
            0 => State::Free,
            1 => State::Open,
            2 => State::Closed,
            3 => State::Retired,
            _ => return None,
        };
        let &SegmentRecord { stream, blocks, last_seq, .. } = record;
        Some(Self { state, stream, blocks, last_seq, ..FREE })
    }
}
