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
//!
//! Who measures a target that is served so has the same clock, and finds the drive's own figures:
//!
//! ```text
//!   run  -- modelled time -->  Divided  -- wall clock -->  file, device: path to the served drive
//! ```

use block::{Engine, Instant, Wrapper};
use engine::Clock;
use model::WallClock;
use std::num::NonZeroU32;

/// How fast modelled time passes, and the clock that it is read from, which sleeps and spins
/// through the end of a wait.
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

    /// So many times slower, where that is said.
    pub fn of(clock: Clock, slower: Option<NonZeroU32>) -> Self {
        Self { clock, slower: slower.unwrap_or(NonZeroU32::MIN) }
    }

    /// So many times slower.
    pub fn slower(clock: Clock, slower: NonZeroU32) -> Self {
        Self { clock, slower }
    }

    /// So many times slower than the clock.
    pub fn times(self) -> NonZeroU32 {
        self.slower
    }

    /// The clock that it is read from.
    pub fn clock(self) -> Clock {
        self.clock
    }

    /// The first modelled time that is not before an instant of the wall clock.
    fn modelled_from(self, wall: Instant) -> Instant {
        match wall {
            Instant::NEVER => wall,
            Instant(ns) => Instant(ns.div_ceil(u64::from(self.slower.get()))),
        }
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

impl<E: Engine> Wrapper for Slowed<E> {
    type Inner = E;

    fn inner(&self) -> &E {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }

    fn inner_time(&self, at: Instant) -> Instant {
        self.pace.modelled_from(at)
    }

    fn outer_time(&self, at: Instant) -> Instant {
        self.pace.wall(at)
    }
}

/// An engine on the wall clock, asked in modelled time: of a target whose drives are slowed.
pub struct Divided<E> {
    inner: E,
    pace: Pace,
}

impl<E> Divided<E> {
    /// Around an engine whose clock is the pace's.
    pub fn new(inner: E, pace: Pace) -> Self {
        Self { inner, pace }
    }
}

impl<E: Engine> Wrapper for Divided<E> {
    type Inner = E;

    fn inner(&self) -> &E {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }

    fn inner_time(&self, at: Instant) -> Instant {
        match at {
            Instant::NEVER => at,
            at => self.pace.wall(at),
        }
    }

    fn outer_time(&self, at: Instant) -> Instant {
        self.pace.modelled(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::floor::{BLOCK_BYTES, always_after};
    use block::{Actor, Buf, Command, Drive, Extent, Pages, Payload, Request, Tag};

    const ANSWER_NS: u64 = 1_000_000;

    fn read() -> Request {
        let at = Extent { offset: 0, bytes: BLOCK_BYTES };
        let (_, mut buffers) = Buf::pool(1, BLOCK_BYTES as usize, Pages::Usual);
        let into = Payload::Bytes(buffers.remove(0));
        let command = Command::Read { at, into };
        Request { tag: Tag(1), actor: Actor(0), drive: Drive(0), command }
    }

    #[test]
    fn a_wait_is_as_many_times_longer_and_never_shorter() {
        let clock = Clock::start();
        for slower in [1, 7, 20] {
            let pace = Pace::slower(clock, NonZeroU32::new(slower).expect("not 0"));
            let mut engine = Slowed::new(always_after(ANSWER_NS, pace), pace);
            engine.submit(read());
            let asked = engine.now();
            let due = engine.next_wakeup();
            let wanted = ANSWER_NS * u64::from(slower);
            assert_eq!(due.since(asked), wanted);
            let mut done = Vec::new();
            // A while before: nothing yet, and not earlier than asked for. On a busy machine the
            // thread was not woken until the answer was due, and got it.
            let until = asked.after(wanted / 2 + 1);
            engine.wait(until, &mut done);
            assert!(clock.now() >= until && engine.now() >= until, "{slower}");
            assert!(done.is_empty() || clock.now() >= due, "{slower}");
            if done.is_empty() {
                engine.wait(Instant::NEVER, &mut done);
            }
            assert!(done[0].finished.since(done[0].issued) >= wanted && clock.now() >= due);
            assert_eq!(engine.next_wakeup(), Instant::NEVER);
        }
    }

    #[test]
    fn a_wait_ends_at_its_instant_or_later_and_a_past_one_at_once() {
        let pace = Pace::real(Clock::start());
        let until = pace.now().after(2_000_000);
        let woken = pace.sleep_until(until);
        assert!(woken >= until && pace.now() >= woken);
        assert!(pace.sleep_until(until) >= woken, "time does not run backwards");
    }

    #[test]
    fn an_instant_of_modelled_time_is_met_again_on_the_way_back() {
        let pace = Pace::slower(Clock::start(), NonZeroU32::new(13).expect("not 0"));
        for ns in [0, 1, 12, 999, 1 << 40] {
            assert_eq!(pace.modelled(pace.wall(Instant(ns))), Instant(ns));
            assert!(pace.wall(pace.modelled_from(Instant(ns))) >= Instant(ns));
            let wall = pace.wall(pace.modelled(Instant(ns)));
            assert!(wall <= Instant(ns) && Instant(ns).since(wall) < 13);
        }
        assert_eq!(pace.wall(Instant::NEVER), Instant::NEVER);
        assert_eq!(pace.modelled(Instant::NEVER), Instant::NEVER);
        assert_eq!(pace.modelled_from(Instant::NEVER), Instant::NEVER);
    }
}
