//! An elevator's layer: the kernel's names, with the kernel's defaults.

use super::{
    settings::Settings,
    text::{BadStack, Part},
};
use model::{
    ElevatorParams, FileSystemParams,
    elevator::{Anticipatory, Cfq, Deadline, Policy},
    fs,
};

/// Which elevator a layer's name says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Noop,
    Deadline,
    Cfq,
    Anticipatory,
}

/// Elevators by the names that `/sys/block/*/queue/scheduler` gives them.
pub(super) const ELEVATORS: [(&str, Choice); 4] = [
    ("noop", Choice::Noop),
    ("deadline", Choice::Deadline),
    ("cfq", Choice::Cfq),
    ("anticipatory", Choice::Anticipatory),
];

pub(super) struct ResolvedElevator {
    /// As it was written, for a description.
    pub text: String,
    pub params: ElevatorParams,
}

impl ResolvedElevator {
    /// A file system above hands everything over as it comes.
    pub fn stand_below(&self, params: &mut FileSystemParams) {
        params.elevator = fs::Elevator::Below;
        params.queued_requests_max = self.params.queued_requests_max;
        params.request_bytes_max = self.params.request_bytes_max;
        // Both directions, and what is urgent besides.
        params.device_queue_depth = 2 * self.params.queued_requests_max + 16;
    }
}

pub(super) fn resolve_elevator(
    layer: &Part,
    choice: Choice,
    device_queue_depth: u32,
) -> Result<ResolvedElevator, BadStack> {
    let settings = Settings::of(layer);
    let policy = match choice {
        Choice::Noop => Policy::Noop,
        Choice::Deadline => Policy::Deadline(deadline(&settings)?),
        Choice::Cfq => Policy::Cfq(cfq(&settings)?),
        Choice::Anticipatory => Policy::Anticipatory(anticipatory(&settings)?),
    };
    let mut params = ElevatorParams::of(policy, device_queue_depth);
    if let Some(count) = settings.count("nr_requests", 4..=480)? {
        params.queued_requests_max = count as u32;
    }
    if let Some(kib) = settings.count("max_sectors_kb", 4..=32_768)? {
        if !kib.is_multiple_of(4) {
            let text = settings.text("max_sectors_kb").unwrap_or_default();
            return Err(settings.wrong(
                "max_sectors_kb",
                text,
                "splits a page of 4 KiB: such as 512",
            ));
        }
        params.request_bytes_max = (kib as u32) << 10;
    }
    settings.finish()?;
    Ok(ResolvedElevator { text: layer.to_string(), params })
}

/// Times of an elevator go up to an hour.
const NS_MAX: u64 = 3_600_000_000_000;

/// A time by its kernel's name.
fn time(
    settings: &Settings<'_>,
    key: &'static str,
    least: u64,
    usual: u64,
) -> Result<u64, BadStack> {
    Ok(settings.time_ns(key, least..=NS_MAX)?.unwrap_or(usual))
}

/// A number by its kernel's name.
fn count(
    settings: &Settings<'_>,
    key: &'static str,
    least: u64,
    usual: u32,
) -> Result<u32, BadStack> {
    Ok(settings.count(key, least..=10_000)?.map_or(usual, |count| count as u32))
}

fn deadline(settings: &Settings<'_>) -> Result<Deadline, BadStack> {
    let usual = Deadline::default();
    let merges = [("1", true), ("0", false)];
    Ok(Deadline {
        read_expire_ns: time(settings, "read_expire", 0, usual.read_expire_ns)?,
        write_expire_ns: time(settings, "write_expire", 0, usual.write_expire_ns)?,
        writes_starved: count(settings, "writes_starved", 0, usual.writes_starved)?,
        fifo_batch: count(settings, "fifo_batch", 1, usual.fifo_batch)?,
        front_merges: settings.word("front_merges", &merges)?.unwrap_or(usual.front_merges),
    })
}

fn cfq(settings: &Settings<'_>) -> Result<Cfq, BadStack> {
    let usual = Cfq::default();
    let sync_ns = time(settings, "fifo_expire_sync", 0, usual.fifo_expire_sync_ns)?;
    let async_ns = time(settings, "fifo_expire_async", 0, usual.fifo_expire_async_ns)?;
    Ok(Cfq {
        quantum: count(settings, "quantum", 1, usual.quantum)?,
        slice_sync_ns: time(settings, "slice_sync", 1_000, usual.slice_sync_ns)?,
        slice_async_ns: time(settings, "slice_async", 1_000, usual.slice_async_ns)?,
        slice_async_rq: count(settings, "slice_async_rq", 1, usual.slice_async_rq)?,
        slice_idle_ns: time(settings, "slice_idle", 0, usual.slice_idle_ns)?,
        fifo_expire_sync_ns: sync_ns,
        fifo_expire_async_ns: async_ns,
        ..usual
    })
}

fn anticipatory(settings: &Settings<'_>) -> Result<Anticipatory, BadStack> {
    let usual = Anticipatory::default();
    let (read_ns, write_ns) = (usual.read_batch_expire_ns, usual.write_batch_expire_ns);
    Ok(Anticipatory {
        read_expire_ns: time(settings, "read_expire", 0, usual.read_expire_ns)?,
        write_expire_ns: time(settings, "write_expire", 0, usual.write_expire_ns)?,
        read_batch_expire_ns: time(settings, "read_batch_expire", 1_000, read_ns)?,
        write_batch_expire_ns: time(settings, "write_batch_expire", 1_000, write_ns)?,
        antic_expire_ns: time(settings, "antic_expire", 0, usual.antic_expire_ns)?,
    })
}
