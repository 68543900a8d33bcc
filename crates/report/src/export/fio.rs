//! What `fio --output-format=json` writes, as far as a run knows it; a job a cell.
//!
//! Latencies of drivelab run from submission to completion, in an open loop from the intended
//! start: they stand under `lat_ns` and `clat_ns` alike, and `slat_ns` counts none. Processor time
//! is not split: all of it stands under `usr_cpu`.

use super::Exported;
use record::{Bound, Cell, Latency, Record, TargetInfo};
use serde_json::{Map, Value, json};

/// By which a file of ours is known.
pub(crate) const MARK: &str = "\"fio version\": \"drivelab-";

/// The tool of a run that was taken in from fio.
const FIO: &str = "fio";

/// The whole run, a job a cell.
pub(super) fn text(record: &Record) -> Exported {
    let (jobs, left_out) = jobs(record);
    let jobs: Vec<Value> = jobs.into_iter().map(|(_, job)| job).collect();
    Exported { bytes: document(record, jobs).into_bytes(), left_out }
}

/// A file a cell, by name, as fio-plot takes them; and what is left out.
pub fn files(record: &Record) -> (Vec<(String, String)>, Vec<String>) {
    let (jobs, left_out) = jobs(record);
    let file = |(name, job)| {
        let name: String = format!("{}-{name}", record.id);
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        let name: String =
            name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
        (format!("{name}.json"), document(record, vec![job]))
    };
    (jobs.into_iter().map(file).collect(), left_out)
}

fn jobs(record: &Record) -> (Vec<(String, Value)>, Vec<String>) {
    let (mut jobs, mut left_out) = (Vec::new(), Vec::new());
    for cell in &record.cells {
        let several = record.targets.len() > 1;
        let target = if several { format!("-target{}", cell.target + 1) } else { String::new() };
        let name = format!("{}{target}", cell.name);
        match job(record, cell, &name) {
            Ok(value) => jobs.push((name, value)),
            Err(why) => left_out.push(format!("{name}: {why}")),
        }
    }
    (jobs, left_out)
}

fn document(record: &Record, jobs: Vec<Value>) -> String {
    let document = json!({
        "fio version": format!("drivelab-{}", record.tool.version),
        "timestamp": 0,
        "time": record.started,
        "global options": {},
        "jobs": jobs,
    });
    serde_json::to_string_pretty(&document).expect("plain data") + "\n"
}

/// fio's word for what a cell does, and the direction that it is counted under.
fn direction(cell: &Cell) -> Result<(&'static str, &'static str), &'static str> {
    let is_random = match cell.pattern.as_str() {
        "seq" => false,
        "random" | "permutation" | "zipf" | "hot_cold" => true,
        _ => return Err("fio has no such pattern"),
    };
    match (cell.op.as_str(), is_random) {
        ("read", false) => Ok(("read", "read")),
        ("read", true) => Ok(("randread", "read")),
        ("write" | "commit", false) => Ok(("write", "write")),
        ("write" | "commit", true) => Ok(("randwrite", "write")),
        ("mixed", _) => Err("fio counts reads and writes apart, and the record does not"),
        _ => Err("fio has no such operation"),
    }
}

