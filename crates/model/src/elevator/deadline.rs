//! Batches by place, and nobody waits for ever.
//!
//! A batch is of one direction and goes on by place. When it is done, or nothing follows, the next
//! begins: of reads, if there are any and writes have not been passed over too often. It begins
//! where the last one of that direction stopped, or at the oldest request if that is overdue.

use super::{
    entry::{Direction, Entry},
    half::Halves,
    order::{Next, Order},
    params,
};
use block::{Actor, Instant, Slots};

#[derive(Debug)]
pub(super) struct Deadline {
    params: params::Deadline,
    halves: Halves,
    /// What follows the last request, of its direction.
    following: Option<(Direction, u32)>,
    /// Requests of this batch so far.
    batching: u32,
    /// Batches of reads since the last of writes, while writes waited.
    starved: u32,
}

impl Deadline {
    pub fn new(params: params::Deadline) -> Self {
        let halves = Halves::default();
        Self { params, halves, following: None, batching: 0, starved: 0 }
    }

    /// The direction of the next batch (`deadline_dispatch_requests`).
    fn choose(&mut self) -> Option<Direction> {
        let [reads, writes] =
            [Direction::Read, Direction::Write].map(|way| !self.halves[way].is_empty());
        if reads {
            let passed_over = writes && {
                self.starved += 1;
                self.starved > self.params.writes_starved
            };
            if !passed_over {
                return Some(Direction::Read);
            }
        }
        self.starved = 0;
        writes.then_some(Direction::Write)
    }

    fn begin(&mut self, now: Instant, direction: Direction) -> u32 {
        self.batching = 0;
        let following = self.following.filter(|&(of, _)| of == direction);
        let (overdue, oldest) = self.halves[direction].oldest().expect("it was chosen");
        match following {
            Some((_, number)) if overdue > now => number,
            _ => oldest,
        }
    }
}

impl Order for Deadline {
    fn insert(&mut self, now: Instant, number: u32, entry: &Entry) {
        let expire_ns = match entry.direction() {
            Direction::Read => self.params.read_expire_ns,
            Direction::Write => self.params.write_expire_ns,
        };
        self.halves[entry.direction()].insert(entry.offset, number, now.after(expire_ns));
    }

    fn neighbours(
        &self,
        direction: Direction,
        _: Actor,
        offset: u64,
        end: u64,
    ) -> (Option<u32>, Option<u32>) {
        let half = &self.halves[direction];
        let front = half.from(end).filter(|_| self.params.front_merges);
        (half.below(offset).map(|(_, number)| number), front.map(|(_, number)| number))
    }

    fn moved(&mut self, number: u32, entry: &Entry) {
        self.halves[entry.direction()].moved(number, entry.offset);
    }

    fn joined(&mut self, number: u32, gone: u32, entry: &Entry) {
        if self.following == Some((entry.direction(), gone)) {
            let next = self.halves[entry.direction()].following(gone);
            self.following = next.map(|next| (entry.direction(), next));
        }
        self.halves[entry.direction()].joined(number, gone);
    }

    fn next(&mut self, now: Instant, _: &Slots<Entry>) -> Next {
        let goes_on = self.following.filter(|_| self.batching < self.params.fifo_batch);
        let (direction, number) = match goes_on {
            Some(following) => following,
            None => {
                let Some(direction) = self.choose() else { return Next::Nothing };
                (direction, self.begin(now, direction))
            }
        };
        self.batching += 1;
        let half = &mut self.halves[direction];
        let following = half.following(number);
        half.remove(number);
        self.following = following.map(|following| (direction, following));
        Next::Take(number)
    }

    fn ended(&mut self, _: Instant, _: &Entry) {}
}
