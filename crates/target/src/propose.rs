//! A measured run becomes a proposal for the catalog: least squares where cells tell, typical
//! values where none does.
//!
//! ```text
//!   cells of a run                                parameters
//!   random reads, one in flight, by size    ->    fixed time and rate        T(s) = a + s / B
//!   random reads, many in flight            ->    the controller's share, and how many planes work
//!   random writes, one in flight, by size   ->    fixed time and rate
//!   sequential reads, sequential writes     ->    stream rates
//!   durable writes                          ->    flush and write-through
//! ```
//!
//! A run of method `characterise` has more to tell: its numbers are sought on models that do the
//! run's cells (`fitted.rs`), from the same closed forms.

mod curve;
mod figures;
mod fitted;
mod quota;
mod rotating;
mod sheet;
mod twin;

use crate::catalog::{DriveEntry, DriveSettings};
use record::{Cell, Record, TargetInfo, TargetKind};
use std::fmt::Write;

/// Why a run proposes nothing, with the cure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoProposal {
    /// It compares.
    #[error("run {run} compares two targets: a proposal is made from a run over one")]
    TwoTargets {
        /// Its number.
        run: String,
    },
    /// It measured models.
    #[error(
        "run {run} measured modelled drives ({target}): their numbers are in the catalog: \
         `drivelab drives NAME`"
    )]
    Modelled {
        /// Its number.
        run: String,
        /// As it was named.
        target: String,
    },
    /// It measured something that is not one drive.
    #[error(
        "run {run} measured {what} ({target}): measure one drive by itself, and propose from that \
         run"
    )]
    NotOneDrive {
        /// Its number.
        run: String,
        /// As it was named.
        target: String,
        /// What it is.
        what: &'static str,
    },
    /// Cells that the fit needs are not there.
    #[error("run {run} has no {what}, which a fit needs")]
    Missing {
        /// Its number.
        run: String,
        /// Which cells.
        what: &'static str,
    },
    /// A run of the method for it, of which cells are not there.
    #[error("run {run} has no cells `{what}`, which a fit needs")]
    NotWhole {
        /// Its number.
        run: String,
        /// Which.
        what: &'static str,
    },
}

/// A file for the catalog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// The file.
    pub toml: String,
    /// What the model of it gives beside what was measured, in lines; none for closed forms.
    pub errors: Vec<String>,
}

/// A line through times of operations of several sizes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Line {
    /// What every operation takes, ns.
    fixed_ns: f64,
    /// What a byte takes on top, ns.
    ns_per_byte: f64,
    /// Sizes it goes through.
    cells: usize,
    /// Mean of the relative errors.
    error: f64,
}

impl Line {
    /// Least squares of the relative error over (bytes, ns); neither number below 0.
    fn through(points: &[(f64, f64)]) -> Self {
        let mean = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&(bytes, ns)| of(bytes, ns) / (ns * ns)).sum()
        };
        let (one, x, xx) = (mean(&|_, _| 1.0), mean(&|b, _| b), mean(&|b, _| b * b));
        let (y, xy) = (mean(&|_, t| t), mean(&|b, t| b * t));
        let determinant = one * xx - x * x;
        let slope = if determinant > 0.0 { (one * xy - x * y) / determinant } else { 0.0 };
        let slope = slope.max(0.0);
        let fixed = ((y - slope * x) / one).max(0.0);
        let slope = if fixed == 0.0 { xy / xx } else { slope };
        let miss = |&(bytes, ns): &(f64, f64)| ((fixed + slope * bytes) / ns - 1.0).abs();
        let error = points.iter().map(miss).sum::<f64>() / points.len() as f64;
        Self { fixed_ns: fixed, ns_per_byte: slope, cells: points.len(), error }
    }
}

