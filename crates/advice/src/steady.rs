//! What a stack does in the state that it is in for most of its life: full of data that was
//! overwritten for long, fast caches used up.
//!
//! ```text
//!   Workload, Stack -> shrink: small drives that behave alike       shrink.rs
//!     |- bare: reads, writes, the mix itself, one after the other   steady.rs
//!     |- sequential: what a managed volume's log would have
//!     |- log_share: what the drive's own cleaner leaves of that     segments.rs
//!     |- managed: the mix on a managed volume, as it stands         managed.rs
//!     `- wear: bytes of flash for each byte of the host             wear.rs
//! ```
//!
//! A part stands for the whole: how full a drive is decides what its cleaner has to move, not how
//! large it is.

mod managed;
mod segments;
mod shrink;
#[cfg(test)]
mod tests;
mod wear;
mod workload;

pub use managed::open_small;
pub use shrink::Shrunk;
pub use wear::{Rating, rating, write_amplification};
pub use workload::{Lengths, Order, Workload};

use lab::workload::{Area, Counted, Length, Offsets, Op, Pattern, Stream};
use study::TrialError;
use target::{
    catalog::{Catalog, DriveKind},
    stack::{self, Opened, Part, Stack},
};

/// Operations that count in each measurement: rates scatter by a percent or two.
const COUNTED: u64 = 8_000;
/// The same on disks, whose operations differ more and cost more to model.
const COUNTED_TURNING: u64 = 2_000;
/// Operations before those that count, beyond what buffers hold.
const BEFORE: u64 = 2_000;
/// A buffer that drains while it fills takes more than it holds: so many times as much where writes
/// come in a third faster than they go out.
const FILLS: u64 = 4;
/// One write of a log.
const LINE_BYTES: u32 = 1 << 20;
/// A log fills segments in order, one elsewhere after the other: of a managed volume's size.
const SEGMENT_BYTES: u64 = 32 << 20;
/// Segments that count: with one seek each they tell a disk's rate over all of its zones.
const SEGMENTS: u64 = 24;
/// Operations of a log in flight.
const LINE_DEPTH: u32 = 32;

/// What a stack does, operations per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// When all of them read.
    pub read: f64,
    /// When all of them write.
    pub write: f64,
    /// When they are mixed as asked.
    pub mixed: f64,
    /// Reads over all of the stack rather than the area.
    pub read_anywhere: f64,
    /// Bytes that the drives together are sent for each byte that the host writes: mirrors, parity.
    pub sent_per_host_byte: f64,
}

/// What a log on a stack would have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SequentialRates {
    /// Bytes per second written.
    pub write_bytes_per_s: f64,
    /// Bytes per second read.
    pub read_bytes_per_s: f64,
    /// Bytes that the drives together are sent for each byte of the log.
    pub sent_per_host_byte: f64,
}

/// Measures stacks of a catalog's drives.
pub struct Bench<'c> {
    /// Where the drives are.
    pub catalog: &'c Catalog,
    /// What is asked of them.
    pub workload: Workload,
    /// Where all random choices come from.
    pub seed: u64,
}

impl Bench<'_> {
    /// What `stack` does while `area_bytes` of it hold data; all of it if that is not said. The
    /// rest was never written, or is trimmed.
    ///
    /// # Errors
    /// When the stack cannot be built, or fails.
    pub fn bare(&self, stack: &Stack, area_bytes: Option<u64>) -> Result<Rates, TrialError> {
        let shrunk = Shrunk::new(stack, self.catalog)?;
        let mut opened = stack::open(&shrunk.stack, &shrunk.catalog, self.seed)?;
        let capacity_bytes = opened.contract().capacity_bytes;
        let area_bytes = area_bytes.map_or(capacity_bytes, |bytes| {
            ((bytes as f64 / shrunk.divisor) as u64)
                .clamp(self.workload.largest().into(), capacity_bytes)
        });
        let aged = self.aged(&shrunk, area_bytes as f64 / capacity_bytes as f64);
        if aged != shrunk.stack {
            opened = stack::open(&aged, &shrunk.catalog, self.seed)?;
        }
        if self.workload.order == Order::Sequential {
            in_order(&mut opened, area_bytes)?;
        }
        let counted = if shrunk.turns { COUNTED_TURNING } else { COUNTED };
        let workload = self.workload.clone();
        let mut session = Session { opened, workload, counted, seed: self.seed };
        let written_bytes = self.workload.bytes_mean(0.0);
        let held = ((FILLS * shrunk.held_bytes) as f64 / written_bytes) as u64;
        let read = session.rate(1.0, area_bytes, BEFORE)?;
        let read_anywhere = match shrunk.turns && area_bytes < capacity_bytes {
            true => session.rate(1.0, capacity_bytes, BEFORE)?,
            false => read,
        };
        session.rate(0.0, area_bytes, BEFORE + held)?;
        let before = session.opened.traffic.written_bytes();
        let write = session.rate(0.0, area_bytes, 0)?;
        let sent = session.opened.traffic.written_bytes() - before;
        let mixed = session.rate(self.workload.reads, area_bytes, BEFORE)?;
        let sent_per_host_byte = sent as f64 / (counted as f64 * written_bytes);
        Ok(Rates { read, write, mixed, read_anywhere, sent_per_host_byte })
    }

    /// What a log on `stack` has, that fills two segments at a time, each in order, then two
    /// others.
    ///
    /// # Errors
    /// When the stack cannot be built, or fails.
    pub fn sequential(&self, stack: &Stack) -> Result<SequentialRates, TrialError> {
        let shrunk = Shrunk::new(stack, self.catalog)?;
        let mut opened = stack::open(&shrunk.stack, &shrunk.catalog, self.seed)?;
        let capacity_bytes = opened.contract().capacity_bytes;
        let segment_bytes =
            SEGMENT_BYTES.min(capacity_bytes / u64::from(LINE_BYTES) * u64::from(LINE_BYTES));
        let lines = segment_bytes / u64::from(LINE_BYTES);
        let segments = capacity_bytes / segment_bytes;
        // All of a small drive, over and over; of a large one, places over all of it.
        let step = (segments / SEGMENTS).max(1);
        let held = shrunk.held_bytes / u64::from(LINE_BYTES);
        let before = if shrunk.turns { lines } else { held + segments.min(SEGMENTS) * lines };
        let counted = SEGMENTS * lines;
        let mut rates = [0.0; 2];
        let mut sent = 0;
        for (rate, writes) in rates.iter_mut().zip([true, false]) {
            // What the host writes and what the cleaner copies fill a segment each, chunk by chunk
            // in turn; what is read is one segment after the other.
            let heads = if writes { 2 } else { 1 };
            let place = |number: u64| {
                let segment = number / (heads * lines) * heads + number % heads;
                segment * step % segments * lines + number / heads % lines
            };
            let places = (0..before + counted).map(place).collect();
            let stream = log_stream(if writes { Op::Write } else { Op::Read });
            let offsets = Offsets::listed(places, u64::from(LINE_BYTES));
            let mut log = Counted::along(opened.as_engine(), &stream, offsets);
            log.run(opened.as_engine(), Length::of(before))?;
            let earlier = opened.traffic.written_bytes();
            let pace = log.run(opened.as_engine(), Length::of(counted))?;
            *rate = pace.iops() * f64::from(LINE_BYTES);
            if writes {
                sent = opened.traffic.written_bytes() - earlier;
            }
        }
        let host_bytes = counted * u64::from(LINE_BYTES);
        let [write_bytes_per_s, read_bytes_per_s] = rates;
        let sent_per_host_byte = sent as f64 / host_bytes as f64;
        Ok(SequentialRates { write_bytes_per_s, read_bytes_per_s, sent_per_host_byte })
    }

    /// The stack with drives that were written at random for long, as far as the catalog's kinds
    /// have a past.
    fn aged(&self, shrunk: &Shrunk, used: f64) -> Stack {
        match self.workload.order {
            Order::Random => aged(&shrunk.stack, &shrunk.catalog, used),
            // What was only ever written in order is aged by writing it so.
            Order::Sequential => shrunk.stack.clone(),
        }
    }
}

