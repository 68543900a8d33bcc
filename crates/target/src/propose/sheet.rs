//! The file of a fitted drive, and how far its model is from what was measured, a line a mechanism.

use super::{
    Proposal, Seen, TYPICAL,
    figures::Figures,
    fitted::{Fitted, recovered},
    parameter, rate,
    twin::{Bench, Until},
};
use crate::catalog::{DriveEntry, DriveSettings, FITTED_MAX};
use block::display_bytes;
use model::{flash::page_mapped::PageMappedParams, nanoseconds_for};
use report::number::duration_ns;
use std::{fmt::Write, iter};

/// One figure, measured and modelled.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pair {
    /// Of what.
    pub name: String,
    /// By the run.
    pub measured: f64,
    /// By the model.
    pub modelled: f64,
    /// How it is written.
    pub unit: Unit,
}

/// How a figure is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// ns.
    Time,
    /// Bytes.
    Size,
    /// Bytes per second.
    Rate,
    /// Operations per second.
    Operations,
}

/// What the model says of one mechanism.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Mechanism {
    /// Its name.
    pub name: &'static str,
    /// Its figures.
    pub pairs: Vec<Pair>,
}

impl Pair {
    fn error(&self) -> f64 {
        (self.modelled / self.measured - 1.0).abs()
    }

    fn words(&self) -> String {
        let [measured, modelled] = [self.measured, self.modelled].map(|value| match self.unit {
            Unit::Time => duration_ns(value),
            Unit::Size => display_bytes(value.max(0.0) as u64),
            Unit::Rate => format!("{:.4} MB/s", Digits(value / 1e6)),
            Unit::Operations => format!("{:.4}/s", Digits(value)),
        });
        format!("{}: {measured}, {modelled}", self.name)
    }
}

/// A number of four digits.
struct Digits(f64);

impl std::fmt::Display for Digits {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let places = (3 - self.0.abs().max(1e-3).log10().floor() as i32).max(0) as usize;
        write!(formatter, "{:.*}", places.min(2), self.0)
    }
}

/// Lines of a table: mechanism, figures, mean error, the worst of them.
pub(super) fn table(mechanisms: &[Mechanism]) -> Vec<String> {
    let head = "mechanism              n    error  worst: measured, modelled".to_owned();
    let lines = mechanisms.iter().filter_map(|Mechanism { name, pairs }| {
        let worst = pairs.iter().max_by(|a, b| a.error().total_cmp(&b.error()))?;
        let mean = pairs.iter().map(Pair::error).sum::<f64>() / pairs.len() as f64;
        Some(format!("{name:<20} {:>3}  {:>5.1} %  {}", pairs.len(), mean * 100.0, worst.words()))
    });
    iter::once(head).chain(lines).collect()
}

/// The file and the errors of what stands in it.
pub(super) fn proposal(
    seen: &Seen<'_>,
    fitted: &Fitted,
    figures: &Figures,
    bench: &Bench,
) -> Proposal {
    let body = body(seen, fitted);
    let head = seen.head("page-mapped");
    let entry = DriveEntry::parse("the fitted drive", &format!("{head}{body}"));
    let entry = entry.expect("a file of our own writing can be read");
    // The digits that were left off count, too.
    let params = entry.page_mapped(&DriveSettings::default());
    let errors = table(&mechanisms(&params.expect("its numbers agree"), figures, bench));
    let mut toml = String::from("# The model beside the run:\n");
    for line in &errors {
        writeln!(toml, "#   {line}").expect("a string takes it");
    }
    for unseen in &fitted.unseen {
        writeln!(toml, "# Not seen: {unseen}.").expect("a string takes it");
    }
    Proposal { toml: toml + &head + &body, errors }
}

/// One number of the file.
type Number = (&'static str, f64, &'static str);

/// What stands below `[parameters]`: what was fitted, and then what was assumed.
fn body(seen: &Seen<'_>, fitted: &Fitted) -> String {
    let numbers = numbers(&fitted.params);
    let mut own: Vec<Number> = Vec::new();
    let mut rest: Vec<(Number, String)> = Vec::new();
    for number in numbers {
        match source(number.0) {
            Some(_) if fitted.fitted.contains(number.0) => own.push(number),
            _ => rest.push((number, TYPICAL.to_owned())),
        }
    }
    // A file has twelve fitted numbers at most: what follows from one cell is the first to go.
    for name in ["flush", "write_through", "bits_per_cell", "slc_fold"] {
        if own.len() > FITTED_MAX
            && let Some(at) = own.iter().position(|number| number.0 == name)
        {
            let source = format!("{}: from one cell", seen.run());
            rest.push((own.remove(at), source));
        }
    }
    let mut toml = format!("# Fitted: {} numbers.\n", own.len());
    for (name, value, unit) in own {
        let source = source(name).expect("it was looked up");
        parameter(&mut toml, name, value, unit, "fit", &format!("{}: {source}", seen.run()));
    }
    toml += "# Assumed:\n";
    for ((name, value, unit), source) in rest {
        parameter(&mut toml, name, value, unit, "assumed", &source);
    }
    toml
}

