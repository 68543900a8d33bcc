//! Phases in which a drive lets writes in more slowly than they come, as firmware does whose
//! cleaner has to catch up.
//!
//! ```text
//!   |<-------------------------- a turn -------------------------->|
//!   |  evenly spaced, at a share of   |  as they come, with those  |
//!   |  the last turn's rate           |  that were held back       |
//!   |<-- longer the busier flash was in the last turn -->|
//! ```
//!
//! Of two drives of one family and different spare the published waits of writes say how long:
//! the share of writes that wait is about the cube of the share of its ceiling that a drive is
//! asked for, and the longest of them is that of a queue served at a share of the rate asked for.
//! What is held back must find room in the rest of the turn: at a drive's ceiling nothing is, and
//! writes are only spaced evenly. So its latencies there are steady, and shorter than below it.

use super::params::Throttle;

/// All of something: shares are counted in so many parts.
const ALL: u64 = 1 << 16;

/// When writes are let in.
#[derive(Debug)]
pub struct Gate {
    throttle: Option<Throttle>,
    planes: u32,
    /// The turn that runs, and units written in it.
    turn: u64,
    units: u64,
    /// What all planes had been given to do when it began, ns.
    busy_before_ns: u64,
    /// Until when writes are held back, and how long each of their units holds back the next.
    until: u64,
    unit_ns: u64,
    /// When the next write is let in, if it comes before `until`.
    next: u64,
}

impl Gate {
    /// Always open without.
    pub fn new(throttle: Option<Throttle>, planes: u32) -> Self {
        Self {
            throttle,
            planes,
            turn: 0,
            units: 0,
            busy_before_ns: 0,
            until: 0,
            unit_ns: 0,
            next: 0,
        }
    }

    /// When a write of so many units that came at `at` is let in; `busy_ns` is what all planes were
    /// given to do so far. Writes come in the order of time.
    #[inline]
    pub fn admit(&mut self, at: u64, units: u32, busy_ns: u64) -> u64 {
        match self.throttle {
            None => at,
            Some(throttle) => self.hold_back(throttle, at, units, busy_ns),
        }
    }

    fn hold_back(&mut self, throttle: Throttle, at: u64, units: u32, busy_ns: u64) -> u64 {
        if at / throttle.every_ns != self.turn {
            self.begin_turn(throttle, at / throttle.every_ns, busy_ns);
        }
        self.units += u64::from(units);
        if at >= self.until {
            return at;
        }
        let admitted = self.next.max(at).min(self.until);
        self.next = admitted.saturating_add(self.unit_ns.saturating_mul(u64::from(units)));
        admitted
    }

    /// Looks at what there was since the last turn began, and decides on this one.
    fn begin_turn(&mut self, throttle: Throttle, turn: u64, busy_ns: u64) {
        let Throttle { share_per_mille, every_ns } = throttle;
        let since_ns = u128::from(every_ns) * u128::from(turn - self.turn);
        let given_ns = u128::from(busy_ns - self.busy_before_ns) * u128::from(ALL);
        let busy = (given_ns / (since_ns * u128::from(self.planes))).min(u128::from(ALL)) as u64;
        let (length, share) = phase(busy, u64::from(share_per_mille) * ALL / 1000);
        let start = turn * every_ns;
        self.until = start + ((u128::from(length) * u128::from(every_ns)) >> 16) as u64;
        let units = u128::from(share.max(1)) * u128::from(self.units.max(1));
        self.unit_ns = u64::try_from(since_ns * u128::from(ALL) / units).unwrap_or(u64::MAX);
        (self.turn, self.units, self.busy_before_ns, self.next) = (turn, 0, busy_ns, start);
    }
}

/// How much of a turn writes are held back, and at which share of their rate they are let in, of a
/// drive that was `busy` and whose throttle is `share`: at a larger one where the rest of the turn
/// would not be enough for what was held back.
fn phase(busy: u64, share: u64) -> (u64, u64) {
    let length = (busy * busy * busy) >> 32;
    let held_in_vain = length.saturating_sub(ALL - busy);
    let least = (held_in_vain << 32) / (length * busy).max(1);
    (length, share.max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THROTTLE: Throttle = Throttle { share_per_mille: 500, every_ns: 1_000_000 };

    /// When writes of one unit, evenly spaced, are let in by a drive of two planes of which each
    /// write keeps one busy for `busy_ns`, over ten turns.
    fn admitted(throttle: Option<Throttle>, every_ns: u64, busy_ns: u64) -> Vec<(u64, u64)> {
        let mut gate = Gate::new(throttle, 2);
        let writes = 0..10 * THROTTLE.every_ns / every_ns;
        writes.map(|it| (it * every_ns, gate.admit(it * every_ns, 1, it * busy_ns))).collect()
    }

    #[test]
    fn a_drive_without_a_throttle_lets_every_write_in_as_it_comes() {
        assert!(admitted(None, 1000, 2000).iter().all(|(came, admitted)| came == admitted));
    }

    /// Half busy, an eighth of each turn at half the rate: the last of 62 that were let in there
    /// came after half of it.
    #[test]
    fn writes_are_held_back_for_the_cube_of_what_flash_is_busy() {
        let seen = admitted(Some(THROTTLE), 1000, 1000);
        let waits: Vec<u64> = seen.iter().map(|(came, admitted)| admitted - came).collect();
        assert!(waits[..1000].iter().all(|&ns| ns == 0), "nothing is known before the first turn");
        for turn in 1..10 {
            let waits = &waits[1000 * turn..1000 * (turn + 1)];
            assert!(waits[125..].iter().all(|&ns| ns == 0), "{turn}");
            assert_eq!(waits.iter().max(), Some(&62_000), "{turn}");
            assert_eq!(waits[..63], (0..63).map(|it| it * 1000).collect::<Vec<_>>(), "{turn}");
        }
    }

    #[test]
    fn writes_keep_their_order_and_wait_for_no_more_than_a_phase() {
        for (every_ns, busy_ns) in [(100, 20), (700, 900), (1000, 1900), (1000, 2000), (300, 900)] {
            let seen = admitted(Some(THROTTLE), every_ns, busy_ns);
            assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1));
            let turn = |at: u64| at / THROTTLE.every_ns;
            for (came, admitted) in seen {
                assert!(admitted >= came && admitted <= (turn(came) + 1) * THROTTLE.every_ns);
            }
        }
    }

    /// What is let in and what flash can take in the rest of the turn is what was asked for.
    #[test]
    fn no_more_is_held_back_than_finds_room_in_the_rest_of_the_turn() {
        for busy in 1..=ALL {
            let (length, share) = phase(busy, ALL / 4);
            assert!(length <= busy && (ALL / 4..=ALL).contains(&share), "{busy}");
            let taken = length * share / ALL * busy / ALL + (ALL - length);
            assert!(taken + 4 >= busy, "{busy}: {taken}");
        }
        assert_eq!(phase(ALL, ALL / 4), (ALL, ALL));
        assert_eq!(phase(0, ALL / 4), (0, ALL / 4));
    }
}
