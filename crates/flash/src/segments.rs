//! How the segments stand: which are free and in what order they will be taken, which are empty and
//! may not be taken yet.
//!
//! ```text
//!   free --open--> open --full--> closed --last live block gone--> prefree --checkpoint--> free
//!                    `--a write failed--> retired, for good
//! ```

use crate::broken::{Rule, broken};
use crate::format::SegmentRecord;
use crate::victims::Victims;
use crate::{layout::Layout, shape::META};
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

impl Default for Segment {
    /// A free one.
    fn default() -> Self {
        FREE
    }
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

#[derive(Clone, Debug)]
pub(crate) struct Segments {
    table: Vec<Segment>,
    /// The free ones, in the order in which they will be opened.
    queue: VecDeque<u32>,
    prefree: Vec<u32>,
    victims: Victims,
    /// The one that scrubbing is at, until it is opened anew.
    watched: Option<u32>,
}

impl Segments {
    pub fn new(layout: &Layout) -> Self {
        let count = layout.segments;
        Self {
            table: vec![FREE; count as usize],
            queue: (0..count).collect(),
            prefree: Vec::new(),
            victims: Victims::new(count, layout.data_blocks()),
            watched: None,
        }
    }

    /// As recovery found them. `order` has the free ones in the order in which they will be opened;
    /// others in it are passed over.
    pub fn restore(layout: &Layout, table: Vec<Segment>, order: &[u32]) -> Self {
        assert_eq!(table.len(), layout.segments as usize, "an entry for each segment");
        let is_free = |&segment: &u32| table[segment as usize].state == State::Free;
        let queue: VecDeque<u32> = order.iter().copied().filter(is_free).collect();
        let prefree = (0..layout.segments)
            .filter(|&segment| table[segment as usize].state == State::Prefree)
            .collect();
        let victims = Victims::new(layout.segments, layout.data_blocks());
        let mut segments = Self { table, queue, prefree, victims, watched: None };
        (0..layout.segments).for_each(|segment| segments.list(segment));
        segments
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Segment)> {
        (0..).zip(&self.table)
    }

    /// How many are free.
    pub fn free(&self) -> usize {
        self.queue.len()
    }

    /// How many wait for a checkpoint to be free.
    pub fn prefree(&self) -> usize {
        self.prefree.len()
    }

    /// The free ones, in the order in which they will be opened.
    pub fn free_list(&self) -> Vec<u32> {
        self.queue.iter().copied().collect()
    }

    /// Those that could be emptied.
    pub fn victims(&self) -> &Victims {
        &self.victims
    }

    /// The segment is looked at from its beginning.
    pub fn watch(&mut self, segment: u32) {
        self.watched = Some(segment);
    }

    /// Whether it was not opened anew since.
    pub fn is_watched(&self, segment: u32) -> bool {
        self.watched == Some(segment)
    }

    /// Somebody reads from it: until then it is not set free.
    pub fn pin(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        assert!(entry.state != State::Free, "nothing is read from what is free: {entry:?}");
        entry.pins += 1;
    }

    pub fn unpin(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        entry.pins = entry.pins.checked_sub(1).expect("the reader had pinned it");
    }

    /// A chunk of it is open or on its way.
    pub fn hold(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        assert!(entry.state == State::Open, "a chunk goes to an open segment, not to {entry:?}");
        entry.held += 1;
    }

    /// A chunk of it has its number, and ends at this block.
    pub fn extend(&mut self, segment: u32, blocks: u32, seq: u64) {
        let entry = self.get_mut(segment);
        assert!(entry.held > 0, "only an open chunk is appended: {entry:?}");
        assert!(blocks > entry.blocks, "chunks follow each other: {blocks} after {entry:?}");
        (entry.blocks, entry.last_seq) = (blocks, entry.last_seq.max(seq));
    }

    /// The drive has answered a discard.
    pub fn end_discard(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        assert!(entry.discarding && entry.state == State::Free, "{entry:?}");
        entry.discarding = false;
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
        assert!(!entry.emptying && entry.live > 0, "a victim holds something: {entry:?}");
        entry.emptying = true;
        self.pin(segment);
        self.list(segment);
    }

    pub fn end_emptying(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        assert!(entry.emptying && entry.live == 0, "a victim is left when empty: {entry:?}");
        entry.emptying = false;
        self.unpin(segment);
        self.list(segment);
    }

    pub fn get(&self, segment: u32) -> &Segment {
        &self.table[segment as usize]
    }

    fn get_mut(&mut self, segment: u32) -> &mut Segment {
        &mut self.table[segment as usize]
    }

    /// The next free one is opened for a stream.
    pub fn open(&mut self, stream: u8) -> u32 {
        let segment = self.queue.pop_front().expect("the caller looked whether one is free");
        let entry = self.get_mut(segment);
        assert!(entry.state == State::Free && entry.live == 0, "{entry:?}");
        assert!(!entry.discarding, "the drive is being told that it is free: {entry:?}");
        *entry = Segment { state: State::Open, stream, pins: entry.pins, ..FREE };
        self.watched.take_if(|watched| *watched == segment);
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
        let entry = self.get_mut(segment);
        assert!(entry.held > 0, "the chunk that failed is still here: {entry:?}");
        entry.state = State::Retired;
        self.list(segment);
    }

    /// How many a stream has, and nobody waits for to be free.
    pub fn of_stream(&self, stream: u8) -> u64 {
        let used = |entry: &&Segment| !matches!(entry.state, State::Free | State::Prefree);
        self.table.iter().filter(used).filter(|entry| entry.stream == stream).count() as u64
    }

    pub fn gain(&mut self, segment: u32) {
        let entry = self.get_mut(segment);
        assert!(entry.state != State::Free, "nothing is in a free segment: {entry:?}");
        entry.live += 1;
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

    /// Holds the lists against the table.
    ///
    /// # Panics
    /// If a segment is in the wrong list, or in none: free, prefree and used ones are all of them.
    pub fn audit(&self) {
        let mut listed = vec![None; self.table.len()];
        let free = self.queue.iter().map(|&segment| (segment, State::Free));
        let prefree = self.prefree.iter().map(|&segment| (segment, State::Prefree));
        for (segment, state) in free.chain(prefree) {
            let before = listed[segment as usize].replace(state);
            assert_eq!(before, None, "segment {segment} is listed twice");
        }
        for (segment, entry) in self.iter() {
            let expected =
                matches!(entry.state, State::Free | State::Prefree).then_some(entry.state);
            assert_eq!(listed[segment as usize], expected, "segment {segment}: {entry:?}");
            assert!(expected.is_none() || entry.live == 0, "segment {segment}: {entry:?}");
            assert!(
                !entry.discarding || entry.state == State::Free,
                "segment {segment}: {entry:?}"
            );
            assert!(!entry.emptying || entry.pins > 0, "segment {segment}: {entry:?}");
        }
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
