//! In which order dirty pages leave. This is what random writes cost: a sweep in file order over
//! gigabytes of dirty pages finds neighbours a few kilobytes apart, a list in the order of dirtying
//! finds none.
//!
//! A sync must know when everything that was dirty at its start has been handed to the drive,
//! though writers go on: it takes a [`Mark`] and asks whether it was reached.

use super::cache::PageCache;
use std::collections::VecDeque;

/// A point in the order of write-back, behind everything that is dirty when it is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Mark {
    round: u64,
    at: u64,
}

#[derive(Debug)]
pub(super) enum Order {
    /// A cyclic sweep in file order, each round to the end that the file had when the round began
    /// (`writeback_index` of `mpage_writepages` and `write_cache_pages`).
    Sweep {
        /// The next page to look at, and how often the sweep has begun anew.
        place: Mark,
        /// The end of this round.
        end: u64,
    },
    /// As dirtied: the list of data buffers of an ext3 transaction.
    AsDirtied {
        /// First page and number of pages of each run, oldest first.
        runs: VecDeque<(u64, u64)>,
        /// Pages that ever were on the list.
        pushed: u64,
        /// Pages that have left it.
        popped: u64,
    },
}

impl Order {
    pub fn sweep() -> Self {
        Self::Sweep { place: Mark { round: 0, at: 0 }, end: 0 }
    }

    pub fn as_dirtied() -> Self {
        Self::AsDirtied { runs: VecDeque::new(), pushed: 0, popped: 0 }
    }

    /// Notes that `first..end` are about to be dirtied; `cache` does not know yet.
    #[inline]
    pub fn note(&mut self, cache: &PageCache, first: u64, end: u64) {
        let Self::AsDirtied { runs, pushed, .. } = self else { return };
        let mut at = first;
        loop {
            at = cache.dirty.next_absent(at, end);
            if at == end {
                return;
            }
            let stop = cache.dirty.next(at, end).unwrap_or(end);
            *pushed += stop - at;
            match runs.back_mut() {
                Some((last, pages)) if *last + *pages == at => *pages += stop - at,
                _ => runs.push_back((at, stop - at)),
            }
            at = stop;
        }
    }

    /// First page and end of the next run of dirty pages; a run from page `n` is at most
    /// `pages_max(n)` long. None if there is none, or the next one must wait because an older
    /// version of its first page is on its way to the drive.
    pub fn next(
        &mut self,
        cache: &PageCache,
        file_pages: u64,
        pages_max: impl Fn(u64) -> u64,
    ) -> Option<(u64, u64)> {
        match self {
            Self::Sweep { place, end } => {
                let first = match cache.dirty.next(place.at, *end) {
                    Some(first) => first,
                    None => {
                        let first = cache.dirty.next(0, file_pages)?;
                        (*place, *end) = (Mark { round: place.round + 1, at: 0 }, file_pages);
                        first
                    }
                };
                place.at = first;
                let stop = run_end(cache, first, first + pages_max(first))?;
                place.at = stop;
                Some((first, stop))
            }
            Self::AsDirtied { runs, popped, .. } => loop {
                let &(first, pages) = runs.front()?;
                let end = first + pages;
                let start = cache.dirty.next(first, end).unwrap_or(end);
                if start < end {
                    let stop = run_end(cache, start, end.min(start + pages_max(start)))?;
                    *popped += stop - first;
                    runs[0] = (stop, end - stop);
                    return Some((start, stop));
                }
                *popped += pages;
                runs.pop_front();
            },
        }
    }

    /// A point behind everything that is dirty now.
    pub fn mark(&self, cache: &PageCache) -> Mark {
        match self {
            // Pages behind the end of this round are met in the next, all of which it then takes.
            Self::Sweep { place, end } if cache.dirty.next(*end, u64::MAX).is_some() => {
                Mark { round: place.round + 2, at: 0 }
            }
            Self::Sweep { place, .. } => Mark { round: place.round + 1, at: place.at },
            Self::AsDirtied { pushed, .. } => Mark { round: 0, at: *pushed },
        }
    }