/// Which cells a number was sought on.
fn source(name: &str) -> Option<&'static str> {
    Some(match name {
        "read" | "read_command" => "random reads of five sizes and eight depths",
        "channels" => "the same; pages read at a time, planes and dies in one number",
        "command_queue" => "whether 256 in flight gain over 64 and 32",
        "link_rate" => "random reads of five sizes and eight depths",
        "stream_read_rate" => "sequential reads",
        "write_command" => "slow writes of four sizes",
        "random_write_rate" | "stream_write_rate" => "slow writes of four sizes",
        "write_buffer" => "what the long write took at once",
        "program" => "the long write's rate on all planes",
        "slc_cache" | "slc_dynamic" | "slc_program" => "the long write until its cliff",
        "slc_fold" => "bursts after pauses",
        "bits_per_cell" => "where the long write's second step ends",
        "suspend" | "suspend_share" => "reads beside writes",
        "over_provisioning" => "random writes until the drive cleans",
        "flush" | "write_through" => "durable writes beyond plain ones",
        _ => return None,
    })
}

fn numbers(params: &PageMappedParams) -> Vec<Number> {
    let us = |ns: u64| ns as f64 / 1e3;
    let mb = |bytes_per_s: u64| rate(1e9 / bytes_per_s as f64);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let mut numbers = vec![
        ("over_provisioning", f64::from(params.over_provisioning_per_mille) / 10.0, "percent"),
        ("channels", f64::from(params.channels), "count"),
        ("dies_per_channel", f64::from(params.dies_per_channel), "count"),
        ("planes_per_die", f64::from(params.planes_per_die), "count"),
        ("nand_page", f64::from(params.nand_page_bytes) / 1024.0, "KiB"),
        ("pages_per_block", f64::from(params.pages_per_block), "count"),
        ("read", us(params.read_ns), "us"),
        ("program", us(params.program_ns), "us"),
        ("erase", us(params.erase_ns) / 1e3, "ms"),
        ("channel_rate", mb(params.channel_bytes_per_s), "MB/s"),
        ("read_command", us(params.read_command_ns), "us"),
        ("write_command", us(params.write_command_ns), "us"),
        ("link_rate", mb(params.link_bytes_per_s), "MB/s"),
        ("command_queue", f64::from(params.command_queue), "count"),
        ("write_buffer", mib(params.write_buffer_bytes), "MiB"),
        ("flush", us(params.flush_ns), "us"),
        ("write_through", us(params.write_through_ns), "us"),
        ("endurance", f64::from(params.endurance_cycles), "count"),
    ];
    let streams = [
        ("stream_read_rate", params.stream_read_bytes_per_s),
        ("stream_write_rate", params.stream_write_bytes_per_s),
        ("random_write_rate", params.random_write_bytes_per_s),
    ];
    numbers.extend(streams.into_iter().filter_map(|(name, of)| Some((name, mb(of?), "MB/s"))));
    if let Some(suspend) = params.suspend {
        numbers.push(("suspend", us(suspend.ns), "us"));
        if suspend.per_mille < 1000 {
            numbers.push(("suspend_share", f64::from(suspend.per_mille) / 10.0, "percent"));
        }
    }
    let Some(slc) = params.slc_cache else { return numbers };
    if slc.bytes > 0 {
        numbers.push(("slc_cache", mib(slc.bytes), "MiB"));
    }
    if slc.dynamic_bytes > 0 {
        numbers.push(("slc_dynamic", mib(slc.dynamic_bytes), "MiB"));
        numbers.push(("bits_per_cell", f64::from(slc.bits_per_cell), "count"));
    }
    numbers.push(("slc_program", us(slc.program_ns), "us"));
    numbers.extend(slc.fold_ns.map(|ns| ("slc_fold", us(ns), "us")));
    numbers
}

