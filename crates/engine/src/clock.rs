//! The one clock that all engines of a run share.
//!
//! Where the processor has a counter that ticks at one rate for ever, and the kernel itself trusts
//! it, a reading costs a single instruction; elsewhere `clock_gettime(CLOCK_MONOTONIC)` serves. The
//! kernel can be wrong: a virtual machine had processors whose counters were 1.5 s apart. So they
//! are compared first.
//!
//! ```text
//!   ticks since the epoch  x  multiplier  >> 32  =  nanoseconds since the epoch
//! ```

use crate::raw;
use block::Instant;
use rustix::{
    thread::{CpuSet, NanosleepRelativeResult, nanosleep, sched_getaffinity},
    time::{ClockId, Timespec, clock_gettime},
};
use std::{cell::Cell, fmt, num::NonZeroU64, sync::OnceLock, thread};

const NS_PER_S: u64 = 1_000_000_000;
/// Between the two readings that calibrate a counter of unknown rate. A reading pairs counter and
/// clock within some 50 ns, so the rate is good to a few parts per million.
const CALIBRATION_NS: u64 = 20_000_000;
/// Processors that are compared at most.
const COMPARED_MAX: usize = 64;
/// A sleep ends this much early and the rest is spun, because waking a thread takes about that
/// long.
pub(crate) const SPIN_NS: u64 = 50_000;

/// Where a [`Clock`] takes its time from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockSource {
    /// The processor's invariant counter (the TSC on x86-64, the generic timer on aarch64), which
    /// the kernel trusts too.
    Counter {
        /// Its rate in ticks per second, as calibrated or as the hardware states it.
        hz: u64,
    },
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    Monotonic,
}

impl fmt::Display for ClockSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter { hz } => {
                write!(formatter, "{} at {:.6} GHz", counter::NAME, *hz as f64 / 1e9)
            }
            Self::Monotonic => formatter.write_str("CLOCK_MONOTONIC"),
        }
    }
}

/// Nanoseconds since [`Clock::start`]. Copies share the epoch, on any thread.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: ClockSource,
    /// Counter ticks, or nanoseconds of the monotonic clock.
    epoch: u64,
    /// Nanoseconds per tick x 2^32.
    multiplier: u64,
}

impl Clock {
    /// Starts a clock on the best source there is. Where a counter is calibrated, the first one of
    /// a process takes some 20 ms.
    pub fn start() -> Self {
        if !counter::is_invariant() || counters_differ_by_ns().is_some() {
            return Self::start_monotonic();
        }
        let epoch = counter::ticks();
        let hz = counter::stated_hz().unwrap_or_else(known_hz);
        let multiplier = ((u128::from(NS_PER_S) << 32) / u128::from(hz)) as u64;
        Self { source: ClockSource::Counter { hz }, epoch, multiplier }
    }

    /// Starts a clock on `CLOCK_MONOTONIC`, whatever the processor offers.
    pub fn start_monotonic() -> Self {
        Self { source: ClockSource::Monotonic, epoch: monotonic_ns(), multiplier: 1 << 32 }
    }

    /// The time. Not ordered against neighbouring memory accesses: good to some tens of
    /// nanoseconds.
    #[inline]
    pub fn now(&self) -> Instant {
        match self.source {
            ClockSource::Counter { .. } => {
                // A counter behind the first one's is a moment ago, not centuries ahead.
                let ticks = counter::ticks().saturating_sub(self.epoch);
                Instant(((u128::from(ticks) * u128::from(self.multiplier)) >> 32) as u64)
            }
            ClockSource::Monotonic => Instant(monotonic_ns() - self.epoch),
        }
    }

    /// Waits until `until` and returns the time then. Sleeps, and spins through the last 50 us so
    /// that an intended start is met. A past `until` returns at once.
    ///
    /// # Panics
    /// If `until` is never.
    pub fn sleep_until(&self, until: Instant) -> Instant {
        assert!(until != Instant::NEVER, "stalled: nothing will ever happen");
        let mut now = self.now();
        while until.since(now) > SPIN_NS {
            make_timers_precise();
            if let NanosleepRelativeResult::Err(error) =
                nanosleep(&timespec(until.since(now) - SPIN_NS))
            {
                panic!("nanosleep refused a valid interval: {error}");
            }
            now = self.now();
        }
        while now < until {
            std::hint::spin_loop();
            now = self.now();
        }
        now
    }

