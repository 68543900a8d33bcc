//! Which model and which trial stand for a printed figure, and whether the model was fitted on it.

mod today;

use crate::{BonniePhase, Cell, Figure, Load, Printed, Streams, Study, SurfaceTest};

/// A printed figure with the trial that should give it.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// What was printed.
    pub figure: Figure,
    /// The STACK, without `model:`.
    pub stack: String,
    /// What to do with it.
    pub trial: Trial,
    /// Whether the model has seen the figure.
    pub basis: Basis,
    /// Which part of the accuracy it counts for.
    pub group: Group,
}

/// Whether the model has seen a figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Parameters of this part of the catalog were fitted on it.
    Fitted(&'static str),
    /// It has not.
    Predicted,
}

impl Basis {
    /// The word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fitted(_) => "fitted",
            Self::Predicted => "predicted",
        }
    }
}

/// A part of the accuracy with one target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// CMU's Tables II to V, through ext3.
    CmuFiles,
    /// EasyCo's single drives, both controllers.
    EasycoDrives,
    /// EasyCo's four drives in RAID-5.
    EasycoFour,
    /// EasyCo's eight drives in RAID-5, md.
    EasycoEightMd,
    /// EasyCo's eight drives in RAID-5, Highpoint's driver.
    EasycoEightHighpoint,
    /// The raw rows of the latency study.
    LatencyRaw,
    /// Its file-system rows.
    LatencyFiles,
    /// STFC's Tables 4 and 5.
    StfcRates,
    /// STFC's Tables 2 and 3: random as percent of sequential.
    StfcPercent,
    /// Drives of today.
    Today,
}

impl Group {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 10] = [
        Self::CmuFiles,
        Self::EasycoDrives,
        Self::EasycoFour,
        Self::EasycoEightMd,
        Self::EasycoEightHighpoint,
        Self::LatencyRaw,
        Self::LatencyFiles,
        Self::StfcRates,
        Self::StfcPercent,
        Self::Today,
    ];

    /// The word on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::CmuFiles => "cmu",
            Self::EasycoDrives => "easyco",
            Self::EasycoFour => "raid5-4",
            Self::EasycoEightMd => "raid5-8-md",
            Self::EasycoEightHighpoint => "raid5-8-highpoint",
            Self::LatencyRaw => "latency-raw",
            Self::LatencyFiles => "latency-files",
            Self::StfcRates => "stfc-rates",
            Self::StfcPercent => "stfc-percent",
            Self::Today => "today",
        }
    }

    /// What a report calls it.
    pub fn title(self) -> &'static str {
        match self {
            Self::CmuFiles => "CMU Tables II-V, through ext3",
            Self::EasycoDrives => "EasyCo single drives, both controllers",
            Self::EasycoFour => "EasyCo 4-drive RAID-5, md",
            Self::EasycoEightMd => "EasyCo 8-drive RAID-5, md",
            Self::EasycoEightHighpoint => "EasyCo 8-drive RAID-5, Highpoint",
            Self::LatencyRaw => "latency study, raw",
            Self::LatencyFiles => "latency study, file systems",
            Self::StfcRates => "STFC Tables 4 and 5",
            Self::StfcPercent => "STFC Tables 2 and 3",
            Self::Today => "drives of today",
        }
    }
}

