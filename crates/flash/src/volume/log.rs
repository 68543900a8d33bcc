//! The log: chunks that fill, chunks on their way, and what becomes of one that could not be
//! written.
//!
//! A chunk's place is known when it opens, so that the map can point into it; its number when it
//! closes. Chunks of a segment are released in the order of their places: until all before it are
//! on the drive, a chunk could still have to move.

use super::core::{Core, Gate, Why};
use crate::broken::{Rule, broken};
use crate::{
    buffers::{bytes, bytes_mut},
    format::{Entry, Header, Kind, block_crc, encode_chunk},
    layout::{BLOCK_BYTES, HOST_CLASSES_MAX, Layout, META, STREAMS},
    map::UNMAPPED,
};
use block::{Command, Durability, Extent, IoError, Payload};
use std::collections::BTreeMap;

/// A chunk that failed so often in as many places will not succeed.
const ATTEMPTS: u8 = 3;

/// ENOSPC and EDQUOT, of a file with holes or a thin device.
pub(crate) const NO_SPACE: IoError = IoError::Os(28);
pub(crate) const NO_QUOTA: IoError = IoError::Os(122);

/// Where chunks are appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stream {
    /// What the host writes, by class.
    Host(u8),
    /// What the cleaner copies, by class.
    Cleaner(u8),
    /// Pages of the map.
    Meta,
}

impl Stream {
    pub const ALL: [Self; STREAMS] = [
        Self::Host(0),
        Self::Host(1),
        Self::Cleaner(0),
        Self::Cleaner(1),
        Self::Cleaner(2),
        Self::Cleaner(3),
        Self::Meta,
    ];

    pub fn number(self) -> u8 {
        match self {
            Self::Host(class) => class,
            Self::Cleaner(class) => HOST_CLASSES_MAX + class,
            Self::Meta => META,
        }
    }

    fn index(self) -> usize {
        usize::from(self.number())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flight {
    /// Still filling.
    Open,
    /// On its way; its memory is not here.
    Away,
    Done,
    Failed,
}

#[derive(Debug)]
pub(super) struct Chunk {
    pub stream: Stream,
    pub segment: u32,
    /// First location.
    pub place: u32,
    /// Blocks that it may have.
    capacity: u32,
    /// Blocks that it has, once closed.
    blocks: u32,
    pub entries: Vec<Entry>,
    /// Blocks of data.
    pub data: u32,
    /// What of it the ring's records hold.
    pub recorded: Recorded,
    /// Entries that are older than the first in the open chunk of the host's other class.
    sure: usize,
    attempt: u8,
    pub flight: Flight,
    durability: Durability,
    pub buffer: Payload,
}

/// The first entries of a chunk, and their data in blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recorded {
    pub entries: usize,
    pub data: u32,
}

impl Chunk {
    /// Whether there is no room for one more entry.
    fn is_full(&self, kind: Kind, layout: &Layout) -> bool {
        self.entries.len() as u32 == layout.entries_max
            || kind.has_data() && layout.header_blocks + self.data == self.capacity
    }
}

#[derive(Debug, Default)]
pub(super) struct Appender {
    /// Where the next chunk goes: a segment and a block of it.
    pub place: Option<(u32, u32)>,
    open: Option<Chunk>,
}

/// The streams, and the chunks on their way by number.
#[derive(Debug)]
pub(super) struct Log {
    pub streams: [Appender; STREAMS],
    pub flying: BTreeMap<u64, Chunk>,
    pub last_seq: u64,
    /// The last chunk of the host's with entries that the open chunk of the other class decides
    /// about.
    pub unsure_seq: u64,
    pub epoch: u32,
    /// Retired segments with chunks that must move.
    relocating: Vec<u32>,
    spare_entries: Vec<Vec<Entry>>,
    /// Entries ever appended, and chunks ever sent: these tell that something moved.
    pub appended: u64,
    pub sent: u64,
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
    /// In a chunk whose memory is away.
    Away,
    /// In memory alone: a record of the ring held the block, and the volume is open for reading
    /// only.
    Kept(u32),
}

impl Log {
    pub fn new(epoch: u32, last_seq: u64, places: [Option<(u32, u32)>; STREAMS]) -> Self {
        Self {
            streams: places.map(|place| Appender { place, open: None }),
            flying: BTreeMap::new(),
            last_seq,
            unsure_seq: 0,
            epoch,
            relocating: Vec::new(),
            spare_entries: Vec::new(),
            appended: 0,
            sent: 0,
        }
    }

