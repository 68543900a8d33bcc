//! The metrics as text: OpenMetrics 1.0 (prometheus/OpenMetrics, specification/OpenMetrics.md).
//! Pure.

use super::snapshot::{Snapshot, VolumeSnapshot};
use flash::{BLOCK_BYTES, ScrubReport};
use nbd::{Kind, LATENCY_BOUNDS_NS, Traffic};
use std::fmt::Write as _;

/// What a family of samples is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    Counter,
    Gauge,
    Histogram,
    Info,
}

/// A page that is being written.
#[derive(Debug, Default)]
struct Page {
    text: String,
    /// Of the family that is being written.
    name: String,
}

impl Page {
    /// Begins a family. Its unit is the last word of its name, as the format has it; none where
    /// that is empty.
    fn family(&mut self, name: &str, r#type: Type, unit: &str, help: &str) -> &mut Self {
        assert!(unit.is_empty() || name.ends_with(&format!("_{unit}")), "{name} is not in {unit}");
        assert!(!help.contains(['\\', '\n', '"']), "{help} would need escapes");
        let word = match r#type {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
            Type::Info => "info",
        };
        self.name = format!("drivelab_{name}");
        let name = &self.name;
        let _ = writeln!(self.text, "# TYPE {name} {word}");
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {help}.");
        self
    }

    /// A sample of the family: what follows its name, its labels, its value.
    fn sample(
        &mut self,
        suffix: &str,
        labels: &[(&str, &str)],
        value: impl Into<Value>,
    ) -> &mut Self {
        self.text += &self.name;
        self.text += suffix;
        for (place, (label, value)) in labels.iter().enumerate() {
            let escaped = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n");
            self.text.push(if place == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{label}=\"{escaped}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = match value.into() {
            Value::Count(count) => writeln!(self.text, " {count}"),
            Value::Number(number) => writeln!(self.text, " {}", canonical(number)),
        };
        self
    }

    fn counter(&mut self, name: &str, unit: &str, help: &str, value: impl Into<Value>) {
        self.family(name, Type::Counter, unit, help).sample("_total", &[], value);
    }

    fn gauge(&mut self, name: &str, unit: &str, help: &str, value: impl Into<Value>) {
        self.family(name, Type::Gauge, unit, help).sample("", &[], value);
    }
}