/// What is done to a stack to get a figure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trial {
    /// Random, aligned, direct operations over the whole of it.
    Direct {
        /// Reads or writes.
        op: Op,
        /// Bytes each.
        block_bytes: u32,
        /// Threads, one operation in flight each.
        threads: u16,
    },
    /// As [`Self::Direct`], nine in ten of them in a small part at the front, which a cache or a
    /// tier has found by then.
    Hot {
        /// Reads or writes.
        op: Op,
        /// Bytes each.
        block_bytes: u32,
        /// Threads, one operation in flight each.
        threads: u16,
    },
    /// Aligned, direct operations of one thread from the front on.
    Linear {
        /// Reads or writes.
        op: Op,
        /// Bytes each.
        block_bytes: u32,
    },
    /// As [`Self::Direct`], on a managed volume that holds data.
    Managed {
        /// Reads or writes.
        op: Op,
        /// Bytes each.
        block_bytes: u32,
        /// Threads, one operation in flight each.
        threads: u16,
        /// What was written before.
        before: Before,
    },
    /// One pass over a file through the page cache.
    File {
        /// Reads or writes.
        op: Op,
        /// In which order.
        order: Order,
        /// Bytes a record.
        block_bytes: u32,
        /// Size of the file.
        file_bytes: u64,
        /// Whether the final flush is part of the time.
        flush: Flush,
    },
    /// Random pass over a file as percent of the sequential one.
    FilePercent {
        /// Reads or writes.
        op: Op,
        /// Bytes a record.
        block_bytes: u32,
        /// Size of the file.
        file_bytes: u64,
    },
    /// Readers side by side on a file system, as read-ahead and elevators serve them.
    Streams(Streams),
    /// 512 B writes at the end of a growing file, or of a raw drive, each durable before the next.
    SyncWrites,
    /// Durable writes of 128 MiB.
    SyncBandwidth,
    /// A phase of Bonnie++'s.
    Bonnie(BonniePhase),
    /// Messages delivered durably to a mail server's file system.
    Deliveries,
    /// One test of IOzone's on a file of its own.
    Surface {
        /// Which.
        test: SurfaceTest,
        /// Bytes a record.
        record_bytes: u32,
        /// Size of the file.
        file_bytes: u64,
    },
    /// On a drive that is full of data, of which the second half is then deleted.
    Deleted {
        /// Whether the drive hears of it.
        is_told: bool,
        /// What is done next.
        then: Then,
    },
    /// Latency under load.
    Load(Load),
    /// The drive written whole in order, so many writes at a time.
    Fill {
        /// So many.
        depth: u16,
    },
}

impl Trial {
    /// Which way its bytes go.
    pub fn op(&self) -> Op {
        match *self {
            Self::Direct { op, .. }
            | Self::Hot { op, .. }
            | Self::Linear { op, .. }
            | Self::Managed { op, .. }
            | Self::File { op, .. }
            | Self::FilePercent { op, .. } => op,
            Self::Surface { test, .. } => test.op(),
            Self::Bonnie(_) | Self::Streams(_) => Op::Read,
            Self::Load(load) => load.op,
            Self::SyncWrites
            | Self::SyncBandwidth
            | Self::Deleted { .. }
            | Self::Deliveries
            | Self::Fill { .. } => Op::Write,
        }
    }
}

/// What is done to a used drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Then {
    /// As [`Trial::SyncWrites`], into the half that was deleted.
    SyncWrites,
    /// 4 KiB over what is left, at random and eight at a time, until the rate lasts.
    Overwrites,
}

/// What was written to a managed volume before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Before {
    /// Everything once, in order. Writes are a burst into half of the free space, with the flush
    /// that ends it.
    Filled,
    /// Everything once, in order, then at random until the rate lasts: every write is paid for by
    /// cleaning.
    Overwritten,
}

/// Which way the bytes go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Op {
    /// From the drive.
    Read,
    /// To it.
    Write,
}

impl From<Op> for lab::workload::Op {
    fn from(op: Op) -> Self {
        match op {
            Op::Read => Self::Read,
            Op::Write => Self::Write,
        }
    }
}

/// In which order a file is walked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// Front to back.
    Sequential,
    /// Each record once, at random.
    Random,
}

/// Whether the final flush is part of the time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Flush {
    /// It is (IOzone's -e).
    Timed,
    /// The clock has stopped before.
    Untimed,
}

/// Every figure of the carried studies that a model of this release stands for.
pub fn cases() -> Vec<Case> {
    let figures = Study::ALL.into_iter().flat_map(Study::figures);
    figures.filter_map(case).collect()
}

