//! Which stream a block goes to: what will be overwritten together should lie together.
//!
//! The classes are those of SepBIT (Wang et al., *Separating Data via Block Invalidation Time
//! Inference for Write Amplification Reduction in Log-Structured Storage*, FAST 2022). A write
//! whose predecessor lived shorter than the segments of short-lived blocks do will be short-lived
//! too; a copy of an old block will live longer than one of a young block. A block's age is that of
//! its segment's last chunk, counted in chunks: what the segment table says anyway. SepBIT counts
//! the host's blocks since the segment was opened; write amplification is the same within 1 %
//! either way.
//!
//! Two streams of the host fill side by side, and replay goes by their chunks' numbers. So a block
//! stays in the open chunk that it is in, and what is not mapped has its last word in the stream of
//! long-lived blocks.

use super::cleaner::Cleaning;
use super::core::Core;
use super::log::Stream;
use crate::broken::{Rule, broken};
use crate::map::LOST;

/// Over so many segments the mean is taken (SepBIT, algorithm 1).
const SAMPLE: u32 = 16;

/// How long short-lived blocks live.
#[derive(Debug, Default)]
pub(super) struct Lifespan {
    /// Mean of the last [`SAMPLE`] segments of short-lived blocks that were emptied, in chunks;
    /// none before there were that many.
    mean: Option<u64>,
    sum: u64,
    count: u32,
}

impl Lifespan {
    fn add(&mut self, age: u64) {
        (self.sum, self.count) = (self.sum + age, self.count + 1);
        if self.count == SAMPLE {
            self.mean = Some(self.sum / u64::from(SAMPLE));
            (self.sum, self.count) = (0, 0);
        }
    }
}

impl Core {
    fn separates(&self) -> bool {
        self.policy() == Cleaning::SepBit
    }

    /// Chunks since the segment's last one.
    fn age(&self, segment: u32) -> u64 {
        self.log.last_seq.saturating_sub(self.segments.get(segment).last_seq)
    }

    fn long_lived(&self) -> Stream {
        Stream::Host(self.layout.shape.classes.host - 1)
    }

    /// Where the host's new data of a block go.
    pub fn stream_of_write(&self, block: u32) -> Stream {
        let location = self.map.get(block).0;
        if location <= LOST || self.layout.shape.classes.host == 1 {
            return self.long_lived();
        }
        match self.log.host_chunk_of(location) {
            Some(stream) if !broken(Rule::ClassOrder) => stream,
            _ if !self.separates() => self.long_lived(),
            _ => {
                let age = self.age(self.layout.segment_of(location));
                let short = self.lifespan.mean.is_none_or(|mean| age < mean);
                if short { Stream::Host(0) } else { self.long_lived() }
            }
        }
    }

    /// Where a trim goes: behind everything that it takes away.
    pub fn stream_of_trim(&mut self, first: u32, end: u32) -> Stream {
        let stream = self.long_lived();
        if stream != Stream::Host(0) && !broken(Rule::ClassOrder) {
            let mut next = Some(first);
            while let Some(block) = next {
                if self.log.host_chunk_of(self.map.get(block).0) == Some(Stream::Host(0)) {
                    self.close_chunk(Stream::Host(0));
                    break;
                }
                next = self.map.next_mapped(block + 1, end);
            }
        }
        stream
    }

    /// Where a copy out of the segment goes.
    pub fn stream_of_copy(&self, segment: u32) -> Stream {
        let classes = self.layout.shape.classes.cleaner;
        if !self.separates() {
            return Stream::Cleaner(0);
        }
        let class = if self.is_short_lived(segment) {
            0
        } else {
            let (age, mean) = (self.age(segment), self.lifespan.mean.unwrap_or(u64::MAX));
            // The bounds are SepBIT's.
            1 + u8::from(age >= mean.saturating_mul(4)) + u8::from(age >= mean.saturating_mul(16))
        };
        Stream::Cleaner(class.min(classes - 1))
    }

    fn is_short_lived(&self, segment: u32) -> bool {
        self.segments.get(segment).stream == Stream::Host(0).number()
    }

    /// A block of the segment is gone: if it was the last one, that says how long short-lived
    /// blocks live.
    pub fn learn_lifespan(&mut self, segment: u32) {
        if self.segments.get(segment).live == 0 && self.is_short_lived(segment) {
            self.lifespan.add(self.age(segment));
        }
    }
}
