//! The log: chunks that fill and chunks on their way. All that is appended goes through it, and so
//! it holds what it needs for that: where the blocks are, what lies below, and whether anything may
//! be changed.
//!
//! A chunk's place is known when it opens, so that the map can point into it; its number when it
//! closes. Chunks of a segment are released in the order of their places: until all before it are
//! on the drive, a chunk could still have to move.

mod append;
mod relocation;

use super::{
    blocks::Blocks,
    chunk::{Chunk, Flight, Recorded},
    counters::Counters,
    io::Io,
    lifespan::Lifespan,
    mode::Mode,
    persisted::Persisted,
    stream::Stream,
};
use crate::{
    broken::{Rule, broken},
    format::{Entry, VolumeId},
    map::{LOST, UNMAPPED},
    shape::{HOST_CLASSES_MAX, STREAMS},
};
use std::collections::BTreeMap;

/// Where each stream goes on: a segment and a block of it.
pub(super) type Places = [Option<(u32, u32)>; STREAMS];

#[derive(Clone, Debug, Default)]
struct Appender {
    /// Where the next chunk goes.
    place: Option<(u32, u32)>,
    open: Option<Chunk>,
}

/// The streams, and the chunks on their way by number.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub io: Io,
    pub blocks: Blocks,
    pub mode: Mode,
    pub persisted: Persisted,
    lifespan: Lifespan,
    id: VolumeId,
    epoch: u32,
    /// Chunks on their way at most.
    chunks_max: usize,
    streams: [Appender; STREAMS],
    flying: BTreeMap<u64, Chunk>,
    last_seq: u64,
    durable_seq: u64,
    /// Every chunk behind `durable_seq` and up to this one went down with FUA.
    fua_seq: u64,
    /// The last chunk of the host's with entries that the open chunk of the other class decides
    /// about.
    unsure_seq: u64,
    /// Of each class of the host's, the first chunk that was closed since somebody asked.
    sealed: [Option<u64>; HOST_CLASSES_MAX as usize],
    /// Retired segments with chunks that must move.
    relocating: Vec<u32>,
    /// How often a segment was retired.
    retired: u64,
    spare_entries: Vec<Vec<Entry>>,
    /// Entries ever appended.
    appended: u64,
    header_blocks: u64,
    padding_blocks: u64,
    relocated: u64,
}

/// What recovery, or creation, knows of the log.
#[derive(Clone, Debug)]
pub(super) struct LogStart {
    pub id: VolumeId,
    pub epoch: u32,
    pub last_seq: u64,
    /// The last that is known to be durable.
    pub durable_seq: u64,
    pub places: Places,
}

/// There is no place for a block now. It will be tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoRoom;

/// Where a location's data are.
pub(super) enum Held {
    /// On the drive.
    OnDrive,
    /// In this chunk, so many blocks from its start.
    Chunk(u64, u32),
    /// In the open chunk of a stream.
    Open(Stream, u32),
    /// In memory alone: a record of the ring held the block, and the volume is open for reading
    /// only.
    Kept(u32),
}

impl Log {
    pub fn new(io: Io, blocks: Blocks, mode: Mode, chunks_max: u32, start: &LogStart) -> Self {
        let &LogStart { id, epoch, last_seq, durable_seq, places } = start;
        Self {
            io,
            blocks,
            mode,
            persisted: Persisted::default(),
            lifespan: Lifespan::default(),
            id,
            epoch,
            chunks_max: chunks_max as usize,
            streams: places.map(|place| Appender { place, open: None }),
            flying: BTreeMap::new(),
            last_seq,
            durable_seq: durable_seq.min(last_seq),
            fua_seq: 0,
            unsure_seq: 0,
            sealed: [None; HOST_CLASSES_MAX as usize],
            relocating: Vec::new(),
            retired: 0,
            spare_entries: Vec::new(),
            appended: 0,
            header_blocks: 0,
            padding_blocks: 0,
            relocated: 0,
        }
    }

    /// What tells the volume from others.
    pub fn id(&self) -> VolumeId {
        self.id
    }

    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Chunks that have their number: the last one.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Every chunk up to this one is durable.
    pub fn durable_seq(&self) -> u64 {
        self.durable_seq
    }