/// What the run's cells say, in the words of the model.
struct Seen<'r> {
    record: &'r Record,
    target: &'r TargetInfo,
    reads: Line,
    writes: Line,
    /// Rate of the most reads in flight: operations per second, in flight, and their bytes.
    deep: (f64, f64, f64),
    stream_read_bytes_per_s: f64,
    stream_write_bytes_per_s: f64,
    /// Of sequential writes that no write cache could hold; 0 without any.
    sustained_write_bytes_per_s: f64,
    /// Time of a durable write beyond a plain one, ns.
    durable_ns: Option<f64>,
    /// A read anywhere, ns, where the others are of a part.
    wide_ns: Option<f64>,
}

/// A TOML for the catalog, from a run over one target. `tell` hears in a few words what is sought.
///
/// # Errors
/// When the run lacks the cells that a fit needs.
pub fn propose(record: &Record, tell: &mut dyn FnMut(&str)) -> Result<Proposal, NoProposal> {
    if quota::is_measured(record) {
        return Ok(Proposal { toml: quota::propose(record)?, errors: Vec::new() });
    }
    if record.method.name == "characterise" {
        return characterised(record, tell);
    }
    let seen = Seen::of(record)?;
    let toml = if seen.turns() { seen.disk() } else { seen.page_mapped() };
    Ok(Proposal { toml, errors: Vec::new() })
}

fn characterised(record: &Record, tell: &mut dyn FnMut(&str)) -> Result<Proposal, NoProposal> {
    let target = one_drive(record)?;
    let figures = figures::Figures::of(record, target)?;
    let bench = twin::Bench::new(&figures);
    let seen = Seen::of_figures(record, target, &figures, &bench)?;
    if seen.turns() {
        return Ok(rotating::fit(&seen, &figures, &bench, tell));
    }
    let closed = DriveEntry::parse("the proposed drive", &seen.page_mapped());
    let base = closed.and_then(|entry| entry.page_mapped(&DriveSettings::default()));
    let base = base.expect("a file of our own writing can be read");
    let fitted = fitted::Fit::new(base, &figures, &bench, tell).run();
    tell("the errors of all");
    Ok(sheet::proposal(&seen, &fitted, &figures, &bench))
}

/// The run's only target, if that is one drive.
fn one_drive(record: &Record) -> Result<&TargetInfo, NoProposal> {
    let [target] = &record.targets[..] else {
        return Err(NoProposal::TwoTargets { run: record.id.clone() });
    };
    refuse_what_is_no_drive(target, record)?;
    Ok(target)
}

/// The numbers of an array or of a model are no drive's.
fn refuse_what_is_no_drive(target: &TargetInfo, record: &Record) -> Result<(), NoProposal> {
    let refuse = |what| {
        let (run, target) = (record.id.clone(), target.text.clone());
        Err(NoProposal::NotOneDrive { run, target, what })
    };
    match target.kind {
        TargetKind::Model => {
            let (run, target) = (record.id.clone(), target.text.clone());
            return Err(NoProposal::Modelled { run, target });
        }
        TargetKind::Flash => return refuse("a managed volume"),
        TargetKind::Memory | TargetKind::Null => return refuse("no drive"),
        TargetKind::Imported => return refuse("what another program measured"),
        TargetKind::Directory
        | TargetKind::File
        | TargetKind::NewFile
        | TargetKind::BlockDevice => {}
    }
    let drives = target.stack.iter().filter(|layer| layer.drive.is_some()).count();
    let is_array = |kind: &str| kind == "array" || kind.starts_with("md-raid");
    match drives > 1 || target.stack.iter().any(|layer| is_array(&layer.kind)) {
        true => refuse("an array"),
        false => Ok(()),
    }
}

fn in_flight(cell: &Cell) -> u32 {
    cell.threads * cell.queue_depth
}

