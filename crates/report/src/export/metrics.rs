//! OpenMetrics 1.0, in the part that the older text format of Prometheus has as well: gauges and
//! summaries. node_exporter's textfile directory reads it.

use record::{Cell, Latency, Record};
use std::fmt::Write;

/// By which a file of ours is known.
pub(crate) const MARK: &str = "# HELP drivelab_";

/// All runs: families one after the other, in each a sample a cell.
pub(super) fn text(records: &[&Record]) -> String {
    let mut text = String::new();
    let cells =
        || records.iter().flat_map(|record| record.cells.iter().map(move |cell| (*record, cell)));
    gauge(&mut text, "drivelab_iops", "Operations per second, the median of the passes.", "");
    for (record, cell) in cells() {
        sample(&mut text, "drivelab_iops", &labels(record, cell), cell.iops);
    }
    let name = "drivelab_iops_ci95";
    gauge(&mut text, name, "Ends of the 95 % interval of drivelab_iops.", "");
    for (record, cell) in cells() {
        let Some(ends) = cell.iops_ci95 else { continue };
        for (end, value) in ["low", "high"].into_iter().zip(ends) {
            sample(&mut text, name, &format!("{},end=\"{end}\"", labels(record, cell)), value);
        }
    }
    let name = "drivelab_throughput_bytes";
    gauge(&mut text, name, "Bytes per second, the median of the passes.", "bytes");
    for (record, cell) in cells() {
        sample(&mut text, name, &labels(record, cell), cell.bytes_per_s);
    }
    let name = "drivelab_failed_requests";
    gauge(&mut text, name, "Requests that failed, over all passes.", "");
    for (record, cell) in cells() {
        sample(&mut text, name, &labels(record, cell), cell.total.errors as f64);
    }
    let name = "drivelab_flagged";
    gauge(&mut text, name, "1 for each flag that a cell has.", "");
    for (record, cell) in cells() {
        for flag in &cell.flags {
            let labels = format!("{},flag=\"{}\"", labels(record, cell), flag.name());
            sample(&mut text, name, &labels, 1.0);
        }
    }
    let families = [
        ("drivelab_latency_seconds", "Latency of operations after the warm-up."),
        ("drivelab_flush_latency_seconds", "Latency of a stream's own flushes."),
    ];
    for (name, help) in families {
        let of = |cell: &Cell| match name {
            "drivelab_latency_seconds" => cell.latency.clone(),
            _ => cell.flush_latency.clone(),
        };
        let found: Vec<_> =
            cells().filter_map(|(record, cell)| Some((labels(record, cell), of(cell)?))).collect();
        if !found.is_empty() {
            family(&mut text, name, "summary", help, "seconds");
            found.iter().for_each(|(labels, latency)| summary(&mut text, name, labels, latency));
        }
    }
    text + "# EOF\n"
}

fn gauge(text: &mut String, name: &str, help: &str, unit: &str) {
    family(text, name, "gauge", help, unit);
}

fn family(text: &mut String, name: &str, kind: &str, help: &str, unit: &str) {
    let _ = writeln!(text, "# HELP {name} {help}");
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
}

fn sample(text: &mut String, name: &str, labels: &str, value: f64) {
    let _ = writeln!(text, "{name}{{{labels}}} {value}");
}

fn summary(text: &mut String, name: &str, labels: &str, latency: &Latency) {
    for at in &latency.percentiles {
        let labels = format!("{labels},quantile=\"{}\"", quantile(at.percent));
        sample(text, name, &labels, at.ns as f64 / 1e9);
    }
    let sum = latency.mean_ns * latency.n as f64 / 1e9;
    sample(text, &format!("{name}_sum"), labels, sum);
    sample(text, &format!("{name}_count"), labels, latency.n as f64);
}

/// 99.9 as `0.999`: no digits that division adds.
fn quantile(percent: f64) -> String {
    let text = format!("{:.9}", percent / 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn labels(record: &Record, cell: &Cell) -> String {
    let target = record.targets.get(cell.target).map_or("", |target| target.text.as_str());
    let numbers = [cell.block_bytes, u64::from(cell.threads), u64::from(cell.queue_depth)]
        .map(|number| number.to_string());
    let [block, threads, depth] = &numbers;
    let pairs = [
        ("run", record.id.as_str()),
        ("method", &record.method.name),
        ("target", target),
        ("cell", &cell.name),
        ("op", &cell.op),
        ("pattern", &cell.pattern),
        ("block_bytes", block),
        ("threads", threads),
        ("queue_depth", depth),
    ];
    let pairs = pairs.map(|(key, value)| format!("{key}=\"{}\"", escaped(value)));
    pairs.join(",")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::example;

    #[test]
    fn a_family_stands_in_one_piece_and_the_text_ends() {
        let record = example();
        let text = text(&[&record, &record]);
        assert!(text.ends_with("# EOF\n"));
        let mut seen = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split('{').next().expect("a name");
            let base = name.trim_end_matches("_sum").trim_end_matches("_count").to_owned();
            if seen.last() != Some(&base) {
                assert!(!seen.contains(&base), "{base} twice");
                seen.push(base);
            }
        }
        assert!(seen.len() >= 4, "{seen:?}");
        assert!(text.contains("quantile=\"0.99\"} 0.001523712\n"), "{text}");
    }

    #[test]
    fn quantiles_have_no_digits_of_their_own() {
        let texts = [50.0, 99.0, 99.9, 99.99, 99.999].map(quantile);
        assert_eq!(texts, ["0.5", "0.99", "0.999", "0.9999", "0.99999"]);
    }

    #[test]
    fn a_name_cannot_end_its_label() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
