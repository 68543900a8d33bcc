//! The same question for a method on files: which parts of a file system are worth their place on
//! flash.
//!
//! ```text
//!   TreeQuestion {method, disks, flash, file system} -> places      tree/place.rs
//!     each: the whole method on the modelled STACK, in virtual time
//!       -> rates of its cells -> time for what the disks did        here
//!       -> page, JSON, a document                                   tree/page.rs, tree/print.rs
//! ```
//!
//! Nothing is reckoned: what memory answers, what a commit takes along and what waits for what is
//! known to the model of the file system alone.

pub mod page;
mod place;
pub mod print;

pub use place::Place;

use crate::{
    HybridError, Mode, Prices,
    check::{Ran, Trials},
    way,
};
use lab::{method::Method, order::Order, plan::Options};
use record::{Flag, LeftOut};
use run::{MeasuredBy, Prepared, Purge, RunOrder, Wear};
use std::{collections::BTreeMap, sync::atomic::AtomicBool};
use target::{
    TargetText,
    catalog::Catalog,
    stack::{CACHE_BLOCKS_MAX, Part, Stack},
};

/// File systems whose parts can lie on two drives.
pub const FILE_SYSTEMS: [&str; 3] = ["ext3", "ext4", "xfs"];
/// A cache of a size that nobody said is at least so large, bytes.
const CACHE_BYTES_MIN: u64 = 1 << 30;

/// What is asked.
#[derive(Clone, Debug)]
pub struct TreeQuestion {
    /// The method's name, and its text.
    pub method: (String, String),
    /// The disks, with their array.
    pub disks: Stack,
    /// Flash drives of the catalog.
    pub ssds: Vec<String>,
    /// The file system: one of [`FILE_SYSTEMS`] with its settings.
    pub file_system: Part,
    /// A file of at most so many bytes is small.
    pub small_bytes: u64,
    /// Bytes of a cache's block.
    pub block_bytes: u64,
    /// Bytes of a cache; by what the method writes where it is not said.
    pub size_bytes: Option<u64>,
    /// What may become of writes to a cache.
    pub modes: Vec<Mode>,
    /// What drives cost.
    pub prices: Prices,
    /// Where all random choices come from.
    pub seed: u64,
}

/// A cell of the method, at one place.
#[derive(Clone, PartialEq, Debug)]
pub struct CellFound {
    /// Its name.
    pub name: String,
    /// Operations that it did.
    pub operations: u64,
    /// Operations a second.
    pub iops: f64,
    /// 99th percentile of the latency, ns.
    pub p99_ns: Option<u64>,
    /// Whether memory answered it: then it says nothing of the drives.
    pub is_cached: bool,
}

/// A place, with what was found of it.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeFound {
    /// Where what lies.
    pub place: Place,
    /// As it was modelled.
    pub stack: Stack,
    /// What all its drives cost, where that is known.
    pub price: Option<f64>,
    /// In the method's order; the same ones at all places.
    pub cells: Vec<CellFound>,
    /// Bytes of its volume.
    pub capacity_bytes: u64,
    /// Bytes that flash beside the disks was written.
    pub flash_bytes: Option<u64>,
    /// Operations a second of all cells: those that the disks did, over the time that they take
    /// here.
    pub iops: f64,
}

impl TreeFound {
    /// The slowest cell's 99th percentile, ns.
    pub fn p99_ns(&self) -> Option<u64> {
        self.cells.iter().filter_map(|cell| cell.p99_ns).max()
    }

