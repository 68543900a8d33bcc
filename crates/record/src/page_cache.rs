//! What the page cache had to do with a pass, and so what the pass's rate is the rate of.
//!
//! ```text
//!   read:   1 = cached + fetched + (neither: holes, or data stored in fewer bytes)
//!   write:  durable, or else so much of it lay in memory alone when the time ended
//! ```

use crate::Pass;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A share below this is none, and one above 1 less this is all: one page of a hundred.
const ALL_BUT: f64 = 0.01;

/// What the page cache held of the area that a pass worked on, and what follows from it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CachePass {
    /// The area, bytes.
    pub area_bytes: u64,
    /// How the area was put out of the cache before the pass, if it was.
    pub dropped: Option<CacheDrop>,
    /// Of the area in the cache when the pass began, bytes.
    pub resident_before_bytes: u64,
    /// And when it had ended, its flush included.
    pub resident_after_bytes: u64,
    /// Of the area newer than the drive when the pass had ended; absent where the kernel does not
    /// say (before 6.5).
    pub dirty_after_bytes: Option<u64>,
    /// Read from storage meanwhile on behalf of this program, read-ahead included; else by the
    /// whole drive. Absent where neither is counted.
    pub fetched_bytes: Option<u64>,
    /// Of the bytes read, the share that memory answered; absent for a pass that reads nothing.
    pub cached_share: Option<f64>,
    /// Of the bytes read, the share that the drive answered.
    pub fetched_share: Option<f64>,
    /// Of the bytes written, the share that only the page cache had when the time was over; absent
    /// for a pass that writes nothing, and where nobody could say.
    pub unwritten_share: Option<f64>,
    /// Whether what was written was durable when the time was over; absent for a pass that writes
    /// nothing.
    pub durable: Option<bool>,
}

/// How a file is put out of the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheDrop {
    /// This file alone: fsync(2), then posix_fadvise(2) with `POSIX_FADV_DONTNEED`.
    File,
    /// Everything: sync(2), then 3 into `/proc/sys/vm/drop_caches`. Only root may.
    Machine,
    /// Its file system, unmounted and mounted again. Only root may, and only where the file system
    /// is ours.
    Remount,
}

impl CacheDrop {
    /// The word in records and methods.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Machine => "machine",
            Self::Remount => "remount",
        }
    }
}

/// What a cell's rate is the rate of, over all its passes. Displayed as a phrase:
/// `from the page cache`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Meaning {
    reads: Option<Source>,
    writes: Option<Reach>,
}

/// Where reads were answered: the least and the most share of the passes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Source {
    cached: (f64, f64),
    neither: (f64, f64),
}

/// Where writes had got to.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Reach {
    Durable,
    NotDurable { unwritten: Option<(f64, f64)> },
}

impl Meaning {
    /// Of passes whose page cache was looked at; `None` when none was.
    pub fn of(passes: &[Pass]) -> Option<Self> {
        let seen: Vec<CachePass> = passes.iter().filter_map(|pass| pass.page_cache).collect();
        let reads = range(seen.iter().filter_map(|pass| pass.cached_share)).map(|cached| Source {
            cached,
            neither: range(seen.iter().filter_map(CachePass::neither_share)).unwrap_or((0.0, 0.0)),
        });
        let durable: Vec<bool> = seen.iter().filter_map(|pass| pass.durable).collect();
        let writes = (!durable.is_empty()).then(|| match durable.iter().all(|&durable| durable) {
            true => Reach::Durable,
            false => Reach::NotDurable {
                unwritten: range(seen.iter().filter_map(|pass| pass.unwritten_share)),
            },
        });
        (reads.is_some() || writes.is_some()).then_some(Self { reads, writes })
    }

    /// Of the reads, then of the writes: a word for a table's field, and the phrase that it stands
    /// for.
    ///
    /// `drive`, `cache`, `37 %`, `holes`; `synced`, `memory`, `63 %`, `unflushed`.
    pub fn parts(&self) -> Vec<(String, String)> {
        let reads = self.reads.map(|reads| reads.words());
        reads.into_iter().chain(self.writes.map(|writes| writes.words())).collect()
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phrases: Vec<String> = self.parts().into_iter().map(|(_, phrase)| phrase).collect();
        formatter.write_str(&phrases.join("; "))
    }
}

impl CachePass {
    /// Of the bytes read, the share that was in no memory and that no drive was asked for.
    fn neither_share(&self) -> Option<f64> {
        Some((1.0 - self.cached_share? - self.fetched_share?).max(0.0))
    }
}

impl Source {
    fn words(self) -> (String, String) {
        let pair = |word: &str, phrase: &str| (word.to_owned(), phrase.to_owned());
        match self {
            _ if self.neither.1 > ALL_BUT => {
                let share = percent(self.neither);
                let phrase = format!(
                    "{share} from neither the drive nor the page cache: holes, or data stored in fewer bytes"
                );
                ("holes".to_owned(), phrase)
            }
            _ if is_none(self.cached) => pair("drive", "from the drive"),
            _ if is_all(self.cached) => pair("cache", "from the page cache"),
            _ => {
                let share = percent(self.cached);
                let phrase = format!("mixed, {share} from the page cache");
                (share, phrase)
            }
        }
    }
}

