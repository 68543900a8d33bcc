//! Elevators: the order in which the block layer hands requests to a driver, and what it makes one
//! request of on the way.
//!
//! ```text
//!   requests of one instant      held until the asker is done with them (plugging)
//!      | what continues a waiting request joins it, up to max_sectors_kb
//!   nr_requests a direction      beyond that, who asks waits outside, in order
//!      | Order                   noop.rs, deadline.rs, cfq.rs, anticipatory.rs
//!   device_queue_depth           as many as the driver takes
//! ```
//!
//! A flush or a discard goes ahead of what is sorted. Only times are merged: a request that carries
//! memory, as those of served stacks do, is sorted and goes alone, and so does a durable write.
//!
//! Left out: priorities (`ionice`), groups, plugging by time (3 ms or 4 requests, for askers who do
//! not say that they are done: those here always do), the processor time of sorting, and which
//! writes a process waits for: all writes of a device are one queue to CFQ, and nobody waits for
//! the next one.

mod anticipatory;
mod cfq;
mod deadline;
mod entry;
mod habit;
mod half;
mod noop;
mod order;
mod params;

pub use params::{Anticipatory, Cfq, Deadline, ElevatorParams, Policy};

use block::{
    Actor, Command, Completion, Data, Drive, Durability, Effects, Extent, Geometry, Instant,
    Machine, Payload, Request, Slots, Tag,
};
use entry::{Direction, Entry, Joins, Kind};
use order::{Next, Order};
use std::collections::VecDeque;

/// No request: the end of a list.
const NOTHING: u32 = u32::MAX;

/// The request queue of one device. Budget: 500 ns a request that waits among 128.
#[derive(Debug)]
pub struct Elevator {
    params: ElevatorParams,
    geometry: Geometry,
    order: Box<dyn Order>,
    held: Slots<Held>,
    entries: Slots<Entry>,
    /// Flushes and discards, before everything that is sorted.
    urgent: VecDeque<u32>,
    /// Requests of a direction in the queue or at the device.
    allotted: [u32; 2],
    /// Who waits for room in the queue.
    outside: [VecDeque<u32>; 2],
    at_device: u32,
    /// When what was asked for in one instant is let go.
    plugged: Instant,
    /// When a pause is over.
    paused: Instant,
    merged: u64,
}

/// A request from above.
#[derive(Debug)]
struct Held {
    tag: Tag,
    actor: Actor,
    issued: Instant,
    /// While it is here and not at the device.
    command: Option<Command>,
    next: u32,
}

impl Elevator {
    /// Over the one drive that `below` describes; it takes `queue_depth` requests at a time.
    ///
    /// # Panics
    /// On parameters that cannot be built.
    pub fn new(params: ElevatorParams, below: Geometry, queue_depth: u32) -> Self {
        params.check();
        assert!(queue_depth > 0, "an elevator that takes no request");
        let order: Box<dyn Order> = match &params.policy {
            Policy::Noop => Box::new(noop::Noop::default()),
            Policy::Deadline(own) => Box::new(deadline::Deadline::new(own.clone())),
            Policy::Cfq(own) => Box::new(cfq::Cfq::new(own.clone())),
            Policy::Anticipatory(own) => Box::new(anticipatory::Anticipatory::new(own.clone())),
        };
        let device_queue_depth = params.device_queue_depth.min(below.queue_depth);
        Self {
            params: ElevatorParams { device_queue_depth, ..params },
            geometry: Geometry { queue_depth, ..below },
            order,
            held: Slots::new(queue_depth),
            entries: Slots::new(queue_depth),
            urgent: VecDeque::new(),
            allotted: [0; 2],
            outside: [VecDeque::new(), VecDeque::new()],
            at_device: 0,
            plugged: Instant::NEVER,
            paused: Instant::NEVER,
            merged: 0,
        }
    }

    /// Requests from above that joined another one, so far.
    pub fn merged(&self) -> u64 {
        self.merged
    }

    fn take_in(&mut self, now: Instant, request: Request) {
        let Request { tag, actor, command, .. } = request;
        let (kind, at) = self.judge(&command);
        let held = Held { tag, actor, issued: now, command: Some(command), next: NOTHING };
        let slot = self.held.insert(held);
        match kind {
            Kind::Urgent => {
                let (offset, bytes) = at;
                let entry = Entry { kind, actor, offset, bytes, first: slot, last: slot };
                let number = self.entries.insert(entry);
                self.urgent.push_back(number);
            }
            Kind::Transfer(direction, _) if !self.outside[direction as usize].is_empty() => {
                self.outside[direction as usize].push_back(slot);
            }
            Kind::Transfer(direction, _) => {
                if !self.queue(now, slot) {
                    self.outside[direction as usize].push_back(slot);
                }
            }
        }
    }

    fn judge(&self, command: &Command) -> (Kind, (u64, u64)) {
        let joins = |payload: &Payload| match (self.geometry.data, payload) {
            (Data::TimingOnly, Payload::None) => Joins::Yes,
            _ => Joins::No,
        };
        match command {
            Command::Read { at, into } => {
                let kind = Kind::Transfer(Direction::Read, joins(into));
                (kind, (at.offset, u64::from(at.bytes)))
            }
            Command::Write { at, from, durability } => {
                let joins = match durability {
                    Durability::Cached => joins(from),
                    Durability::Fua => Joins::No,
                };
                (Kind::Transfer(Direction::Write, joins), (at.offset, u64::from(at.bytes)))
            }
            Command::Flush => (Kind::Urgent, (0, 0)),
            Command::Discard { offset, len } => (Kind::Urgent, (*offset, *len)),
        }
    }