impl<'r> Seen<'r> {
    fn of(record: &'r Record) -> Result<Self, NoProposal> {
        let target = one_drive(record)?;
        let direct = || {
            let of = |cell: &&Cell| cell.io.starts_with("direct") && cell.iops > 0.0;
            record.cells.iter().filter(of)
        };
        let plain = || direct().filter(|cell| cell.io == "direct");
        let random =
            |op: &'static str| plain().filter(move |cell| is_random(cell) && cell.op == op);
        let line = |op: &'static str| -> Vec<(f64, f64)> {
            let alone = random(op).filter(|cell| in_flight(cell) == 1);
            alone.map(|cell| (cell.block_bytes as f64, 1e9 / cell.iops)).collect()
        };
        let sequential =
            |op: &'static str| plain().filter(move |cell| cell.op == op && cell.pattern == "seq");
        let best = |op| sequential(op).map(|cell| cell.bytes_per_s).reduce(f64::max);
        let long = sequential("write").filter(|cell| cell.total.bytes >= CACHE_BYTES_MAX);
        let missing = |what| NoProposal::Missing { run: record.id.clone(), what };
        let (reads, writes) = (line("read"), line("write"));
        if distinct(&reads) < 3 {
            return Err(missing("direct random reads of three sizes with one in flight"));
        }
        if distinct(&writes) < 3 {
            return Err(missing("direct random writes of three sizes with one in flight"));
        }
        let deep = random("read")
            .filter(|cell| in_flight(cell) > 1 && cell.block_bytes <= 16_384)
            .map(|cell| (cell.iops, f64::from(in_flight(cell)), cell.block_bytes as f64))
            .reduce(|a, b| if b.0 > a.0 { b } else { a });
        let (reads, writes) = (Line::through(&reads), Line::through(&writes));
        let durable =
            direct().find(|cell| cell.io != "direct" && cell.op == "write" && in_flight(cell) == 1);
        let durable_ns = durable.map(|cell| {
            let plain_ns = writes.fixed_ns + writes.ns_per_byte * cell.block_bytes as f64;
            (1e9 / cell.iops - plain_ns).max(0.0)
        });
        Ok(Self {
            record,
            target,
            reads,
            writes,
            deep: deep.ok_or_else(|| missing("random reads with several in flight"))?,
            stream_read_bytes_per_s: best("read").ok_or_else(|| missing("sequential reads"))?,
            stream_write_bytes_per_s: best("write").ok_or_else(|| missing("sequential writes"))?,
            sustained_write_bytes_per_s: long.map(|cell| cell.bytes_per_s).fold(0.0, f64::max),
            durable_ns,
            wide_ns: None,
        })
    }

    /// Of a run of method `characterise`.
    fn of_figures(
        record: &'r Record,
        target: &'r TargetInfo,
        figures: &figures::Figures,
        bench: &twin::Bench,
    ) -> Result<Self, NoProposal> {
        let sizes = figures.reads.iter().filter(|(name, _)| name.starts_with("size-"));
        let times = sizes.filter_map(|(name, iops)| Some((bench.block_bytes(name)?, 1e9 / iops)));
        let reads = Line::through(&times.collect::<Vec<_>>());
        let streams = figures.streams.iter();
        let streams = streams.filter_map(|(name, iops)| Some(iops * bench.block_bytes(name)?));
        let most = figures.reads.iter().map(|(_, iops)| *iops).fold(0.0, f64::max);
        let written = figures.fill.curve.steps()[0].bytes_per_s;
        Ok(Self {
            record,
            target,
            reads,
            writes: Line::through(&figures.paced),
            deep: (most, 256.0, 4096.0),
            stream_read_bytes_per_s: streams.fold(0.0, f64::max),
            stream_write_bytes_per_s: written,
            sustained_write_bytes_per_s: if figures.fill.bytes >= CACHE_BYTES_MAX {
                figures.fill.curve.tail()
            } else {
                0.0
            },
            durable_ns: figures.durable_ns,
            wide_ns: figures.wide_ns,
        })
    }

    /// Whether it is a disk: what the kernel says, unless it reads faster than one turns.
    fn turns(&self) -> bool {
        self.is_called_rotating() && self.reads.fixed_ns >= TURNING_NS_MIN
    }

    /// What the kernel says of the drive: of a virtual one often what nobody told it.
    fn is_called_rotating(&self) -> bool {
        self.target.stack.iter().any(|layer| {
            layer.drive.is_some()
                && layer.queue.as_ref().is_some_and(|queue| queue.rotational == Some(true))
        })
    }

    fn page_mapped(&self) -> String {
        let (deep_iops, in_flight, deep_bytes) = self.deep;
        let link_ns = self.reads.ns_per_byte * deep_bytes;
        // With many in flight the controller is the limit, or the flash: its share is at most what
        // is left.
        let command_ns = (1e9 / deep_iops - link_ns).clamp(0.0, self.reads.fixed_ns / 2.0);
        let page_ns = PAGE_BYTES / CHANNEL_BYTES_PER_S * 1e9;
        let array_ns = (self.reads.fixed_ns - command_ns - page_ns).max(1_000.0);
        let busy = deep_iops * (self.reads.fixed_ns + link_ns) / 1e9;
        // Planes enough for the reads that were seen at once, and to program what was seen written,
        // with room.
        let programming = self.stream_write_bytes_per_s.max(1e9 / self.writes.ns_per_byte.max(1.0))
            * PROGRAM_US
            / 1e6
            / NAND_PAGE_BYTES;
        let planes = (2.0 * busy).max(1.25 * programming).max(64.0) as u64;
        let channels = planes.next_power_of_two().min(1024) / 8;
        let mut toml = self.head("page-mapped");
        let fit = |what: &str, line: &Line| self.source(what, line);
        let deep = format!(
            "{}: {deep_iops:.0} random reads a second, {in_flight:.0} in flight",
            self.run()
        );
        for (name, value, unit, from, source) in [
            ("over_provisioning", 7.0, "percent", "assumed", TYPICAL),
            ("channels", channels as f64, "count", "fit", &deep),
            ("dies_per_channel", 4.0, "count", "assumed", TYPICAL),
            ("planes_per_die", 2.0, "count", "assumed", TYPICAL),
            ("nand_page", NAND_PAGE_BYTES / 1024.0, "KiB", "assumed", TYPICAL),
            ("pages_per_block", 512.0, "count", "assumed", TYPICAL),
            ("read", array_ns / 1e3, "us", "fit", &fit("random reads", &self.reads)),
            ("program", PROGRAM_US, "us", "assumed", TYPICAL),
            ("erase", 5.0, "ms", "assumed", TYPICAL),
            ("channel_rate", CHANNEL_BYTES_PER_S / 1e6, "MB/s", "assumed", TYPICAL),
            ("read_command", command_ns / 1e3, "us", "fit", &deep),
            (
                "write_command",
                self.writes.fixed_ns / 1e3,
                "us",
                "fit",
                &fit("random writes", &self.writes),
            ),
            (
                "link_rate",
                rate(self.reads.ns_per_byte),
                "MB/s",
                "fit",
                &fit("random reads", &self.reads),
            ),
            (
                "stream_read_rate",
                self.stream_read_bytes_per_s / 1e6,
                "MB/s",
                "fit",
                &self.stream("reads"),
            ),
            (
                "stream_write_rate",
                self.stream_write_bytes_per_s / 1e6,
                "MB/s",
                "fit",
                &self.stream("writes"),
            ),
            (
                "random_write_rate",
                rate(self.writes.ns_per_byte),
                "MB/s",
                "fit",
                &fit("random writes", &self.writes),
            ),
            (
                "command_queue",
                in_flight.max(32.0),
                "count",
                "assumed",
                "at least as many as were in flight",
            ),
            ("write_buffer", 64.0, "MiB", "assumed", TYPICAL),
            ("endurance", 1500.0, "count", "assumed", TYPICAL),
        ] {
            parameter(&mut toml, name, value, unit, from, source);
        }
        self.durable(&mut toml, "flush");
        self.durable(&mut toml, "write_through");
        toml
    }

    fn disk(&self) -> String {
        const RPM: f64 = 7200.0;
        let half_turn_ns = 30e9 / RPM;
        let seek_ns = (self.reads.fixed_ns - half_turn_ns).max(100_000.0);
        let span = self.record.method.span_bytes as f64 / self.target.capacity_bytes.max(1) as f64;
        let mut toml = self.head("disk");
        let settle = format!(
            "{}, less half a revolution, over {:.1} % of the disk",
            self.source("random reads", &self.reads),
            100.0 * span
        );
        let outer = self.stream_read_bytes_per_s.max(self.sustained_write_bytes_per_s) / 1e6;
        let average_ms = (seek_ns / 1e6).max(8.5);
        let (seek_from, seek_source) = match self.wide_ns {
            Some(_) => ("fit", format!("{}: random reads over all of the area", self.run())),
            None => {
                let look = "look at the data sheet: a run over a part does not show it";
                ("assumed", look.to_owned())
            }
        };
        for (name, value, unit, from, source) in [
            ("rpm", RPM, "rpm", "assumed", "look at the data sheet: a run does not show it"),
            ("surfaces", 8.0, "count", "assumed", TYPICAL),
            ("outer_rate", outer, "MB/s", "fit", &self.stream("reads and writes")),
            ("inner_rate", outer / 2.0, "MB/s", "assumed", "half of the outer rate"),
            ("track_to_track", 0.8, "ms", "assumed", TYPICAL),
            ("average_seek", average_ms, "ms", seek_from, &seek_source),
            ("full_stroke", 2.0 * average_ms, "ms", "assumed", TYPICAL),
            ("settle", seek_ns / 1e6, "ms", "fit", &settle),
            ("write_settle", 0.5, "ms", "assumed", TYPICAL),
            ("command", 30.0, "us", "assumed", TYPICAL),
            ("link_rate", 600.0, "MB/s", "assumed", TYPICAL),
            ("command_queue", 32.0, "count", "assumed", TYPICAL),
            ("read_segments", 16.0, "count", "assumed", TYPICAL),
            ("read_segment", 1024.0, "KiB", "assumed", TYPICAL),
            ("write_cache", 64.0, "MiB", "assumed", TYPICAL),
            ("write_cache_commands", 64.0, "count", "assumed", TYPICAL),
        ] {
            parameter(&mut toml, name, value, unit, from, source);
        }
        toml
    }

    fn durable(&self, toml: &mut String, name: &str) {
        match self.durable_ns {
            Some(ns) => {
                let source = format!("{}: durable writes beyond plain ones", self.run());
                parameter(toml, name, ns / 1e3, "us", "fit", &source);
            }
            None => parameter(toml, name, 500.0, "us", "assumed", TYPICAL),
        }
    }

    fn head(&self, kind: &str) -> String {
        let drive =
            self.target.stack.iter().rev().find_map(|layer| Some((layer, layer.drive.as_ref()?)));
        let model = drive.and_then(|(_, drive)| drive.model.clone());
        let title = model.unwrap_or_else(|| format!("drive of run {}", self.record.id));
        let bytes = drive.map_or(self.target.capacity_bytes, |(layer, _)| layer.bytes);
        let (name, title) = (slug(&title), quoted(&title));
        let run = self.run();
        let how = match self.record.method.name.as_str() {
            "characterise" => "Fitted on",
            _ => "Proposed by closed forms from",
        };
        let doubt = if self.is_called_rotating() && kind != "disk" {
            let ms = self.reads.fixed_ns / 1e6;
            format!(
                " The kernel calls the drive rotating, and it read in {ms:.2} ms: no disk does."
            )
        } else {
            String::new()
        };
        format!(
            "# {how} {run}. Look at what is assumed, put in what a data sheet says, and keep it\n\
             # in ~/.config/drivelab/drives/{name}.toml to name it in a STACK.\n\
             name = \"{name}\"\n\
             title = \"{title}\"\n\
             kind = \"{kind}\"\n\
             about = \"{how} {run}: the host's own costs are in these numbers, so it stands on \
             a port that adds none.{doubt}\"\n\
             port = \"none\"\n\
             capacity = {{ value = {}, unit = \"MiB\" }}\n\n\
             [parameters]\n",
            (bytes >> 20).max(1)
        )
    }

    fn run(&self) -> String {
        format!("run {}", self.record.id)
    }

    fn source(&self, what: &str, line: &Line) -> String {
        format!(
            "{}: {what} of {} sizes, one in flight, mean error {:.1} %",
            self.run(),
            line.cells,
            100.0 * line.error
        )
    }

    fn stream(&self, what: &str) -> String {
        format!("{}: sequential {what}", self.run())
    }
}