    /// Every chunk up to this one is on the drive, flushed or not.
    pub fn completed(&self) -> u64 {
        self.flying.first_key_value().map_or(self.last_seq, |(first, _)| first - 1)
    }

    /// Whether chunks wait for another place.
    pub fn is_relocating(&self) -> bool {
        !self.relocating.is_empty()
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

    pub fn held(&self, location: u32) -> Held {
        let within = |chunk: &Chunk, length: u32| {
            (chunk.place..chunk.place + length).contains(&location).then(|| location - chunk.place)
        };
        for stream in Stream::ALL {
            if let Some(chunk) = &self.streams[stream.index()].open
                && let Some(at) = within(chunk, chunk.capacity)
            {
                return Held::Open(stream, at);
            }
        }
        for (&seq, chunk) in &self.flying {
            if let Some(at) = within(chunk, chunk.blocks) {
                return if chunk.flight == Flight::Away {
                    Held::Away
                } else {
                    Held::Chunk(seq, at)
                };
            }
        }
        Held::OnDrive
    }

    /// The data of a block that is held.
    pub fn block(&self, held: &Held) -> Option<&[u8]> {
        let (chunk, at) = match held {
            Held::Open(stream, at) => (self.streams[stream.index()].open.as_ref()?, *at),
            Held::Chunk(seq, at) => (&self.flying[seq], *at),
            Held::OnDrive | Held::Away | Held::Kept(_) => return None,
        };
        let start = at as usize * BLOCK_BYTES as usize;
        Some(&bytes(&chunk.buffer)?[start..start + BLOCK_BYTES as usize])
    }
}

impl Core {
    /// Appends an entry with its data to a stream's open chunk and says where the data will be.
    /// `fill` writes the data.
    pub fn append(
        &mut self,
        stream: Stream,
        mut entry: Entry,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(u32, u32), NoRoom> {
        self.make_room(stream, entry.kind)?;
        let header_blocks = self.layout.header_blocks;
        let chunk = self.log.streams[stream.index()].open.as_mut().expect("room was made");
        let at = header_blocks + chunk.data;
        if entry.kind.has_data() {
            chunk.data += 1;
            if let Some(bytes) = bytes_mut(&mut chunk.buffer) {
                let start = at as usize * BLOCK_BYTES as usize;
                let block = &mut bytes[start..start + BLOCK_BYTES as usize];
                fill(block);
                if entry.kind != Kind::Copy {
                    entry.crc = block_crc(entry.block, block);
                }
            }
        }
        chunk.entries.push(entry);
        let location = chunk.place + at;
        self.log.appended += 1;
        Ok((location, entry.crc))
    }

    /// Sees to it that the stream's open chunk has room for one more entry.
    fn make_room(&mut self, stream: Stream, kind: Kind) -> Result<(), NoRoom> {
        if let Some(chunk) = &self.log.streams[stream.index()].open {
            if !chunk.is_full(kind, &self.layout) {
                return Ok(());
            }
            self.close_chunk(stream);
        }
        self.open_chunk(stream)
    }

    fn open_chunk(&mut self, stream: Stream) -> Result<(), NoRoom> {
        // The last chunks in memory are kept for those on whom the others wait.
        let floor = match stream {
            Stream::Host(_) => 2,
            Stream::Cleaner(_) => 1,
            Stream::Meta => 0,
        };
        let moving = |&segment: &u32| self.segments.get(segment).stream == stream.number();
        if self.log.flying.len() + floor >= self.settings.chunks as usize
            || self.log.relocating.iter().any(moving)
            || matches!(self.gate, Gate::Latched(_))
        {
            return Err(NoRoom);
        }
        let (segment, next) = self.find_place(stream, self.layout.least_blocks())?;
        let capacity = self.layout.chunk_blocks.min(self.layout.segment_blocks - next);
        let buffer = self.buffers.take(u64::from(self.layout.chunk_blocks) * BLOCK_BYTES);
        let entries = self.log.spare_entries.pop().unwrap_or_default();
        self.segments.get_mut(segment).held += 1;
        if let Some(other) = self.log.other_open(stream) {
            other.sure = other.entries.len();
        }
        self.log.streams[stream.index()].open = Some(Chunk {
            stream,
            segment,
            place: self.layout.location(segment) + next,
            capacity,
            blocks: 0,
            entries,
            data: 0,
            recorded: Recorded::default(),
            sure: 0,
            attempt: 0,
            flight: Flight::Open,
            durability: Durability::Cached,
            buffer,
        });
        Ok(())
    }

    /// A segment of the stream with at least so many blocks left, and the first of them.
    fn find_place(&mut self, stream: Stream, blocks: u32) -> Result<(u32, u32), NoRoom> {
        if let Some((segment, next)) = self.log.streams[stream.index()].place {
            if next + blocks <= self.layout.segment_blocks {
                return Ok((segment, next));
            }
            self.log.streams[stream.index()].place = None;
            self.segments.close(segment);
        }
        self.may_open(stream)?;
        let segment = self.segments.open(stream.number());
        self.scrub.forget(segment);
        self.opened.all += 1;
        self.opened.window += u32::from(stream != Stream::Meta);
        self.log.streams[stream.index()].place = Some((segment, 0));
        Ok((segment, 0))
    }

    /// Whether the stream may take a free segment: the rest is for those on whom it will wait, and
    /// recovery looks no further than a bound.
    fn may_open(&mut self, stream: Stream) -> Result<(), NoRoom> {
        if !self.segments.next_is_ready() {
            return Err(NoRoom);
        }
        let free = self.segments.queue.len();
        let floor = match stream {
            // What recovery found in the ring had its segment before.
            Stream::Host(_) if self.settling || broken(Rule::Reserve) => 0,
            Stream::Host(_) => self.layout.host_floor(),
            Stream::Cleaner(_) => self.layout.cleaner_floor(),
            Stream::Meta => 0,
        };
        let bounded = self.opened.all >= self.layout.scan_bound() && !broken(Rule::Window);
        if bounded || free == 0 {
            // Only failures lead here: every other use has been provided for.
            if stream == Stream::Meta {
                self.latch(IoError::Os(5));
            }
            return Err(NoRoom);
        }
        let in_window = stream == Stream::Meta
            || self.opened.window < self.layout.window
            || broken(Rule::Window);
        if free > floor && in_window { Ok(()) } else { Err(NoRoom) }
    }

    /// Closes what holds the host's entries. Where all chunks before it are durable, a chunk goes
    /// down with FUA.
    pub fn close_host_chunks(&mut self) {
        for class in 0..HOST_CLASSES_MAX {
            let Some(seq) = self.seal(Stream::Host(class)) else { continue };
            let reached = self.flushes.durable_seq.max(self.flushes.fua_seq);
            if reached + 1 == seq || broken(Rule::FuaAlone) {
                self.flushes.fua_seq = seq;
                let chunk = self.log.flying.get_mut(&seq).expect("it was just closed");
                chunk.durability = Durability::Fua;
            }
            self.send_chunk(seq);
        }
    }

    /// Gives the stream's open chunk its number and sends it down.
    pub fn close_chunk(&mut self, stream: Stream) {
        if let Some(seq) = self.seal(stream) {
            self.send_chunk(seq);
        }
    }

    /// The open chunk gets its number and its length.
    fn seal(&mut self, stream: Stream) -> Option<u64> {
        let appender = &mut self.log.streams[stream.index()];
        let mut chunk = appender.open.take()?;
        if self.log.other_open(stream).is_none() || broken(Rule::Sure) {
            chunk.sure = chunk.entries.len();
        }
        assert!(!chunk.entries.is_empty(), "an open chunk has an entry");
        let used = self.layout.header_blocks + chunk.data;
        let unit = if broken(Rule::Stripe) { 1 } else { self.layout.append_blocks };
        chunk.blocks = used.next_multiple_of(unit);
        self.counters.header_blocks += u64::from(self.layout.header_blocks);
        self.counters.padding_blocks += u64::from(chunk.blocks - used);
        if let Some(bytes) = bytes_mut(&mut chunk.buffer) {
            let block = BLOCK_BYTES as usize;
            bytes[used as usize * block..chunk.blocks as usize * block].fill(0);
        }
        self.lifetime.count_chunk(&chunk.entries, self.layout.header_blocks, chunk.blocks);
        self.log.last_seq += 1;
        let seq = self.log.last_seq;
        if let Stream::Host(_) = stream {
            self.ring.sealed(stream, seq);
            if chunk.sure < chunk.entries.len() {
                self.log.unsure_seq = seq;
            }
        }
        let appender = &mut self.log.streams[stream.index()];
        let (segment, next) = appender.place.expect("an open chunk has a place");
        assert_eq!(segment, chunk.segment);
        appender.place = Some((segment, next + chunk.blocks));
        let entry = self.segments.get_mut(segment);
        entry.blocks = next + chunk.blocks;
        entry.last_seq = seq;
        chunk.flight = Flight::Failed; // Until it is sent.
        self.log.flying.insert(seq, chunk);
        // A segment without room for another chunk is closed at once: it may be a victim.
        let rest = self.layout.segment_blocks - next - self.log.flying[&seq].blocks;
        if rest < self.layout.least_blocks() {
            self.log.streams[stream.index()].place = None;
            self.segments.close(segment);
        }
        Some(seq)
    }

    fn send_chunk(&mut self, seq: u64) {
        let header_bytes = self.layout.header_blocks as usize * BLOCK_BYTES as usize;
        let (id, epoch, durable_seq) =
            (self.superblock.id, self.log.epoch, self.flushes.durable_seq);
        let chunk = self.log.flying.get_mut(&seq).expect("the chunk was closed");
        let offset = Layout::offset(chunk.place);
        let header = Header {
            stream: chunk.stream.number(),
            attempt: chunk.attempt,
            seq,
            durable_seq,
            epoch,
            blocks: chunk.blocks,
            sure: chunk.sure as u16,
        };
        if let Some(bytes) = bytes_mut(&mut chunk.buffer) {
            encode_chunk(id, offset, &header, &chunk.entries, header_bytes, bytes);
        }
        self.attest.chunk_sent(seq, durable_seq);
        chunk.flight = Flight::Away;
        let from = std::mem::replace(&mut chunk.buffer, Payload::None);
        let at = Extent { offset, bytes: chunk.blocks * BLOCK_BYTES as u32 };
        self.log.sent += 1;
        let durability = chunk.durability;
        self.down.send(Why::Chunk(seq), Command::Write { at, from, durability });
    }

    pub fn chunk_written(&mut self, seq: u64, result: Result<(), IoError>, payload: Payload) {
        let chunk = self.log.flying.get_mut(&seq).expect("the chunk is on its way");
        chunk.buffer = payload;
        chunk.flight =
            if result.is_ok() || broken(Rule::Elsewhere) { Flight::Done } else { Flight::Failed };
        let (segment, stream, attempt) = (chunk.segment, chunk.stream, chunk.attempt);
        self.log.sent += 1;
        if let Err(error) = result
            && !broken(Rule::Elsewhere)
        {
            self.flushes.fua_seq = 0;
            // Where there is no space left no other place has any, and none of them is bad.
            if matches!(error, IoError::Offline | NO_SPACE | NO_QUOTA) || attempt + 1 >= ATTEMPTS {
                self.latch(error);
            } else {
                self.retire(segment, stream);
            }
        }
        self.release(segment);
        let done = self.log.completed().min(self.flushes.fua_seq);
        self.flushes.durable_seq = self.flushes.durable_seq.max(done);
    }

    /// A write to the segment failed: nothing more goes there, and what did not arrive will move.
    fn retire(&mut self, segment: u32, stream: Stream) {
        let appender = &self.log.streams[stream.index()];
        if appender.open.as_ref().is_some_and(|chunk| chunk.segment == segment) {
            self.seal(stream);
        }
        let appender = &mut self.log.streams[stream.index()];
        if appender.place.is_some_and(|(open, _)| open == segment) {
            appender.place = None;
        }
        self.segments.retire(segment);
        if !self.log.relocating.contains(&segment) {
            self.log.relocating.push(segment);
        }
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.restart();
        }
    }

