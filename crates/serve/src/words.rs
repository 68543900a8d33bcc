//! What a server says: where it is and how to connect, and what it did.

use block::{counted, display_bytes, one_or};
use flash::{BLOCK_BYTES, ScrubReport};
use nbd::{Address, Kind, Traffic};
use record::{Condition, DeviceState, ManagedFlash};
use std::num::NonZeroU32;
use target::serve::Loss;

/// What is said of a volume that is open for reading only; nothing of any other, or of one that was
/// stopped cleanly.
pub fn kept_in_memory(volume: &flash::Volume) -> String {
    let unclean = volume.open_report().filter(|report| !report.clean && volume.is_read_only());
    unclean.map_or_else(String::new, |report| {
        format!(
            "not stopped cleanly: {} and {} rolled forward in memory; nothing is written\n",
            counted(report.chunks_replayed, "chunk"),
            counted(report.records_replayed, "record")
        )
    })
}

/// What an array is about that makes it slower, or less safe, for whoever is served.
pub fn condition(Condition { device, state }: &Condition) -> Option<String> {
    Some(match state {
        DeviceState::Syncing { action, percent } => {
            let done = percent.map_or_else(String::new, |percent| format!(", {percent} % done"));
            format!(
                "{device}: {action}{done}: answers take longer until it is through (/proc/mdstat)"
            )
        }
        DeviceState::Degraded(missing) => {
            let members = counted(*missing, "member");
            format!("{device} runs without {members}: replace what is missing, let it rebuild")
        }
        DeviceState::Allocated(_) => return None,
    })
}

/// What whoever measures a target whose time passes more slowly has to multiply and divide.
pub fn slowed(slower: NonZeroU32) -> String {
    match slower.get() {
        1 => String::new(),
        times => format!(
            "time passes {times} times slower: multiply rates by {times}, divide latencies by \
             {times}\n"
        ),
    }
}

/// What a power cut did.
pub fn cut(loss: &Loss) -> String {
    format!(
        "the power was cut: {} {} in the write caches, {} of them {}; whoever connects now finds what is left\n",
        counted(loss.sectors_at_risk, "sector"),
        one_or(&loss.sectors_at_risk, "was", "were"),
        loss.sectors_changed,
        one_or(&loss.sectors_changed, "is not what it was", "are not what they were")
    )
}

/// The address as clients take it (NetworkBlockDevice/nbd, doc/uri.md).
pub fn uri(address: &Address, name: &str) -> String {
    let name = escaped(name.as_bytes());
    match address {
        Address::Unix(path) => {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            let path = escaped(path.as_os_str().as_encoded_bytes());
            format!("nbd+unix:///{name}?socket={path}")
        }
        Address::Tcp(socket) => format!("nbd://{socket}/{name}"),
    }
}

