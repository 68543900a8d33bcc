//! Which requests go on where others ended: long sequential streams pass a cache by.

const STREAMS: usize = 16;

/// The latest streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Where each ended, and how long it is by now; the latest first.
    latest: Vec<(u64, u64)>,
}

impl Streams {
    /// Takes a request in; how long its stream is with it, bytes.
    pub fn take(&mut self, offset: u64, bytes: u64) -> u64 {
        let known = self.latest.iter().position(|(end, _)| *end == offset);
        let before = known.map_or(0, |at| self.latest.remove(at).1);
        let length = before + bytes;
        self.latest.truncate(STREAMS - 1);
        self.latest.insert(0, (offset + bytes, length));
        length
    }
}
