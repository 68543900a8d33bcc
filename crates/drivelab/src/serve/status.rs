//! A line on the terminal while a server works: what it does now.

use ::serve::words::{Moved, progress};
use block::{Engine, Instant, display_bytes};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nbd::{Kind, Traffic};
use record::ManagedFlash;
use report::number::counted;
use target::serve::ServedEngine;

/// The line changes so often, in nanoseconds.
const INTERVAL_NS: u64 = 1_000_000_000;

/// The line, and the time.
pub struct Status {
    line: Option<ProgressBar>,
    started: Option<Instant>,
    /// When the line was last written, and what had been asked for then.
    last: (Instant, Traffic),
    now: Instant,
}

impl Status {
    /// A line that is shown, or none.
    pub fn new(shows: bool) -> Self {
        let line = shows.then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            line.set_style(ProgressStyle::with_template("{wide_msg}").expect("it is valid"));
            line
        });
        let last = (Instant(0), Traffic::default());
        Self { line, started: None, last, now: Instant(0) }
    }

    /// Looks at the clock; writes the line anew when it is time.
    pub fn turn(&mut self, engine: &ServedEngine, traffic: &Traffic) {
        let now = engine.now();
        self.now = now;
        if self.started.is_none() {
            self.started = Some(now);
            self.last.0 = now;
        }
        let ns = now.since(self.last.0);
        if ns < INTERVAL_NS {
            return;
        }
        if let Some(line) = &self.line {
            let rates = rates(&self.last.1, traffic, ns as f64 / 1e9);
            let mut text = match engine.standing() {
                Some(standing) => format!("{rates}   {}", gauge(&standing)),
                None => rates,
            };
            if let Some(report) = engine.scrub_report() {
                text += &format!(
                    "   scrub: {}, {}",
                    progress(&report),
                    counted(report.errors, "error")
                );
            }
            line.set_message(text);
        }
        self.last = (now, *traffic);
    }

    /// Takes the line away.
    pub fn finish(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }

    /// How long it has served.
    pub fn seconds(&self) -> f64 {
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
