//! Answers whose time is known and has not come: the queue of every model that computes a
//! completion when the request arrives ("busy until") instead of making events of it.
//!
//! A 4-ary heap of 16-byte keys {finish time, sequence, slot}: equal times leave in the order they
//! came. A key is one integer, and absent children are the largest one, so that the least of four
//! is found without a branch to mispredict.

use block::{Completion, Effects, Instant, Slots};

const ARITY: usize = 4;

/// Finish time, sequence and slot, from the top of the word down.
type Key = u128;

/// Stands where no key is.
const ABSENT: Key = Key::MAX;

fn key(finished: u64, sequence: u32, slot: u32) -> Key {
    Key::from(finished) << 64 | Key::from(sequence) << 32 | Key::from(slot)
}

fn finished(key: Key) -> u64 {
    (key >> 64) as u64
}

/// Completions that wait for their time.
#[derive(Clone, Debug)]
pub struct Outbox {
    waiting: Slots<Completion>,
    /// The keys in front, then [`ABSENT`] for as far as the children of any of them may reach.
    heap: Vec<Key>,
    len: usize,
    sequence: u32,
}

impl Outbox {
    /// For at most `queue_depth` answers at a time.
    pub fn new(queue_depth: u32) -> Self {
        Self {
            waiting: Slots::new(queue_depth),
            heap: vec![ABSENT; queue_depth as usize * ARITY + ARITY + 1],
            len: 0,
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
        if self.len == 0 {
            // Nothing to be told apart from: the count starts anew, long before it could run over.
            self.sequence = 0;
        }
        self.rise(self.len, key(finished, self.sequence, slot));
        self.len += 1;
    }

    /// Hands out everything whose time has come.
    #[inline]
    pub fn release(&mut self, now: Instant, effects: &mut Effects) {
        while self.len > 0 && finished(self.heap[0]) <= now.0 {
            let slot = self.heap[0] as u32;
            self.pop();
            effects.up.push(self.waiting.remove(slot));
        }
    }

    /// When the next answer is due.
    #[inline]
    pub fn next(&self) -> Instant {
        Instant(finished(self.heap[0]))
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn rise(&mut self, mut at: usize, key: Key) {
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

    /// Takes the first key away. The gap sinks to the bottom, where the last key goes in and, being
    /// late as a rule, stays.
    #[inline]
    fn pop(&mut self) {
        self.len -= 1;
        let last = std::mem::replace(&mut self.heap[self.len], ABSENT);
        let mut gap = 0;
        loop {
            let first = gap * ARITY + 1;
            let Some(children) = self.heap.get(first..first + ARITY) else { break };
            let least = least_of(children.try_into().expect("as many as asked for"));
            if children[least] == ABSENT {
                break;
            }
            self.heap[gap] = children[least];
            gap = first + least;
        }
        if self.len > 0 {
            self.rise(gap, last);
        }
    }
}

/// Which of four keys is the least.
#[inline]
fn least_of(keys: &[Key; ARITY]) -> usize {
    let left = usize::from(keys[1] < keys[0]);
    let right = 2 + usize::from(keys[3] < keys[2]);
    if keys[right] < keys[left] { right } else { left }
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