/// Bytes that mean something in a URI, as `%` and two digits (RFC 3986, section 2).
fn escaped(bytes: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    bytes
        .iter()
        .map(
            |&byte| {
                if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// Data that went either way; zeroing is a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Reads answered.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Writes and zeroings answered.
    pub writes: u64,
    /// Their bytes.
    pub written_bytes: u64,
}

impl Moved {
    /// Of the traffic so far.
    pub fn of(traffic: &Traffic) -> Self {
        let (read, written) = (traffic.of(Kind::Read), traffic.of(Kind::Write));
        let zeroed = traffic.of(Kind::WriteZeroes);
        Self {
            reads: read.requests,
            read_bytes: read.bytes,
            writes: written.requests + zeroed.requests,
            written_bytes: written.bytes + zeroed.bytes,
        }
    }
}

/// A wait from which on it is worth a word: watchdogs and people begin to wonder.
const WAIT_NS_MIN: u64 = 1_000_000_000;

/// What was asked for in all, on one line.
pub fn summary(traffic: &Traffic, volume: Option<&ManagedFlash>, seconds: f64) -> String {
    let Moved { reads, read_bytes, writes, written_bytes } = Moved::of(traffic);
    let (flushes, trims) = (traffic.of(Kind::Flush).requests, traffic.of(Kind::Trim).requests);
    let plural = |count: u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    let mut text = format!(
        "stopped after {seconds:.0} s, everything flushed: {}, {} ({}), {} ({}), {}, {}",
        plural(traffic.clients, "client"),
        plural(reads, "read"),
        display_bytes(read_bytes),
        plural(writes, "write"),
        display_bytes(written_bytes),
        match flushes {
            1 => "1 flush".to_owned(),
            count => format!("{count} flushes"),
        },
        plural(trims, "trim"),
    );
    if traffic.failures() > 0 {
        text += &format!("; {} failed", plural(traffic.failures(), "request"));
    }
    let waited_ns = traffic.kinds.iter().map(|tally| tally.latency_ns_max).max().unwrap_or(0);
    if waited_ns >= WAIT_NS_MIN {
        text += &format!("; the longest wait for an answer was {:.1} s", waited_ns as f64 / 1e9);
    }
    text.push('\n');
    if let Some(volume) = volume {
        let factor = volume
            .write_amplification
            .map_or_else(String::new, |factor| format!(", write amplification {factor:.2}"));
        text += &format!(
            "the volume is stopped cleanly: {} of {} mapped, {} of {} segments clean{factor}\n",
            display_bytes(volume.mapped_bytes),
            display_bytes(volume.exported_bytes),
            volume.free_segments,
            volume.segments,
        );
    }
    text
}

/// Damaged ranges that are named; all are in the count.
const RANGES_MAX: usize = 4;

/// What scrubbing came to, on a line; on another, what it found.
pub fn scrubbed(report: &ScrubReport) -> String {
    let verified = display_bytes(report.blocks_verified * BLOCK_BYTES);
    let mut text = format!("scrubbed: {}, {verified} verified", progress(report));
    if report.errors == 0 {
        return text + ", no errors\n";
    }
    text += &format!(", {}: `drivelab flash check` says more\n", counted(report.errors, "error"));
    let bytes = |block: u32| u64::from(block) * BLOCK_BYTES;
    let ranges: Vec<String> = report
        .damaged
        .iter()
        .take(RANGES_MAX)
        .map(|range| format!("{}..{}", bytes(range.start), bytes(range.end)))
        .collect();
    if !ranges.is_empty() {
        let rest = report.damaged.len().saturating_sub(RANGES_MAX);
        let more =
            if rest > 0 { format!(" and {}", counted(rest, "more range")) } else { String::new() };
        text += &format!("damaged: bytes {}{more}\n", ranges.join(", "));
    }
    text
}

/// Passes that are done, and the share of the one that is not.
pub fn progress(report: &ScrubReport) -> String {
    let share = 100.0 * f64::from(report.segments_done) / f64::from(report.segments.max(1));
    let passes = match report.passes {
        0 => return format!("{share:.0} % of the first pass"),
        1 => "1 pass".to_owned(),
        passes => format!("{passes} passes"),
    };
    if report.segments_done == 0 { passes } else { format!("{passes} and {share:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nbd::Tally;

    #[test]
    fn a_uri_says_what_a_shell_and_a_client_would_take_apart() {
        let unix = Address::Unix("/no such/a&b.sock".into());
        assert_eq!(uri(&unix, "a b"), "nbd+unix:///a%20b?socket=/no%20such/a%26b.sock");
        let tcp: Address = "tcp:[::1]:10809".parse().expect("an address");
        assert_eq!(uri(&tcp, ""), "nbd://[::1]:10809/");
    }

    #[test]
    fn what_a_scrub_found_is_said_in_bytes() {
        let whole = ScrubReport {
            segments: 200,
            passes: 1,
            blocks_verified: 256,
            ..ScrubReport::default()
        };
        assert_eq!(scrubbed(&whole), "scrubbed: 1 pass, 1 MiB verified, no errors\n");
        let damaged = (0..6).map(|n| 2 * n..2 * n + 1).collect();
        let half = ScrubReport { segments_done: 100, passes: 0, errors: 6, damaged, ..whole };
        assert_eq!(
            scrubbed(&half),
            "scrubbed: 50 % of the first pass, 1 MiB verified, 6 errors: \
             `drivelab flash check` says more\n\
             damaged: bytes 0..4096, 8192..12288, 16384..20480, 24576..28672 and 2 more ranges\n"
        );
    }

    /// An array that was resynced was served without a word, and whoever measured at the other end
    /// could not know.
    #[test]
    fn what_an_array_is_about_is_told_before_it_is_served() {
        let of = |state| condition(&Condition { device: "md0".to_owned(), state });
        let resync = |percent| DeviceState::Syncing { action: "resync".to_owned(), percent };
        let said = of(resync(Some(3))).expect("it matters");
        assert!(said.starts_with("md0: resync, 3 % done: "), "{said}");
        assert!(of(resync(None)).expect("it matters").starts_with("md0: resync: "));
        let said = of(DeviceState::Degraded(1)).expect("it matters");
        assert!(said.starts_with("md0 runs without 1 member: replace"), "{said}");
        assert_eq!(of(DeviceState::Allocated(4096)), None);
    }

    #[test]
    fn one_is_no_plural() {
        let mut traffic = Traffic { clients: 1, ..Traffic::default() };
        traffic.kinds[Kind::Read as usize] = Tally { requests: 2, failures: 1, ..Tally::default() };
        traffic.kinds[Kind::Flush as usize].requests = 1;
        let text = summary(&traffic, None, 1.4);
        assert!(text.contains("after 1 s, everything flushed: 1 client, 2 reads (0 B), 0 writes"));
        assert!(text.ends_with("1 flush, 0 trims; 1 request failed\n"), "{text}");
        traffic.kinds[Kind::Read as usize].latency_ns_max = 5_020_000_000;
        let text = summary(&traffic, None, 1.4);
        assert!(text.ends_with("; the longest wait for an answer was 5.0 s\n"), "{text}");
    }
}
