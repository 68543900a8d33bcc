//! Answers whose time is known and has not come: the queue of every model that computes a completion when
//! the request arrives ("busy until") instead of making events of it.
//!
//! A 4-ary heap of 16-byte keys {finish time, sequence, slot}: equal times leave in the order they came.

use block::{Completion, Effects, Instant, Slots};

const ARITY: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    finished: u64,
    sequence: u32,
    slot: u32,
}

/// Completions that wait for their time.
#[derive(Debug)]
pub struct Outbox {
    waiting: Slots<Completion>,
    heap: Vec<Key>,
    sequence: u32,
}

impl Outbox {
    /// For at most `queue_depth` answers at a time.
    pub fn new(queue_depth: u32) -> Self {
        Self {
            waiting: Slots::new(queue_depth),
            heap: Vec::with_capacity(queue_depth as usize),
            sequence: 0,
        }
    }

    /// Keeps `completion` until its `finished` has come.
    ///
    /// # Panics
    /// When more than `queue_depth` are kept.
    #[inline]
    pub fn put(&mut self, completion: Completion) {
        let finished = completion.finished.0;
        let slot = self.waiting.insert(completion);
        self.sequence = self.sequence.wrapping_add(1);
        if self.heap.is_empty() {
            // Nothing to be told apart from: the count starts anew, long before it could run over.
            self.sequence = 0;
        }
        self.heap.push(Key { finished, sequence: self.sequence, slot });
        self.rise(self.heap.len() - 1);
    }

    /// Hands out everything whose time has come.
    #[inline]
    pub fn release(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(first) = self.heap.first()
            && first.finished <= now.0
        {
            let slot = first.slot;
            self.pop();
            effects.up.push(self.waiting.remove(slot));
        }
    }

    /// When the next answer is due.
    #[inline]
    pub fn next(&self) -> Instant {
        self.heap.first().map_or(Instant::NEVER, |first| Instant(first.finished))
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    #[inline]
    fn rise(&mut self, mut at: usize) {
        let key = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }

    #[inline]
    fn pop(&mut self) {
        let last = self.heap.pop().expect("the caller saw a first key");
        if self.heap.is_empty() {
            return;
        }
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + ARITY).min(self.heap.len());
            let least = (first + 1..end).fold(first, |least, child| {
                if self.heap[child] < self.heap[least] { child } else { least }
            });
            if last <= self.heap[least] {
                break;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
        self.heap[at] = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Payload, Rng, Tag};

    fn answer(tag: u64, finished: u64) -> Completion {
        let (issued, finished) = (Instant(0), Instant(finished));
        Completion { tag: Tag(tag), issued, finished, result: Ok(()), payload: Payload::None }
    }

    #[test]
    fn answers_leave_by_time_and_equal_times_in_the_order_they_came() {
        let (mut outbox, mut rng) = (Outbox::new(300), Rng::new(1, 0));
        let mut expected: Vec<(u64, u64)> = (0..300).map(|tag| (rng.below(40), tag)).collect();
        for &(time, tag) in &expected {
            outbox.put(answer(tag, time));
        }
        expected.sort_unstable();
        let mut effects = Effects::default();
        while outbox.next() != Instant::NEVER {
            outbox.release(outbox.next(), &mut effects);
        }
        let seen: Vec<_> = effects.up.iter().map(|done| (done.finished.0, done.tag.0)).collect();
        assert_eq!(seen, expected);
        assert!(outbox.is_empty());
    }
}
