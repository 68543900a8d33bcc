//! Drives beside the ones that a machine makes: they are reached through it, past it.
//!
//! ```text
//!   drives 0 .. f         -> drives 0 .. f below
//!   drives f .. f + a     -> the machine (a port, an array, an elevator, a volume) over drives
//!                            f .. f + b below
//!   drive f + a + k       -> drive f + b + k below
//! ```
//!
//! So an array of disks and the flash drive that caches for it share one clock. And [`Own`]: a
//! drive with a machine of its own in front, as a port, that is one drive again.

use crate::{Cached, FastCache};
use block::{Completion, Drive, Effects, Geometry, Instant, Machine, Request, Tag};

/// A machine, and the drives beside it.
#[derive(Debug)]
pub struct Beside<M> {
    machine: M,
    /// How many drives come before the machine's.
    first: u16,
    /// How many drives the machine has above it, and below it.
    above: u16,
    below: u16,
    beside: Vec<Geometry>,
    inner: Effects,
}

/// Where a drive above is.
enum Place {
    /// The machine's, by its own number.
    Machine(Drive),
    /// Passed on, by the number among such.
    Beside(u16),
}

impl<M: Machine> Beside<M> {
    /// A machine that offers `above` drives over the first `below` of those under it; the next ones
    /// are passed on.
    pub fn new(machine: M, above: u16, below: u16, beside: Vec<Geometry>) -> Self {
        Self { machine, first: 0, above, below, beside, inner: Effects::default() }
    }

    /// A machine that offers a drive over the second of two under it; `first` is passed on.
    pub fn second(machine: M, first: Geometry) -> Self {
        let beside = vec![first];
        Self { machine, first: 1, above: 1, below: 1, beside, inner: Effects::default() }
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Which of the machine's drives it is, or which of those that are passed on.
    fn place(&self, drive: Drive) -> Place {
        match drive.0.checked_sub(self.first) {
            None => Place::Beside(drive.0),
            Some(own) if own < self.above => Place::Machine(Drive(own)),
            Some(_) => Place::Beside(drive.0 - self.above),
        }
    }

    /// What the machine asks for gets even tags, what passes by odd ones.
    fn pass(&mut self, effects: &mut Effects) {
        effects.up.append(&mut self.inner.up);
        let first = self.first;
        effects.down.extend(self.inner.down.drain(..).map(|request| Request {
            tag: Tag(request.tag.0 << 1),
            drive: Drive(first + request.drive.0),
            ..request
        }));
    }
}

impl<M: Machine> Machine for Beside<M> {
    fn geometry(&self, drive: Drive) -> Geometry {
        match self.place(drive) {
            Place::Machine(own) => self.machine.geometry(own),
            Place::Beside(number) => self.beside[usize::from(number)],
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        match self.place(request.drive) {
            Place::Machine(drive) => {
                self.machine.on_request(now, Request { drive, ..request }, &mut self.inner);
                self.pass(effects);
            }
            Place::Beside(number) => {
                let after = if number < self.first { 0 } else { self.below };
                let drive = Drive(number + after);
                debug_assert!(request.tag.0 >> 63 == 0, "{request:?} has no bit left for a mark");
                effects.down.push(Request { tag: Tag(request.tag.0 << 1 | 1), drive, ..request });
            }
        }
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let tag = Tag(completion.tag.0 >> 1);
        let passes = completion.tag.0 & 1 == 1;
        let completion = Completion { tag, ..completion };
        if passes {
            return effects.up.push(completion);
        }
        self.machine.on_completion(now, completion, &mut self.inner);
        self.pass(effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.machine.on_wakeup(now, &mut self.inner);
        self.pass(effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.machine.next_wakeup()
    }

    fn copy(&self) -> Option<Box<dyn Machine>> {
        let machine = self.inner.is_empty().then(|| self.machine.copy())??;
        let &Self { first, above, below, .. } = self;
        let (beside, inner) = (self.beside.clone(), Effects::default());
        Some(Box::new(Beside { machine, first, above, below, beside, inner }))
    }
}

/// A drive behind a machine of its own.
pub struct Own<M, D: ?Sized> {
    machine: M,
    drive: Box<D>,
    upper: Effects,
    lower: Effects,
}

impl<M: Machine, D: Machine + ?Sized> Own<M, D> {
    /// `machine` over `drive`, which has nothing below it.
    pub fn new(machine: M, drive: Box<D>) -> Self {
        Self { machine, drive, upper: Effects::default(), lower: Effects::default() }
    }

    /// Carries requests down and answers up until nothing moves.
    fn settle(&mut self, now: Instant, effects: &mut Effects) {
        loop {
            for request in self.upper.down.drain(..) {
                self.drive.on_request(now, request, &mut self.lower);
            }
            if self.lower.up.is_empty() {
                break;
            }
            for completion in self.lower.up.drain(..) {
                self.machine.on_completion(now, completion, &mut self.upper);
            }
        }
        effects.up.append(&mut self.upper.up);
    }
}

impl<M: Machine, D: Machine + ?Sized> Machine for Own<M, D> {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.machine.geometry(drive)
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        self.machine.on_request(now, request, &mut self.upper);
        self.settle(now, effects);
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a drive has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        if self.drive.next_wakeup() <= now {
            self.drive.on_wakeup(now, &mut self.lower);
        }
        self.settle(now, effects);
        if self.machine.next_wakeup() <= now {
            self.machine.on_wakeup(now, &mut self.upper);
            self.settle(now, effects);
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.machine.next_wakeup().min(self.drive.next_wakeup())
    }
}

impl<M: Machine, D: Cached + ?Sized> Cached for Own<M, D> {
    fn fast_caches(&self, now: Instant) -> Vec<FastCache> {
        self.drive.fast_caches(now)
    }
}
