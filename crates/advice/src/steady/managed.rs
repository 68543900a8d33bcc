//! A managed volume run as it stands: filled, overwritten until its cleaner has found its pace, and
//! asked for the mix.

use super::{Bench, LINE_BYTES, Session, Shrunk, log_stream};
use lab::workload::{Area, Counted, Length, Op};
use study::TrialError;
use target::stack::{self, Opened, Stack};

/// A drive that cannot be made smaller is used this far: what counts are shares.
const PART_BYTES: u64 = 4 << 30;
/// So many times what lies below is written before anything counts, whatever the volume holds: its
/// own cleaner and those of the drives have found their pace.
const ROUNDS: u64 = 3;
/// What counts overwrites so much of the area: many segments are cleaned meanwhile.
const COUNTED_PART: u64 = 4;
/// Where next to nothing is written, no more operations than this count.
const COUNTED_MAX: u64 = 400_000;

impl Bench<'_> {
    /// What the mix does on `stack`, a managed volume on drives or an array, with `fill` (0 to 1)
    /// of the volume holding data that was overwritten at random; operations per second. `None` on
    /// drives with an arm: how far it goes counts, and a volume of all of a disk is too large to be
    /// overwritten.
    ///
    /// # Errors
    /// When the stack cannot be built, or fails.
    pub fn managed(&self, stack: &Stack, fill: f64) -> Result<Option<f64>, TrialError> {
        let shrunk = Shrunk::new(stack, self.catalog)?;
        if shrunk.turns {
            return Ok(None);
        }
        let mut small = shrunk.stack.clone();
        let mut below = small.clone();
        below.layers.retain(|layer| layer.name != "flash");
        let below = stack::open(&below, &shrunk.catalog, self.seed)?.contract().capacity_bytes;
        // A part of what cannot be shrunk; of page-mapped drives a part would leave the rest to
        // their cleaner.
        let part_bytes = if shrunk.divisor > 1.0 { below } else { below.min(PART_BYTES) };
        if part_bytes < below {
            let volume = small.layers.iter_mut().filter(|layer| layer.name == "flash");
            for settings in volume.map(|layer| &mut layer.settings) {
                if !settings.iter().any(|(key, _)| key == "drive-size") {
                    settings.push(("drive-size".to_owned(), format!("{}M", part_bytes >> 20)));
                }
            }
        }
        let mut opened = open_small(&small, &shrunk, self.seed)?;
        let block_bytes = self.workload.bytes_mean(0.0);
        let line_bytes = u64::from(LINE_BYTES);
        let area_bytes = (opened.contract().capacity_bytes as f64 * fill.min(1.0)) as u64;
        let lines = (area_bytes / line_bytes).max(1);
        let area_bytes = lines * line_bytes;
        let area = Area { offset: 0, bytes: area_bytes };
        let engine = opened.as_engine();
        Counted::new(engine, &log_stream(Op::Write), area, self.seed)
            .run(engine, Length::of(lines))?;
        let blocks = (area_bytes as f64 / block_bytes) as u64;
        let writes = 1.0 - self.workload.reads;
        let counted = (blocks / COUNTED_PART) as f64 / writes.max(1e-6);
        let counted = (counted as u64).clamp(1, COUNTED_MAX);
        let workload = self.workload.clone();
        let mut session = Session { opened, workload, counted: 1, seed: self.seed };
        let overwrites = ((ROUNDS * part_bytes) as f64 / block_bytes) as u64;
        session.rate(0.0, area_bytes, overwrites)?;
        session.counted = counted;
        Ok(Some(session.rate(self.workload.reads, area_bytes, counted / 10)?))
    }
}

/// Opens `stack`, a managed volume on the drives of `shrunk`. Where their superblocks became
/// shorter a segment has as many erase units as on the whole drives, and so is the part of a
/// superblock that it was: how much the drives' own cleaners copy follows from that. A segment is
/// no larger than what suits a small drive, unless it was named and there is room for it.
///
/// # Errors
/// When the stack cannot be built.
pub fn open_small(stack: &Stack, shrunk: &Shrunk, seed: u64) -> Result<Opened, TrialError> {
    let opened = stack::open(stack, &shrunk.catalog, seed)?;
    let layout = opened.managed().and_then(flash::Volume::layout);
    let (Some(segment), Some(layout)) = (shrunk.segment, layout) else {
        return Ok(opened);
    };
    let segment_bytes = segment.units * layout.shape.unit_bytes();
    if segment_bytes >= layout.shape.segment_bytes && !segment.is_chosen {
        return Ok(opened);
    }
    let mut stack = stack.clone();
    for layer in stack.layers.iter_mut().filter(|layer| layer.name == "flash") {
        layer.settings.push(("segment".to_owned(), segment_bytes.to_string()));
    }
    match stack::open(&stack, &shrunk.catalog, seed) {
        Err(_) if segment.is_chosen => Ok(opened),
        sized => Ok(sized?),
    }
}
