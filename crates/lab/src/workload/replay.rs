//! A replay: operations whose times, places and sizes somebody else's programs chose.
//!
//! ```text
//!   Script -> Feed: Asked {after_ns, what, offset, bytes}     whoever has a trace
//!     -> Fitting: within the area, on the target's blocks     here, pure
//!     -> Replayer -- Request --> Engine                       worker.rs
//! ```
//!
//! The schedule is absolute: an operation is due at the start of the pass plus its time over the
//! speed, whatever the ones before it took. How late it began is recorded beside its latency.

mod worker;

pub use worker::{Replayed, Replayer, ReplayerPlan, StreamReplayed, drain_replay, replay};

use super::Area;
use std::{fmt, sync::Arc};

/// What a replay asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Makes durable what was written.
    Flush,
    /// Discards.
    Trim,
}

/// One operation that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// When, ns from the first one at the trace's own speed.
    pub after_ns: u64,
    /// What.
    pub what: What,
    /// First byte, wherever the traced volume ended.
    pub offset: u64,
    /// Length in bytes; 0 for a flush.
    pub bytes: u64,
}

/// Where the operations come from, in the order of time.
pub trait Feed: Send {
    /// The next one; `None` at the end.
    ///
    /// # Errors
    /// One sentence, when what follows cannot be read.
    fn next(&mut self) -> Result<Option<Asked>, String>;
}

/// What can be replayed any number of times.
pub trait Script: Send + Sync {
    /// From the beginning.
    ///
    /// # Errors
    /// One sentence, when it is not there any more.
    fn open(&self) -> Result<Box<dyn Feed>, String>;
}

/// How fast.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Speed {
    /// So many times as fast as the trace.
    Times(f64),
    /// As fast as the target goes, with a given number in flight.
    Max,
}

impl fmt::Display for Speed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(times) => write!(formatter, "{times}"),
            Self::Max => formatter.write_str("max"),
        }
    }
}

/// What a script holds, known before it is replayed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Survey {
    /// Operations of each kind, in the order of [`What`].
    pub operations: [u64; 4],
    /// Bytes of each kind.
    pub bytes: [u64; 4],
    /// Most bytes that its writes write, rounded up to whole blocks.
    pub written_bytes_max: u64,
    /// The longest read or write, rounded up to whole blocks.
    pub transfer_bytes_max: u64,
    /// From the first to the last operation, ns.
    pub duration_ns: u64,
    /// The byte behind the last one that is asked for.
    pub end_bytes: u64,
    /// Its file, as it was named.
    pub name: String,
    /// Its format, in words.
    pub format: String,
    /// Which volume of it, where it has several.
    pub volume: Option<String>,
    /// What a reader must know of it, a sentence each.
    pub remarks: Vec<String>,
}

impl Survey {
    /// Of one kind.
    pub fn operations_of(&self, what: What) -> u64 {
        self.operations[what as usize]
    }
}

/// A cell that replays.
#[derive(Clone)]
pub struct ReplayCell {
    /// What.
    pub script: Arc<dyn Script>,
    /// How fast.
    pub speed: Speed,
    /// What is known of it.
    pub survey: Survey,
}

impl ReplayCell {
    /// Mean bytes of the operations of the stream of this name.
    pub fn mean_bytes(&self, stream: &str) -> u64 {
        let what = match stream {
            "read" => What::Read,
            "write" => What::Write,
            _ => What::Trim,
        };
        self.survey.bytes[what as usize] / self.survey.operations_of(what).max(1)
    }

    /// Seconds that its schedule takes; 0 for one that has none.
    pub fn seconds(&self) -> f64 {
        match self.speed {
            Speed::Times(times) => self.survey.duration_ns as f64 / 1e9 / times,
            Speed::Max => 0.0,
        }
    }
}

impl PartialEq for ReplayCell {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.script, &other.script) && self.speed == other.speed
    }
}

impl fmt::Debug for ReplayCell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (speed, survey) = (&self.speed, &self.survey);
        formatter.debug_struct("ReplayCell").field("speed", speed).field("survey", survey).finish()
    }
}

/// How places of a trace become places of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fitting {
    start: u64,
    span_bytes: u64,
    grain: u64,
}

/// A place of the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fitted {
    /// First byte on the target.
    pub offset: u64,
    /// Length in bytes; 0 where nothing is left of a trim.
    pub bytes: u64,
    /// Whether it lay beyond the area and was moved into it.
    pub wrapped: bool,
    /// Whether it was made to begin and end on the target's blocks.
    pub aligned: bool,
}

impl Fitting {
    /// Into `area`, whose size and place are whole blocks of `grain` bytes.
    ///
    /// # Panics
    /// On an area of less than a block.
    pub fn new(area: Area, grain: u64) -> Self {
        let span_bytes = area.bytes / grain * grain;
        assert!(span_bytes > 0 && area.offset.is_multiple_of(grain), "a part of whole blocks");
        Self { start: area.offset, span_bytes, grain }
    }

    /// Offsets are taken modulo the area; what would reach over its end is moved down to end there.
    /// A read or a write grows to whole blocks, a trim shrinks to them: it must not take what was
    /// not asked for.
    pub fn fit(&self, asked: &Asked) -> Fitted {
        let (span, grain) = (self.span_bytes, self.grain);
        let from = asked.offset % span;
        let bytes = asked.bytes.min(span);
        let to = from + bytes;
        let wrapped = from != asked.offset || to > span || bytes < asked.bytes;
        let (first, last) = match asked.what {
            What::Trim => (from.next_multiple_of(grain), to / grain * grain),
            _ => (from / grain * grain, to.next_multiple_of(grain)),
        };
        let length = last.saturating_sub(first).min(span);
        Fitted {
            offset: self.start + first.min(span - length),
            bytes: length,
            wrapped,
            aligned: (first, last) != (from, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(what: What, offset: u64, bytes: u64) -> (u64, u64, bool, bool) {
        let fitting = Fitting::new(Area { offset: 1 << 20, bytes: 65_536 + 100 }, 4096);
        let fitted = fitting.fit(&Asked { after_ns: 0, what, offset, bytes });
        (fitted.offset - (1 << 20), fitted.bytes, fitted.wrapped, fitted.aligned)
    }

    #[test]
    fn places_are_wrapped_by_modulus_and_put_on_blocks() {
        assert_eq!(fitted(What::Read, 8192, 4096), (8192, 4096, false, false));
        assert_eq!(fitted(What::Read, 65_536 + 8192, 4096), (8192, 4096, true, false));
        assert_eq!(fitted(What::Write, 512, 512), (0, 4096, false, true));
        assert_eq!(fitted(What::Read, 4000, 200), (0, 8192, false, true));
        // The end of the area is no place to go on at its beginning: one operation stays one.
        assert_eq!(fitted(What::Write, 61_440, 8192), (57_344, 8192, true, false));
        assert_eq!(fitted(What::Read, 0, 1 << 20), (0, 65_536, true, false));
    }

    #[test]
    fn a_trim_never_takes_a_block_that_it_does_not_cover() {
        assert_eq!(fitted(What::Trim, 4096, 8192), (4096, 8192, false, false));
        assert_eq!(fitted(What::Trim, 512, 8192), (4096, 4096, false, true));
        assert_eq!(fitted(What::Trim, 512, 2048).1, 0);
    }
}
