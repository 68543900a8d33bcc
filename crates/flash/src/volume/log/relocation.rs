//! What becomes of a chunk when the drive has answered, and of one that could not be written.

use super::{Log, NoRoom};
use crate::{
    broken::{Rule, broken},
    down::{NO_QUOTA, NO_SPACE},
    format::Kind,
    volume::{
        blocks::Moved,
        chunk::{Chunk, Flight},
        stream::Stream,
    },
};
use block::{Durability, IoError, Payload};

/// A chunk that failed so often in as many places will not succeed.
const ATTEMPTS: u8 = 3;

impl Log {
    pub fn chunk_written(&mut self, seq: u64, result: Result<(), IoError>, payload: Payload) {
        let chunk = self.flying.get_mut(&seq).expect("the chunk is on its way");
        assert!(chunk.flight == Flight::Away, "chunk {seq} was sent");
        chunk.buffer = payload;
        chunk.flight =
            if result.is_ok() || broken(Rule::Elsewhere) { Flight::Done } else { Flight::Failed };
        let (segment, stream, attempt) = (chunk.segment, chunk.stream, chunk.attempt);
        self.io.step();
        if let Err(error) = result
            && !broken(Rule::Elsewhere)
        {
            self.fua_seq = 0;
            // Where there is no space left no other place has any, and none of them is bad.
            if matches!(error, IoError::Offline | NO_SPACE | NO_QUOTA) || attempt + 1 >= ATTEMPTS {
                self.mode.latch(error);
            } else {
                self.retire(segment, stream);
            }
        }
        self.release(segment);
        let done = self.completed().min(self.fua_seq);
        self.durable_seq = self.durable_seq.max(done);
        assert!(self.durable_seq <= self.last_seq, "{} of {}", self.durable_seq, self.last_seq);
    }

    /// A write to the segment failed: nothing more goes there, and what did not arrive will move.
    fn retire(&mut self, segment: u32, stream: Stream) {
        let appender = &self.streams[stream.index()];
        if appender.open.as_ref().is_some_and(|chunk| chunk.segment == segment) {
            self.seal(stream);
        }
        let appender = &mut self.streams[stream.index()];
        appender.place.take_if(|(open, _)| *open == segment);
        self.blocks.retire_segment(segment);
        if !self.relocating.contains(&segment) {
            self.relocating.push(segment);
        }
        self.retired += 1;
    }

    /// Lets go of the segment's chunks as far as all before them are on the drive.
    fn release(&mut self, segment: u32) {
        loop {
            let of_segment = self.flying.iter().filter(|(_, chunk)| chunk.segment == segment);
            let first = of_segment.min_by_key(|(_, chunk)| chunk.place);
            let Some((&seq, Chunk { flight: Flight::Done, .. })) = first else { return };
            let mut chunk = self.flying.remove(&seq).expect("it was just found");
            chunk.entries.clear();
            self.spare_entries.push(chunk.entries);
            self.io.give(chunk.buffer);
            self.blocks.release_segment(segment);
        }
    }

    /// Writes elsewhere what did not arrive, once nothing of its segment is on its way any more.
    pub fn pump_relocation(&mut self) {
        if self.relocating.is_empty() || self.mode.latched().is_some() {
            return;
        }
        for segment in self.relocating.clone() {
            let of_segment = |chunk: &Chunk| chunk.segment == segment;
            if self.flying.values().any(|c| of_segment(c) && c.flight == Flight::Away) {
                continue;
            }
            self.release(segment);
            let chunks = self.flying.iter().filter(|(_, chunk)| of_segment(chunk));
            let mut seqs: Vec<(u32, u64)> = chunks.map(|(&seq, c)| (c.place, seq)).collect();
            seqs.sort_unstable();
            let moved = seqs.iter().all(|&(_, seq)| self.relocate(seq).is_ok());
            if moved {
                self.relocating.retain(|&other| other != segment);
            }
        }
    }

    fn relocate(&mut self, seq: u64) -> Result<(), NoRoom> {
        let Chunk { stream, blocks, .. } = self.flying[&seq];
        // The open chunk has the place that comes next: it must have its length before another
        // follows.
        self.close_chunk(stream);
        let (segment, next) = self.find_place_for_moved(stream, blocks)?;
        self.streams[stream.index()].place = Some((segment, next + blocks));
        self.blocks.hold_segment(segment);
        let place = self.blocks.layout.location(segment) + next;
        let chunk = self.flying.get_mut(&seq).expect("it was just found");
        let (old_segment, old_place) = (chunk.segment, chunk.place);
        assert!(segment != old_segment, "segment {segment} is retired");
        (chunk.segment, chunk.place, chunk.attempt) = (segment, place, chunk.attempt + 1);
        // A chunk that may be written done already is written anew all the same.
        (chunk.durability, chunk.flight) = (Durability::Cached, Flight::Failed);
        let with_data = chunk.entries.iter().filter(|entry| entry.kind.has_data());
        for (entry, at) in with_data.zip(old_place + self.blocks.layout.header_blocks..) {
            let what = match entry.kind {
                Kind::Page => Moved::Page(entry.block),
                _ => Moved::Block(entry.block, entry.crc),
            };
            self.blocks.moved(what, at, at - old_place + place);
        }
        self.blocks.extend_segment(segment, next + blocks, seq);
        self.blocks.release_segment(old_segment);
        self.relocated += 1;
        self.io.count_blocks(u64::from(blocks));
        self.send_chunk(seq);
        Ok(())
    }

    /// A place for a chunk that moves, without regard to what the host must leave: it was promised
    /// already.
    fn find_place_for_moved(&mut self, stream: Stream, blocks: u32) -> Result<(u32, u32), NoRoom> {
        if let Some(place) = self.place_with_room(stream, blocks) {
            return Ok(place);
        }
        self.may_open(Stream::Meta)?;
        Ok((self.blocks.open_segment(stream), 0))
    }
}
