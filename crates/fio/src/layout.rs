//! Which bytes of the target stand for the files of a group of jobs.
//!
//! The files lie side by side from the beginning of the tested area; jobs that name one file share
//! its place, and every thread of a job that names none has a file of its own. The groups after it
//! use the same bytes again.

use crate::{job::Job, value::Amount};
use lab::workload::Reach;

/// Where one job works.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Region {
    pub start: Reach,
    pub length: Reach,
    /// How many threads share all of it; 1 where each has a part of its own.
    pub sharing: u64,
}

/// Where all jobs of a group work.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Layout {
    /// One a job.
    pub regions: Vec<Region>,
    /// Bytes of all files, where every one has a size; else all that the target offers.
    pub bytes: Option<u64>,
}

/// What a job says of its file.
struct Wish {
    file: String,
    /// Files of this kind: one a thread where none is named.
    copies: u64,
    offset: Amount,
    /// `None`: to the end of the file.
    length: Option<Amount>,
    /// How much further the last thread starts than the first.
    increments: u64,
    /// The file's own size where it is known.
    file_bytes: Option<u64>,
}

impl Wish {
    fn of(job: &Job, index: usize) -> Self {
        let file_bytes = job.file_bytes.map(|bytes| bytes.saturating_mul(job.files));
        let of_file = |percent: f64, whole: u64| (whole as f64 * percent / 100.0) as u64;
        let known = |amount: Amount| match (amount, file_bytes) {
            (Amount::Percent(percent), Some(whole)) => Amount::Bytes(of_file(percent, whole)),
            (amount, _) => amount,
        };
        let (offset, length) = (known(job.offset), job.size.map(known));
        let to_end = file_bytes.map(|whole| match offset {
            Amount::Bytes(offset) => whole.saturating_sub(offset),
            Amount::Percent(_) => whole,
        });
        // Where both are given, `size` is how much is moved, of files that are no larger.
        let length = match (length, to_end) {
            (Some(Amount::Bytes(bytes)), Some(to_end)) => Some(Amount::Bytes(bytes.min(to_end))),
            (None, Some(to_end)) => Some(Amount::Bytes(to_end)),
            (length, _) => length,
        };
        let (file, copies) = match &job.filename {
            Some(name) => (name.clone(), 1),
            None => (format!("job:{index}"), job.threads),
        };
        let increments = match copies {
            1 => job.offset_increment.saturating_mul(job.threads - 1),
            _ => 0,
        };
        Self { file, copies, offset, length, increments, file_bytes }
    }

    /// Bytes of its file, if they follow from the job alone.
    fn bytes(&self) -> Option<u64> {
        let Amount::Bytes(offset) = self.offset else { return None };
        let Some(Amount::Bytes(length)) = self.length else { return None };
        let end = offset.saturating_add(length).saturating_add(self.increments);
        Some(end.max(self.file_bytes.unwrap_or(0)))
    }
}

impl Layout {
    /// Of the jobs of one group.
    pub fn new(jobs: &[Job]) -> Self {
        let wishes: Vec<Wish> = (0..).zip(jobs).map(|(at, job)| Wish::of(job, at)).collect();
        let mut files: Vec<(&str, Option<u64>, u64)> = Vec::new();
        for wish in &wishes {
            let bytes = wish.bytes();
            match files.iter_mut().find(|(name, ..)| *name == wish.file) {
                Some((_, known, _)) => *known = known.zip(bytes).map(|(a, b)| a.max(b)),
                None => files.push((&wish.file, bytes, wish.copies)),
            }
        }
        let mut all = files.iter().map(|(_, bytes, copies)| (*bytes)?.checked_mul(*copies));
        let bytes = all.try_fold(0u64, |sum, bytes| sum.checked_add(bytes?));
        let region = |(wish, job): (&Wish, &Job)| {
            let at = files.iter().position(|(name, ..)| *name == wish.file);
            let at = at.expect("every wish has its file");
            let base = match bytes {
                Some(_) => {
                    let before = files[..at].iter();
                    let sum = before.map(|(_, bytes, copies)| bytes.unwrap_or(0) * copies).sum();
                    Reach { share: 0.0, bytes: sum }
                }
                None => Reach { share: at as f64 / files.len() as f64, bytes: 0 },
            };
            let slot = bytes.is_none().then(|| 1.0 / files.len() as f64);
            region(wish, base, slot, job)
        };
        let regions = wishes.iter().zip(jobs).map(region).collect();
        Self { regions, bytes }
    }
}

/// Where a job works in its file, which begins at `base`; `slot` is the file's share of the area
/// where its size is not known.
fn region(wish: &Wish, base: Reach, slot: Option<f64>, job: &Job) -> Region {
    let slot = slot.unwrap_or(0.0);
    let part = |percent: f64| slot * percent / 100.0;
    let start = match wish.offset {
        Amount::Bytes(bytes) => Reach { bytes: base.bytes.saturating_add(bytes), ..base },
        Amount::Percent(percent) => Reach { share: base.share + part(percent), ..base },
    };
    let skipped = match wish.offset {
        Amount::Percent(percent) => percent,
        Amount::Bytes(_) => 0.0,
    };
    let length = match wish.length {
        Some(Amount::Bytes(bytes)) => {
            let bytes = bytes.saturating_mul(wish.copies).saturating_add(wish.increments);
            Reach { share: 0.0, bytes }
        }
        Some(Amount::Percent(percent)) => {
            Reach { share: part(percent.min(100.0 - skipped)), bytes: 0 }
        }
        None => Reach { share: part(100.0 - skipped), bytes: 0 },
    };
    let sharing = if wish.copies > 1 || wish.increments > 0 { 1 } else { job.threads };
    Region { start, length, sharing }
}