    /// What an operation a second costs.
    pub fn price_per_iops(&self) -> Option<f64> {
        Some(self.price? / self.iops)
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub struct TreeAnswer {
    /// What was asked.
    pub question: TreeQuestion,
    /// All places, the fastest first.
    pub found: Vec<TreeFound>,
    /// Places at which the method cannot be run, and why; of the disks, cells that run nowhere.
    pub left_out: Vec<(Place, String)>,
}

/// Whether a method asks for files, so that it needs a file system.
pub fn is_on_files(method: &Method) -> bool {
    method.cells.iter().any(|cell| cell.tree.is_some() || cell.file_bytes.is_some())
}

/// A file-system layer as it is written, such as `ext4` or `xfs:ram=256M`.
///
/// # Errors
/// Another layer, or one that says itself what lies on a second drive.
pub fn file_system(text: &str) -> Result<Part, HybridError> {
    let bad = |about: String| HybridError::FileSystem { text: text.to_owned(), about };
    let stack: Stack = format!("hdd-7200-cmr/{text}")
        .parse()
        .map_err(|_| bad(format!("write one of {} with its settings", FILE_SYSTEMS.join(", "))))?;
    let [layer] = stack.layers.as_slice() else {
        return Err(bad("name one file system".to_owned()));
    };
    if !FILE_SYSTEMS.contains(&layer.name.as_str()) {
        let near = block::names::did_you_mean(&layer.name, FILE_SYSTEMS);
        return Err(bad(format!("it is none of {}.{near}", FILE_SYSTEMS.join(", "))));
    }
    let is_placement = |key: &str| key.ends_with("-on") || key == "small";
    if let Some((key, _)) = layer.settings.iter().find(|(key, _)| is_placement(key)) {
        return Err(bad(format!("leave `{key}=` out: each way says what lies where")));
    }
    Ok(layer.clone())
}

impl TreeAnswer {
    /// Answers; `progress` hears how many of how many places are done, `stop` ends it.
    ///
    /// # Errors
    /// What cannot be modelled, in a sentence with the cure.
    pub fn new(
        question: TreeQuestion,
        catalog: &Catalog,
        by: &MeasuredBy,
        progress: &(dyn Fn(usize, usize) + Sync),
        stop: &AtomicBool,
    ) -> Result<Self, HybridError> {
        way::check(&question.disks, &question.ssds, question.seed, catalog)?;
        let places = places(&question, catalog)?;
        let trials = Trials::new(by, stop);
        let threads = crate::threads();
        let one = |place: &Place| trials.run(question.order(place)?, &question.stack(place));
        let runs = study::in_parallel(&places, threads, progress, |_| 1, one);
        let mut runs = places.into_iter().zip(runs);
        // Without the disks there is nothing to compare with.
        let (place, ran) = runs.next().expect("the disks are always a place");
        let ran = ran?;
        let mut left_out: Vec<(Place, String)> = nowhere(&ran.record.left_out);
        let is_somewhere =
            |cell: &&LeftOut| ran.record.left_out.iter().all(|nowhere| nowhere.name != cell.name);
        let disks = question.found(place, &ran, None, catalog);
        let mut found = Vec::new();
        for (place, ran) in runs {
            match ran {
                Err(HybridError::Stopped) => return Err(HybridError::Stopped),
                Err(error) => left_out.push((place, error.to_string())),
                // What has fewer cells than the disks cannot be compared with them.
                Ok(here) => match here.record.left_out.iter().find(is_somewhere) {
                    Some(cell) => left_out.push((place, without(cell))),
                    None => found.push(question.found(place, &here, Some(&disks), catalog)),
                },
            }
        }
        found.push(disks);
        found.sort_by(|a, b| b.iops.total_cmp(&a.iops));
        Ok(Self { question, found, left_out })
    }

    /// The disks without flash.
    pub fn disks(&self) -> &TreeFound {
        let disks = self.found.iter().find(|found| found.place == Place::Disks);
        disks.expect("they are always a place")
    }

    /// The fastest of those with disks and flash.
    pub fn best_beside(&self) -> Option<&TreeFound> {
        self.found.iter().find(|found| found.place.beside().is_some())
    }

    /// How many times what the disks alone do.
    pub fn gain(&self, found: &TreeFound) -> f64 {
        found.iops / self.disks().iops
    }
}

/// Cells that do not run on any of these models, those of one reason together.
fn nowhere(cells: &[LeftOut]) -> Vec<(Place, String)> {
    let of_one_reason = cells.chunk_by(|one, other| one.reason == other.reason);
    let told = of_one_reason.map(|cells| {
        let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
        (Place::Disks, format!("{}: {}", names.join(", "), cells[0].reason))
    });
    told.collect()
}

/// A cell that a place is without, and why.
fn without(cell: &LeftOut) -> String {
    format!("{}: {}", cell.name, cell.reason)
}

/// The disks first.
fn places(question: &TreeQuestion, catalog: &Catalog) -> Result<Vec<Place>, HybridError> {
    let written = question.written_bytes()?;
    let mut places = vec![Place::Disks];
    for ssd in &question.ssds {
        let holds = catalog.drive(ssd).map_or(u64::MAX, |drive| drive.capacity_bytes);
        let large = || written.saturating_mul(2).min(1 << 62).next_power_of_two();
        let fits = question.block_bytes.saturating_mul(CACHE_BLOCKS_MAX);
        let chosen = || large().max(CACHE_BYTES_MIN).min(fits);
        let size_bytes = question.size_bytes.unwrap_or_else(chosen).min(holds);
        let ssd = || ssd.clone();
        places.push(Place::Flash { ssd: ssd() });
        let modes = question.modes.iter();
        places.extend(modes.map(|mode| Place::Cache { ssd: ssd(), size_bytes, mode: *mode }));
        places.push(Place::Journal { ssd: ssd() });
        places.push(Place::Metadata { ssd: ssd() });
        places.push(Place::SmallFiles { ssd: ssd(), small_bytes: question.small_bytes });
    }
    Ok(places)
}

impl TreeQuestion {
    /// Bytes of files that the method writes at each place, at most.
    ///
    /// # Errors
    /// What cannot be run on the disks.
    pub fn written_bytes(&self) -> Result<u64, HybridError> {
        Ok(Prepared::new(self.order(&Place::Disks)?)?.foresee().written_bytes)
    }

    fn stack(&self, place: &Place) -> Stack {
        place.stack(&self.disks, &self.file_system, self.block_bytes)
    }

    /// One pass of the method at a place.
    fn order(&self, place: &Place) -> Result<RunOrder, HybridError> {
        let options = Options { seed: self.seed, passes: Some(1), ..Options::default() };
        let (name, text) = &self.method;
        let method = Order::new(name, text, &[], &options, BTreeMap::new());
        Ok(RunOrder {
            targets: vec![TargetText::Model(self.stack(place))],
            method: method.map_err(run::CannotRun::from)?,
            consent: Default::default(),
            purge: Purge::Nothing,
            wear: Wear::AgreedTo,
        })
    }

    /// What a run found. The time is that of the operations of `disks`, or of its own.
    fn found(
        &self,
        place: Place,
        Ran { record, flash_bytes }: &Ran,
        disks: Option<&TreeFound>,
        catalog: &Catalog,
    ) -> TreeFound {
        let cells = record.cells.iter().map(|cell| CellFound {
            name: cell.name.clone(),
            operations: cell.total.operations,
            iops: cell.iops,
            p99_ns: cell.latency.as_ref().and_then(|latency| latency.percentile(99.0)),
            is_cached: cell.flags.contains(&Flag::CacheServed),
        });
        let cells: Vec<CellFound> = cells.collect();
        let iops = together(&cells, disks.map_or(&cells, |disks| &disks.cells));
        let stack = self.stack(&place);
        let prices = &self.prices;
        let price = |name: &str| prices.of(name, catalog);
        let disks_price = || prices.of_all(&self.disks, catalog);
        let price = match &place {
            Place::Flash { ssd } => price(ssd),
            _ => place.beside().map_or_else(disks_price, |ssd| Some(disks_price()? + price(ssd)?)),
        };
        let capacity_bytes = record.targets[0].capacity_bytes;
        TreeFound { place, stack, price, cells, capacity_bytes, flash_bytes: *flash_bytes, iops }
    }
}

/// Operations a second of all cells together: as many of each as `counted` has, one cell after the
/// other.
fn together(cells: &[CellFound], counted: &[CellFound]) -> f64 {
    let operations = |cell: &CellFound| cell.operations as f64;
    let seconds: f64 =
        cells.iter().zip(counted).map(|(cell, counted)| operations(counted) / cell.iops).sum();
    counted.iter().map(operations).sum::<f64>() / seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(operations: u64, iops: f64) -> CellFound {
        CellFound { name: "a".to_owned(), operations, iops, p99_ns: None, is_cached: false }
    }

    #[test]
    fn cells_count_by_the_time_that_the_same_operations_take() {
        let disks = [cell(100, 10.0), cell(1000, 1000.0)];
        assert_eq!(together(&disks, &disks), 1100.0 / 11.0);
        // Another number of operations here is of no account.
        let flash = [cell(7, 100.0), cell(9, 1000.0)];
        assert_eq!(together(&flash, &disks), 1100.0 / 2.0);
    }

    #[test]
    fn a_file_system_is_named_with_settings_but_without_places() {
        assert_eq!(file_system("xfs:ram=256M").expect("a layer").to_string(), "xfs:ram=256M");
        for (text, told) in [
            ("ext5", "it is none of ext3, ext4, xfs. Did you mean `ext3` or"),
            ("ext2", "none of"),
            ("raid5", "none of"),
            ("ext4:metadata-on=nvme-tlc", "leave `metadata-on=` out"),
            ("ext4:small=4K", "leave `small=` out"),
            ("ext4/xfs", "name one file system"),
            ("ext4:", "write one of ext3, ext4, xfs"),
        ] {
            let error = file_system(text).expect_err(text).to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