    /// Every chunk up to this one is on the drive, flushed or not.
    pub fn completed(&self) -> u64 {
        self.flying.first_key_value().map_or(self.last_seq, |(first, _)| first - 1)
    }

    /// A flush has covered every chunk up to this one.
    pub fn made_durable(&mut self, seq: u64) {
        let is_written = seq <= self.completed() || broken(Rule::Flush);
        assert!(is_written, "chunk {seq} is durable, and {} is written", self.completed());
        self.durable_seq = self.durable_seq.max(seq);
    }

    /// The last chunk of the host's that an open one decides about.
    pub fn unsure_seq(&self) -> u64 {
        self.unsure_seq
    }

    /// Entries ever appended: differs whenever there is something new.
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Whether chunks wait for another place.
    pub fn is_relocating(&self) -> bool {
        !self.relocating.is_empty()
    }

    /// How often a segment was retired: since it was, chunks may lie elsewhere.
    pub fn retired(&self) -> u64 {
        self.retired
    }

    /// How long short-lived blocks live, in chunks.
    pub fn lifespan(&self) -> Option<u64> {
        self.lifespan.mean()
    }

    /// Chunks since the segment's last one.
    pub fn age(&self, segment: u32) -> u64 {
        self.last_seq.saturating_sub(self.blocks.segment(segment).last_seq)
    }

    /// Whether the segment is one of short-lived blocks.
    pub fn is_short_lived(&self, segment: u32) -> bool {
        self.blocks.segment(segment).stream == Stream::Host(0).number()
    }

    /// Of each class of the host's, the first chunk that was closed since this was last asked.
    pub fn take_sealed(&mut self) -> [Option<u64>; HOST_CLASSES_MAX as usize] {
        std::mem::take(&mut self.sealed)
    }

    /// The open chunk of the host's other class.
    fn other_open(&mut self, stream: Stream) -> Option<&mut Chunk> {
        let Stream::Host(class) = stream else { return None };
        self.streams[Stream::Host(1 - class).index()].open.as_mut()
    }

    /// What is filling with the host's entries.
    pub fn open_host_chunks(&self) -> impl Iterator<Item = &Chunk> {
        let hosts = &self.streams[..usize::from(HOST_CLASSES_MAX)];
        hosts.iter().filter_map(|stream| stream.open.as_ref())
    }

    /// A record holds all their entries. Their streams, bit by bit.
    pub fn mark_recorded(&mut self) -> u8 {
        let hosts = self.streams[..usize::from(HOST_CLASSES_MAX)].iter_mut();
        hosts.filter_map(|stream| stream.open.as_mut()).fold(0, |bits, chunk| {
            chunk.recorded = Recorded { entries: chunk.entries.len(), data: chunk.data };
            bits | 1 << chunk.stream.number()
        })
    }

    /// The stream of the host's in whose open chunk a location is.
    pub fn host_chunk_of(&self, location: u32) -> Option<Stream> {
        let hosts = Stream::ALL.into_iter().take(usize::from(HOST_CLASSES_MAX));
        hosts.into_iter().find(|stream| {
            let open = self.streams[stream.index()].open.as_ref();
            open.is_some_and(|chunk| {
                (chunk.place..chunk.place + chunk.capacity).contains(&location)
            })
        })
    }

    /// Where a stream's next chunk goes.
    pub fn open_segment(&self, stream: Stream) -> Option<u32> {
        self.streams[stream.index()].place.map(|(segment, _)| segment)
    }

    /// Where each stream goes on: for the root. A chunk that is open will be behind the last
    /// number.
    pub fn places(&self) -> Vec<(u32, u32)> {
        let place = |stream: &Appender| match (&stream.open, stream.place) {
            (Some(chunk), Some((_, next))) => (chunk.segment, next),
            (None, Some(place)) => place,
            (_, None) => (u32::MAX, 0),
        };
        self.streams.iter().map(place).collect()
    }

    /// Where a block is now; none while its chunk is on its way.
    pub fn locate(&self, block: u32) -> Option<(u32, Held)> {
        let location = self.blocks.location(block);
        if self.blocks.kept(block).is_some() {
            return Some((location, Held::Kept(block)));
        }
        if location <= LOST {
            return Some((location, Held::OnDrive));
        }
        if self.blocks.segment(self.blocks.layout.segment_of(location)).held == 0 {
            return Some((location, Held::OnDrive));
        }
        if broken(Rule::Held) {
            return Some((location, Held::OnDrive));
        }
        self.held(location).map(|held| (location, held))
    }