    /// Puts a transfer into the queue; whether there was room.
    fn queue(&mut self, now: Instant, slot: u32) -> bool {
        let held = self.held.get(slot);
        let actor = held.actor;
        let (kind, (offset, bytes)) = self.judge(held.command.as_ref().expect("it waits here"));
        let Kind::Transfer(direction, joins) = kind else { unreachable!("it is a transfer") };
        if joins == Joins::Yes && self.join(slot, direction, actor, offset, bytes) {
            return true;
        }
        if self.allotted[direction as usize] == self.params.queued_requests_max {
            return false;
        }
        self.allotted[direction as usize] += 1;
        let entry = Entry { kind, actor, offset, bytes, first: slot, last: slot };
        let number = self.entries.insert(entry);
        self.order.insert(now, number, &entry);
        true
    }

    /// Lets a transfer join a neighbour that waits; whether it did (`elv_merge`).
    fn join(
        &mut self,
        slot: u32,
        direction: Direction,
        actor: Actor,
        offset: u64,
        bytes: u64,
    ) -> bool {
        let end = offset + bytes;
        let (back, front) = self.order.neighbours(direction, actor, offset, end);
        let fits = |entry: &Entry, bytes: u64| {
            entry.kind == Kind::Transfer(direction, Joins::Yes)
                && entry.bytes + bytes <= u64::from(self.params.request_bytes_max)
        };
        let entry = |number: Option<u32>| number.map(|number| (number, *self.entries.get(number)));
        let back = entry(back).filter(|(_, back)| back.end() == offset && fits(back, bytes));
        let front = entry(front).filter(|(_, front)| front.offset == end && fits(front, bytes));
        let (number, mut grown) = match (back, front) {
            (Some((number, back)), _) => {
                self.held.get_mut(back.last).next = slot;
                (number, Entry { bytes: back.bytes + bytes, last: slot, ..back })
            }
            (None, Some((number, front))) => {
                self.held.get_mut(slot).next = front.first;
                let bytes = front.bytes + bytes;
                let grown = Entry { offset, bytes, first: slot, ..front };
                self.order.moved(number, &grown);
                (number, grown)
            }
            (None, None) => return false,
        };
        self.merged += 1;
        if let (Some(_), Some((gone, next))) = (back, front)
            && fits(&next, grown.bytes)
        {
            // It has closed the gap between two that waited.
            self.held.get_mut(grown.last).next = next.first;
            grown = Entry { bytes: grown.bytes + next.bytes, last: next.last, ..grown };
            self.order.joined(number, gone, &next);
            self.entries.remove(gone);
            self.allotted[direction as usize] -= 1;
            self.merged += 1;
        }
        *self.entries.get_mut(number) = grown;
        true
    }

    /// Who waited outside comes in, as far as there is room.
    fn admit(&mut self, now: Instant) {
        for side in 0..self.outside.len() {
            while let Some(&slot) = self.outside[side].front() {
                if !self.queue(now, slot) {
                    break;
                }
                self.outside[side].pop_front();
            }
        }
    }

    /// Gives the device what it takes.
    fn dispatch(&mut self, now: Instant, effects: &mut Effects) {
        self.paused = Instant::NEVER;
        if self.plugged != Instant::NEVER {
            return;
        }
        while self.at_device < self.params.device_queue_depth {
            let number = match self.urgent.pop_front() {
                Some(number) => number,
                None => match self.order.next(now, &self.entries) {
                    Next::Take(number) => number,
                    Next::Pause(until) => {
                        assert!(now < until, "a pause ends later");
                        self.paused = until;
                        return;
                    }
                    Next::Nothing => return,
                },
            };
            self.at_device += 1;
            let request = self.request(number);
            effects.down.push(request);
        }
    }

    /// What goes down for an entry: its only request's command, or one for all of them.
    fn request(&mut self, number: u32) -> Request {
        let entry = *self.entries.get(number);
        let command = self.held.get_mut(entry.first).command.take().expect("it waited here");
        let at = || Extent {
            offset: entry.offset,
            bytes: u32::try_from(entry.bytes).expect("within the largest request"),
        };
        let command = match (command, entry.first == entry.last) {
            (Command::Read { into, .. }, false) => Command::Read { at: at(), into },
            (Command::Write { from, durability, .. }, false) => {
                Command::Write { at: at(), from, durability }
            }
            (command, _) => command,
        };
        Request { tag: Tag(u64::from(number)), actor: entry.actor, drive: Drive(0), command }
    }

    /// The device is done with an entry: everyone in it has an answer.
    fn end(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let number = u32::try_from(completion.tag.0).expect("our own tag");
        let entry = self.entries.remove(number);
        self.at_device -= 1;
        if let Kind::Transfer(direction, _) = entry.kind {
            self.allotted[direction as usize] -= 1;
            self.order.ended(now, &entry);
        }
        let Completion { finished, result, mut payload, .. } = completion;
        let mut slot = entry.first;
        while slot != NOTHING {
            let Held { tag, issued, next, .. } = self.held.remove(slot);
            let payload = std::mem::replace(&mut payload, Payload::None);
            effects.up.push(Completion { tag, issued, finished, result, payload });
            slot = next;
        }
    }
}

impl Machine for Elevator {
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        assert!(request.drive == Drive(0), "an elevator has one drive");
        self.take_in(now, request);
        // What else is asked for in this instant is sorted with it.
        self.plugged = now;
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        self.end(now, completion, effects);
        self.admit(now);
        self.dispatch(now, effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        if self.plugged <= now {
            self.plugged = Instant::NEVER;
        }
        self.dispatch(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.plugged.min(self.paused)
    }
}
