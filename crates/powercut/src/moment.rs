//! When the power goes.

use block::Rng;
use std::time::Duration;

/// A draw that names a promise names at most this one.
const PROMISES_MAX: u64 = 32;

/// When the power goes, counted from the first promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// After this time.
    After(Duration),
    /// As soon as so many promises were heard, or at the end of the span that rounds have.
    AfterPromise(u32),
    /// So many promises were heard: in the middle of the next flush that has something to lose.
    InFlush(u32),
}

/// The moment of a round. A third of the moments fall just behind a promise, where a program that
/// promises too early is found out, a third within a flush, where the drives have most to lose, the
/// others anywhere.
pub fn draw(seed: u64, round: u32, within: Duration) -> Moment {
    let mut rng = Rng::new(seed, 0x6d6f_6d65 ^ u64::from(round) << 32);
    match rng.below(3) {
        0 => Moment::AfterPromise(1 + rng.below(PROMISES_MAX) as u32),
        1 => Moment::InFlush(1 + rng.below(PROMISES_MAX) as u32),
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
    fn all_kinds_of_moments_are_drawn_within_their_bounds_and_replay() {
        let within = Duration::from_secs(1);
        let drawn: Vec<Moment> = (1..=600).map(|round| draw(7, round, within)).collect();
        let mut kinds = [0; 3];
        for moment in &drawn {
            kinds[match moment {
                Moment::After(time) if *time < within => 0,
                Moment::AfterPromise(1..=32) => 1,
                Moment::InFlush(1..=32) => 2,
                other => panic!("{other:?}"),
            }] += 1;
        }
        assert!(kinds.iter().all(|count| (150..250).contains(count)), "{kinds:?} of 600");
        assert_eq!(draw(7, 3, within), drawn[2]);
        assert_ne!(draw(8, 3, within), drawn[2]);
    }
}