/// A sample's value.
enum Value {
    Count(u64),
    Number(f64),
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// A number as other writers of the format have it, so that `le` is the same text everywhere
/// ("Considerations: Canonical Numbers").
fn canonical(number: f64) -> String {
    let text = format!("{number:?}");
    match text.split_once("e-") {
        Some((digits, exponent)) if exponent.len() == 1 => format!("{digits}e-0{exponent}"),
        _ => text,
    }
}

/// Nanoseconds as seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// All metrics of a server.
pub fn page(snapshot: &Snapshot) -> String {
    let mut page = Page::default();
    page.family("build", Type::Info, "", "The program that serves");
    page.sample("_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.gauge(
        "snapshot_age_seconds",
        "seconds",
        "How old the numbers are, more than a second when the server is held up",
        snapshot.age().as_secs_f64(),
    );
    page.gauge("uptime_seconds", "seconds", "How long it has served", snapshot.uptime_s);
    connections(&mut page, &snapshot.traffic);
    requests(&mut page, &snapshot.traffic);
    if let Some(volume) = &snapshot.volume {
        space(&mut page, volume);
        wear(&mut page, volume);
        health(&mut page, volume);
        if let Some(report) = &volume.scrub {
            scrub(&mut page, report);
        }
    }
    page.text + "# EOF\n"
}

fn connections(page: &mut Page, traffic: &Traffic) {
    page.gauge("nbd_connections", "", "Clients that are connected", traffic.connections);
    page.counter("nbd_clients", "", "Clients that found a place", traffic.clients);
    page.counter(
        "nbd_clients_dismissed",
        "",
        "Clients sent away because they did not finish their handshake, or a write",
        traffic.dismissed,
    );
    page.counter(
        "nbd_clients_turned_away",
        "",
        "Clients that were told that all places are taken",
        traffic.turned_away,
    );
    page.gauge(
        "nbd_refuses_changes",
        "",
        "1 after a failed flush or forced write: nothing more is acknowledged",
        u64::from(traffic.refuses_changes),
    );
}

fn requests(page: &mut Page, traffic: &Traffic) {
    page.family("nbd_requests", Type::Counter, "", "Requests answered, those that failed included");
    for kind in Kind::ALL {
        page.sample("_total", &[("command", kind.name())], traffic.of(kind).requests);
    }
    let help = "Bytes that the requests answered were about";
    page.family("nbd_request_size_bytes", Type::Counter, "bytes", help);
    for kind in Kind::ALL {
        page.sample("_total", &[("command", kind.name())], traffic.of(kind).bytes);
    }
    page.family("nbd_errors", Type::Counter, "", "Requests that failed");
    for kind in Kind::ALL {
        page.sample("_total", &[("command", kind.name())], traffic.of(kind).failures);
    }
    let help = "From the head of a request to its answer";
    page.family("nbd_request_duration_seconds", Type::Histogram, "seconds", help);
    for kind in [Kind::Read, Kind::Write, Kind::WriteZeroes, Kind::Trim, Kind::Flush] {
        let (tally, command) = (traffic.of(kind), ("command", kind.name()));
        let mut so_far = 0;
        for (bound, count) in LATENCY_BOUNDS_NS.iter().zip(&tally.latencies) {
            so_far += count;
            page.sample("_bucket", &[command, ("le", &canonical(seconds(*bound)))], so_far);
        }
        page.sample("_bucket", &[command, ("le", "+Inf")], tally.requests);
        page.sample("_count", &[command], tally.requests);
        page.sample("_sum", &[command], seconds(tally.latency_ns));
    }
}

fn space(page: &mut Page, volume: &VolumeSnapshot) {
    let counters = &volume.counters;
    let mapped = counters.mapped_blocks * BLOCK_BYTES;
    page.gauge("volume_size_bytes", "bytes", "What clients see", volume.exported_bytes);
    page.gauge("volume_mapped_bytes", "bytes", "What holds data", mapped);
    page.gauge(
        "volume_fill_ratio",
        "ratio",
        "Share of the volume that holds data",
        mapped as f64 / volume.exported_bytes as f64,
    );
    page.gauge(
        "volume_clean_pool_bytes",
        "bytes",
        "What can be written before anything must be cleaned",
        counters.clean_pool_bytes,
    );
    page.family("volume_segments", Type::Gauge, "", "Segments of the drive");
    let used = volume.segments - counters.free_segments - counters.prefree_segments;
    for (state, count) in
        [("free", counters.free_segments), ("prefree", counters.prefree_segments), ("used", used)]
    {
        page.sample("", &[("state", state)], count);
    }
}

fn wear(page: &mut Page, volume: &VolumeSnapshot) {
    let lifetime = &volume.lifetime;
    let help = "Written to the drive since the volume was created";
    page.family("volume_written_bytes", Type::Counter, "bytes", help);
    for (what, blocks) in [
        ("data", lifetime.host_blocks),
        ("copies", lifetime.copied_blocks),
        ("map", lifetime.page_blocks),
        ("headers", lifetime.header_blocks),
        ("padding", lifetime.padding_blocks),
    ] {
        page.sample("_total", &[("what", what)], blocks * BLOCK_BYTES);
    }
    let all = lifetime.drive_blocks * BLOCK_BYTES;
    let help = "Written to the drive since the volume was created, in all";
    page.counter("volume_drive_written_bytes", "bytes", help, all);
    let reads = &volume.counters;
    let help = "Requests that read the drive, for clients and to clean, since the server began";
    page.counter("volume_drive_reads", "", help, reads.drive_reads);
    let help = "What these requests read";
    page.counter("volume_drive_read_bytes", "bytes", help, reads.drive_read_bytes);
    let help = "Checkpoints since the server began, each of which flushes the drive";
    page.counter("volume_checkpoints", "", help, reads.checkpoints);
    if let Some(amplification) = lifetime.write_amplification() {
        page.gauge(
            "volume_write_amplification_ratio",
            "ratio",
            "Written to the drive for each byte of data, since the volume was created",
            amplification,
        );
    }
    page.counter(
        "volume_write_wait_seconds",
        "seconds",
        "What writes waited for room since the server began",
        seconds(volume.counters.write_wait_ns),
    );
}

fn health(page: &mut Page, volume: &VolumeSnapshot) {
    page.counter(
        "volume_checksum_errors",
        "",
        "Blocks that did not fit their checksum when they were met, since the volume was created",
        volume.lifetime.checksum_errors,
    );
    page.counter(
        "volume_unclean_openings",
        "",
        "Openings that found the volume not stopped cleanly",
        volume.lifetime.unclean_openings,
    );
    page.gauge(
        "volume_tail_chunks_dropped",
        "",
        "Chunks behind the end of the log that the last opening dropped",
        volume.report.chunks_cut,
    );
    page.gauge(
        "volume_flushed_chunks_missing",
        "",
        "Chunks that a flush had covered and that the last opening did not find",
        volume.report.chunks_missing,
    );
}

fn scrub(page: &mut Page, report: &ScrubReport) {
    let share = f64::from(report.segments_done) / f64::from(report.segments.max(1));
    page.counter("scrub_passes", "", "Times that everything was read and verified", report.passes);
    page.gauge("scrub_progress_ratio", "ratio", "Share of this pass that is done", share);
    page.counter("scrub_read_bytes", "bytes", "Read to be verified", report.bytes_read);
    let verified = report.blocks_verified * BLOCK_BYTES;
    page.counter("scrub_verified_bytes", "bytes", "Data that fitted their checksums", verified);
    let help =
        "Times that a block or a page of the map did not fit its checksum or could not be read";
    page.counter("scrub_errors", "", help, report.errors);
    let help = "Chunk headers that could not be read, which loses no data";
    page.counter("scrub_headers_damaged", "", help, report.headers_damaged);
    let damaged: u64 = report.damaged.iter().map(|range| range.len() as u64).sum();
    let help = "Data that are damaged as far as is known";
    page.gauge("scrub_damaged_bytes", "bytes", help, damaged * BLOCK_BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_others_write_them() {
        let bounds: Vec<String> =
            LATENCY_BOUNDS_NS.iter().map(|&bound| canonical(seconds(bound))).collect();
        assert_eq!(bounds[..5], ["1e-05", "2e-05", "5e-05", "0.0001", "0.0002"]);
        assert_eq!(bounds[15..], ["1.0", "2.0", "5.0", "10.0"]);
    }

    #[test]
    fn labels_are_escaped() {
        let mut page = Page::default();
        page.family("x", Type::Gauge, "", "Some");
        page.sample("", &[("a", "b\"c\\d\ne"), ("f", "")], 1);
        let sample = page.text.lines().last().expect("a sample");
        assert_eq!(sample, r#"drivelab_x{a="b\"c\\d\ne",f=""} 1"#);
    }
}
