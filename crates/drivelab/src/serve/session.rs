//! What every way of serving has in common: what is served, whom to tell, and when to end.

use super::{metrics::Metrics, ready::Starter, status::Status};
use crate::cli::ServeArguments;
use nbd::{Traffic, protocol::Export};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use target::{TargetText, serve::ServedEngine};

/// A target that is open, before and while it is served.
pub struct Session<'a> {
    /// The words.
    pub arguments: &'a ServeArguments,
    /// What they call the target.
    pub name: &'a str,
    /// What that means.
    pub target: &'a TargetText,
    /// What of it is served.
    pub export: Export,
    /// Who started it.
    pub starter: Starter,
    /// What is shown meanwhile.
    pub status: Status,
    /// What is told meanwhile.
    pub metrics: Option<Metrics>,
    /// It is to end.
    pub stop: Arc<AtomicBool>,
    /// The power of a modelled target is to be cut.
    pub cut: Arc<AtomicBool>,
}

impl Session<'_> {
    /// Looks on after every turn of the server.
    pub fn turn(&mut self, engine: &ServedEngine, traffic: &Traffic) {
        self.status.turn(engine, traffic);
        if let Some(metrics) = &self.metrics {
            metrics.turn(engine, traffic);
        }
    }
}

/// Whether a flag is raised.
pub fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