    /// Lets go of the segment's chunks as far as all before them are on the drive.
    fn release(&mut self, segment: u32) {
        loop {
            let of_segment = self.log.flying.iter().filter(|(_, chunk)| chunk.segment == segment);
            let first = of_segment.min_by_key(|(_, chunk)| chunk.place);
            let Some((&seq, Chunk { flight: Flight::Done, .. })) = first else { return };
            let mut chunk = self.log.flying.remove(&seq).expect("it was just found");
            chunk.entries.clear();
            self.log.spare_entries.push(chunk.entries);
            self.buffers.give(chunk.buffer);
            self.segments.release(segment);
        }
    }

    /// Writes elsewhere what did not arrive, once nothing of its segment is on its way any more.
    pub fn pump_relocation(&mut self) {
        if self.log.relocating.is_empty() || matches!(self.gate, Gate::Latched(_)) {
            return;
        }
        for segment in self.log.relocating.clone() {
            let of_segment = |chunk: &Chunk| chunk.segment == segment;
            if self.log.flying.values().any(|c| of_segment(c) && c.flight == Flight::Away) {
                continue;
            }
            self.release(segment);
            let chunks = self.log.flying.iter().filter(|(_, chunk)| of_segment(chunk));
            let mut seqs: Vec<(u32, u64)> = chunks.map(|(&seq, c)| (c.place, seq)).collect();
            seqs.sort_unstable();
            let moved = seqs.iter().all(|&(_, seq)| self.relocate(seq).is_ok());
            if moved {
                self.log.relocating.retain(|&other| other != segment);
            }
        }
    }

