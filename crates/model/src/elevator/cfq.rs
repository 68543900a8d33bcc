//! Time slices: one reader at a time has the device, and all writes together are one more.
//!
//! ```text
//!   reader 0 --+
//!   reader 1 --+-- round robin: slice_sync each     within: by place, a little way back allowed
//!   writes   --+                slice_async
//! ```
//!
//! A reader that has nothing to ask for keeps the device for slice_idle, so that one who reads on
//! in order is not sent back behind another's seek; not one who is known to think for longer. As up to
//! 2.6.28, any device is waited at, SSDs too; `slice_idle=0ms` is what later kernels do on those.
//! Reads push writes aside.

use super::{
    entry::{Direction, Entry},
    habit::Habit,
    half::Half,
    order::{Next, Order},
    params,
};
use block::{Actor, Instant, Slots};
use std::collections::VecDeque;

/// A reader who seeks is waited for this long at most, ns.
const SEEKY_IDLE_NS: u64 = 2_000_000;
/// Mean way from which on a reader seeks, bytes (`CIC_SEEKY`: 8 Ki sectors).
const SEEKY_BYTES: u64 = 4 << 20;
/// How the requests of a slice of writes follow from `slice_async_rq` at priority 4
/// (`cfq_prio_to_maxrq`).
const ASYNC_STEPS: u32 = 8;
/// The queue of all writes; readers follow by their numbers.
const WRITES: usize = 0;

#[derive(Debug)]
pub(super) struct Cfq {
    params: params::Cfq,
    queues: Vec<Queue>,
    /// Queues with something to ask for that wait for their turn.
    round: VecDeque<usize>,
    active: Option<Slice>,
    /// Where the last request ended.
    head: u64,
    reads_at_device: u32,
}

#[derive(Debug, Default)]
struct Queue {
    half: Half,
    at_device: u32,
    ended: Instant,
    habit: Habit,
}

#[derive(Clone, Copy, Debug)]
struct Slice {
    queue: usize,
    ends: Instant,
    dispatched: u32,
    /// The oldest is looked at once a slice.
    looked_at_oldest: bool,
}

impl Cfq {
    pub fn new(params: params::Cfq) -> Self {
        Self {
            params,
            queues: vec![Queue::default()],
            round: VecDeque::new(),
            active: None,
            head: 0,
            reads_at_device: 0,
        }
    }

    fn number(direction: Direction, actor: Actor) -> usize {
        match direction {
            Direction::Write => WRITES,
            Direction::Read => usize::from(actor.0) + 1,
        }
    }

    fn queue(&mut self, entry: &Entry) -> (usize, &mut Queue) {
        let number = Self::number(entry.direction(), entry.actor);
        if self.queues.len() <= number {
            self.queues.resize_with(number + 1, Queue::default);
        }
        (number, &mut self.queues[number])
    }

    /// How long the device waits for more from this queue, ns.
    fn idle_ns(&self, number: usize) -> u64 {
        if number == WRITES {
            return 0;
        }
        let habit = &self.queues[number].habit;
        let idle_ns = self.params.slice_idle_ns;
        if habit.think_ns().is_some_and(|think_ns| think_ns > idle_ns) {
            return 0;
        }
        let is_seeky = habit.seek_bytes().is_some_and(|bytes| bytes > SEEKY_BYTES);
        if is_seeky { idle_ns.min(SEEKY_IDLE_NS) } else { idle_ns }
    }

    /// The active queue's turn is over.
    fn expire(&mut self) {
        if let Some(slice) = self.active.take()
            && !self.queues[slice.queue].half.is_empty()
        {
            self.round.push_back(slice.queue);
        }
    }

    fn begin(&mut self, now: Instant) -> Option<Slice> {
        let queue = self.round.pop_front()?;
        let length_ns = match queue {
            WRITES => self.params.slice_async_ns,
            _ => self.params.slice_sync_ns,
        };
        let slice =
            Slice { queue, ends: now.after(length_ns), dispatched: 0, looked_at_oldest: false };
        self.active = Some(slice);
        Some(slice)
    }

