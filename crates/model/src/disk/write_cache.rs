//! Cached writes: taken in at the rate of the interface, put on the medium in the order that costs
//! least.
//!
//! Adjacent writes join into one run, so a sequential writer is destaged in tracks. A flush closes
//! a *generation*: later writes join no earlier run, and the flush is done when no earlier run is
//! left.

use super::{
    layout::{Layout, Remembered, Turn},
    mechanism::Span,
    spans::Spans,
};
use crate::{FastCache, FastCacheKind};
use std::sync::Arc;

/// A cached write is next when this many cachefuls of others have been written since it came.
const OVERTAKEN_MAX: u64 = 16;

/// Adjacent cached writes.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub span: Span,
    /// Of where it is written.
    pub start: Remembered,
    /// When its first bytes are there, ns.
    pub ready: u64,
    /// When its last are, ns.
    received: u64,
    /// How many runs had been destaged when it was taken in, or last shortened.
    entered: u64,
    generation: u64,
}

/// Where a run begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    pub sector: u64,
    /// At which turn of the platter.
    pub turn: Turn,
}

impl Run {
    /// While a flush waits, only what it waits for is written.
    fn may_be_next(&self, flushing: Option<u64>) -> bool {
        flushing.is_none_or(|until| self.generation <= until)
    }
}

/// The drive's volatile write cache.
#[derive(Debug)]
pub(super) struct WriteCache {
    runs: Vec<Run>,
    /// Where each of them begins: to look at all of them, and at few runs.
    begins: Vec<Begin>,
    layout: Arc<Layout>,
    /// What the runs hold, to tell at once that they hold nothing of what is asked for.
    held: Spans,
    /// What the heads are writing at present; its memory is not free yet.
    destaging: Vec<Run>,
    sectors: u64,
    /// Sectors that were ever taken in.
    taken: u64,
    sectors_max: u64,
    runs_max: usize,
    generation: u64,
    /// Pieces that were handed to the heads.
    destages: u64,
    /// No run was taken in, or last shortened, when fewer than so many had been.
    entered_min: u64,
    /// When the heads last wrote for it, or since when it has data at all, ns.
    served_at: u64,
}

impl WriteCache {
    pub fn new(sectors_max: u64, runs_max: u32, layout: Arc<Layout>) -> Self {
        let runs = Vec::with_capacity(runs_max as usize + 1);
        let runs_max = runs_max as usize;
        Self {
            runs,
            begins: Vec::with_capacity(runs_max + 1),
            layout,
            held: Spans::default(),
            destaging: Vec::new(),
            sectors: 0,
            taken: 0,
            sectors_max,
            runs_max,
            generation: 0,
            destages: 0,
            entered_min: 0,
            served_at: 0,
        }
    }

    /// How it stands.
    pub fn stands(&self, sector_bytes: u64) -> FastCache {
        FastCache {
            kind: FastCacheKind::Memory,
            capacity_bytes: self.sectors_max * sector_bytes,
            held_bytes: self.sectors * sector_bytes,
            taken_bytes: self.taken * sector_bytes,
        }
    }

    /// Whether a write of this size is cached at all; a larger one goes through.
    pub fn takes(&self, span: Span) -> bool {
        span.sectors() <= self.sectors_max / 2
    }

    /// Whether there is room for it now.
    pub fn has_room(&self, span: Span) -> bool {
        if self.held.hold(span) {
            return true;
        }
        let runs = self.runs.len() + self.destaging.len();
        self.sectors + span.sectors() <= self.sectors_max
            && (runs < self.runs_max || self.neighbour(span).is_some())
    }

    /// Takes a write in.
    pub fn insert(&mut self, span: Span, received: u64) {
        self.taken += span.sectors();
        if self.runs.is_empty() {
            self.served_at = self.served_at.max(received);
        }
        if self.held.hold(span) {
            let run = self.runs.iter_mut().find(|run| run.span.holds(span));
            run.expect("it is held").received = received;
            return;
        }
        // What replaces part of an earlier generation is waited for in its place.
        let generation = self.drop_overlapped(span).unwrap_or(self.generation);
        self.sectors += span.sectors();
        match self.neighbour(span) {
            Some(at) if generation == self.generation => {
                let run = &mut self.runs[at];
                run.received = received;
                let old = run.span;
                if span.first < old.first {
                    run.ready = received;
                }
                self.held.remove(old);
                let (first, end) = (old.first.min(span.first), old.end.max(span.end));
                self.resize(at, Span { first, end });
            }
            _ => {
                let (ready, entered, start) = (received, self.destages, Remembered::default());
                self.add(Run { span, start, ready, received, entered, generation });
            }
        }
    }

