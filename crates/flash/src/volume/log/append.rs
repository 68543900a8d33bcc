//! Entries into open chunks, and chunks to the drive.

use super::{Log, NoRoom};
use crate::{
    broken::{Rule, broken},
    buffers::bytes_mut,
    format::{Entry, Header, Kind, encode_chunk},
    shape::{BLOCK_BYTES, HOST_CLASSES_MAX},
    volume::{
        chunk::{Chunk, Flight, Recorded},
        io::{Why, extent},
        stream::Stream,
    },
};
use block::{Command, Durability, IoError, Payload};

impl Log {
    /// Appends an entry with its data to a stream's open chunk and says where the data will be.
    /// `fill` writes the data.
    pub fn append(
        &mut self,
        stream: Stream,
        entry: Entry,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(u32, u32), NoRoom> {
        self.make_room(stream, entry.kind)?;
        let chunk = self.streams[stream.index()].open.as_mut().expect("room was made");
        self.appended += 1;
        Ok(chunk.push(self.blocks.layout.header_blocks, entry, fill))
    }

    /// Sees to it that the stream's open chunk has room for one more entry.
    fn make_room(&mut self, stream: Stream, kind: Kind) -> Result<(), NoRoom> {
        if let Some(chunk) = &self.streams[stream.index()].open {
            if !chunk.is_full(kind, &self.blocks.layout) {
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
        let moving = |&segment: &u32| self.blocks.segment(segment).stream == stream.number();
        if self.flying.len() + floor >= self.chunks_max
            || self.relocating.iter().any(moving)
            || self.mode.latched().is_some()
        {
            return Err(NoRoom);
        }
        let (segment, next) = self.find_place(stream, self.blocks.layout.least_blocks())?;
        let layout = &self.blocks.layout;
        let capacity = layout.chunk_blocks.min(layout.segment_blocks - next);
        let place = layout.location(segment) + next;
        let buffer = self.io.take(u64::from(layout.chunk_blocks) * BLOCK_BYTES);
        let entries = self.spare_entries.pop().unwrap_or_default();
        assert!(entries.is_empty(), "what is spare was emptied");
        self.blocks.hold_segment(segment);
        if let Some(other) = self.other_open(stream) {
            other.sure = other.entries.len();
        }
        self.streams[stream.index()].open = Some(Chunk {
            stream,
            segment,
            place,
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
        if let Some(place) = self.place_with_room(stream, blocks) {
            return Ok(place);
        }
        self.may_open(stream)?;
        let segment = self.blocks.open_segment(stream);
        if stream != Stream::Meta {
            self.blocks.count_in_window();
        }
        self.streams[stream.index()].place = Some((segment, 0));
        Ok((segment, 0))
    }

    /// Where the stream goes on. A segment without so many blocks left is closed.
    pub(super) fn place_with_room(&mut self, stream: Stream, blocks: u32) -> Option<(u32, u32)> {
        let (segment, next) = self.streams[stream.index()].place?;
        if next + blocks <= self.blocks.layout.segment_blocks {
            return Some((segment, next));
        }
        self.close_segment(stream);
        None
    }

    fn close_segment(&mut self, stream: Stream) {
        if let Some((segment, _)) = self.streams[stream.index()].place.take() {
            self.blocks.close_segment(segment);
        }
    }

    /// Whether the stream may take a free segment: the rest is for those on whom it will wait, and
    /// recovery looks no further than a bound.
    pub(super) fn may_open(&mut self, stream: Stream) -> Result<(), NoRoom> {
        if !self.blocks.segments().next_is_ready() {
            return Err(NoRoom);
        }
        let (free, layout) = (self.blocks.segments().free(), &self.blocks.layout);
        let floor = match stream {
            // What recovery found in the ring had its segment before.
            Stream::Host(_) if self.mode.is_recovering() || broken(Rule::Reserve) => 0,
            Stream::Host(_) => layout.host_floor(),
            Stream::Cleaner(_) => layout.cleaner_floor(),
            Stream::Meta => 0,
        };
        let opened = self.blocks.opened();
        let bounded = opened.all >= layout.scan_bound() && !broken(Rule::Window);
        if bounded || free == 0 {
            // Only failures lead here: every other use has been provided for.
            if stream == Stream::Meta {
                self.mode.latch(IoError::Os(5));
            }
            return Err(NoRoom);
        }
        let in_window =
            stream == Stream::Meta || opened.window < layout.window || broken(Rule::Window);
        if free > floor && in_window { Ok(()) } else { Err(NoRoom) }
    }

    /// Closes what holds the host's entries. Where all chunks before it are durable, a chunk goes
    /// down with FUA.
    pub fn close_host_chunks(&mut self) {
        for class in 0..HOST_CLASSES_MAX {
            let Some(seq) = self.seal(Stream::Host(class)) else { continue };
            let reached = self.durable_seq.max(self.fua_seq);
            if reached + 1 == seq || broken(Rule::FuaAlone) {
                self.fua_seq = seq;
                let chunk = self.flying.get_mut(&seq).expect("it was just closed");
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
    pub(super) fn seal(&mut self, stream: Stream) -> Option<u64> {
        let mut chunk = self.streams[stream.index()].open.take()?;
        if self.other_open(stream).is_none() || broken(Rule::Sure) {
            chunk.sure = chunk.entries.len();
        }
        assert!(!chunk.entries.is_empty(), "an open chunk has an entry");
        let header_blocks = self.blocks.layout.header_blocks;
        let used = header_blocks + chunk.data;
        let unit = if broken(Rule::Stripe) { 1 } else { self.blocks.layout.append_blocks };
        chunk.close(used, unit);
        self.header_blocks += u64::from(header_blocks);
        self.padding_blocks += u64::from(chunk.blocks - used);
        self.io.count_chunk(&chunk.entries, header_blocks, chunk.blocks);
        self.last_seq += 1;
        let seq = self.last_seq;
        if let Stream::Host(class) = stream {
            self.sealed[usize::from(class)].get_or_insert(seq);
            if chunk.sure < chunk.entries.len() {
                self.unsure_seq = seq;
            }
        }
        let (segment, next) =
            self.streams[stream.index()].place.expect("an open chunk has a place");
        assert_eq!(segment, chunk.segment);
        let end = next + chunk.blocks;
        self.streams[stream.index()].place = Some((segment, end));
        self.blocks.extend_segment(segment, end, seq);
        chunk.flight = Flight::Failed; // Until it is sent.
        let before = self.flying.insert(seq, chunk);
        assert!(before.is_none(), "chunk {seq} has its number alone");
        // A segment without room for another chunk is closed at once: it may be a victim.
        if self.blocks.layout.segment_blocks - end < self.blocks.layout.least_blocks() {
            self.close_segment(stream);
        }
        Some(seq)
    }

    pub(super) fn send_chunk(&mut self, seq: u64) {
        let header_bytes = self.blocks.layout.header_blocks as usize * BLOCK_BYTES as usize;
        let chunk = self.flying.get_mut(&seq).expect("the chunk was closed");
        assert!(chunk.flight == Flight::Failed, "chunk {seq} is sent once at a time");
        let at = extent(chunk.place, chunk.blocks);
        let header = Header {
            stream: chunk.stream.number(),
            attempt: chunk.attempt,
            seq,
            durable_seq: self.durable_seq,
            epoch: self.epoch,
            blocks: chunk.blocks,
            sure: chunk.sure as u16,
        };
        if let Some(bytes) = bytes_mut(&mut chunk.buffer) {
            encode_chunk(self.id, at.offset, &header, &chunk.entries, header_bytes, bytes);
        }
        self.persisted.chunk_sent(seq, self.durable_seq);
        chunk.flight = Flight::Away;
        let from = std::mem::replace(&mut chunk.buffer, Payload::None);
        let durability = chunk.durability;
        self.io.step();
        self.io.send(Why::Chunk(seq), Command::Write { at, from, durability });
    }
}
