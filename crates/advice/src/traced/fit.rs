//! A trace on one drive: how full a managed volume of it would be, and what its mix would do there.

use super::Traced;
use crate::volume::{Blocks, Forecast, Rates};
use trace::{Op, characterise::BLOCK_BYTES};

/// What a volume of the trace's size would do on a drive, and the drive without it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// Share of the drive that the trace's room takes, 0 to 1; more where it does not fit.
    pub fill: f64,
    /// How full a volume can be.
    pub fullest: f64,
    /// Blocks written for each of the host's, uniformly at random.
    pub write_amplification: f64,
    /// Operations per second of the trace's mix without a volume.
    pub bare: f64,
    /// The same with one, so full.
    pub managed: f64,
}

impl Fit {
    /// Whether there is room for the trace.
    pub fn has_room(&self) -> bool {
        self.fill <= self.fullest
    }
}

impl Traced {
    /// Bytes of a read and of a write in the mean, in whole blocks of a managed volume, 1 MiB at
    /// most.
    pub fn blocks(&self) -> Blocks {
        let mean = |op| {
            let bytes = self.sizes(op).mean().unwrap_or(BLOCK_BYTES as f64);
            let blocks = (bytes / BLOCK_BYTES as f64).round().max(1.0);
            (blocks as u64 * BLOCK_BYTES).min(super::lengths::LARGEST_BYTES)
        };
        Blocks { read_bytes: mean(Op::Read), write_bytes: mean(Op::Write) }
    }

    /// Share of its reads and writes that write.
    pub fn write_share(&self) -> f64 {
        1.0 - self.reads
    }

    /// On a drive of these rates.
    pub fn fit(&self, rates: &Rates, forecast: &Forecast) -> Fit {
        let fill = self.room_bytes as f64 / rates.device_bytes.max(1) as f64;
        let point = forecast.at(fill);
        let mixed = |writes_per_s| rates.mixed(writes_per_s, self.write_share());
        Fit {
            fill,
            fullest: forecast.fullest(),
            write_amplification: point.write_amplification,
            bare: mixed(rates.random_writes_per_s),
            managed: mixed(rates.managed_writes_per_s(point.efficiency)),
        }
    }
}