/// No disk has a larger write cache than a quarter of a gibibyte, four times over.
const CACHE_BYTES_MAX: u64 = 1 << 30;
/// A disk's random reads wait half a revolution, 2 ms at 15,000 rpm, the fastest there were; half
/// of that leaves room for reads that its cache answers.
const TURNING_NS_MIN: f64 = 1e6;
/// What no run shows is taken from drives of the kind.
const TYPICAL: &str = "typical of drives sold from 2020 to 2026";
/// A rate of ONFI 5 that common drives use; it only splits a read's fixed time.
const CHANNEL_BYTES_PER_S: f64 = 1.2e9;
/// A page of flash with three bits a cell, and the time to program one, as makers of such flash
/// print them.
const NAND_PAGE_BYTES: f64 = 16_384.0;
const PROGRAM_US: f64 = 600.0;
/// The mapping unit: what a read moves over a channel before its first byte.
const PAGE_BYTES: f64 = 4096.0;

fn is_random(cell: &Cell) -> bool {
    ["random", "permutation"].contains(&cell.pattern.as_str())
}

fn distinct(points: &[(f64, f64)]) -> usize {
    let mut sizes: Vec<u64> = points.iter().map(|point| point.0 as u64).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.len()
}

/// MB/s; what costs nothing a byte is as fast as any link.
fn rate(ns_per_byte: f64) -> f64 {
    (1e3 / ns_per_byte).min(30_000.0)
}

