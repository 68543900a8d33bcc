//! What is said of something that goes on, on a line that is drawn anew.

use crate::number;
use record::LARGE_BLOCK_BYTES;

/// From so many seconds without an answer on, that is what there is to say.
const SILENT_S: f64 = 2.0;

/// `1:05`, or `1:05:00` from an hour on.
pub fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// The rate of the moment: bandwidth of large blocks, operations of small ones. Where nothing was
/// answered for `silent_s` seconds, how long that has been so.
pub fn rate(iops: f64, bytes_per_s: f64, silent_s: f64) -> String {
    if silent_s >= SILENT_S {
        return format!("no answer for {:.0} s", silent_s.floor());
    }
    if bytes_per_s >= iops * LARGE_BLOCK_BYTES as f64 && bytes_per_s > 0.0 {
        number::rate(bytes_per_s)
    } else {
        format!("{} IOPS", number::iops(iops))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_has_hours_when_there_are_some() {
        assert_eq!(clock(0.4), "0:00");
        assert_eq!(clock(64.6), "1:05");
        assert_eq!(clock(3900.0), "1:05:00");
    }

    #[test]
    fn large_blocks_are_told_as_bandwidth_and_silence_before_either() {
        assert_eq!(rate(1000.0, 4_096_000.0, 0.0), format!("{} IOPS", number::iops(1000.0)));
        let large = 100.0 * LARGE_BLOCK_BYTES as f64;
        assert_eq!(rate(100.0, large, 1.9), number::rate(large));
        assert_eq!(rate(100.0, large, 3.7), "no answer for 3 s");
        assert!(rate(0.0, 0.0, 0.0).ends_with(" IOPS"));
    }
}
