//! What a server does now, on a line.

use crate::words::{Moved, progress};
use block::{Engine, Instant, counted, display_bytes};
use nbd::{Kind, Traffic};
use record::ManagedFlash;
use target::serve::ServedEngine;

/// The line changes so often, in nanoseconds.
const INTERVAL_NS: u64 = 1_000_000_000;

/// When the line was last written, and what had been asked for then.
#[derive(Default)]
pub(crate) struct Status {
    started: Option<Instant>,
    last: (Instant, Traffic),
    now: Instant,
}

impl Status {
    /// Looks at the clock; the line when it is time for it.
    pub(crate) fn turn(&mut self, engine: &ServedEngine, traffic: &Traffic) -> Option<String> {
        let now = engine.now();
        self.now = now;
        if self.started.is_none() {
            self.started = Some(now);
            self.last.0 = now;
        }
        let ns = now.since(self.last.0);
        if ns < INTERVAL_NS {
            return None;
        }
        let mut text = rates(&self.last.1, traffic, ns as f64 / 1e9);
        if let Some(standing) = engine.standing() {
            text += &format!("   {}", gauge(&standing));
        }
        if let Some(report) = engine.scrub_report() {
            let errors = counted(report.errors, "error");
            text += &format!("   scrub: {}, {errors}", progress(&report));
        }
        if engine.slower().get() > 1 {
            text += &format!("   time {} x slower", engine.slower());
        }
        self.last = (now, *traffic);
        Some(text)
    }

    /// How long it has served.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.map_or(0.0, |started| self.now.since(started) as f64 / 1e9)
    }
}

/// What was asked for since then, a second.
fn rates(before: &Traffic, now: &Traffic, seconds: f64) -> String {
    let rate = |before: u64, now: u64| (now - before) as f64 / seconds;
    let flushes = |traffic: &Traffic| traffic.of(Kind::Flush).requests;
    let flushes = rate(flushes(before), flushes(now));
    let (before, now) = (Moved::of(before), Moved::of(now));
    let side = |verb: &str, count: f64, bytes: f64| {
        format!("{verb} {count:.0}/s, {}/s", display_bytes(bytes as u64))
    };
    format!(
        "{}   {}   {flushes:.0} flushes/s",
        side("read", rate(before.reads, now.reads), rate(before.read_bytes, now.read_bytes)),
        side(
            "write",
            rate(before.writes, now.writes),
            rate(before.written_bytes, now.written_bytes)
        ),
    )
}

/// What decides how fast a managed volume goes on: its clean pool, and what it writes for each
/// byte.
fn gauge(standing: &ManagedFlash) -> String {
    let free = 100.0 * standing.free_segments as f64 / standing.segments as f64;
    match standing.write_amplification {
        Some(factor) => format!("clean pool {free:.0} %, write amplification {factor:.2}"),
        None => format!("clean pool {free:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nbd::Tally;

    #[test]
    fn rates_are_those_since_the_last_line() {
        let mut before = Traffic::default();
        before.kinds[Kind::Read as usize] =
            Tally { requests: 100, bytes: 409_600, ..Tally::default() };
        let mut now = before;
        now.kinds[Kind::Read as usize] =
            Tally { requests: 300, bytes: 1_228_800, ..Tally::default() };
        now.kinds[Kind::Flush as usize].requests = 4;
        let text = rates(&before, &now, 2.0);
        assert_eq!(text, "read 100/s, 400 KiB/s   write 0/s, 0 B/s   2 flushes/s");
    }
}