/// Whether the model of a cell has seen what is printed in it. `None` where no trial stands for the
/// cell, or something of ours that does the same job.
pub fn basis(cell: &Cell) -> Option<Basis> {
    if cell.stack.is_some() {
        return Some(Basis::Predicted);
    }
    let case = case(cell.figure.clone())?;
    let is_printed = matches!(cell.printed, Printed::Figure(..));
    Some(if is_printed { case.basis } else { Basis::Predicted })
}

/// A stack, and what is done with it.
#[derive(Clone, PartialEq, Debug)]
pub struct Setup {
    /// The STACK, without `model:`.
    pub stack: String,
    /// What to do with it.
    pub trial: Trial,
}

/// What stands for a cell of a table, if anything does.
pub fn setup(cell: &Cell) -> Option<Setup> {
    let figure = &cell.figure;
    if let Some(stack) = &cell.stack {
        return Some(Setup { stack: stack.clone(), trial: added(figure, stack)? });
    }
    if let Some(case) = case(figure.clone()) {
        return Some(Setup { stack: case.stack, trial: case.trial });
    }
    managed_flash(figure)
}

/// What a cell of an added table asks for.
fn added(figure: &Figure, stack: &str) -> Option<Trial> {
    if let Some(told) = figure.setting("told") {
        let then = match figure.metric.as_str() {
            "ms" => Then::SyncWrites,
            _ => Then::Overwrites,
        };
        return Some(Trial::Deleted { is_told: told == "yes", then });
    }
    match BonniePhase::named(&figure.op) {
        Some(phase) => return Some(Trial::Bonnie(phase)),
        None if figure.op == "deliver" => return Some(Trial::Deliveries),
        None => {}
    }
    if let Some(test) = SurfaceTest::named(&figure.op) {
        let file_bytes = figure.setting("file")?.parse().ok()?;
        let record_bytes = figure.block_bytes? as u32;
        return Some(Trial::Surface { test, record_bytes, file_bytes });
    }
    let (op, block_bytes) = (op_of(figure)?, figure.block_bytes? as u32);
    if stack.contains("/ext2") {
        let (readers, order) = (figure.threads?, order_of(figure));
        return Some(Streams { readers, order, block_bytes }.trial());
    }
    if stack.contains("/ext3") {
        let (order, file_bytes, flush) = (order_of(figure), CMU_FILE_BYTES, Flush::Timed);
        return Some(Trial::File { op, order, block_bytes, file_bytes, flush });
    }
    if order_of(figure) == Order::Sequential {
        return Some(Trial::Linear { op, block_bytes });
    }
    let threads = figure.threads?;
    if figure.op.starts_with("hot-") {
        return Some(Trial::Hot { op, block_bytes, threads });
    }
    if !stack.contains("/flash") {
        return Some(Trial::Direct { op, block_bytes, threads });
    }
    let sustained = figure.op.starts_with("sustained");
    let before = if sustained { Before::Overwritten } else { Before::Filled };
    Some(Trial::Managed { op, block_bytes, threads, before })
}

/// EasyCo's tables of managed flash: the same trials through the layer `/flash`, on 2 GiB a drive
/// of data, for no distance counts on these drives. No accuracy is counted for them: the layer is
/// ours and no model of theirs.
fn managed_flash(figure: &Figure) -> Option<Setup> {
    let below = match (figure.study, figure.table.as_str()) {
        (Study::Easyco2007, "MFT single") => "mtron-pro-32/flash:drive-size=2G".to_owned(),
        (Study::Easyco2007, "MFT 4-drive RAID-5") => {
            "4xmtron-pro-32/raid5:chunk=64K,driver=md/flash:drive-size=6G".to_owned()
        }
        (Study::Easyco2007, "MFT 8-drive RAID-5") => format!("{EIGHT}md/flash:drive-size=14G"),
        _ => return None,
    };
    if figure.metric != "iops" {
        return None;
    }
    Some(Setup { trial: added(figure, &below)?, stack: below })
}

fn direct(figure: &Figure) -> Option<Trial> {
    Some(Trial::Direct {
        op: op_of(figure)?,
        block_bytes: figure.block_bytes? as u32,
        threads: figure.threads?,
    })
}