    fn add(&mut self, run: Run) {
        let (at, span) = (self.runs.len(), run.span);
        self.runs.push(run);
        self.begins.push(Begin { sector: span.first, turn: Turn::of(0) });
        self.resize(at, span);
    }

    /// A run holds this now, whose place is free.
    fn resize(&mut self, at: usize, span: Span) {
        self.held.insert(span);
        let start = self.layout.start(span.first);
        self.begins[at] = Begin { sector: span.first, turn: Turn::of(start.angle) };
        let run = &mut self.runs[at];
        (run.span, run.start) = (span, Remembered::of(span.first, start));
    }

    fn drop_run(&mut self, at: usize) {
        self.runs.swap_remove(at);
        self.begins.swap_remove(at);
    }

    /// Removes what a newer write replaces, and says of which generation the oldest of it was.
    pub fn drop_overlapped(&mut self, span: Span) -> Option<u64> {
        let (mut at, mut oldest) = (0, None);
        if !self.held.overlap(span) {
            return None;
        }
        while at < self.runs.len() {
            let Run { span: old, .. } = self.runs[at];
            if !old.overlaps(span) {
                at += 1;
                continue;
            }
            self.sectors -= old.end.min(span.end) - old.first.max(span.first);
            let before = Span { first: old.first, end: span.first.max(old.first) };
            let after = Span { first: span.end.min(old.end), end: old.end };
            let run = self.runs[at].clone();
            self.held.remove(old);
            oldest = Some(oldest.unwrap_or(run.generation).min(run.generation));
            let mut rest = [before, after].into_iter().filter(|span| span.first < span.end);
            match rest.next() {
                Some(span) => self.resize(at, span),
                None => {
                    self.drop_run(at);
                    continue;
                }
            }
            // A write into the middle leaves two runs.
            for span in rest {
                self.add(Run { span, ..run.clone() });
            }
            at += 1;
        }
        oldest
    }

    /// Whether a read finds all it wants here.
    pub fn holds(&self, span: Span) -> bool {
        self.held.hold(span) || self.destaging.iter().any(|run| run.span.holds(span))
    }

    /// What may be written next. While a flush waits, only what it waits for.
    pub fn candidates(&self, flushing: Option<u64>) -> impl Iterator<Item = (usize, &Run)> {
        self.runs.iter().enumerate().filter(move |(_, run)| run.may_be_next(flushing))
    }

    /// What a candidate holds.
    pub fn run(&self, at: usize) -> Span {
        self.runs[at].span
    }

    /// Hands the first `sectors_max` sectors of a run to the heads, behind what they are given
    /// already, and says when they will all be there.
    pub fn destage(&mut self, at: usize, sectors_max: u64) -> (Span, u64) {
        let run = &mut self.runs[at];
        let span = run.span;
        let end = span.end.min(span.first + sectors_max);
        let chunk = Run { span: Span { first: span.first, end }, ..run.clone() };
        run.entered = self.destages;
        self.held.remove(span);
        if end == span.end {
            self.drop_run(at);
        } else {
            self.resize(at, Span { first: end, end: span.end });
        }
        let received = if chunk.span == span { chunk.received } else { chunk.ready };
        let handed = chunk.span;
        self.destaging.push(chunk);
        self.destages += 1;
        if self.destages.is_multiple_of(self.runs_max.max(1) as u64) {
            let entered = self.runs.iter().map(|run| run.entered);
            self.entered_min = entered.min().unwrap_or(self.destages);
        }
        (handed, received)
    }

    /// The heads are done at `now`: its memory is free.
    pub fn destaged(&mut self, now: u64) {
        assert!(!self.destaging.is_empty(), "the heads were writing");
        self.served_at = now;
        self.sectors -= self.destaging.drain(..).map(|chunk| chunk.span.sectors()).sum::<u64>();
    }

    /// When the heads last wrote for it, or since when it has data at all.
    pub fn served_at(&self) -> u64 {
        self.served_at
    }

    /// Where each run begins, by its number as a candidate.
    pub fn begins(&self) -> &[Begin] {
        &self.begins
    }

    /// The run of that number, if it may be written next.
    pub fn candidate(&self, at: usize, flushing: Option<u64>) -> Option<&Run> {
        Some(&self.runs[at]).filter(|run| run.may_be_next(flushing))
    }

    /// Whether so many others have been written since it came that it has to be next.
    pub fn is_overtaken(&self, run: &Run) -> bool {
        self.has_passed(run.entered)
    }

    /// Whether any run may be. The bound is brought up to date once in so many destages as there
    /// may be runs, so that this may still say yes when the last of them has gone.
    pub fn may_be_overtaken(&self) -> bool {
        self.has_passed(self.entered_min)
    }

