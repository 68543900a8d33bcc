//! Where and how runs were made, fact by fact, and in which facts they differ.

use super::Run;
use crate::{
    chart::{Column, Entry, Table},
    document::{Block, Section},
    number,
};
use record::{Record, TargetInfo};

/// A name and what it is in one record.
type Fact = (&'static str, String);

/// Facts that differ in every two runs and explain nothing.
const IDENTITY: [&str; 4] = ["run", "started", "command line", "seed"];

/// All facts, a column a run.
pub(super) fn table(runs: &[Run<'_>]) -> Table {
    of(runs, |_, _| true)
}

/// What is not the same in all runs; none for a single run or when nothing differs.
pub(super) fn differences(runs: &[Run<'_>]) -> Option<Section> {
    if runs.len() < 2 {
        return None;
    }
    let title = "What differs between the runs".to_owned();
    let table = differing(runs);
    let blocks = if table.rows.is_empty() {
        vec![Block::Text(
            "Nothing but their time: machine, targets, method and options are the same.".to_owned(),
        )]
    } else {
        vec![Block::Table(table)]
    };
    Some(Section { title, sheet: "Compared", blocks })
}

/// The facts that are not the same in all runs.
pub(crate) fn differing(runs: &[Run<'_>]) -> Table {
    of(runs, |name, values| {
        !IDENTITY.contains(&name) && values.windows(2).any(|pair| pair[0] != pair[1])
    })
}

fn of(runs: &[Run<'_>], is_wanted: impl Fn(&str, &[&str]) -> bool) -> Table {
    let all: Vec<Vec<Fact>> = runs.iter().map(|run| facts(run.record)).collect();
    let mut columns = vec![Column::text("")];
    columns.extend(runs.iter().map(|run| Column::text(&format!("run {}", run.record.id))));
    let mut rows = Vec::new();
    for (at, (name, _)) in all.first().map_or(&[][..], |facts| &facts[..]).iter().enumerate() {
        let values: Vec<&str> = all.iter().map(|facts| facts[at].1.as_str()).collect();
        if values.iter().any(|value| !value.is_empty()) && is_wanted(name, &values) {
            rows.push(std::iter::once(*name).chain(values).map(Entry::text).collect());
        }
    }
    Table { title: String::new(), columns, rows }
}

/// Always the same names in the same order; what is not known is empty.
fn facts(record: &Record) -> Vec<Fact> {
    let (host, cpu, method) = (&record.environment.host, &record.environment.cpu, &record.method);
    let is_virtual = record.time == "virtual";
    // A model does not depend on the machine that computed it.
    let of_host = |text: String| if is_virtual { String::new() } else { text };
    let targets = |fact: fn(&TargetInfo) -> String| {
        let mut texts: Vec<String> =
            record.targets.iter().map(fact).filter(|text| !text.is_empty()).collect();
        texts.dedup();
        texts.join("; ")
    };
    let options = method.options.iter().map(|(key, value)| format!("{key}={value}"));
    let costs = record.calibration.iter().map(|engine| {
        format!("{} {} per operation", engine.engine, number::duration_ns(engine.ns_per_operation))
    });
    vec![
        ("run", record.id.clone()),
        ("started", record.started.clone()),
        ("state", record.state.name().to_owned()),
        (
            "labels",
            record
                .labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
                .join(", "),
        ),
        ("command line", record.command_line.join(" ")),
        ("target", targets(|target| target.text.clone())),
        ("drive", targets(drives)),
        ("file system", targets(file_system)),
        ("queue", targets(queue)),
        ("method", method.name.clone()),
        ("grade", method.grade.clone()),
        ("tested area", number::size(method.span_bytes)),
        ("passes", method.passes.to_string()),
        ("options", options.collect::<Vec<_>>().join(", ")),
        ("seed", record.seed.to_string()),
        ("time", record.time.clone()),
        ("host", of_host(host.name.clone())),
        (
            "system",
            of_host(
                [
                    host.distribution.clone().unwrap_or_default(),
                    format!("Linux {}", host.kernel),
                    host.architecture.clone(),
                ]
                .join(", ")
                .trim_start_matches(", ")
                .to_owned(),
            ),
        ),
        ("processor", of_host(format!("{}, {} online", cpu.model, cpu.online))),
        ("governor", of_host(cpu.governor.clone().unwrap_or_default())),
        ("memory", of_host(number::size(host.memory_bytes))),
        ("memory limit", of_host(host.memory_limit_bytes.map_or_else(String::new, number::size))),
        ("virtualisation", of_host(host.virtualisation.clone().unwrap_or_default())),
        ("engine's own cost", of_host(costs.collect::<Vec<_>>().join(", "))),
        ("drivelab", record.tool.version.clone()),
    ]
}

fn drives(target: &TargetInfo) -> String {
    let drive = |layer: &record::BlockLayer| {
        let drive = layer.drive.as_ref()?;
        let mut words = vec![drive.model.clone().unwrap_or_else(|| layer.name.clone())];
        words.extend(drive.serial.as_ref().map(|serial| format!("serial {serial}")));
        words.extend(drive.firmware.as_ref().map(|firmware| format!("firmware {firmware}")));
        words.push(number::capacity(layer.bytes));
        words.extend(drive.transport.clone());
        words.extend(drive.link.as_ref().map(|link| link.negotiated.clone()));
        words.extend(drive.temperature_celsius.map(|celsius| format!("{celsius:.0} \u{b0}C")));
        words.extend(drive.is_virtual.then(|| "virtual".to_owned()));
        Some(words.join(", "))
    };
    target.stack.iter().filter_map(drive).collect::<Vec<_>>().join("; ")
}

fn file_system(target: &TargetInfo) -> String {
    target.file_system.as_ref().map_or_else(String::new, |found| {
        format!("{} on {} ({})", found.kind, found.source, found.options)
    })
}

fn queue(target: &TargetInfo) -> String {
    let layer = |layer: &record::BlockLayer| {
        let queue = layer.queue.as_ref()?;
        let mut words = Vec::new();
        words.extend(queue.scheduler.as_ref().map(|name| format!("scheduler {name}")));
        words.extend(queue.write_cache.as_ref().map(|name| format!("write cache: {name}")));
        words.extend(
            queue.read_ahead_bytes.map(|bytes| format!("read-ahead {}", number::size(bytes))),
        );
        (!words.is_empty()).then(|| format!("{}: {}", layer.name, words.join(", ")))
    };
    target.stack.iter().filter_map(layer).collect::<Vec<_>>().join("; ")
}