impl Reach {
    fn words(self) -> (String, String) {
        let pair = |word: &str, phrase: &str| (word.to_owned(), phrase.to_owned());
        match self {
            Self::Durable => pair("synced", "onto the drive, durable"),
            Self::NotDurable { unwritten: Some(share) } if is_none(share) => {
                pair("unflushed", "written out, but not flushed: not durable")
            }
            Self::NotDurable { unwritten: Some(share) } if !is_all(share) => {
                let share = percent(share);
                let phrase = format!("{share} of it only in the page cache, not durable");
                (share, phrase)
            }
            Self::NotDurable { .. } => pair("memory", "into the page cache, not durable"),
        }
    }
}

fn is_none(share: (f64, f64)) -> bool {
    share.1 <= ALL_BUT
}

fn is_all(share: (f64, f64)) -> bool {
    share.0 >= 1.0 - ALL_BUT
}

/// `37 %`, or `20 to 37 %` where passes differ.
fn percent(share: (f64, f64)) -> String {
    // Between all and none a rounded figure must not read as either.
    let whole = |share: f64| (share * 100.0).round().clamp(1.0, 99.0);
    let (least, most) = (whole(share.0), whole(share.1));
    if least == most { format!("{most} %") } else { format!("{least} to {most} %") }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| {
        let (least, most) = range.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(seen: &[CachePass]) -> Vec<Pass> {
        let pass = crate::example::full().cells[0].passes[0].clone();
        seen.iter().map(|&seen| Pass { page_cache: Some(seen), ..pass.clone() }).collect()
    }

    fn short(meaning: &Meaning) -> String {
        meaning.parts().into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(", ")
    }

    const NOTHING: CachePass = CachePass {
        area_bytes: 1 << 20,
        dropped: None,
        resident_before_bytes: 0,
        resident_after_bytes: 0,
        dirty_after_bytes: None,
        fetched_bytes: None,
        cached_share: None,
        fetched_share: None,
        unwritten_share: None,
        durable: None,
    };

    fn read(cached: f64, fetched: f64) -> CachePass {
        CachePass { cached_share: Some(cached), fetched_share: Some(fetched), ..NOTHING }
    }

    fn write(durable: bool, unwritten: Option<f64>) -> CachePass {
        CachePass { durable: Some(durable), unwritten_share: unwritten, ..NOTHING }
    }

    #[test]
    fn shares_become_the_phrase_that_a_reader_needs() {
        let of = |seen: &[CachePass]| {
            let meaning = Meaning::of(&passes(seen)).expect("something was seen");
            (meaning.to_string(), short(&meaning))
        };
        let same = |phrase: &str, short: &str| (phrase.to_owned(), short.to_owned());
        assert_eq!(of(&[read(0.004, 0.996)]), same("from the drive", "drive"));
        assert_eq!(of(&[read(0.995, 0.005)]), same("from the page cache", "cache"));
        assert_eq!(of(&[read(0.37, 0.63)]), same("mixed, 37 % from the page cache", "37 %"));
        assert_eq!(
            of(&[read(0.2, 0.8), read(0.37, 0.63)]),
            same("mixed, 20 to 37 % from the page cache", "20 to 37 %")
        );
        assert_eq!(of(&[read(0.0, 0.0)]).1, "holes");
        assert!(of(&[read(0.0, 0.0)]).0.starts_with("99 % from neither the drive nor"));
        assert_eq!(of(&[write(true, None)]), same("onto the drive, durable", "synced"));
        assert_eq!(
            of(&[write(false, Some(1.0))]),
            same("into the page cache, not durable", "memory")
        );
        assert_eq!(of(&[write(false, None)]).0, "into the page cache, not durable");
        assert_eq!(of(&[write(false, Some(0.63))]).1, "63 %");
        assert_eq!(of(&[write(false, Some(0.0))]).1, "unflushed");
        let both = CachePass { durable: Some(false), unwritten_share: Some(1.0), ..read(0.0, 1.0) };
        assert_eq!(
            of(&[both]),
            same("from the drive; into the page cache, not durable", "drive, memory")
        );
    }

    #[test]
    fn one_pass_that_was_not_durable_spoils_the_cell() {
        let meaning = Meaning::of(&passes(&[write(true, None), write(false, Some(1.0))]));
        assert_eq!(short(&meaning.expect("seen")), "memory");
    }

    #[test]
    fn what_was_not_looked_at_has_no_meaning() {
        assert_eq!(Meaning::of(&passes(&[NOTHING])), None);
        assert_eq!(Meaning::of(&[]), None);
    }
}