fn parameter(toml: &mut String, name: &str, value: f64, unit: &str, from: &str, source: &str) {
    // Four digits: more were not measured.
    let digits = (3 - value.abs().max(1e-3).log10().floor() as i32).max(0) as usize;
    let value: f64 = format!("{value:.digits$}").parse().expect("its own digits");
    let line = format!(
        "{name} = {{ value = {value}, unit = \"{unit}\", from = \"{from}\", source = \"{}\" }}\n",
        quoted(source)
    );
    toml.write_str(&line).expect("a string takes it");
}

/// A text inside quotes of TOML.
fn quoted(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() && !"\"\\".contains(*letter)).collect()
}

/// Small letters, digits and `-`, apart from the catalog's own names.
fn slug(title: &str) -> String {
    let lower = title.to_ascii_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words = ["my"].into_iter().chain(words.filter(|word| !word.is_empty()));
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_exact_times_is_found_and_noise_is_shared() {
        let exact: Vec<(f64, f64)> =
            [512.0, 4096.0, 65_536.0].map(|bytes| (bytes, 40_000.0 + 8.0 * bytes)).into();
        let line = Line::through(&exact);
        assert!((line.fixed_ns - 40_000.0).abs() < 1e-3 && (line.ns_per_byte - 8.0).abs() < 1e-6);
        assert!(line.error < 1e-9);
        let flat = Line::through(&[(512.0, 100.0), (4096.0, 100.0)]);
        assert!((flat.fixed_ns - 100.0).abs() < 1e-6 && flat.ns_per_byte < 1e-9);
        let falling = Line::through(&[(512.0, 100.0), (4096.0, 50.0)]);
        assert_eq!(falling.ns_per_byte, 0.0, "no byte gives time back");
    }

    #[test]
    fn a_models_name_becomes_one_that_a_stack_can_hold() {
        assert_eq!(slug("Samsung SSD 980 PRO 1TB"), "my-samsung-ssd-980-pro-1tb");
        assert_eq!(slug("??"), "my");
    }
}
