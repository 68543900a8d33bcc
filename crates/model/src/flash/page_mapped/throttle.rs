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
//! What is held back must find room in the rest of the turn, or in the buffer. From a rate on, of
//! both about the same, those drives hold back little and never let in more than flash takes. Where
//! more comes than that, all writes are spaced evenly at a little less than it takes, whatever was
//! asked for before: latencies are steady there, and shorter than below it.

use super::params::{Throttle, UNIT_BYTES};

/// All of something: shares are counted in so many parts.
const ALL: u64 = 1 << 16;
/// The most that is let in for long, of what flash takes: its buffer empties, and reads find gaps.
const FULL: u64 = ALL / 16 * 15;

/// What flash has been given to do.
#[derive(Clone, Copy)]
pub struct Given {
    /// By all planes so far, ns.
    pub busy_ns: u64,
    /// When the buffer in front of it has room for a page.
    pub has_room: u64,
}

/// When writes are let in.
#[derive(Debug)]
pub struct Gate {
    throttle: Option<Throttle>,
    planes: u32,
    /// How long flash needs for a full buffer, ns.
    buffer_ns: u64,
    /// The turn that runs, and units written in it.
    turn: u64,
    units: u64,
    /// What all planes had been given to do when it began, ns.
    busy_before_ns: u64,
    /// Until when writes are held back, how long each of their units holds back the next, and how
    /// long in the rest of the turn.
    until: u64,
    unit_ns: u64,
    rest_unit_ns: u64,
    is_rest: bool,
    /// Whether a write came in that rest that had not to wait.
    is_drained: bool,
    /// Whether more comes than flash takes.
    is_full: bool,
    /// The next write is let in no sooner.
    next: u64,
}

impl Gate {
    /// Always open without.
    pub fn new(throttle: Option<Throttle>, planes: u32, buffer_ns: u64) -> Self {
        Self {
            throttle,
            planes,
            buffer_ns,
            turn: 0,
            units: 0,
            busy_before_ns: 0,
            until: 0,
            unit_ns: 0,
            rest_unit_ns: 0,
            is_rest: true,
            is_drained: true,
            is_full: false,
            next: 0,
        }
    }

    /// When a write of so many units that came at `at` is let in, while flash has been given this
    /// to do. Writes come in the order of time.
    #[inline]
    pub fn admit(&mut self, at: u64, units: u32, given: Given) -> u64 {
        match self.throttle {
            None => at,
            Some(throttle) => self.hold_back(throttle, at, units, given),
        }
    }

    fn hold_back(&mut self, throttle: Throttle, at: u64, units: u32, given: Given) -> u64 {
        if at / throttle.every_ns != self.turn {
            self.begin_turn(throttle, at, given);
        }
        self.units += u64::from(units);
        if !self.is_rest && self.next.max(at) >= self.until {
            (self.is_rest, self.next) = (true, self.until);
        }
        self.is_drained |= self.is_rest && self.next <= at;
        let admitted = self.next.max(at);
        let unit_ns = if self.is_rest { self.rest_unit_ns } else { self.unit_ns };
        self.next = admitted.saturating_add(unit_ns.saturating_mul(u64::from(units)));
        admitted
    }

    /// Looks at what there was since the last turn began, and decides on this one.
    fn begin_turn(&mut self, throttle: Throttle, at: u64, given: Given) {
        let Throttle { share_per_mille, every_ns, below_bytes_per_s } = throttle;
        let turn = at / every_ns;
        let since_ns = u128::from(every_ns) * u128::from(turn - self.turn);
        let given_ns = u128::from(given.busy_ns - self.busy_before_ns) * u128::from(ALL);
        let at_most_ns = since_ns * u128::from(self.planes) * u128::from(FULL);
        let load = ((given_ns << 16) / at_most_ns).max(1);
        let busy = load.min(u128::from(ALL)) as u64;
        let bytes = u128::from(self.units) * u128::from(UNIT_BYTES) * 1_000_000_000;
        let is_slow = below_bytes_per_s.is_none_or(|below| bytes < u128::from(below) * since_ns);
        // In the rest of a turn there was time for all that came.
        let waits = self.next > at && (self.is_full || !self.is_drained);
        self.is_full = given.has_room > at || waits;
        let units = u128::from(self.units.max(1));
        // A unit's at the most that is let in for long.
        let least_ns = since_ns * load / (units * u128::from(ALL));
        let (length, share, rest_ns) = if self.is_full {
            (0, ALL, least_ns)
        } else if is_slow {
            let buffer = u128::from(self.buffer_ns) * u128::from(ALL) / u128::from(every_ns);
            let share = u64::from(share_per_mille) * ALL / 1000;
            let (length, share) = phase(busy, share, ALL * ALL / FULL, buffer as u64);
            (length, share, 0)
        } else {
            let (length, share) = phase(busy, FULL, ALL / 64 * 63, 0);
            (length, share, least_ns)
        };
        let start = turn * every_ns;
        self.until = start + ((u128::from(length) * u128::from(every_ns)) >> 16) as u64;
        let unit_ns = since_ns * u128::from(ALL) / (units * u128::from(share.max(1)));
        self.unit_ns = u64::try_from(unit_ns).unwrap_or(u64::MAX);
        self.rest_unit_ns = u64::try_from(rest_ns).unwrap_or(u64::MAX);
        (self.turn, self.units, self.busy_before_ns) = (turn, 0, given.busy_ns);
        (self.is_rest, self.is_drained, self.next) = (length == 0, false, self.next.max(start));
    }
}

