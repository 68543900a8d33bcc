//! What the drive itself says of what is durable: a chunk or a record carries it in its header, and
//! it is known by that once the chunk or record is durable; a superblock says it at once.

use super::io::Mark;

/// A number that is told to the drive in the header of a chunk or record.
#[derive(Clone, Copy, Debug)]
struct Told {
    by: u64,
    durable_seq: u64,
}

#[derive(Debug, Default)]
pub(super) struct Said {
    /// What is known to be durable by what is on the drive, whatever comes after it.
    said: Mark,
    /// By a chunk, and by a record, on their way.
    chunk: Option<Told>,
    record: Option<Told>,
}

impl Said {
    /// Up to where the drive says it.
    pub fn mark(&self) -> Mark {
        self.said
    }

    /// A chunk goes down with that in its header.
    pub fn chunk_sent(&mut self, seq: u64, durable_seq: u64) {
        assert!(durable_seq < seq, "chunk {seq} was durable before it was sent");
        if durable_seq > self.said.seq && self.chunk.is_none() {
            self.chunk = Some(Told { by: seq, durable_seq });
        }
    }

    /// A record goes down with that in its header.
    pub fn record_sent(&mut self, number: u64, durable_seq: u64) {
        self.record = Some(Told { by: number, durable_seq });
    }

    /// A superblock that says so is durable in two copies.
    pub fn superblock_written(&mut self, said: Mark) {
        self.said = self.said.max_of(said);
    }

    /// Takes in what is durable now.
    pub fn look(&mut self, durable: Mark) {
        if let Some(told) = self.chunk.filter(|told| told.by <= durable.seq) {
            self.said.seq = self.said.seq.max(told.durable_seq);
            self.chunk = None;
        }
        if let Some(told) = self.record.filter(|told| told.by <= durable.record) {
            // A record is begun when the one before it is durable.
            let said = Mark { seq: told.durable_seq, record: told.by - 1 };
            self.said = self.said.max_of(said);
            self.record = None;
        }
    }
}