/// EasyCo's eight drives, but for the driver's name.
const EIGHT: &str = "4xmtron-pro-32+4xmtron-mobi-32/raid5:chunk=64K,driver=";

fn case(figure: Figure) -> Option<Case> {
    let (group, basis, stack, trial) = match figure.study {
        Study::Cmu2009 => cmu(&figure),
        Study::Easyco2007 => easyco(&figure),
        Study::Latency2016 => latency(&figure),
        Study::Stfc2009 => stfc(&figure),
        // Its figures need file trees, or a drive that it does not describe.
        Study::Martin2008 => None,
        Study::Today => today::case(&figure),
    }?;
    Some(Case { figure, stack, trial, basis, group })
}

type Parts = (Group, Basis, String, Trial);

fn op_of(figure: &Figure) -> Option<Op> {
    match figure.op.rsplit_once('-')?.1 {
        "read" => Some(Op::Read),
        "write" => Some(Op::Write),
        _ => None,
    }
}

fn order_of(figure: &Figure) -> Order {
    if figure.op.starts_with("seq") { Order::Sequential } else { Order::Random }
}

/// The catalog's name of a device as a word that outlives the figure.
fn fitted_on(device: &str) -> Basis {
    const DRIVES: &[&str] = &[
        "mtron-mobi-16",
        "memoright-gt-16",
        "intel-x25m-80",
        "intel-x25e-32",
        "fusionio-iodrive-80",
        "seagate-barracuda-7200.11-750",
        "seagate-st3300007lw",
        "seagate-st3300655lc",
        "mtron-pro-32",
        "mtron-mobi-32",
        "samsung-850pro-256",
        "crucial-m4-128",
        "intel-520-120",
        "crucial-m550-1t",
        "wd-1002fbys",
        "hitachi-a7k1000-750",
        "memoright-mr25.2-128",
        "intel-x25e-64",
    ];
    let name = DRIVES.iter().find(|name| **name == device);
    Basis::Fitted(name.unwrap_or_else(|| panic!("{device} is no drive of the fit")))
}

/// The file of CMU's IOzone.
const CMU_FILE_BYTES: u64 = 4 << 30;

/// IOzone with a file of 4 GiB, fsync in the timing, remounted before each test; the hosts' memory
/// as in the study's section on its hosts.
fn cmu(figure: &Figure) -> Option<Parts> {
    if !["II", "III", "IV", "V"].contains(&figure.table.as_str()) {
        return None;
    }
    let ram = match figure.device.as_str() {
        "seagate-st3300655lc" => "900M",
        "seagate-st3300007lw" => "1G",
        "intel-x25m-80" | "intel-x25e-32" | "fusionio-iodrive-80" => "4G",
        _ => "2G",
    };
    let trial = Trial::File {
        op: op_of(figure)?,
        order: order_of(figure),
        block_bytes: figure.block_bytes? as u32,
        file_bytes: CMU_FILE_BYTES,
        flush: Flush::Timed,
    };
    let stack = format!("{}/ext3:ram={ram}", figure.device);
    Some((Group::CmuFiles, fitted_on(&figure.device), stack, trial))
}

/// bm-flash: random, aligned, direct.
fn easyco(figure: &Figure) -> Option<Parts> {
    if figure.metric != "iops" {
        return None;
    }
    let trial = direct(figure)?;
    let (group, basis, stack) = match figure.table.as_str() {
        "Mtron PRO bare" | "Mtron MOBI bare" => {
            (Group::EasycoDrives, fitted_on(&figure.device), figure.device.clone())
        }
        "Controller test onboard" => (
            Group::EasycoDrives,
            Basis::Fitted("onboard"),
            format!("{}:port=onboard", figure.device),
        ),
        "4-drive RAID-5 md" => {
            let stack = "4xmtron-pro-32/raid5:chunk=64K,driver=md".to_owned();
            (Group::EasycoFour, Basis::Predicted, stack)
        }
        "8-drive RAID-5 md" => {
            (Group::EasycoEightMd, host_basis(&trial, "md"), format!("{EIGHT}md"))
        }
        "8-drive RAID-5 Highpoint" => {
            let basis = host_basis(&trial, "highpoint");
            (Group::EasycoEightHighpoint, basis, format!("{EIGHT}highpoint"))
        }
        _ => return None,
    };
    Some((group, basis, stack, trial))
}

