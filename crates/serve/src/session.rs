//! What both ways of serving have in common: what is ordered, who hears of it, what is told after
//! every turn of the server.

use crate::{below::Below, error::ServingError, metrics::Metrics, ready::Starter, status::Status};
use engine::Clock;
use flash::Scrubbing;
use nbd::{Traffic, protocol::Export};
use record::ServerEvent;
use std::{
    error::Error,
    sync::atomic::{AtomicBool, Ordering},
};
use target::{
    TargetText,
    serve::{ServedEngine, Sharing},
};

/// Whether a server that is started anew goes on where this one was killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// No: what is not flushed may be lost, and a disk goes with its server.
    Anew,
    /// Yes.
    GoesOn,
}

/// What is to be done with an open target.
pub struct Order<'o> {
    /// What its user calls it.
    pub name: &'o str,
    /// What that means.
    pub target: &'o TargetText,
    /// What clients call it.
    pub export_name: &'o str,
    /// Whether they may change it.
    pub sharing: Sharing,
    /// What happens when the server is killed.
    pub restart: Restart,
    /// To verify a managed volume meanwhile.
    pub scrubbing: Option<Scrubbing>,
    /// What the next power cut of modelled drives is drawn from; without it nobody cuts it.
    pub power_cut: Option<u64>,
    /// The member that an array lacks after a power cut.
    pub lost_member: Option<u16>,
    /// Raised: serving is to end.
    pub stop: &'o AtomicBool,
    /// Raised: the power of modelled drives is to be cut.
    pub cut: &'o AtomicBool,
    /// Raised: it is to be cut in the middle of the next flush.
    pub cut_in_flush: &'o AtomicBool,
    /// What the engine was opened with.
    pub clock: Clock,
}

/// Who hears what happens meanwhile.
pub trait Audience {
    /// Something happened: for programs, and in words for people.
    ///
    /// # Errors
    /// It cannot be said, though somebody wants it: serving ends.
    fn tell(
        &self,
        event: &ServerEvent,
        words: &str,
    ) -> Result<(), Box<dyn Error + Send + Sync + 'static>>;

    /// A sentence that nobody needs to read.
    fn note(&self, sentence: &str);

    /// What it does now, every second; takes the place of what was shown before.
    fn show(&self, status: &str);

    /// Nothing is shown any more.
    fn clear(&self);

    /// The disk of that number waits for a killed server of another target: how that one is served
    /// again, and how the disk is removed.
    fn waiting_disk(&self, id: u32) -> String;
}

/// A target that is open, before and while it is served.
pub(crate) struct Session<'s> {
    pub(crate) order: &'s Order<'s>,
    /// What of it is served.
    pub(crate) export: Export,
    /// Who started it.
    pub(crate) starter: Starter,
    pub(crate) audience: &'s dyn Audience,
    pub(crate) status: Status,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) below: Below,
    /// Whether it was said that nothing is recorded any more.
    pub(crate) is_unrecorded: bool,
}

impl Session<'_> {
    /// Says what happened.
    pub(crate) fn tell(&self, event: &ServerEvent, words: &str) -> Result<(), ServingError> {
        tell(self.audience, event, words)
    }

    /// Looks on after every turn of the server.
    pub(crate) fn turn(&mut self, engine: &ServedEngine, traffic: &Traffic) {
        if let Some(line) = self.status.turn(engine, traffic) {
            self.audience.show(&line);
        }
        if let Some(gone) = self.below.turn(traffic) {
            self.audience.note(&format!(
                "{gone}; every request is answered with an error from now on: stop this server, \
                 and start it anew when the drive is back"
            ));
        }
        if let Some(end) = engine.recording_end().filter(|_| !self.is_unrecorded) {
            self.is_unrecorded = true;
            self.audience.note(&format!("{end}; serving goes on: to record, start anew"));
        }
        if let Some(metrics) = &self.metrics {
            metrics.turn(engine, traffic);
        }
    }
}

/// As [`Session::tell`].
pub(crate) fn tell(
    audience: &dyn Audience,
    event: &ServerEvent,
    words: &str,
) -> Result<(), ServingError> {
    audience.tell(event, words).map_err(ServingError::Unsaid)
}

/// Whether a flag is raised.
pub(crate) fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
