//! An elevator over a device of the test's own, which answers when the test says so.

use block::{
    Actor, Command, Completion, Data, Drive, Durability, Effects, Extent, Geometry, Instant,
    Machine, Payload, Request, Tag,
};
use model::{
    Elevator, ElevatorParams,
    elevator::{Anticipatory, Cfq, Deadline, Policy},
};
use std::collections::VecDeque;

pub const MS: u64 = 1_000_000;

pub fn policies() -> [Policy; 4] {
    [
        Policy::Noop,
        Policy::Deadline(Deadline::default()),
        Policy::Cfq(Cfq::default()),
        Policy::Anticipatory(Anticipatory::default()),
    ]
}

pub fn read(offset: u64, bytes: u32) -> Command {
    Command::Read { at: Extent { offset, bytes }, into: Payload::None }
}

pub fn write(offset: u64, bytes: u32) -> Command {
    let (at, from) = (Extent { offset, bytes }, Payload::None);
    Command::Write { at, from, durability: Durability::Cached }
}

pub struct Bench {
    pub elevator: Elevator,
    pub now: Instant,
    /// At the device, in the order of dispatch.
    pub at_device: VecDeque<Request>,
    pub answers: Vec<Completion>,
    effects: Effects,
    next_tag: u64,
}

impl Bench {
    pub fn new(params: ElevatorParams) -> Self {
        let below = Geometry {
            capacity_bytes: 1 << 40,
            block_bytes: 512,
            transfer_bytes_max: 1 << 30,
            queue_depth: 4096,
            data: Data::TimingOnly,
        };
        Self {
            elevator: Elevator::new(params, below, 4096),
            now: Instant(0),
            at_device: VecDeque::new(),
            answers: Vec::new(),
            effects: Effects::default(),
            next_tag: 0,
        }
    }

    /// Asks; the tags count from 0.
    pub fn ask(&mut self, actor: u16, command: Command) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        let request = Request { tag: Tag(tag), actor: Actor(actor), drive: Drive(0), command };
        self.elevator.on_request(self.now, request, &mut self.effects);
        self.take_effects();
        tag
    }

    /// Lets time pass until `until`, with every wakeup on the way.
    pub fn pass(&mut self, until: Instant) {
        while self.elevator.next_wakeup() <= until {
            self.now = self.now.max(self.elevator.next_wakeup());
            self.elevator.on_wakeup(self.now, &mut self.effects);
            self.take_effects();
            assert!(self.elevator.next_wakeup() > self.now, "a wakeup moves the alarm forward");
        }
        self.now = until;
    }

    /// The device answers the request at this place of its queue.
    pub fn answer(&mut self, place: usize) -> Request {
        let request = self.at_device.remove(place).expect("it is at the device");
        let (issued, finished) = (self.now, self.now);
        let tag = request.tag;
        let done = Completion { tag, issued, finished, result: Ok(()), payload: Payload::None };
        self.elevator.on_completion(self.now, done, &mut self.effects);
        self.take_effects();
        request
    }

    /// The device serves one after the other, `service_ns` each, until nothing is left; the
    /// requests in the order in which it did.
    pub fn serve_all(&mut self, service_ns: u64) -> Vec<Request> {
        self.pass(self.now);
        let mut order = Vec::new();
        loop {
            if self.at_device.is_empty() {
                let next = self.elevator.next_wakeup();
                if next == Instant::NEVER {
                    return order;
                }
                self.pass(next);
                continue;
            }
            self.pass(self.now.after(service_ns));
            order.push(self.answer(0));
        }
    }

    fn take_effects(&mut self) {
        self.at_device.extend(self.effects.down.drain(..));
        self.answers.append(&mut self.effects.up);
    }
}

pub fn extent(command: &Command) -> (u64, u64) {
    match command {
        Command::Read { at, .. } | Command::Write { at, .. } => (at.offset, u64::from(at.bytes)),
        Command::Flush => (0, 0),
        Command::Discard { offset, len } => (*offset, *len),
    }
}
