//! How a server sleeps that hears of other things than its engine, too: of sockets, of a kernel.

use crate::{Engine, Instant};

/// What else there is to look at, such as a flag that a signal sets, is looked at so often when
/// nothing happens, in nanoseconds.
const TICK_NS: u64 = 100_000_000;
/// An engine that cannot wake a sleeper is asked for so long at a time, and the rest in between.
const ASK_NS: u64 = 200_000;
/// poll(2) is woken this much before the engine's next instant, and the engine waits the rest
/// precisely: the kernel adds up to 50 us to a timeout (prctl(2), PR_SET_TIMERSLACK), and a
/// processor takes its time to wake up, which would be more than a modelled drive takes for a small
/// write: one of 512 B to an Intel 520 took 182 us without this and takes 57 us with it.
const LATE_NS: u64 = 100_000;

/// One sleep: as long as [`limit_ns`](Self::limit_ns) on everything that can be polled, the
/// engine's [`poll_fd`](Engine::poll_fd) among it, and then in the engine, [`until`](Self::until).
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    limit_ns: u64,
    /// When the engine wants to be asked.
    wakeup: Instant,
    /// Nothing but asking tells what the engine has done.
    is_deaf: bool,
    /// The engine's wakeup, and nothing else, ends the sleep.
    to_wakeup: bool,
}

impl Pause {
    /// For an engine that owes an answer or not, by somebody who has something to do at once or
    /// not.
    pub fn on<E: Engine + ?Sized>(engine: &E, is_busy: bool, is_restless: bool) -> Self {
        let wakeup = engine.next_wakeup();
        let sleep_ns = wakeup.since(engine.now()).saturating_sub(LATE_NS);
        let is_deaf = engine.poll_fd().is_none() && is_busy && wakeup == Instant::NEVER;
        let limit_ns = if is_restless || is_deaf { 0 } else { sleep_ns.min(TICK_NS) };
        let to_wakeup = !is_restless && limit_ns == sleep_ns;
        Self { limit_ns, wakeup, is_deaf, to_wakeup }
    }

    /// How long to poll at most, in nanoseconds.
    pub fn limit_ns(&self) -> u64 {
        self.limit_ns
    }

    /// Until when the engine is waited for afterwards. Its clock has moved meanwhile, so it is
    /// asked before it gets anything to do, whether it has said something or not.
    pub fn until<E: Engine + ?Sized>(&self, engine: &E, heard_something: bool) -> Instant {
        match heard_something {
            false if self.is_deaf => engine.now().after(ASK_NS),
            false if self.to_wakeup => self.wakeup,
            _ => Instant(0),
        }
    }
}
