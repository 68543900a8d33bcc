//! What a volume will be able to do, from closed forms: where the layer helps and where it harms,
//! before anything is written.
//!
//! Efficiency is a statement about free space. With uniform random overwriting and victims in the
//! order in which they were filled, the live share u of a victim solves u = e^(-a (1 - u)), a =
//! physical / mapped, which is u = -W0(-a e^-a) / a (Desnoyers, *Analytic Modeling of SSD Write
//! Performance*, SYSTOR 2012, for FIFO and large segments; greedy lies up to 4 % below in write
//! amplification). Skewed workloads do better.

use crate::{layout::Layout, shape::BLOCK_BYTES};

/// Newton's method from below converges within this many steps for every spare above 1e-9.
const STEPS: usize = 100;

/// Live share of a victim where the spare is this share of the physical space.
///
/// # Panics
/// If the spare is not within 0 and 1.
pub fn live_share_of_victims(spare: f64) -> f64 {
    assert!((0.0..=1.0).contains(&spare), "a spare of {spare}");
    if spare == 0.0 || spare == 1.0 {
        return 1.0 - spare;
    }
    let alpha = 1.0 / (1.0 - spare);
    let mut live = 0.0f64;
    for _ in 0..STEPS {
        let image = (-alpha * (1.0 - live)).exp();
        let slope = 1.0 - alpha * image;
        if slope <= 0.0 {
            break;
        }
        live = (live + (image - live) / slope).min(1.0);
    }
    live
}

/// Blocks written for each of the host's, metadata not counted; infinite without spare.
pub fn write_amplification(spare: f64) -> f64 {
    1.0 / (1.0 - live_share_of_victims(spare))
}

/// The limit: share of the drive's sequential write rate that is left to the host, 1 / (WA (1+m) +
/// (WA-1) Bw/Br).
///
/// `metadata` is m, blocks of headers, pages, roots and padding for each block of data;
/// `write_over_read` is Bw/Br where the drive is serial or the link shared, and 0 where the
/// cleaner's reads cost nothing.
pub fn limit(write_amplification: f64, metadata: f64, write_over_read: f64) -> f64 {
    let copies = write_amplification - 1.0;
    if write_amplification.is_infinite() {
        return 0.0;
    }
    1.0 / (write_amplification * (1.0 + metadata) + copies * write_over_read)
}

/// What of a drive's segments is not there for mapped blocks and their garbage, in segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Idle {
    /// Open ones, half full on average.
    pub open: f64,
    /// Pages of the map: up to twice the map.
    pub meta: f64,
    /// Never taken by the host, so that cleaner and checkpoint can go on.
    pub floor: f64,
    /// Emptied ahead, and waiting for a checkpoint to be free.
    pub ahead: f64,
}

impl Idle {
    /// All of it.
    pub fn segments(&self) -> f64 {
        self.open + self.meta + self.floor + self.ahead
    }
}

impl Layout {
    /// Blocks of data that a segment holds.
    pub fn data_blocks(&self) -> u32 {
        crate::layout::data_blocks(self.segment_blocks, self.chunk_blocks, self.header_blocks)
    }

    /// What of its segments is not there for data while so many blocks are being written at random.
    pub fn idle(&self, mapped_blocks: u64) -> Idle {
        let levels = self.levels(mapped_blocks.min(u64::from(self.mapped_max)) as u32);
        Idle {
            open: f64::from(self.shape.classes.streams()) / 2.0,
            meta: f64::from(self.map_segments) * 1.5,
            floor: self.host_floor() as f64,
            // What is free and what waits for a checkpoint are together the whole interval at any
            // time; the host is paced to half of the margin.
            ahead: levels.interval as f64 + levels.margin as f64 / 2.0,
        }
    }

    /// The spare, all counted: the share of the space for data that is not mapped, where so many
    /// blocks are.
    pub fn spare(&self, mapped_blocks: u64) -> f64 {
        let segments = (f64::from(self.segments) - self.idle(mapped_blocks).segments()).max(0.0);
        let blocks = segments * f64::from(self.data_blocks());
        (1.0 - mapped_blocks as f64 / blocks.max(1.0)).clamp(0.0, 1.0)
    }

    /// m of [`limit`] where so many blocks are mapped: headers, and all pages of the map at every
    /// checkpoint; padding where every write is flushed is not in it.
    pub fn metadata_share(&self, mapped_blocks: u64) -> f64 {
        let data = f64::from(self.data_blocks());
        let headers = (f64::from(self.segment_blocks) - data) / data;
        let levels = self.levels(mapped_blocks.min(u64::from(self.mapped_max)) as u32);
        let between = levels.interval as f64 * data;
        headers + f64::from(self.pages) * (1.0 + headers) / between
    }
}

/// A point of the efficiency curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Mapped bytes over the drive's.
    pub live: f64,
    /// [`Layout::spare`].
    pub spare: f64,
    /// Of uniform random overwriting, metadata not counted.
    pub write_amplification: f64,
    /// [`limit`]: what the host has of the drive's sequential write rate.
    pub efficiency: f64,
}

/// The curve at so many equal steps of the blocks that can be mapped, the last one full.
pub fn efficiency_curve(layout: &Layout, write_over_read: f64, steps: u32) -> Vec<Point> {
    let point = |step: u32| {
        let mapped = u64::from(layout.mapped_max) * u64::from(step) / u64::from(steps);
        point(layout, mapped, write_over_read)
    };
    (1..=steps).map(point).collect()
}

/// The point where so many blocks are mapped.
pub fn point(layout: &Layout, mapped_blocks: u64, write_over_read: f64) -> Point {
    let spare = layout.spare(mapped_blocks);
    let write_amplification = write_amplification(spare);
    Point {
        live: (mapped_blocks * BLOCK_BYTES) as f64 / layout.shape.device_bytes as f64,
        spare,
        write_amplification,
        efficiency: limit(
            write_amplification,
            layout.metadata_share(mapped_blocks),
            write_over_read,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table that was simulated without a format (spare, write amplification).
    #[test]
    fn the_closed_form_gives_the_published_table() {
        let table = [
            (0.05, 10.17),
            (0.07, 7.32),
            (0.10, 5.18),
            (0.15, 3.52),
            (0.20, 2.69),
            (0.28, 1.99),
            (0.33, 1.73),
            (0.40, 1.48),
            (0.50, 1.26),
            (0.60, 1.12),
            (0.70, 1.04),
        ];
        for (spare, expected) in table {
            let seen = write_amplification(spare);
            assert!((seen / expected - 1.0).abs() < 0.01, "spare {spare}: {seen}, not {expected}");
        }
    }

    #[test]
    fn the_live_share_solves_its_equation_for_every_spare() {
        for thousandth in 1..1000 {
            let spare = f64::from(thousandth) / 1000.0;
            let live = live_share_of_victims(spare);
            let image = (-(1.0 - live) / (1.0 - spare)).exp();
            assert!((live - image).abs() < 1e-9, "spare {spare}: {live}, {image}");
            assert!(live < 1.0, "spare {spare}");
        }
        assert_eq!((live_share_of_victims(1.0), write_amplification(0.0)), (0.0, f64::INFINITY));
    }

    /// By hand: twice the writes at 1 % metadata, and one block read for each of the host's at
    /// twice the rate.
    #[test]
    fn the_limit_counts_copies_metadata_and_reads() {
        assert_eq!(limit(1.0, 0.0, 0.5), 1.0);
        assert!((limit(2.0, 0.01, 0.5) - 1.0 / 2.52).abs() < 1e-12);
        assert_eq!(limit(f64::INFINITY, 0.01, 0.5), 0.0);
    }
}