/// How much of a turn writes are held back, and at which share of their rate they are let in, of a
/// drive that was `busy` and whose throttle is `share`: at a larger one where what was held back
/// would not find room in the rest of the turn, at `most` of what flash takes, and in the buffer.
fn phase(busy: u64, share: u64, most: u64, buffer: u64) -> (u64, u64) {
    let length = (busy * busy * busy) >> 32;
    let room = (((ALL - length) * most) >> 16) + buffer;
    let least = (busy.saturating_sub(room) << 32) / (length * busy).max(1);
    (length, share.max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THROTTLE: Throttle =
        Throttle { share_per_mille: 500, every_ns: 1_000_000, below_bytes_per_s: None };

    /// When writes of one unit, evenly spaced, are let in by a drive of two planes of which each
    /// write keeps one busy for `busy_ns`, over ten turns.
    fn admitted(throttle: Option<Throttle>, every_ns: u64, busy_ns: u64) -> Vec<(u64, u64)> {
        let mut gate = Gate::new(throttle, 2, 0);
        let writes = 0..10 * THROTTLE.every_ns / every_ns;
        let given = |it| Given { busy_ns: it * busy_ns, has_room: 0 };
        writes.map(|it| (it * every_ns, gate.admit(it * every_ns, 1, given(it)))).collect()
    }

    #[test]
    fn a_drive_without_a_throttle_lets_every_write_in_as_it_comes() {
        assert!(admitted(None, 1000, 2000).iter().all(|(came, admitted)| came == admitted));
    }

    /// Asked for half of what is let in for long, an eighth of each turn at half the rate: the last
    /// of 40 that were let in there came after half of it.
    #[test]
    fn writes_are_held_back_for_the_cube_of_what_flash_is_busy() {
        let seen = admitted(Some(THROTTLE), 1600, 1500);
        let waits: Vec<u64> = seen.iter().map(|(came, admitted)| admitted - came).collect();
        assert!(waits[..625].iter().all(|&ns| ns == 0), "nothing is known before the first turn");
        for turn in 1..10 {
            let waits = &waits[625 * turn..625 * (turn + 1)];
            assert!(waits[79..].iter().all(|&ns| ns == 0), "{turn}");
            assert_eq!(waits[..40], (0..40).map(|it| it * 1600).collect::<Vec<_>>(), "{turn}");
            let rest = (40..79).map(|it| 125_000 - it * 1600);
            assert_eq!(waits[40..79], rest.collect::<Vec<_>>(), "{turn}");
        }
    }

    /// Writes that a drive took a second, by turns, of which it would take a million: it was asked
    /// for `share` of it for ten turns, then for more than there is, with 16 in flight.
    fn overloaded(throttle: Throttle, share: f64) -> Vec<f64> {
        const BUFFER: usize = 64;
        let mut gate = Gate::new(Some(throttle), 2, BUFFER as u64 * 1000);
        let (mut left, mut answered) = (vec![0; BUFFER], vec![0; 16]);
        let mut taken = vec![0.0; 40];
        for number in 0u64.. {
            let has_room = left[left.len() - BUFFER];
            let asked = (number as f64 * 1000.0 / share) as u64;
            let at = asked.min(10 * throttle.every_ns).max(answered[answered.len() - 16]);
            let turn = (at / throttle.every_ns) as usize;
            let Some(taken) = taken.get_mut(turn) else { break };
            *taken += 1e9 / throttle.every_ns as f64;
            let admitted = gate.admit(at, 1, Given { busy_ns: number * 2000, has_room });
            left.push(admitted.max(left[left.len() - 1]) + 1000);
            answered.push(admitted.max(has_room));
        }
        taken
    }

    /// What was let in of more than flash takes was what had been let in before: the ceiling of a
    /// drive was that of the load that it had had.
    #[test]
    fn a_drives_ceiling_is_the_same_whatever_it_was_asked_for_before() {
        for below_bytes_per_s in [None, Some(1)] {
            let throttle = Throttle { below_bytes_per_s, ..THROTTLE };
            for share in [0.1, 0.5, 0.8, 0.9, 1.5] {
                for (turn, taken) in overloaded(throttle, share).iter().enumerate().skip(15) {
                    assert!((taken / 937_500.0 - 1.0).abs() < 0.02, "{share}, {turn}: {taken}");
                }
            }
        }
    }

    /// Above the rate that a throttle is for, no more is let in than flash takes for long, and the
    /// longest wait is that of a queue served at 15 of 16 parts of the rate.
    #[test]
    fn above_its_rate_a_throttle_holds_back_little() {
        let seen = |below_bytes_per_s| {
            let throttle = Throttle { below_bytes_per_s, ..THROTTLE };
            let all = admitted(Some(throttle), 1000, 1125);
            all.into_iter().skip(1000).map(|(came, admitted)| admitted - came).max()
        };
        // 60 % of what is let in for long, 4,096 MB/s.
        let length = 216e3;
        for (below, share) in [(None, 0.5), (Some(4_097_000_000), 0.5), (Some(1), 0.9375)] {
            let longest = seen(below).expect("writes") as f64;
            let expected = length * (1.0 - share);
            assert!((longest / expected - 1.0).abs() < 0.02, "{below:?}: {longest}, {expected}");
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
            let (length, share) = phase(busy, ALL / 4, ALL, 0);
            assert!(length <= busy && (ALL / 4..=ALL).contains(&share), "{busy}");
            let taken = length * share / ALL * busy / ALL + (ALL - length);
            assert!(taken + 4 >= busy, "{busy}: {taken}");
        }
        assert_eq!(phase(ALL, ALL / 4, ALL, 0), (ALL, ALL));
        assert_eq!(phase(0, ALL / 4, ALL, 0), (0, ALL / 4));
    }
}
