//! Modelled time that passes N times slower than this machine's.
//!
//! ```text
//!   client    -- wall clock -->  Slowed  -- modelled time -->  Opened: layers, port
//!                                                              Paced<_, Pace>: drives
//! ```
//!
//! A drive that answers after 40 us answers after 400 us at ten times slower. What the way to the
//! client, its kernel and this machine take stays as it is, and is a tenth of what it was beside
//! the drive. Modelled time is the wall clock's divided by N, from the same start, so that at N = 1
//! both are one.

use block::{Allocation, Buf, Completion, Drive, Engine, Geometry, Instant, IoError, Request};
use engine::Clock;
use model::WallClock;
use std::{num::NonZeroU32, os::fd::BorrowedFd};

/// How fast modelled time passes, and the clock that it is read from.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    clock: Clock,
    slower: NonZeroU32,
}

impl Pace {
    /// As fast as the clock.
    pub fn real(clock: Clock) -> Self {
        Self { clock, slower: NonZeroU32::MIN }
    }

    /// So many times slower.
    pub fn slower(clock: Clock, slower: NonZeroU32) -> Self {
        Self { clock, slower }
    }

    /// The modelled time at an instant of the wall clock, rounded down.
    fn modelled(self, wall: Instant) -> Instant {
        match wall {
            Instant::NEVER => wall,
            Instant(ns) => Instant(ns / u64::from(self.slower.get())),
        }
    }

    /// The first instant of the wall clock at which it is that modelled time.
    fn wall(self, modelled: Instant) -> Instant {
        Instant(modelled.0.saturating_mul(u64::from(self.slower.get())))
    }
}

impl WallClock for Pace {
    fn now(&self) -> Instant {
        self.modelled(self.clock.now())
    }

    fn sleep_until(&self, until: Instant) -> Instant {
        self.modelled(self.clock.sleep_until(self.wall(until)))
    }
}

/// An engine that lives in modelled time, on the wall clock.
pub struct Slowed<E> {
    /// What lives in modelled time.
    pub inner: E,
    pace: Pace,
}

impl<E> Slowed<E> {
    /// Around an engine whose clock is the pace.
    pub fn new(inner: E, pace: Pace) -> Self {
        Self { inner, pace }
    }

    /// How fast its time passes.
    pub fn pace(&self) -> Pace {
        self.pace
    }
}

impl<E: Engine> Engine for Slowed<E> {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.inner.geometry(drive)
    }

    fn now(&self) -> Instant {
        self.pace.wall(self.inner.now())
    }

    fn submit(&mut self, request: Request) {
        self.inner.submit(request);
    }

    fn start(&mut self) {
        self.inner.start();
    }

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        let before = done.len();
        // Rounded up: what arrives within the last instant is not left behind.
        let slower = u64::from(self.pace.slower.get());
        let modelled = match until {
            Instant::NEVER => until,
            Instant(ns) => Instant(ns.div_ceil(slower)),
        };
        self.inner.wait(modelled, done);
        for completion in &mut done[before..] {
            completion.issued = self.pace.wall(completion.issued);
            completion.finished = self.pace.wall(completion.finished);
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.pace.wall(self.inner.next_wakeup())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.poll_fd()
    }

    fn allocation(&self, drive: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        self.inner.allocation(drive, offset, len)
    }

    fn hand_over(&mut self) -> Result<(), IoError> {
        self.inner.hand_over()
    }

    fn pool(&mut self, count: usize, bytes: usize) -> Vec<Buf> {
        self.inner.pool(count, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Actor, Command, Data, Effects, Machine, Payload, Tag};
    use model::{Outbox, Paced};

    const ANSWER_NS: u64 = 1_000_000;

    /// Answers a flush after a millisecond of its own time.
    struct Steady(Outbox);

    impl Machine for Steady {
        fn geometry(&self, _: Drive) -> Geometry {
            Geometry {
                capacity_bytes: 1 << 20,
                block_bytes: 512,
                transfer_bytes_max: 1 << 20,
                queue_depth: 4,
                data: Data::TimingOnly,
            }
        }

        fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
            let finished = now.after(ANSWER_NS);
            let payload = Payload::None;
            let tag = request.tag;
            self.0.put(Completion { tag, issued: now, finished, result: Ok(()), payload });
        }

        fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
            unreachable!("it has nothing below it");
        }

        fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
            self.0.release(now, effects);
        }

        fn next_wakeup(&self) -> Instant {
            self.0.next()
        }
    }

    #[test]
    fn a_wait_is_as_many_times_longer_and_never_shorter() {
        let clock = Clock::start();
        for slower in [1, 7, 20] {
            let pace = Pace::slower(clock, NonZeroU32::new(slower).expect("not 0"));
            let mut engine = Slowed::new(Paced::new(Steady(Outbox::new(4)), pace), pace);
            let request =
                Request { tag: Tag(1), actor: Actor(0), drive: Drive(0), command: Command::Flush };
            engine.submit(request);
            let asked = engine.now();
            let due = engine.next_wakeup();
            let wanted = ANSWER_NS * u64::from(slower);
            assert_eq!(due.since(asked), wanted);
            let mut done = Vec::new();
            // A while before: nothing yet, and not earlier than asked for.
            let until = asked.after(wanted / 2 + 1);
            engine.wait(until, &mut done);
            assert!(done.is_empty() && clock.now() >= until && engine.now() >= until, "{slower}");
            engine.wait(Instant::NEVER, &mut done);
            assert!(done[0].finished.since(done[0].issued) >= wanted && clock.now() >= due);
            assert_eq!(engine.next_wakeup(), Instant::NEVER);
        }
    }

    #[test]
    fn an_instant_of_modelled_time_is_met_again_on_the_way_back() {
        let pace = Pace::slower(Clock::start(), NonZeroU32::new(13).expect("not 0"));
        for ns in [0, 1, 12, 999, 1 << 40] {
            assert_eq!(pace.modelled(pace.wall(Instant(ns))), Instant(ns));
            let wall = pace.wall(pace.modelled(Instant(ns)));
            assert!(wall <= Instant(ns) && Instant(ns).since(wall) < 13);
        }
        assert_eq!(pace.wall(Instant::NEVER), Instant::NEVER);
        assert_eq!(pace.modelled(Instant::NEVER), Instant::NEVER);
    }
}
