//! One line of the history: what a run was, without its cells.

use crate::{CampaignTask, Cell, Flag, Knee, Record, State};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run in a line. Made from a [`Record`] by [`Record::summary`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// How far it got.
    pub state: State,
    /// RFC 3339, with the zone.
    pub started: String,
    /// RFC 3339; absent while running or when killed.
    pub finished: Option<String>,
    /// The method's name.
    pub method: String,
    /// The grade's name.
    pub grade: String,
    /// The targets as the user wrote them.
    pub targets: Vec<String>,
    /// The user's labels.
    pub labels: BTreeMap<String, String>,
    /// Which task of a campaign it is; absent of a run by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<CampaignTask>,
    /// Cells measured so far.
    pub cells: u64,
    /// At most two telling numbers: rates that were sought, or the first cell of large blocks and
    /// the first of small ones.
    pub headline: Vec<Headline>,
    /// Of power cuts: how many rounds broke a promise, and how many there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_rounds: Option<[u64; 2]>,
    /// Every flag that stands on the run, a target or a cell, once, by name.
    #[serde(default)]
    pub flags: Vec<Flag>,
}

/// A cell's name and rates.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Headline {
    /// `read`, `write`...
    pub op: String,
    /// `seq`, `random`...
    pub pattern: String,
    /// Bytes of one operation.
    pub block_bytes: u64,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// What latency must hold at this rate, where it was sought: `p99<1ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// From this block size on a rate is read as bandwidth, below it as operations: 64 KiB, in bytes.
pub const LARGE_BLOCK_BYTES: u64 = 64 << 10;

impl Cell {
    /// Whether the headline is bandwidth (from [`LARGE_BLOCK_BYTES`] on) rather than operations.
    pub fn is_large_block(&self) -> bool {
        self.block_bytes >= LARGE_BLOCK_BYTES
    }
}

impl Headline {
    fn of(cell: &Cell) -> Self {
        Self {
            op: cell.op.clone(),
            pattern: cell.pattern.clone(),
            block_bytes: cell.block_bytes,
            iops: cell.iops,
            bytes_per_s: cell.bytes_per_s,
            limit: None,
        }
    }
}

impl Record {
    /// The run in a line.
    pub fn summary(&self) -> RunSummary {
        RunSummary {
            id: self.id.clone(),
            state: self.state,
            started: self.started.clone(),
            finished: self.finished.clone(),
            method: self.method.name.clone(),
            grade: self.method.grade.clone(),
            targets: self.targets.iter().map(|target| target.text.clone()).collect(),
            labels: self.labels.clone(),
            campaign: self.campaign.clone(),
            cells: self.cells.len() as u64,
            headline: self.headline(),
            broken_rounds: self
                .power_cuts
                .as_ref()
                .map(|cuts| [cuts.broken().count(), cuts.rounds.len()].map(|count| count as u64)),
            flags: self.all_flags(),
        }
    }

    /// A search leaves a cell at each rate that it tried; the first of them tells nothing.
    fn headline(&self) -> Vec<Headline> {
        if self.method.options.contains_key("until") {
            let found: Vec<Headline> =
                self.knees.iter().filter_map(|knee| self.of_knee(knee)).take(2).collect();
            if !found.is_empty() {
                return found;
            }
        }
        let mut cells = self.cells.iter().filter(|cell| !self.is_probe(cell));
        let mut small = cells.clone().filter(|cell| !cell.is_large_block());
        let large = cells.find(|cell| cell.is_large_block());
        large.into_iter().chain(small.next()).map(Headline::of).collect()
    }

    fn of_knee(&self, knee: &Knee) -> Option<Headline> {
        let is_it = |cell: &&Cell| cell.name == knee.cell && cell.target == knee.target;
        let cell = self.cells.iter().find(is_it)?;
        let iops = knee.iops?;
        let bytes_per_s = iops * cell.bytes_per_s / cell.iops;
        let limit = Some(knee.condition.clone());
        Some(Headline { iops, bytes_per_s, limit, ..Headline::of(cell) })
    }

    fn all_flags(&self) -> Vec<Flag> {
        let of_targets = self.targets.iter().flat_map(|target| &target.flags);
        let of_cells = self.cells.iter().flat_map(|cell| &cell.flags);
        let mut flags: Vec<Flag> =
            self.flags.iter().chain(of_targets).chain(of_cells).copied().collect();
        flags.sort_by_key(|flag| flag.name());
        flags.dedup();
        flags
    }

    /// A run's id from 32 random bits: eight hexadecimal digits. On a collision
    /// (`Store::contains`) the caller draws again.
    pub fn id_from(random: u32) -> String {
        format!("{random:08x}")
    }
}