    /// Whether everything before `mark` has left.
    pub fn reached(&self, cache: &PageCache, mark: Mark) -> bool {
        cache.dirty.count() == 0
            || match self {
                Self::Sweep { place, .. } => *place >= mark,
                Self::AsDirtied { popped, .. } => *popped >= mark.at,
            }
    }

    /// Nothing is dirty any more.
    pub fn clear(&mut self) {
        if let Self::AsDirtied { runs, pushed, popped } = self {
            runs.clear();
            *popped = *pushed;
        }
    }
}

/// How far the dirty run from `first` goes before `end`, a clean page, or a page in write-back.
fn run_end(cache: &PageCache, first: u64, end: u64) -> Option<u64> {
    let end = cache.dirty.next_absent(first, end);
    let stop = cache.writeback.next(first, end).unwrap_or(end);
    (stop > first).then_some(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE_PAGES: u64 = 1000;

    fn dirty(order: &mut Order, cache: &mut PageCache, first: u64, end: u64) {
        order.note(cache, first, end);
        cache.make_dirty(first, end);
    }

    fn write_all(order: &mut Order, cache: &mut PageCache) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| {
            let (first, end) = order.next(cache, FILE_PAGES, |_| 8)?;
            cache.begin_writeback(first, end);
            cache.end_writeback(first, end);
            Some((first, end - first))
        })
        .collect()
    }

    fn cache() -> PageCache {
        let mut cache = PageCache::new(1 << 30, 1 << 30);
        cache.reach(FILE_PAGES);
        cache
    }

    #[test]
    fn a_sweep_goes_by_offset_from_where_it_stopped_and_the_list_by_age() {
        for (mut order, expected) in [
            (Order::sweep(), [vec![(10, 3), (20, 8), (28, 2), (70, 1)], vec![(90, 1), (5, 2)]]),
            (
                Order::as_dirtied(),
                [vec![(70, 1), (10, 3), (20, 8), (28, 2)], vec![(5, 2), (90, 1)]],
            ),
        ] {
            let mut cache = cache();
            for (first, end) in [(70, 71), (10, 12), (12, 13), (20, 30), (25, 28)] {
                dirty(&mut order, &mut cache, first, end);
            }
            assert_eq!(write_all(&mut order, &mut cache), expected[0]);
            dirty(&mut order, &mut cache, 5, 7);
            dirty(&mut order, &mut cache, 90, 91);
            assert_eq!(write_all(&mut order, &mut cache), expected[1]);
        }
    }

    #[test]
    fn a_mark_is_reached_though_a_writer_always_stays_ahead() {
        for mut order in [Order::sweep(), Order::as_dirtied()] {
            let mut cache = cache();
            dirty(&mut order, &mut cache, 0, 64);
            let mark = order.mark(&cache);
            let mut written = 0;
            for at in (64..).step_by(8) {
                dirty(&mut order, &mut cache, at, at + 8);
                let (first, end) = order.next(&cache, at + 8, |_| 8).expect("much is dirty");
                cache.begin_writeback(first, end);
                cache.end_writeback(first, end);
                written += end - first;
                if order.reached(&cache, mark) {
                    break;
                }
                assert!(written < 512, "a sync that never ends");
            }
            assert!(cache.dirty.next(0, 64).is_none(), "what was dirty before the mark has left");
        }
    }

    #[test]
    fn a_page_dirtied_again_waits_for_its_older_version() {
        for mut order in [Order::sweep(), Order::as_dirtied()] {
            let mut cache = cache();
            dirty(&mut order, &mut cache, 3, 4);
            assert_eq!(order.next(&cache, FILE_PAGES, |_| 8), Some((3, 4)));
            cache.begin_writeback(3, 4);
            dirty(&mut order, &mut cache, 3, 4);
            assert_eq!(order.next(&cache, FILE_PAGES, |_| 8), None);
            cache.end_writeback(3, 4);
            assert_eq!(order.next(&cache, FILE_PAGES, |_| 8), Some((3, 4)));
        }
    }
}