    /// Where a location's data are; none while they are on their way to the drive.
    fn held(&self, location: u32) -> Option<Held> {
        let within = |chunk: &Chunk, length: u32| {
            (chunk.place..chunk.place + length).contains(&location).then(|| location - chunk.place)
        };
        for stream in Stream::ALL {
            if let Some(chunk) = &self.streams[stream.index()].open
                && let Some(at) = within(chunk, chunk.capacity)
            {
                return Some(Held::Open(stream, at));
            }
        }
        for (&seq, chunk) in &self.flying {
            if let Some(at) = within(chunk, chunk.blocks) {
                return (chunk.flight != Flight::Away).then_some(Held::Chunk(seq, at));
            }
        }
        Some(Held::OnDrive)
    }

    /// The data of a block that memory holds.
    pub fn held_block(&self, held: &Held) -> Option<&[u8]> {
        match *held {
            Held::Open(stream, at) => self.streams[stream.index()].open.as_ref()?.block(at),
            Held::Chunk(seq, at) => self.flying[&seq].block(at),
            Held::Kept(block) => self.blocks.kept(block),
            Held::OnDrive => None,
        }
    }

    /// Points a block to new data and keeps the accounts.
    pub fn remap(&mut self, block: u32, location: u32, crc: u32) {
        let Some(segment) = self.blocks.remap(block, location, crc) else { return };
        // If that was the segment's last block, it says how long short-lived blocks live.
        if self.blocks.segment(segment).live == 0 && self.is_short_lived(segment) {
            self.lifespan.add(self.age(segment));
        }
    }

    /// Nothing of `from..end` is mapped any more.
    pub fn unmap(&mut self, from: u32, end: u32) {
        let mut next = self.blocks.map().next_mapped(from, end);
        while let Some(block) = next {
            self.remap(block, UNMAPPED, 0);
            next = self.blocks.map().next_mapped(block + 1, end);
        }
    }

    pub fn count(&self, counters: &mut Counters) {
        counters.header_blocks = self.header_blocks;
        counters.padding_blocks = self.padding_blocks;
        counters.relocated = self.relocated;
        counters.last_seq = self.last_seq;
        counters.durable_seq = self.durable_seq;
        counters.mapped_blocks = u64::from(self.blocks.map().mapped()) + self.blocks.kept_new();
        counters.free_segments = self.blocks.segments().free() as u64;
        counters.prefree_segments = self.blocks.segments().prefree() as u64;
        counters.meta_segments = self.blocks.segments().of_stream(Stream::Meta.number());
        counters.checksum_errors = self.io.checksum_errors();
        (counters.drive_reads, counters.drive_read_bytes) = self.io.reads();
    }

    /// Counts everything anew and compares.
    ///
    /// # Panics
    /// If numbers do not rise, or a segment is not held by its chunks.
    pub fn audit(&self) {
        self.blocks.audit();
        let (completed, last_seq, durable_seq) =
            (self.completed(), self.last_seq, self.durable_seq);
        assert!(completed <= last_seq, "{completed} on the drive, {last_seq} the last");
        let is_durable = durable_seq <= completed || broken(Rule::Flush);
        assert!(is_durable, "{durable_seq} durable, {completed} on the drive");
        let last = self.flying.last_key_value().map_or(0, |(&seq, _)| seq);
        assert!(last <= last_seq, "chunk {last} on its way, {last_seq} the last");
        let mut held = vec![0; self.blocks.layout.segments as usize];
        let open = self.streams.iter().filter_map(|stream| stream.open.as_ref());
        for chunk in self.flying.values().chain(open) {
            assert_eq!(chunk.segment, self.blocks.layout.segment_of(chunk.place), "{chunk:?}");
            held[chunk.segment as usize] += 1;
        }
        for (number, segment) in self.blocks.segments().iter() {
            assert_eq!(held[number as usize], segment.held, "chunks of segment {number} in memory");
        }
    }
}