    /// The queue's next request: the oldest if it is overdue, else the nearest, forth before back.
    fn nearest(&self, now: Instant, slice: Slice) -> u32 {
        let half = &self.queues[slice.queue].half;
        let (overdue, oldest) = half.oldest().expect("it has something to ask for");
        if !slice.looked_at_oldest && overdue <= now {
            return oldest;
        }
        let forth = half.from(self.head).map(|(offset, number)| (offset - self.head, number));
        let back = half.below(self.head).map(|(offset, number)| (self.head - offset, number));
        let back = back.filter(|(way, _)| *way <= self.params.back_seek_bytes_max);
        let back = back.map(|(way, number)| (way * self.params.back_seek_penalty, number));
        let nearest = [forth, back].into_iter().flatten().min_by_key(|(way, _)| *way);
        nearest.or_else(|| half.from(0)).expect("it has something to ask for").1
    }
}

impl Order for Cfq {
    fn insert(&mut self, now: Instant, number: u32, entry: &Entry) {
        let (expire_ns, most_ns) = match entry.direction() {
            Direction::Read => (self.params.fifo_expire_sync_ns, 2 * self.params.slice_idle_ns),
            Direction::Write => (self.params.fifo_expire_async_ns, 0),
        };
        let (of, queue) = self.queue(entry);
        let was_empty = queue.half.is_empty();
        queue.half.insert(entry.offset, number, now.after(expire_ns));
        queue.habit.asked(now, entry.offset, entry.end(), most_ns);
        let active = self.active.map(|slice| slice.queue);
        if active == Some(WRITES) && of != WRITES {
            // A read pushes the writes aside (`cfq_should_preempt`).
            self.round.retain(|&queue| queue != of);
            self.round.push_front(of);
            self.expire();
        } else if was_empty && active != Some(of) {
            self.round.push_back(of);
        }
    }

    fn neighbours(
        &self,
        direction: Direction,
        actor: Actor,
        offset: u64,
        end: u64,
    ) -> (Option<u32>, Option<u32>) {
        let Some(queue) = self.queues.get(Self::number(direction, actor)) else {
            return (None, None);
        };
        let number = |found: Option<(u64, u32)>| found.map(|(_, number)| number);
        (number(queue.half.below(offset)), number(queue.half.from(end)))
    }

    fn moved(&mut self, number: u32, entry: &Entry) {
        self.queue(entry).1.half.moved(number, entry.offset);
    }

    fn joined(&mut self, number: u32, gone: u32, entry: &Entry) {
        let (_, queue) = self.queue(entry);
        queue.half.joined(number, gone);
        queue.habit.joined();
    }

    fn next(&mut self, now: Instant, entries: &Slots<Entry>) -> Next {
        loop {
            let slice = match self.active {
                Some(slice) => slice,
                None => match self.begin(now) {
                    Some(slice) => slice,
                    None => return Next::Nothing,
                },
            };
            let queue = &self.queues[slice.queue];
            let others = !self.round.is_empty();
            if slice.ends <= now && (others || !queue.half.is_empty()) {
                self.expire();
                continue;
            }
            if queue.half.is_empty() {
                if !others {
                    return Next::Nothing;
                }
                let idle_ns = self.idle_ns(slice.queue);
                if queue.at_device > 0 && idle_ns > 0 {
                    return Next::Pause(slice.ends);
                }
                let until = queue.ended.after(idle_ns).min(slice.ends);
                if now < until {
                    return Next::Pause(until);
                }
                self.expire();
                continue;
            }
            let quantum = if others { self.params.quantum } else { 4 * self.params.quantum };
            if slice.queue == WRITES {
                if self.reads_at_device > 0 {
                    return Next::Nothing;
                }
                if slice.dispatched >= ASYNC_STEPS * self.params.slice_async_rq && others {
                    self.expire();
                    continue;
                }
            } else if queue.at_device >= quantum {
                return Next::Nothing;
            }
            let number = self.nearest(now, slice);
            self.head = entries.get(number).end();
            let queue = &mut self.queues[slice.queue];
            queue.half.remove(number);
            queue.at_device += 1;
            self.reads_at_device += u32::from(slice.queue != WRITES);
            let dispatched = slice.dispatched + 1;
            self.active = Some(Slice { dispatched, looked_at_oldest: true, ..slice });
            return Next::Take(number);
        }
    }

    fn ended(&mut self, now: Instant, entry: &Entry) {
        let (number, queue) = self.queue(entry);
        queue.at_device -= 1;
        queue.ended = now;
        queue.habit.ended(now);
        self.reads_at_device -= u32::from(number != WRITES);
    }
}
