//! What every way of serving has in common: what is served, whom to tell, and when to end.

use super::status::Status;
use crate::{cli::ServeArguments, output};
use ::serve::{metrics::Metrics, ready::Starter};
use anyhow::Result;
use host::{Presence, Roots};
use nbd::{Traffic, protocol::Export};
use record::{Condition, ServerEvent};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use target::{TargetText, serve::ServedEngine};

/// The drive below the target, if there is one: looked at when a request has failed.
pub struct Drive {
    presence: Option<Presence>,
    conditions: Vec<Condition>,
    name: String,
    failures: u64,
    gone: Option<String>,
}

impl Drive {
    /// Of what the target stands on.
    pub fn of(target: &TargetText) -> Self {
        let (name, info) = match target {
            TargetText::Path(path) | TargetText::Flash(path) => {
                let name = path.display().to_string();
                let info = host::target_info(path, &name, &Roots::default()).ok();
                (name, info)
            }
            TargetText::Null | TargetText::Model(_) | TargetText::Memory(_) => {
                (String::new(), None)
            }
        };
        let stack = info.map(|info| info.stack);
        let presence = stack.as_ref().map(|stack| Presence::of(stack, &Roots::default()));
        let conditions = stack.map(|stack| host::conditions(&stack, &Roots::default()));
        Self { presence, conditions: conditions.unwrap_or_default(), name, failures: 0, gone: None }
    }

    /// What the devices below were about, beside answering, when it was opened.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// That it is gone, if that is so.
    pub fn gone(&self) -> Option<String> {
        self.presence.as_ref()?.sentence(&self.name)
    }

    /// Says it once.
    fn turn(&mut self, traffic: &Traffic) {
        let failures = traffic.failures();
        if self.gone.is_none() && failures > self.failures {
            self.failures = failures;
            self.gone = self.gone();
            if let Some(gone) = &self.gone {
                output::talk!(
                    "drivelab: {gone}; every request is answered with an error from now on: stop \
                     this server, and start it anew when the drive is back"
                );
            }
        }
    }
}

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
    /// Whether the drive is there.
    pub drive: Drive,
}

impl Session<'_> {
    /// Says what happened, in a way that a program reads or that people do.
    pub fn say(&self, event: &ServerEvent, text: &str) -> Result<()> {
        say(self.arguments, event, text)
    }

    /// Looks on after every turn of the server.
    pub fn turn(&mut self, engine: &ServedEngine, traffic: &Traffic) {
        self.status.turn(engine, traffic);
        self.drive.turn(traffic);
        if let Some(metrics) = &self.metrics {
            metrics.turn(engine, traffic);
        }
    }
}

/// As [`Session::say`].
pub fn say(arguments: &ServeArguments, event: &ServerEvent, text: &str) -> Result<()> {
    if arguments.json { output::print(&event.line()) } else { output::print(text) }
}

/// Whether a flag is raised.
pub fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