/// The cells that the hosts' numbers are fitted on: one serial number a driver, and one link.
fn host_basis(trial: &Trial, driver: &'static str) -> Basis {
    match *trial {
        Trial::Direct { op: Op::Read, block_bytes: 4096, threads: 40 } => Basis::Fitted(driver),
        Trial::Direct { op: Op::Read, block_bytes: 0x10_0000, threads: 10 } if driver == "md" => {
            Basis::Fitted("highpoint2320")
        }
        _ => Basis::Predicted,
    }
}

/// dd with oflag=direct,sync on a raw device, or into a new file.
fn latency(figure: &Figure) -> Option<Parts> {
    let trial = match (figure.table.as_str(), figure.op.as_str(), figure.metric.as_str()) {
        ("raw", "sync-write-latency", "ms") => Trial::SyncWrites,
        ("write cache effects", "sync-bandwidth", "mb_per_s") => Trial::SyncBandwidth,
        _ => return None,
    };
    // Its hosts of 3 Gbit/s send one command at a time.
    let port = match figure.device.as_str() {
        "samsung-850pro-256" | "crucial-m4-128" => ",port=sata300-single",
        _ => "",
    };
    let drive = format!("{}:write-cache={}{port}", figure.device, figure.setting("wc")?);
    let file_system = figure.setting("fs")?;
    if file_system == "raw" {
        return Some((Group::LatencyRaw, fitted_on(&figure.device), drive, trial));
    }
    let discard = if figure.setting("trim") == Some("yes") { "on" } else { "off" };
    let stack = format!("{drive}/{file_system}:discard={discard}");
    Some((Group::LatencyFiles, Basis::Predicted, stack, trial))
}

/// IOzone and dd on ext2, no flush in the timing, a file of twice the memory.
fn stfc(figure: &Figure) -> Option<Parts> {
    if figure.config == "spec" || figure.table == "text" {
        return None;
    }
    let (op, block_bytes) = (op_of(figure)?, figure.block_bytes? as u32);
    let memory_gib = if figure.device.starts_with("memoright") { 32 } else { 16 };
    let file_bytes = match figure.setting("tool")? {
        "dd" if figure.device.starts_with("intel") => 52 << 30,
        "dd" => 64 << 30,
        _ => (2 * memory_gib) << 30,
    };
    let stack = format!(
        "{}:port=3ware9650/ext2:ram={memory_gib}G,elevator=anticipatory,read-ahead=8M",
        figure.device
    );
    match (figure.table.as_str(), figure.metric.as_str()) {
        ("2" | "3", "percent") => {
            let trial = Trial::FilePercent { op, block_bytes, file_bytes };
            Some((Group::StfcPercent, Basis::Predicted, stack, trial))
        }
        ("4" | "5", "mb_per_s") => {
            let (order, flush) = (order_of(figure), Flush::Untimed);
            let trial = Trial::File { op, order, block_bytes, file_bytes, flush };
            Some((Group::StfcRates, fitted_on(&figure.device), stack, trial))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_figure_of_the_accuracy_has_a_case() {
        let mut counts: BTreeMap<Group, (usize, usize)> = BTreeMap::new();
        for case in cases() {
            let count = counts.entry(case.group).or_default();
            count.0 += usize::from(case.basis != Basis::Predicted);
            count.1 += usize::from(case.basis == Basis::Predicted);
        }
        let counts: Vec<_> = Group::ALL.iter().map(|group| counts[group]).collect();
        let expected = [
            (160, 0),
            (133, 0),
            (0, 43),
            (2, 48),
            (1, 49),
            (20, 0),
            (0, 40),
            (18, 0),
            (0, 48),
            (2051, 386),
        ];
        assert_eq!(counts, expected);
    }
}
