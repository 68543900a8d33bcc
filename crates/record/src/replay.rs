//! What a replay of a trace did beside what every cell does.

use crate::Latency;
use serde::{Deserialize, Serialize};

/// Of one stream of a replay, all passes together.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Replay {
    /// The trace, as it was named.
    pub trace: String,
    /// Its format, in words.
    pub format: String,
    /// Which volume of it; absent where all of it was replayed.
    pub volume: Option<String>,
    /// How many times as fast as the trace; absent where it went as fast as the target.
    pub speed: Option<f64>,
    /// How long after its time each operation began, flushes among them; absent without times.
    pub lateness: Option<Latency>,
    /// Latency from submission; the cell's own counts from the intended start. Absent without
    /// times.
    pub service: Option<Latency>,
    /// Operations that lay beyond the area and were moved into it by modulus.
    pub wrapped: u64,
    /// Operations that were put on whole blocks of the target.
    pub aligned: u64,
    /// What a reader must know of the trace, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}
