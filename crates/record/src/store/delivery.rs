//! Runs of a history on their way into another, which may go away and come back meanwhile.

use super::{Ended, Place, Store, StoreError, Tables};
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// How long a server that went away in the middle may take to come back.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// What is to be brought where, and how far it has come.
pub struct Delivery {
    local: Store,
    to: Place,
    tables: Tables,
    count: Option<DeliveryCount>,
}

/// Runs of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeliveryCount {
    /// How many were not there at first.
    pub lacking: usize,
    /// How many of those are there now.
    pub pushed: usize,
}

impl Delivery {
    /// From one history to another, whose tables are seen to as said.
    pub fn new(local: Store, to: Place, tables: Tables) -> Self {
        Self { local, to, tables, count: None }
    }

    /// Goes on until all are there; a server that is started again meanwhile is waited for. Whether
    /// all are: not where it was stopped.
    ///
    /// # Errors
    /// A failure of either history that does not pass.
    pub fn carry_out(&mut self, runs: &[Ended], stop: &AtomicBool) -> Result<bool, StoreError> {
        let mut since = Instant::now();
        loop {
            let before = self.count;
            let done = self.attempt(runs, stop);
            if self.count != before {
                since = Instant::now();
            }
            match done {
                Err(error)
                    if error.may_pass()
                        && self.count.is_some()
                        && since.elapsed() < PATIENCE
                        && !stop.load(Relaxed) =>
                {
                    thread::sleep(PAUSE);
                }
                done => return done,
            }
        }
    }

    /// How far it has come; nothing is known before the other history has answered.
    pub fn count(&self) -> Option<DeliveryCount> {
        self.count
    }

    fn attempt(&mut self, runs: &[Ended], stop: &AtomicBool) -> Result<bool, StoreError> {
        let mut shared = Store::at_to_push(&self.to, self.tables)?;
        let (local, count) = (&self.local, &mut self.count);
        shared.push_lacking(runs, &mut |run| local.load(&run.id), &mut |lacking, pushed| {
            let first = count.map_or(lacking, |count| count.lacking);
            // What was being written when the connection broke is there, or it is not: it was
            // asked.
            let before = first.saturating_sub(lacking);
            *count = Some(DeliveryCount { lacking: first, pushed: before + pushed });
            !stop.load(Relaxed)
        })
    }
}