/// What the model of `params` gives where the run gave a figure.
pub(super) fn mechanisms(
    params: &PageMappedParams,
    figures: &Figures,
    bench: &Bench,
) -> Vec<Mechanism> {
    let mut all = at_reads(params, figures, bench);
    all.push(at_short_writes(params, figures));
    all.extend(at_long_writes(params, figures, bench));
    let pair = |name: &str, measured, modelled, unit| Pair {
        name: name.to_owned(),
        measured,
        modelled,
        unit,
    };
    let beside = figures.beside.and_then(|seen| Some((seen, bench.beside(params, seen)?)));
    all.extend(beside.map(|(measured, modelled)| {
        let mut pairs = vec![pair("mean", measured.mean_ns, modelled.mean_ns, Unit::Time)];
        if measured.p99_ns > 0.0 {
            pairs.push(pair("p99", measured.p99_ns, modelled.p99_ns, Unit::Time));
        }
        Mechanism { name: "reads beside writes", pairs }
    }));
    let mixed = figures.mixed.and_then(|iops| Some((iops, bench.mixed(params)?)));
    all.extend(mixed.map(|(measured, modelled)| Mechanism {
        name: "mixed, predicted",
        pairs: vec![pair("70/30, 32 deep", measured, modelled, Unit::Operations)],
    }));
    all
}

fn at_reads(params: &PageMappedParams, figures: &Figures, bench: &Bench) -> Vec<Mechanism> {
    let of = |name: &'static str, is_of: &dyn Fn(&str) -> bool| {
        let cells = figures.reads.iter().chain(&figures.streams);
        let own: Vec<_> = cells.filter(|(cell, _)| is_of(cell)).collect();
        let modelled = bench.reads(params, own.iter().map(|(cell, _)| cell.as_str()));
        let pairs = own.iter().zip(modelled.unwrap_or_default());
        let pairs = pairs.map(|((cell, measured), modelled)| Pair {
            name: cell.clone(),
            measured: *measured,
            modelled,
            unit: Unit::Operations,
        });
        Mechanism { name, pairs: pairs.collect() }
    };
    vec![
        of("read latency", &|cell| cell == "size-4K"),
        of("read size", &|cell| cell.starts_with("size-") && cell != "size-4K"),
        of("parallelism", &|cell| cell.starts_with("depth-")),
        of("stream reads", &|cell| cell.starts_with("stream-")),
    ]
}

fn at_short_writes(params: &PageMappedParams, figures: &Figures) -> Mechanism {
    let pace = params.random_write_bytes_per_s.unwrap_or(params.link_bytes_per_s);
    let pace = pace.min(params.link_bytes_per_s);
    let pairs = figures.paced.iter().map(|&(bytes, measured)| {
        let modelled = params.write_command_ns + nanoseconds_for(bytes as u64, pace);
        let name = display_bytes(bytes as u64);
        Pair { name, measured, modelled: modelled as f64, unit: Unit::Time }
    });
    Mechanism { name: "write latency", pairs: pairs.collect() }
}

fn at_long_writes(params: &PageMappedParams, figures: &Figures, bench: &Bench) -> Vec<Mechanism> {
    let Some(written) = bench.written(params, figures, Until::Scattered) else {
        return Vec::new();
    };
    let [measured, modelled] = [&figures.fill.curve, &written.fill].map(|curve| curve.steps());
    let pair = |name: String, measured, modelled, unit| Pair { name, measured, modelled, unit };
    let both = || measured.iter().zip(&modelled).enumerate();
    let rates = both().map(|(step, (measured, modelled))| {
        let rates = (measured.bytes_per_s, modelled.bytes_per_s);
        pair(format!("step {}", step + 1), rates.0, rates.1, Unit::Rate)
    });
    let cliffs = both().skip(1).map(|(step, _)| {
        let at = |steps: &[super::curve::Step]| steps[step - 1].meets(&steps[step]);
        pair(format!("cliff {step}"), at(&measured), at(&modelled), Unit::Size)
    });
    let buffer = params.write_buffer_bytes as f64;
    let bursts = figures.bursts.iter().zip(&written.bursts).map(|(long, model)| {
        let measured = recovered(&long.curve, &measured, buffer);
        let modelled = recovered(model, &modelled, buffer);
        pair(format!("after {:.0} s", long.idle_s), measured, modelled, Unit::Size)
    });
    let at_once = pair("at once".into(), measured[0].at_zero, modelled[0].at_zero, Unit::Size);
    let has_buffer = at_once.measured > 2e6;
    let steady = figures.scattered.iter().zip(&written.scattered).map(|(long, model)| {
        pair("the last quarter".into(), long.curve.tail(), model.tail(), Unit::Rate)
    });
    vec![
        Mechanism {
            name: "write buffer",
            pairs: iter::once(at_once).filter(|_| has_buffer).collect(),
        },
        Mechanism { name: "write rates", pairs: rates.collect() },
        Mechanism { name: "cliff position", pairs: cliffs.collect() },
        Mechanism {
            name: "idle recovery",
            pairs: bursts.filter(|pair| pair.measured > 0.0 && measured.len() > 1).collect(),
        },
        Mechanism { name: "steady rate", pairs: steady.collect() },
    ]
}
