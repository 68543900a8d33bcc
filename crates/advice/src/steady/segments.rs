//! A log's segments on a drive that cleans by itself.
//!
//! A drive that maps pages collects what is overwritten a superblock at a time. Where a log frees
//! and fills segments that are smaller than that, in any order, the drive copies the others of the
//! superblock: it cleans below a log that cleans. An order that fills one superblock after the
//! other makes it copy nothing.

use super::{Bench, LINE_BYTES, SEGMENT_BYTES, Shrunk, log_stream};
use block::Rng;
use lab::workload::{Counted, Length, Offsets, Op};
use study::TrialError;
use target::{
    catalog::DriveKind,
    stack::{self, Member, Part, Stack},
};

/// So many times the drive is overwritten, the last time of which counts: its cleaner has found its
/// pace.
const ROUNDS: u64 = 3;

impl Bench<'_> {
    /// What is left of a log's rate on `drive` when its segments come free in any order: 1 on a
    /// drive that does not map pages, and nearly that where segments are no smaller than what the
    /// drive collects.
    ///
    /// # Errors
    /// When the drive cannot be built, or fails.
    pub fn log_share(&self, drive: &Part) -> Result<f64, TrialError> {
        let kind = self.catalog.drive(&drive.name).map(|drive| drive.kind);
        if kind != Some(DriveKind::PageMapped) {
            return Ok(1.0);
        }
        let member = Member { count: 1, drive: drive.clone() };
        let alone = Stack { members: vec![member], layers: Vec::new() };
        let in_order = self.sequential(&alone)?.write_bytes_per_s;
        Ok((self.any_order(&alone)? / in_order).min(1.0))
    }

    /// Bytes a second of a log on a full drive, one segment after the other anywhere.
    fn any_order(&self, alone: &Stack) -> Result<f64, TrialError> {
        let shrunk = Shrunk::new(alone, self.catalog)?;
        let mut opened = stack::open(&shrunk.stack, &shrunk.catalog, self.seed)?;
        let line_bytes = u64::from(LINE_BYTES);
        // As large a part of a superblock as on the whole drive.
        let lines = ((SEGMENT_BYTES as f64 / shrunk.shortened) as u64 / line_bytes).max(1);
        let segments = (opened.contract().capacity_bytes / line_bytes / lines).max(1);
        let mut random = Rng::new(self.seed, segments);
        let anywhere = (0..ROUNDS * segments).map(|_| random.below(segments));
        // In order first: all of it holds data.
        let segments_written = (0..segments).chain(anywhere);
        let places: Vec<u64> = segments_written
            .flat_map(|segment| (0..lines).map(move |line| segment * lines + line))
            .collect();
        let counted = segments * lines;
        let before = places.len() as u64 - counted;
        let engine = opened.as_engine();
        let offsets = Offsets::listed(places, line_bytes);
        let mut log = Counted::along(engine, &log_stream(Op::Write), offsets);
        log.run(engine, Length::of(before))?;
        Ok(log.run(engine, Length::of(counted))?.iops() * f64::from(LINE_BYTES))
    }
}
