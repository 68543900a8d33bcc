//! The time of this machine, for models that answer when the drive would.

use block::Instant;
use engine::Clock;
use model::WallClock;

/// The clock that measurements read, as `model::Paced` wants it: sleeps, and spins through the end
/// of a wait.
#[derive(Clone, Copy, Debug)]
pub struct RealClock(pub Clock);

impl RealClock {
    /// Starts at 0, on the best source there is. Takes some 20 ms where a counter is calibrated.
    pub fn start() -> Self {
        Self(Clock::start())
    }
}

impl WallClock for RealClock {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep_until(&self, until: Instant) -> Instant {
        self.0.sleep_until(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_instant_or_later_and_a_past_one_at_once() {
        let clock = RealClock::start();
        let until = clock.now().after(2_000_000);
        let woken = clock.sleep_until(until);
        assert!(woken >= until && clock.now() >= woken);
        assert!(clock.sleep_until(until) >= woken, "time does not run backwards");
    }
}
