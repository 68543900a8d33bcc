//! A run and a cell in a few words, for pages that put them into tables of their own.

use crate::terminal::{self, Characters, Style, words};
use record::{Cell, RunSummary};

/// A cell in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Brief {
    /// `random read 4 KiB, 32 deep`, and its other coordinates.
    pub name: String,
    /// `52.1k IOPS`, or bandwidth of large blocks.
    pub rate: String,
    /// Half of the 95 % interval; `-` without one.
    pub interval: String,
    /// Median latency; `-` where the sample was too small.
    pub p50: String,
    /// 99th percentile of the latency; `-` where the sample was too small.
    pub p99: String,
    /// Names of its flags.
    pub flags: Vec<&'static str>,
}

/// A cell in words. Its name does not depend on other cells, so that it stays while more of them
/// come.
pub fn cell(cell: &Cell) -> Brief {
    let style = Style { characters: Characters::Unicode, ..Style::PLAIN };
    let mut name = words::name(cell, &style);
    for key in cell.coordinates.keys() {
        let value = words::coordinate_text(cell, key).unwrap_or_default();
        name += &format!(", {key} {value}");
    }
    let latency = cell.latency.as_ref();
    Brief {
        name,
        rate: words::headline(cell),
        interval: words::interval(cell, &style),
        p50: words::percentile(latency, 50.0),
        p99: words::percentile(latency, 99.0),
        flags: cell.flags.iter().map(|flag| flag.name()).collect(),
    }
}

/// `seq read 1 MiB 275 MB/s, random read 4 KiB 52.1k IOPS`: what a run is known by.
pub fn headline(run: &RunSummary) -> String {
    terminal::broken_rounds(run).unwrap_or_else(|| terminal::headline(&run.headline))
}

/// `2026-11-21 20:15`, by the clock of the machine that ran it.
pub fn started(run: &RunSummary) -> String {
    terminal::short_time(&run.started)
}
