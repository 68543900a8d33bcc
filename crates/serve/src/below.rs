//! The drive below a target that is served: what it was about when that was opened, and whether it
//! is still there.

use host::{Presence, Roots};
use nbd::Traffic;
use record::Condition;
use target::TargetText;

/// The drive, if there is one: looked at when a request has failed.
pub(crate) struct Below {
    presence: Option<Presence>,
    conditions: Vec<Condition>,
    name: String,
    failures: u64,
    is_told: bool,
}

impl Below {
    /// Of what the target stands on.
    pub(crate) fn of(target: &TargetText) -> Self {
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
        let conditions = conditions.unwrap_or_default();
        Self { presence, conditions, name, failures: 0, is_told: false }
    }

    /// What the devices below were about, beside answering, when it was opened.
    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// That it is gone, if that is so.
    pub(crate) fn gone(&self) -> Option<String> {
        self.presence.as_ref()?.sentence(&self.name)
    }

    /// The same, once, after a request has failed.
    pub(crate) fn turn(&mut self, traffic: &Traffic) -> Option<String> {
        let failures = traffic.failures();
        if self.is_told || failures <= self.failures {
            return None;
        }
        self.failures = failures;
        let gone = self.gone();
        self.is_told = gone.is_some();
        gone
    }
}