fn job(record: &Record, cell: &Cell, name: &str) -> Result<Value, &'static str> {
    let (rw, direction) = direction(cell)?;
    let target = record.targets.get(cell.target);
    let mut options = Map::new();
    let mut option = |key: &str, value: String| options.insert(key.to_owned(), Value::from(value));
    option("name", name.to_owned());
    option("rw", rw.to_owned());
    option("bs", cell.block_bytes.to_string());
    option("iodepth", cell.queue_depth.to_string());
    option("numjobs", cell.threads.to_string());
    option("direct", u8::from(cell.io.starts_with("direct")).to_string());
    let is_fios = record.tool.name == FIO;
    let own = is_fios.then_some(&*cell.engine).filter(|engine| !engine.is_empty());
    if let Some(engine) = own.or_else(|| engine(&cell.engine)) {
        option("ioengine", engine.to_owned());
    }
    if cell.bound == Bound::Time {
        option("time_based", "1".to_owned());
        option("runtime", format!("{}ms", milliseconds(cell)));
    }
    if cell.op == "commit" {
        option("fdatasync", "1".to_owned());
    }
    let place = |target: &TargetInfo| target.path.clone().or(is_fios.then(|| target.text.clone()));
    if let Some(path) = target.and_then(place) {
        option("filename", path);
    }
    // What a job of fio's said stands in the coordinates of the cell that it was taken in as.
    for (key, value) in cell.coordinates.iter().filter(|_| is_fios) {
        if let Some(text) = value.as_str() {
            option(key, text.to_owned());
        }
    }
    let mut job = Map::new();
    let mut put = |key: &str, value: Value| job.insert(key.to_owned(), value);
    put("jobname", Value::from(name));
    put("groupid", 0.into());
    put("error", 0.into());
    put("job options", Value::Object(options));
    for name in ["read", "write", "trim"] {
        let value = if name == direction { counted(cell) } else { nothing() };
        put(name, value);
    }
    put("sync", flushes(cell));
    put("job_runtime", milliseconds(cell).into());
    put("usr_cpu", (cell.cpu.map_or(0.0, |cpu| cpu.busy) * 100.0).into());
    put("sys_cpu", 0.0.into());
    let buckets = cell.latency.as_ref().map_or(&[][..], |latency| &latency.histogram);
    put("latency_ns", distribution(buckets, 1, 0));
    put("latency_us", distribution(buckets, 1_000, 1_000));
    put("latency_ms", distribution(buckets, 1_000_000, 1_000_000));
    Ok(Value::Object(job))
}

fn engine(name: &str) -> Option<&'static str> {
    match name {
        "sync" => Some("psync"),
        "uring" => Some("io_uring"),
        "null" => Some("null"),
        _ => None,
    }
}

fn milliseconds(cell: &Cell) -> u64 {
    (cell.total.seconds * 1e3).round() as u64
}

fn counted(cell: &Cell) -> Value {
    let latency = cell.latency.as_ref();
    json!({
        "io_bytes": cell.total.bytes,
        "io_kbytes": cell.total.bytes >> 10,
        "bw_bytes": cell.bytes_per_s.round() as u64,
        "bw": (cell.bytes_per_s / 1024.0).round() as u64,
        "iops": cell.iops,
        "runtime": milliseconds(cell),
        "total_ios": cell.total.operations,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": times(None),
        "clat_ns": times(latency),
        "lat_ns": times(latency),
        "iops_mean": cell.iops_mean,
        "iops_stddev": cell.iops_stddev.unwrap_or(0.0),
        "iops_samples": cell.passes.len(),
    })
}

fn nothing() -> Value {
    json!({
        "io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0,
        "total_ios": 0, "short_ios": 0, "drop_ios": 0, "slat_ns": times(None),
        "clat_ns": times(None), "lat_ns": times(None), "iops_mean": 0.0, "iops_stddev": 0.0,
        "iops_samples": 0,
    })
}

fn flushes(cell: &Cell) -> Value {
    let latency = cell.flush_latency.as_ref();
    json!({ "total_ios": latency.map_or(0, |latency| latency.n), "lat_ns": times(latency) })
}

fn times(latency: Option<&Latency>) -> Value {
    let Some(latency) = latency else {
        return json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 });
    };
    let percentiles: Map<String, Value> = latency
        .percentiles
        .iter()
        .map(|at| (format!("{:.6}", at.percent), Value::from(at.ns)))
        .collect();
    json!({
        "min": latency.min_ns,
        "max": latency.max_ns,
        "mean": latency.mean_ns,
        "stddev": deviation(latency),
        "N": latency.n,
        "percentile": percentiles,
    })
}

