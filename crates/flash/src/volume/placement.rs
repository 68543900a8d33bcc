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

use super::{
    log::{Log, NoRoom},
    settings::Cleaning,
    stream::Stream,
};
use crate::broken::{Rule, broken};
use crate::{
    format::{Entry, Kind},
    map::LOST,
    predict,
    shape::Classes,
};

/// Below this write amplification greedy without classes is as good as anything (the flash
/// literature's policies differ by less than their classes cost).
const AUTO_AMPLIFICATION: f64 = 1.2;

/// How victims are chosen, and so whether classes are told apart.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    chosen: Cleaning,
    /// What [`Cleaning::Auto`] comes to.
    automatic: Cleaning,
    /// Of the shape: classes of what the host writes, and of what the cleaner copies.
    of: Classes,
}

impl Placement {
    pub fn new(chosen: Cleaning, log: &Log) -> Self {
        let of = log.blocks.layout.shape.classes;
        let mut placement = Self { chosen, automatic: Cleaning::Greedy, of };
        placement.choose_policy(log);
        placement
    }

    /// What [`Cleaning::Auto`] comes to now.
    pub fn policy(&self) -> Cleaning {
        match self.chosen {
            Cleaning::Auto => self.automatic,
            chosen => chosen,
        }
    }

    /// Predicts write amplification anew.
    pub fn choose_policy(&mut self, log: &Log) {
        let spare = log.blocks.layout.spare(u64::from(log.blocks.map().mapped()));
        let predicted = predict::write_amplification(spare);
        self.automatic =
            if predicted < AUTO_AMPLIFICATION { Cleaning::Greedy } else { Cleaning::SepBit };
    }

    fn separates(&self) -> bool {
        self.policy() == Cleaning::SepBit
    }

    fn long_lived(&self) -> Stream {
        Stream::Host(self.of.host - 1)
    }

    /// Where the host's new data of a block go.
    pub fn stream_of_write(&self, log: &Log, block: u32) -> Stream {
        let location = log.blocks.location(block);
        if location <= LOST || self.of.host == 1 {
            return self.long_lived();
        }
        match log.host_chunk_of(location) {
            Some(stream) if !broken(Rule::ClassOrder) => stream,
            _ if !self.separates() => self.long_lived(),
            _ => {
                let age = log.age(log.blocks.layout.segment_of(location));
                let short = log.lifespan().is_none_or(|mean| age < mean);
                if short { Stream::Host(0) } else { self.long_lived() }
            }
        }
    }

    /// Unmaps `from..end`, as far as anything of it is mapped.
    pub fn append_trim(&self, log: &mut Log, from: u32, end: u32) -> Result<(), NoRoom> {
        let Some(first) = log.blocks.map().next_mapped(from, end) else { return Ok(()) };
        let entry = Entry { block: first, kind: Kind::Trim, argument: end - first, crc: 0 };
        let stream = self.stream_of_trim(log, first, end);
        log.append(stream, entry, |_| unreachable!("a trim has no data"))?;
        log.unmap(first, end);
        debug_assert_eq!(log.blocks.map().next_mapped(from, end), None);
        Ok(())
    }

    /// Where a trim goes: behind everything that it takes away.
    fn stream_of_trim(&self, log: &mut Log, first: u32, end: u32) -> Stream {
        let stream = self.long_lived();
        if stream != Stream::Host(0) && !broken(Rule::ClassOrder) {
            let mut next = Some(first);
            while let Some(block) = next {
                if log.host_chunk_of(log.blocks.location(block)) == Some(Stream::Host(0)) {
                    log.close_chunk(Stream::Host(0));
                    break;
                }
                next = log.blocks.map().next_mapped(block + 1, end);
            }
        }
        stream
    }

    /// Where a copy out of the segment goes.
    pub fn stream_of_copy(&self, log: &Log, segment: u32) -> Stream {
        if !self.separates() {
            return Stream::Cleaner(0);
        }
        let class = if log.is_short_lived(segment) {
            0
        } else {
            let (age, mean) = (log.age(segment), log.lifespan().unwrap_or(u64::MAX));
            // The bounds are SepBIT's.
            1 + u8::from(age >= mean.saturating_mul(4)) + u8::from(age >= mean.saturating_mul(16))
        };
        Stream::Cleaner(class.min(self.of.cleaner - 1))
    }
}
