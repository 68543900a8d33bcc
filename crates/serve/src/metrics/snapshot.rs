//! What is known of a server at one moment, handed from its thread to the one that tells it.

use flash::{Counters, Lifetime, OpenReport, ScrubReport};
use nbd::Traffic;
use std::{
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use target::serve::ServedEngine;

/// How long is waited for new numbers before old ones are told.
const PATIENCE: Duration = Duration::from_millis(900);

/// A server at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    taken: Instant,
    /// How long it has served, in seconds.
    pub uptime_s: f64,
    /// What clients asked for.
    pub traffic: Traffic,
    /// The managed volume, if it is one.
    pub volume: Option<VolumeSnapshot>,
}

/// A managed volume at one moment.
#[derive(Clone, Debug)]
pub struct VolumeSnapshot {
    /// Its size.
    pub exported_bytes: u64,
    /// Segments of its drive.
    pub segments: u64,
    /// Since it was opened.
    pub counters: Counters,
    /// Since it was created.
    pub lifetime: Lifetime,
    /// What opening found.
    pub report: OpenReport,
    /// How far scrubbing has come, if there is any.
    pub scrub: Option<ScrubReport>,
}

impl Snapshot {
    /// Of a server that has served since `started`.
    pub fn of(engine: &ServedEngine, traffic: &Traffic, started: Instant) -> Self {
        let volume = engine.volume().and_then(|volume| {
            let layout = volume.layout()?;
            Some(VolumeSnapshot {
                exported_bytes: layout.shape.exported_bytes,
                segments: u64::from(layout.segments),
                counters: volume.counters()?,
                lifetime: volume.lifetime()?,
                report: *volume.open_report()?,
                scrub: volume.scrub_report(),
            })
        });
        let taken = Instant::now();
        let uptime_s = taken.duration_since(started).as_secs_f64();
        Self { taken, uptime_s, traffic: *traffic, volume }
    }

    /// How long ago that was.
    pub fn age(&self) -> Duration {
        self.taken.elapsed()
    }
}

/// Between two threads: one that asks and waits, one that answers when it comes by and never waits.
#[derive(Debug)]
pub struct Exchange {
    wanted: AtomicBool,
    last: Mutex<Snapshot>,
    renewed: Condvar,
}

impl Exchange {
    /// With a first snapshot.
    pub fn new(first: Snapshot) -> Self {
        Self { wanted: AtomicBool::new(false), last: Mutex::new(first), renewed: Condvar::new() }
    }

    /// A new snapshot, or the last one where none comes in time.
    pub fn ask(&self) -> Snapshot {
        let asked = Instant::now();
        let last = self.lock();
        self.wanted.store(true, Ordering::Relaxed);
        let is_old = |last: &mut Snapshot| last.taken < asked;
        let waited = self.renewed.wait_timeout_while(last, PATIENCE, is_old);
        waited.expect("nobody panics with it").0.clone()
    }

    /// Gives a snapshot if one is wanted and nobody is reading the last one. Costs one load where
    /// none is.
    pub fn answer(&self, snapshot: impl FnOnce() -> Snapshot) {
        if !self.wanted.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(mut last) = self.last.try_lock() {
            self.wanted.store(false, Ordering::Relaxed);
            *last = snapshot();
            self.renewed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.last.lock().expect("nobody panics with it")
    }
}
