//! What the probe for a compressing target writes: a plan counts it, a run writes it.

use crate::workload::Contents;
use stats::Grade;

/// Size of one side of the probe's pairs.
pub(crate) const PROBE_AREA_BYTES: u64 = 64 << 20;
/// Pairs of the probe: zeroes against random bytes, in alternating order, random bytes last, so
/// that none of the area is left zero.
pub(crate) const PROBE_PAIRS: [[Contents; 2]; 3] = [
    [Contents::Zeros, Contents::Random],
    [Contents::Random, Contents::Zeros],
    [Contents::Zeros, Contents::Random],
];

/// How many bytes the probe for a compressing target writes under these circumstances, 0 when it is
/// not run: at grade quick, where the area is not filled, or where it is smaller than the probe.
pub fn probe_bytes(grade: Grade, fill: u32, span_bytes: u64) -> u64 {
    if grade == Grade::Quick || fill == 0 || span_bytes < PROBE_AREA_BYTES {
        return 0;
    }
    PROBE_AREA_BYTES * PROBE_PAIRS.as_flattened().len() as u64
}
