//! Spans that do not overlap, in order: whether any of them has to do with another is found by
//! halving.

use super::mechanism::Span;

/// Disjoint spans, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans(Vec<Span>);

impl Spans {
    /// Adds one, which overlaps none of them.
    pub fn insert(&mut self, span: Span) {
        let at = self.behind(span.first);
        debug_assert!(!self.overlap(span), "{span:?} overlaps another");
        self.0.insert(at, span);
    }

    /// Removes one.
    ///
    /// # Panics
    /// If it is not there.
    pub fn remove(&mut self, span: Span) {
        let at = self.behind(span.first).checked_sub(1).filter(|&at| self.0[at] == span);
        self.0.remove(at.expect("it was inserted"));
    }

    /// Whether one of them holds all of the span.
    pub fn hold(&self, span: Span) -> bool {
        self.before(self.behind(span.first)).is_some_and(|before| before.holds(span))
    }

    /// Whether the span overlaps one of them.
    pub fn overlap(&self, span: Span) -> bool {
        self.before(self.behind(span.end - 1)).is_some_and(|before| before.overlaps(span))
    }

    /// Whether one of them ends where the span begins, or begins where it ends.
    pub fn touch(&self, span: Span) -> bool {
        let ends = span.first.checked_sub(1).and_then(|last| self.before(self.behind(last)));
        let begins = self.before(self.behind(span.end));
        ends.is_some_and(|before| before.end == span.first)
            || begins.is_some_and(|behind| behind.first == span.end)
    }

    /// How many begin at the sector or before it.
    fn behind(&self, sector: u64) -> usize {
        self.0.partition_point(|span| span.first <= sector)
    }

    /// The last one of the first so many.
    fn before(&self, count: usize) -> Option<Span> {
        count.checked_sub(1).map(|at| self.0[at])
    }

    /// Whether these are all of them.
    #[cfg(test)]
    pub fn are(&self, spans: impl Iterator<Item = Span>) -> bool {
        let mut spans: Vec<Span> = spans.collect();
        spans.sort_unstable_by_key(|span| span.first);
        spans == self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_that_of_looking_at_all() {
        let (mut rng, mut spans, mut all) = (block::Rng::new(7, 0), Spans::default(), Vec::new());
        for _ in 0..5000 {
            let first = rng.below(100);
            let span = Span { first, end: first + 1 + rng.below(8) };
            let any = |fits: &dyn Fn(&Span) -> bool| all.iter().any(fits);
            assert_eq!(spans.hold(span), any(&|one| one.holds(span)));
            assert_eq!(spans.overlap(span), any(&|one| one.overlaps(span)));
            let touches = |one: &Span| one.end == span.first || span.end == one.first;
            assert_eq!(spans.touch(span), any(&touches), "{span:?} in {spans:?}");
            if !spans.overlap(span) {
                spans.insert(span);
                all.push(span);
            } else if rng.below(3) == 0 {
                spans.remove(all.swap_remove(rng.below(all.len() as u64) as usize));
            }
        }
        assert!(spans.are(all.into_iter()));
    }
}