    fn relocate(&mut self, seq: u64) -> Result<(), NoRoom> {
        let (stream, blocks) = {
            let chunk = &self.log.flying[&seq];
            (chunk.stream, chunk.blocks)
        };
        // The open chunk has the place that comes next: it must have its length before another
        // follows.
        self.close_chunk(stream);
        let (segment, next) = self.find_place_for_moved(stream, blocks)?;
        self.log.streams[stream.index()].place = Some((segment, next + blocks));
        let place = self.layout.location(segment) + next;
        let chunk = self.log.flying.get_mut(&seq).expect("it was just found");
        let (old_segment, old_place) = (chunk.segment, chunk.place);
        (chunk.segment, chunk.place, chunk.attempt) = (segment, place, chunk.attempt + 1);
        chunk.durability = Durability::Cached;
        let entries = std::mem::take(&mut chunk.entries);
        let shift = |location: u32| location - old_place + place;
        let with_data = entries.iter().filter(|entry| entry.kind.has_data());
        for (entry, at) in with_data.zip(old_place + self.layout.header_blocks..) {
            let moved = if entry.kind == Kind::Page {
                let page = &mut self.map.directory[entry.block as usize];
                let here = page.0 == at;
                page.0 = if here { shift(at) } else { page.0 };
                here
            } else {
                let here = self.map.get(entry.block).0 == at;
                if here {
                    self.map.set(entry.block, shift(at), entry.crc);
                    self.own(shift(at), entry.block);
                }
                here
            };
            if moved {
                self.segments.gain(segment);
                self.segments.lose(old_segment);
            }
        }
        self.log.flying.get_mut(&seq).expect("it is here").entries = entries;
        let entry = self.segments.get_mut(segment);
        (entry.blocks, entry.last_seq) = (next + blocks, entry.last_seq.max(seq));
        entry.held += 1;
        self.segments.release(old_segment);
        self.counters.relocated += 1;
        self.lifetime.drive_blocks += u64::from(blocks);
        self.send_chunk(seq);
        Ok(())
    }