    /// Where the time comes from.
    pub fn source(&self) -> ClockSource {
        self.source
    }

    /// What one [`now`](Self::now) costs in nanoseconds: the fastest of several batches, because
    /// noise only adds.
    pub fn read_cost_ns(&self) -> f64 {
        const READS: u32 = 2_000;
        let batch = |_| {
            let start = self.now();
            for _ in 1..READS {
                std::hint::black_box(self.now());
            }
            self.now().since(start) as f64 / f64::from(READS)
        };
        (0..10).map(batch).fold(f64::INFINITY, f64::min)
    }
}

/// Asks the kernel to fire this thread's timers when due, once a thread; by default it may be 50 us
/// late (`PR_SET_TIMERSLACK` in prctl(2)).
pub(crate) fn make_timers_precise() {
    thread_local!(static ASKED: Cell<bool> = const { Cell::new(false) });
    if !ASKED.replace(true) {
        // A refusal leaves timers a little later, which the callers' loops allow for.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as _ }
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// How far apart the counters of the processors are, in nanoseconds, where a thread that moves from
/// one to the other sees time run backwards. Looked at once a process. The kernel's own clock is
/// one of these counters then, and stands still or jumps with them.
pub fn counters_differ_by_ns() -> Option<u64> {
    static APART: OnceLock<Option<u64>> = OnceLock::new();
    *APART.get_or_init(|| {
        if !counter::is_invariant() {
            return None;
        }
        // On a thread of its own, which is not missed if it stays where it was sent.
        let looked = thread::Builder::new().spawn(counters_apart);
        let apart = looked.ok().and_then(|thread| thread.join().ok()).unwrap_or(0);
        let hz = counter::stated_hz().unwrap_or_else(known_hz);
        (apart > 0).then(|| (u128::from(apart) * u128::from(NS_PER_S) / u128::from(hz)) as u64)
    })
}

/// The most ticks by which the counter of a processor was behind what had been read on another.
fn counters_apart() -> u64 {
    let Ok(allowed) = sched_getaffinity(None) else { return 0 };
    let mut others = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    let Some(first) = others.next() else { return 0 };
    let on = |cpu| raw::pin_to_cpu(cpu).ok().map(|()| counter::ticks());
    let mut apart = 0;
    for other in others.take(COMPARED_MAX) {
        let (Some(before), Some(there), Some(after)) = (on(first), on(other), on(first)) else {
            continue;
        };
        apart = apart.max(backwards(before, there, after));
    }
    apart
}

/// By how many ticks three readings, one after the other, run backwards.
fn backwards(before: u64, there: u64, after: u64) -> u64 {
    before.saturating_sub(there).max(there.saturating_sub(after))
}

/// The counter's rate, measured once a process: it never changes.
fn known_hz() -> u64 {
    static HZ: OnceLock<u64> = OnceLock::new();
    *HZ.get_or_init(measured_hz)
}

/// The counter's rate against `CLOCK_MONOTONIC`.
fn measured_hz() -> u64 {
    let (first_ticks, first_ns) = paired_reading();
    let mut last = paired_reading();
    while last.1 - first_ns < CALIBRATION_NS {
        // Cut short by a signal or refused, the loop looks at the clock again.
        let _ = nanosleep(&timespec(CALIBRATION_NS - (last.1 - first_ns)));
        last = paired_reading();
    }
    let (ticks, ns) = (last.0 - first_ticks, last.1 - first_ns);
    (u128::from(ticks) * u128::from(NS_PER_S) / u128::from(ns)) as u64
}

/// Counter and clock at the same moment: of several attempts the one whose two counter readings lie
/// closest.
fn paired_reading() -> (u64, u64) {
    let attempt = |_| {
        let before = counter::ticks();
        let ns = monotonic_ns();
        let bracket = counter::ticks() - before;
        (bracket, before + bracket / 2, ns)
    };
    let (_, ticks, ns) = (0..32).map(attempt).min().expect("32 attempts");
    (ticks, ns)
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::fs;

    pub const NAME: &str = "invariant TSC";

    #[inline]
    pub fn ticks() -> u64 {
        // SAFETY: every x86-64 processor has `rdtsc`; the call touches no memory.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    /// One rate in every power state, and judged good by the kernel, which watches it.
    pub fn is_invariant() -> bool {
        let trusted =
            fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
                .is_ok_and(|source| source.trim() == "tsc");
        trusted
            && fs::read_to_string("/proc/cpuinfo").is_ok_and(|facts| {
                let flags = facts.lines().find(|line| line.starts_with("flags")).unwrap_or("");
                let has = |name| flags.split_whitespace().any(|flag| flag == name);
                has("constant_tsc") && has("nonstop_tsc")
            })
    }

    /// The processor's own statement is rounded to a kilohertz or worse: calibrate instead.
    pub fn stated_hz() -> Option<u64> {
        None
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    use std::arch::asm;

    pub const NAME: &str = "generic timer";

    #[inline]
    pub fn ticks() -> u64 {
        let ticks;
        // SAFETY: Linux lets user space read the virtual counter; it touches no memory.
        unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }

    /// By architecture (Arm ARM, D12.1): it counts at one rate in every power state.
    pub fn is_invariant() -> bool {
        stated_hz().is_some()
    }

    pub fn stated_hz() -> Option<u64> {
        let hz: u64;
        // SAFETY: as for `ticks`.
        unsafe { asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack)) };
        (hz > 0).then_some(hz)
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    pub const NAME: &str = "no counter";

    pub fn ticks() -> u64 {
        unreachable!("is_invariant says no")
    }

    pub fn is_invariant() -> bool {
        false
    }

    pub fn stated_hz() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_keeps_step_with_the_monotonic_clock() {
        let clock = Clock::start();
        let pair = || {
            let attempt = |_| {
                let before = clock.now().0;
                let ns = monotonic_ns();
                (clock.now().0 - before, before, ns)
            };
            (0..100).map(attempt).min().expect("100 attempts")
        };
        let (_, first, first_ns) = pair();
        clock.sleep_until(clock.now().after(150_000_000));
        let (_, last, last_ns) = pair();
        let (ours, theirs) = ((last - first) as f64, (last_ns - first_ns) as f64);
        let ppm = (ours / theirs - 1.0) * 1e6;
        eprintln!("{}: off by {ppm:.1} ppm, {:.1} ns a read", clock.source(), clock.read_cost_ns());
        // Ten times the aim: a noisy machine may stretch one pair, a wrong conversion is off by far
        // more.
        assert!(ppm.abs() < 500.0, "{ppm} ppm");
    }

    /// A virtual machine's processors had counters 3,600 million ticks apart, and its kernel took
    /// its time from them. A worker that began on one and went on on the other read a time of
    /// centuries ahead: a run of half a second went on until memory was full.
    #[test]
    fn a_counter_behind_the_first_one_is_not_centuries_ahead() {
        if counter::is_invariant() {
            let epoch = counter::ticks() + 3_600_000_000;
            let source = ClockSource::Counter { hz: 2_450_000_000 };
            let clock = Clock { source, epoch, multiplier: 1 << 32 };
            assert_eq!(clock.now(), Instant(0));
        }
        let apart = 3_600_000_000;
        assert_eq!(backwards(5_000_000_000, 5_000_000_000 - apart, 5_000_000_100), apart);
        assert_eq!(backwards(5_000_000_000, 5_000_000_000 + apart, 5_000_000_100), apart - 100);
        assert_eq!(backwards(5_000_000_000, 5_000_000_050, 5_000_000_100), 0);
    }

    #[test]
    fn time_never_runs_backwards_on_a_thread() {
        for clock in [Clock::start(), Clock::start_monotonic()] {
            let mut last = clock.now();
            for _ in 0..200_000 {
                let now = clock.now();
                assert!(last <= now, "{last:?} then {now:?} by {}", clock.source());
                last = now;
            }
        }
    }

    #[test]
    fn a_sleep_never_ends_early_and_a_past_instant_does_not_sleep() {
        for clock in [Clock::start(), Clock::start_monotonic()] {
            let until = clock.now().after(3_000_000);
            assert!(clock.sleep_until(until) >= until);
            assert!(clock.now() >= until);
            assert!(clock.sleep_until(Instant(0)) >= until);
        }
    }

    #[test]
    #[should_panic(expected = "stalled")]
    fn waiting_for_never_is_refused() {
        Clock::start_monotonic().sleep_until(Instant::NEVER);
    }
}
