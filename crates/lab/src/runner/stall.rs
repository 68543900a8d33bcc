//! A time without an answer, out of all proportion to the other waits.

use super::pass::StreamPass;
use record::Stall;
use stats::{Bucket, Histogram, TICK_NS};

/// Programs give up, and watchdogs bite, from about this on, ns.
const STALL_NS_MIN: u64 = 1_000_000_000;
/// A wait that is so many times as long as all but one of a thousand others belongs to none of the
/// things that happen to requests every day: a queue, a seek, a flush, an erase.
const TIMES_MIN: f64 = 100.0;
/// Requests of the stall itself wait for most of it; what waited for less is one of the others.
const PART_OF_STALL: u64 = 2;
/// Fewer others say nothing.
const OTHERS_MIN: u64 = 20;

/// The longest wait of a pass, if it was no wait like the others and counts in its rate: the one
/// before the first answer may be cut off with the warm-up, and the last may end after the pass.
pub(super) fn stall(pass: &StreamPass) -> Option<Stall> {
    let longest = pass.longest.filter(|wait| wait.tick < pass.ticks.len())?;
    let ordinary_ns = ordinary_ns(&pass.latencies, longest.ns / PART_OF_STALL)?;
    if longest.ns < STALL_NS_MIN || (longest.ns as f64) < TIMES_MIN * ordinary_ns as f64 {
        return None;
    }
    let tick_s = TICK_NS as f64 / 1e9;
    let seconds = longest.ns as f64 / 1e9;
    let ends_s = (longest.tick as f64 + 0.5) * tick_s;
    let at_s = (ends_s - seconds).max(0.0);
    if at_s < tick_s && longest.tick < pass.assessment.warm_up_ticks {
        return None;
    }
    Some(Stall { at_s, seconds, iops_without: iops_without(pass, at_s, longest.tick) })
}

/// What all but one of a thousand of the waits under `below_ns` do not exceed.
fn ordinary_ns(latencies: &Histogram, below_ns: u64) -> Option<u64> {
    let mut others = latencies.to_sparse().buckets;
    others.retain(|bucket| bucket.upper_ns < below_ns);
    let count: u64 = others.iter().map(|bucket| bucket.count).sum();
    if count < OTHERS_MIN {
        return None;
    }
    let mut beyond = count / 1000;
    let holds = |bucket: &&Bucket| {
        let found = bucket.count > beyond;
        beyond = beyond.saturating_sub(bucket.count);
        found
    };
    others.iter().rev().find(holds).map(|bucket| bucket.upper_ns)
}

/// Operations per second outside the stall.
fn iops_without(pass: &StreamPass, at_s: f64, last: usize) -> f64 {
    let tick_s = TICK_NS as f64 / 1e9;
    let first = (at_s / tick_s) as usize;
    let outside = pass.ticks.iter().enumerate().filter(|(at, _)| *at < first || *at > last);
    let (mut ticks, mut operations) = (0, 0);
    for (_, tick) in outside {
        ticks += 1;
        operations += tick.operations;
    }
    match ticks {
        0 => pass.operations as f64 / pass.seconds,
        _ => operations as f64 / (f64::from(ticks) * tick_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(waits: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for &(count, ns) in waits {
            (0..count).for_each(|_| histogram.record(ns));
        }
        histogram
    }

    #[test]
    fn one_of_a_thousand_does_not_make_a_wait_ordinary() {
        let seen = histogram(&[(9990, 100), (10, 50_000), (32, 5_000_000_000)]);
        assert_eq!(ordinary_ns(&seen, 2_500_000_000), Some(100));
        let seen = histogram(&[(9989, 100), (11, 50_000)]);
        assert!(ordinary_ns(&seen, 2_500_000_000).is_some_and(|ns| ns > 49_000));
        assert_eq!(ordinary_ns(&histogram(&[(19, 100)]), 1000), None);
    }
}