    fn has_passed(&self, entered: u64) -> bool {
        self.destages - entered > OVERTAKEN_MAX * self.runs_max as u64
    }

    /// Whether the heads are writing cached data.
    pub fn is_destaging(&self) -> bool {
        !self.destaging.is_empty()
    }

    /// Closes the generation and says which it was.
    pub fn close_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation - 1
    }

    /// Whether anything of that generation or an earlier one is not on the medium.
    pub fn is_dirty(&self, generation: u64) -> bool {
        self.destaging.iter().chain(&self.runs).any(|run| run.generation <= generation)
    }

    fn neighbour(&self, span: Span) -> Option<usize> {
        if !self.held.touch(span) {
            return None;
        }
        self.runs.iter().position(|run| {
            run.generation == self.generation
                && (run.span.end == span.first || run.span.first == span.end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::params;

    fn cache(sectors_max: u64, runs_max: u32) -> WriteCache {
        let layout = Arc::new(Layout::new(&params(), 1 << 20));
        WriteCache::new(sectors_max, runs_max, layout)
    }

    fn span(first: u64, end: u64) -> Span {
        Span { first, end }
    }

    fn cached(cache: &WriteCache) -> Vec<(u64, u64)> {
        let mut spans: Vec<_> =
            cache.candidates(None).map(|(_, run)| (run.span.first, run.span.end)).collect();
        spans.sort_unstable();
        spans
    }

    #[test]
    fn adjacent_writes_join_but_not_across_a_flush() {
        let mut cache = cache(100, 4);
        cache.insert(span(10, 20), 1);
        cache.insert(span(20, 30), 2);
        assert_eq!(cached(&cache), [(10, 30)]);
        let generation = cache.close_generation();
        cache.insert(span(30, 40), 3);
        assert_eq!(cached(&cache), [(10, 30), (30, 40)]);
        assert_eq!(cache.candidates(Some(generation)).count(), 1);
        cache.destage(0, 100);
        assert!(cache.is_dirty(generation), "it is under the heads");
        cache.destaged(0);
        assert!(!cache.is_dirty(generation) && cache.is_dirty(generation + 1));
    }

    #[test]
    fn a_flush_waits_for_what_replaces_the_data_it_covers() {
        let mut cache = cache(100, 4);
        cache.insert(span(10, 20), 1);
        let generation = cache.close_generation();
        cache.insert(span(5, 25), 2);
        assert_eq!(cached(&cache), [(5, 25)]);
        assert!(cache.is_dirty(generation));
    }

    #[test]
    fn the_cache_holds_the_union_of_what_was_written() {
        let (mut cache, mut rng) = (cache(1 << 20, 1000), block::Rng::new(5, 0));
        let mut dirty = [false; 300];
        for _ in 0..500 {
            let first = rng.below(280);
            let written = span(first, first + 1 + rng.below(20));
            cache.insert(written, 0);
            dirty[written.first as usize..written.end as usize].fill(true);
            if rng.below(4) == 0 && cache.candidates(None).count() > 0 {
                let (chunk, _) = cache.destage(0, 7);
                dirty[chunk.first as usize..chunk.end as usize].fill(false);
                cache.destaged(0);
            }
            let mut seen = [false; 300];
            for (first, end) in cached(&cache) {
                assert!(seen[first as usize..end as usize].iter().all(|seen| !seen), "held twice");
                seen[first as usize..end as usize].fill(true);
            }
            assert_eq!(seen, dirty);
            assert!(cache.held.are(cache.runs.iter().map(|run| run.span)));
            for (run, begin) in cache.runs.iter().zip(&cache.begins) {
                let turn = Turn::of(cache.layout.start(run.span.first).angle);
                assert_eq!((begin.sector, begin.turn), (run.span.first, turn));
            }
            assert_eq!(cache.runs.len(), cache.begins.len());
            assert!(cache.runs.iter().all(|run| run.entered >= cache.entered_min));
            assert_eq!(cache.sectors, dirty.iter().filter(|&&dirty| dirty).count() as u64);
        }
    }

    #[test]
    fn memory_is_free_when_the_heads_are_done_with_it() {
        let mut cache = cache(100, 2);
        cache.insert(span(0, 50), 0);
        cache.insert(span(60, 110), 0);
        assert!(!cache.has_room(span(50, 51)) && !cache.takes(span(0, 51)));
        assert!(cache.has_room(span(70, 80)), "it replaces what is there");
        cache.destage(0, 10);
        assert!(!cache.has_room(span(50, 51)));
        cache.destaged(0);
        assert!(cache.has_room(span(50, 51)), "ten sectors free, and a run to join");
        assert!(!cache.has_room(span(200, 201)), "no run free");
    }
}