/// Of the histogram, whose buckets are within 0.8 % of what they hold.
fn deviation(latency: &Latency) -> f64 {
    // What was imported may say more than a count can hold.
    let count: f64 = latency.histogram.iter().map(|&[_, count]| count as f64).sum();
    let squares: f64 = latency
        .histogram
        .iter()
        .map(|&[ns, count]| (ns as f64 - latency.mean_ns).powi(2) * count as f64)
        .sum();
    if count == 0.0 { 0.0 } else { (squares / count).sqrt() }
}

/// fio's table of one unit in percent: each entry what lies from the one before to below it. `from`
/// is where the unit begins, in ns.
fn distribution(buckets: &[[u64; 2]], unit_ns: u64, from: u64) -> Value {
    const EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    let all: f64 = buckets.iter().map(|&[_, count]| count as f64).sum();
    let share = |low: u64, high: u64| {
        let within = buckets.iter().filter(|[ns, _]| (low..high).contains(ns));
        let count: f64 = within.map(|&[_, count]| count as f64).sum();
        if all == 0.0 { 0.0 } else { count * 100.0 / all }
    };
    let mut table = Map::new();
    let mut low = from;
    let is_last = unit_ns == 1_000_000;
    for edge in EDGES.into_iter().chain(is_last.then_some(2000)) {
        table.insert(edge.to_string(), share(low, edge * unit_ns).into());
        low = edge * unit_ns;
    }
    if is_last {
        table.insert(">=2000".to_owned(), share(low, u64::MAX).into());
    }
    Value::Object(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::example;

    #[test]
    fn every_cell_is_a_job_or_left_out_with_the_reason() {
        let record = example();
        let exported = text(&record);
        let value: Value = serde_json::from_slice(&exported.bytes).expect("JSON");
        let jobs = value["jobs"].as_array().expect("jobs");
        assert_eq!(jobs.len() + exported.left_out.len(), record.cells.len());
        let job = jobs
            .iter()
            .find(|job| job["jobname"] == "random-read-4K-t1-q32-target1")
            .expect("there");
        assert_eq!(job["job options"]["rw"], "randread");
        assert_eq!(job["read"]["iops"], 52109.4);
        assert_eq!(job["write"]["total_ios"], 0);
        assert_eq!(job["read"]["clat_ns"]["percentile"]["99.000000"], 1_523_712);
    }

    #[test]
    fn a_mix_is_left_out_for_its_halves_are_not_known() {
        let mut record = example();
        record.cells.truncate(1);
        record.cells[0].op = "mixed".to_owned();
        let exported = text(&record);
        assert_eq!(exported.left_out.len(), 1);
        assert!(exported.left_out[0].contains("apart"), "{:?}", exported.left_out);
    }

    #[test]
    fn the_tables_of_the_three_units_hold_every_operation_once() {
        let buckets =
            [[1, 1], [900, 2], [1_000, 3], [999_999, 4], [1_000_000, 5], [3_000_000_000, 5]];
        let sum = |table: &Value| -> f64 {
            table
                .as_object()
                .expect("a table")
                .values()
                .map(|value| value.as_f64().expect("one"))
                .sum()
        };
        let tables = [
            distribution(&buckets, 1, 0),
            distribution(&buckets, 1_000, 1_000),
            distribution(&buckets, 1_000_000, 1_000_000),
        ];
        assert!((tables.iter().map(sum).sum::<f64>() - 100.0).abs() < 1e-9, "{tables:?}");
        assert_eq!(tables[2][">=2000"], 25.0);
        assert_eq!(tables[1]["2"], 15.0);
    }

    #[test]
    fn a_name_of_a_cell_is_a_name_of_a_file() {
        let mut record = example();
        record.cells.truncate(1);
        record.cells[0].name = "../a b/c".to_owned();
        let (files, _) = files(&record);
        assert_eq!(files[0].0, format!("{}-.._a_b_c-target1.json", record.id));
    }
}
