//! The block layer's request queue: what the elevator sorts, and the two bounded halves of it that
//! make submitters wait.

use super::Elevator;
use std::collections::VecDeque;

/// Reads served before another direction gets its turn: `fifo_batch` of the kernel's
/// `deadline-iosched`.
const BATCH: u32 = 16;
/// Batches of reads that may pass over waiting writes: its `writes_starved`.
const WRITES_STARVED: u32 = 2;

/// Which half of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Requests by number, waiting for the driver. Expiry times of deadline (0.5 and 5 s) are left out:
/// a queue of 128 turns over long before them.
#[derive(Debug)]
pub(super) struct RequestQueue {
    elevator: Elevator,
    capacity: usize,
    reads: Vec<(u64, u32)>,
    writes: Vec<(u64, u32)>,
    /// Flushes, discards and the journal's own writes: ahead of everything, in the order they came.
    urgent: VecDeque<u32>,
    /// Where the last request ended: the sweep goes on from here.
    head: u64,
    /// Numbers arrivals, the sort key of `Noop`.
    arrivals: u64,
    batch: u32,
    starved: u32,
    /// Handed to an elevator below and not back yet.
    below: [usize; 2],
}

impl RequestQueue {
    /// With room for `capacity` requests of each direction.
    pub fn new(elevator: Elevator, capacity: u32) -> Self {
        let capacity = capacity as usize;
        Self {
            elevator,
            capacity,
            reads: Vec::with_capacity(capacity),
            writes: Vec::with_capacity(capacity),
            urgent: VecDeque::with_capacity(8),
            head: 0,
            arrivals: 0,
            batch: 0,
            starved: 0,
            below: [0; 2],
        }
    }

    /// Whether one more of that direction fits.
    #[inline]
    pub fn has_room(&self, direction: Direction) -> bool {
        self.half(direction).len() + self.below[direction as usize] < self.capacity
    }

    /// A request is back from the device.
    #[inline]
    pub fn ended(&mut self, direction: Direction) {
        if self.elevator == Elevator::Below {
            self.below[direction as usize] -= 1;
        }
    }

    fn is_sorting(&self) -> bool {
        !matches!(self.elevator, Elevator::Noop | Elevator::Below)
    }

    /// Queues request `number` for `offset` of the device.
    ///
    /// # Panics
    /// Without room.
    pub fn push(&mut self, direction: Direction, offset: u64, number: u32) {
        assert!(self.has_room(direction), "the submitter looked for room");
        self.arrivals += 1;
        let key = if self.is_sorting() { offset } else { self.arrivals };
        let half = match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        };
        let at = half.partition_point(|&(other, _)| other <= key);
        half.insert(at, (key, number));
    }

    /// Queues request `number` ahead of everything sorted.
    pub fn push_urgent(&mut self, number: u32) {
        self.urgent.push_back(number);
    }

    /// The request to give to the driver now.
    pub fn pop(&mut self) -> Option<u32> {
        if let Some(number) = self.urgent.pop_front() {
            return Some(number);
        }
        let direction = self.choose()?;
        let head = self.head;
        let half = match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        };
        let ahead = half.partition_point(|&(key, _)| key < head);
        let (_, number) = half.remove(if ahead == half.len() { 0 } else { ahead });
        if self.elevator == Elevator::Below {
            self.below[direction as usize] += 1;
        }
        Some(number)
    }

    /// The driver took a request that ends at `end` of the device.
    #[inline]
    pub fn moved_to(&mut self, end: u64) {
        if self.is_sorting() {
            self.head = end;
        }
    }

    /// Takes out every sorted request.
    pub fn drain(&mut self) -> impl Iterator<Item = u32> {
        self.reads.drain(..).chain(self.writes.drain(..)).map(|(_, number)| number)
    }

    fn half(&self, direction: Direction) -> &Vec<(u64, u32)> {
        match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        }
    }

    fn choose(&mut self) -> Option<Direction> {
        let (read, write) = (self.reads.first(), self.writes.first());
        match (read, write) {
            (None, None) => None,
            (Some(_), None) => Some(Direction::Read),
            (None, Some(_)) => Some(Direction::Write),
            (Some(read), Some(write)) if !self.is_sorting() => {
                Some(if read < write { Direction::Read } else { Direction::Write })
            }
            (Some(_), Some(_)) => Some(self.take_turns()),
        }
    }

    /// Batches of reads first, a batch of writes after two of them.
    fn take_turns(&mut self) -> Direction {
        if self.batch == 0 {
            self.batch = BATCH;
            self.starved = if self.starved > WRITES_STARVED { 1 } else { self.starved + 1 };
        }
        self.batch -= 1;
        if self.starved > WRITES_STARVED { Direction::Write } else { Direction::Read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut RequestQueue, offsets: &[u64]) -> Vec<u64> {
        std::iter::from_fn(|| {
            let offset = offsets[queue.pop()? as usize];
            queue.moved_to(offset + 1);
            Some(offset)
        })
        .collect()
    }

    #[test]
    fn a_sorting_elevator_sweeps_one_way_and_noop_keeps_the_order() {
        let offsets = [50, 10, 90, 30, 70];
        for (elevator, expected) in
            [(Elevator::Cfq, [50, 70, 90, 10, 30]), (Elevator::Noop, [50, 10, 90, 30, 70])]
        {
            let mut queue = RequestQueue::new(elevator, 8);
            queue.moved_to(40);
            for (number, &offset) in offsets.iter().enumerate() {
                queue.push(Direction::Write, offset, number as u32);
            }
            assert_eq!(drain(&mut queue, &offsets), expected);
        }
    }

    #[test]
    fn writes_wait_for_two_batches_of_reads_and_no_longer() {
        let mut queue = RequestQueue::new(Elevator::Deadline, 100);
        let offsets: Vec<u64> = (0..200).collect();
        for number in 0..100 {
            queue.push(Direction::Read, number, number as u32);
            queue.push(Direction::Write, 100 + number, 100 + number as u32);
        }
        let order = drain(&mut queue, &offsets);
        assert!(order[..32].iter().all(|&offset| offset < 100));
        assert!(order[32..48].iter().all(|&offset| offset >= 100));
        assert!(order[48..80].iter().all(|&offset| offset < 100));
    }

    #[test]
    #[should_panic(expected = "looked for room")]
    fn one_request_too_many_is_a_bug() {
        let mut queue = RequestQueue::new(Elevator::Deadline, 1);
        assert!(queue.has_room(Direction::Write));
        queue.push(Direction::Write, 0, 0);
        queue.push(Direction::Write, 1, 1);
    }
}