/// Whether a stack has drives that map pages, and that nobody wants to be new.
pub fn ages(stack: &Stack, catalog: &Catalog) -> bool {
    let is_new =
        |drive: &Part| drive.settings.iter().any(|(key, it)| key == "state" && it == "fresh");
    stack.members.iter().any(|member| {
        let drive = catalog.drive(&member.drive.name);
        drive.is_some_and(|it| it.kind == DriveKind::PageMapped) && !is_new(&member.drive)
    })
}

/// `stack` with its page-mapped drives in their steady state, `used` of them holding data (0 to 1);
/// what the user set stays.
pub fn aged(stack: &Stack, catalog: &Catalog, used: f64) -> Stack {
    let mut aged = stack.clone();
    for member in &mut aged.members {
        let drive = catalog.drive(&member.drive.name);
        let is_aging = drive.is_some_and(|drive| drive.kind == DriveKind::PageMapped);
        let settings = &mut member.drive.settings;
        if is_aging && !settings.iter().any(|(key, _)| key == "state") {
            settings.push(("state".to_owned(), "steady".to_owned()));
            let per_mille = (used * 1000.0).ceil().min(1000.0);
            if per_mille < 1000.0 && !settings.iter().any(|(key, _)| key == "used") {
                settings.push(("used".to_owned(), format!("{}%", per_mille / 10.0)));
            }
        }
    }
    aged
}

/// A stack that does one measurement after the other.
struct Session {
    opened: Opened,
    workload: Workload,
    counted: u64,
    seed: u64,
}

impl Session {
    /// Operations per second over the first `area_bytes`.
    fn rate(&mut self, reads: f64, area_bytes: u64, before: u64) -> Result<f64, TrialError> {
        let stream = self.workload.stream(reads);
        let area = Area { offset: 0, bytes: area_bytes.max(stream.block_bytes.into()) };
        // Reads, writes and the mix go to places of their own.
        let engine = self.opened.as_engine();
        let mut workers = Counted::new(engine, &stream, area, self.seed ^ reads.to_bits());
        let length = Length::of(self.counted).after(before.max(1));
        Ok(workers.run(engine, length)?.iops())
    }
}

/// Writes the area from front to end, twice, so that it was overwritten as it is going to be.
fn in_order(opened: &mut Opened, area_bytes: u64) -> Result<(), TrialError> {
    let lines = (area_bytes / u64::from(LINE_BYTES)).max(1);
    // A disk of terabytes forgets nothing of its past: nothing is written there.
    if lines > 4096 {
        return Ok(());
    }
    let block_bytes = LINE_BYTES.min(area_bytes as u32);
    let stream = Stream { block_bytes, ..log_stream(Op::Write) };
    let area = Area { offset: 0, bytes: lines * u64::from(block_bytes) };
    let engine = opened.as_engine();
    Counted::new(engine, &stream, area, 0).run(engine, Length::of(2 * lines))?;
    Ok(())
}

/// Sequential, as a log is written and read.
fn log_stream(op: Op) -> Stream {
    Stream { queue_depth: LINE_DEPTH, ..Stream::new(op, Pattern::Sequential, LINE_BYTES) }
}
