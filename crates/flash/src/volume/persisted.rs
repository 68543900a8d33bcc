//! Up to where the drive itself records what is durable: a chunk or a record carries it in its
//! header, which counts once the chunk or record is durable; a superblock records it at once.

use super::io::Mark;

/// A number on its way to the drive in the header of a chunk or record.
#[derive(Clone, Copy, Debug)]
struct Sent {
    by: u64,
    durable_seq: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Persisted {
    /// Known to be durable by what is on the drive, whatever comes after it.
    mark: Mark,
    /// By a chunk, and by a record, on their way.
    chunk: Option<Sent>,
    record: Option<Sent>,
}

impl Persisted {
    /// Up to where the drive records it.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// A chunk goes down with that in its header.
    pub fn chunk_sent(&mut self, seq: u64, durable_seq: u64) {
        assert!(durable_seq < seq, "chunk {seq} was durable before it was sent");
        if durable_seq > self.mark.seq && self.chunk.is_none() {
            self.chunk = Some(Sent { by: seq, durable_seq });
        }
    }

    /// A record goes down with that in its header.
    pub fn record_sent(&mut self, number: u64, durable_seq: u64) {
        self.record = Some(Sent { by: number, durable_seq });
    }

    /// A superblock with that mark is durable in two copies.
    pub fn superblock_written(&mut self, mark: Mark) {
        self.mark = self.mark.max_of(mark);
    }

    /// Takes in what is durable now.
    pub fn look(&mut self, durable: Mark) {
        if let Some(sent) = self.chunk.filter(|sent| sent.by <= durable.seq) {
            self.mark.seq = self.mark.seq.max(sent.durable_seq);
            self.chunk = None;
        }
        if let Some(sent) = self.record.filter(|sent| sent.by <= durable.record) {
            // A record is begun when the one before it is durable.
            let mark = Mark { seq: sent.durable_seq, record: sent.by - 1 };
            self.mark = self.mark.max_of(mark);
            self.record = None;
        }
    }
}