    /// As [`Core::find_place`], without regard to what the host must leave: it was promised
    /// already.
    fn find_place_for_moved(&mut self, stream: Stream, blocks: u32) -> Result<(u32, u32), NoRoom> {
        if let Some((segment, next)) = self.log.streams[stream.index()].place {
            if next + blocks <= self.layout.segment_blocks {
                return Ok((segment, next));
            }
            self.log.streams[stream.index()].place = None;
            self.segments.close(segment);
        }
        self.may_open(Stream::Meta)?;
        let segment = self.segments.open(stream.number());
        self.scrub.forget(segment);
        self.opened.all += 1;
        Ok((segment, 0))
    }

    /// Points a block to new data and keeps the accounts.
    pub fn remap(&mut self, block: u32, location: u32, crc: u32) {
        let before = self.map.set(block, location, crc);
        if location > crate::map::LOST {
            self.segments.gain(self.layout.segment_of(location));
            self.own(location, block);
        }
        if before > crate::map::LOST {
            let segment = self.layout.segment_of(before);
            self.segments.lose(segment);
            self.learn_lifespan(segment);
        }
        debug_assert!(location != UNMAPPED || self.map.get(block).0 == UNMAPPED);
    }

    fn own(&mut self, location: u32, block: u32) {
        if let Some(owners) = &mut self.owners {
            owners[(location - self.layout.first_block) as usize] = block;
        }
    }
}
