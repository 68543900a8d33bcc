//! When the power goes.

use block::Rng;
use std::time::Duration;

/// A draw of [`Moment::AfterPromise`] names at most this promise.
const PROMISES_MAX: u64 = 32;

/// When the power goes, counted from the first promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// After this time.
    After(Duration),
    /// As soon as so many promises were heard, or at the end of the span that rounds have.
    AfterPromise(u32),
}

/// The moment of a round. Half of the moments fall just behind a promise, where a program that
/// promises too early is found out; the others anywhere.
pub fn draw(seed: u64, round: u32, within: Duration) -> Moment {
    let mut rng = Rng::new(seed, 0x6d6f_6d65 ^ u64::from(round) << 32);
    match rng.below(2) {
        0 => Moment::AfterPromise(1 + rng.below(PROMISES_MAX) as u32),
        _ => {
            let most = (within.as_nanos() as u64).max(1);
            Moment::After(Duration::from_nanos(rng.below(most)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_moments_are_drawn_within_their_bounds_and_replay() {
        let within = Duration::from_secs(1);
        let drawn: Vec<Moment> = (1..=400).map(|round| draw(7, round, within)).collect();
        let timed = drawn.iter().filter(|moment| match moment {
            Moment::After(time) => *time < within,
            Moment::AfterPromise(number) => {
                assert!((1..=32).contains(number), "{number}");
                false
            }
        });
        let timed = timed.count();
        assert!((150..250).contains(&timed), "{timed} of 400");
        assert_eq!(draw(7, 3, within), drawn[2]);
        assert_ne!(draw(8, 3, within), drawn[2]);
    }
}
