//! What is printed of a trace: on a terminal, for programs, as a document with charts.

mod document;
mod json;
mod terminal;

pub use document::document;
pub use json::json;
pub use terminal::{sentence, terminal, volumes};

use crate::{format::Format, trace::Remarks};
use block::one_or;
use report::number::{counted, duration_ns};

/// Which trace it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The file, as it was named.
    pub name: String,
    /// What it was recognised as.
    pub format: Format,
    /// The volume of which the rest is told, where one was chosen; else all of them.
    pub volume: Option<String>,
    /// How many volumes it has.
    pub volumes: usize,
    /// What was noted.
    pub remarks: Remarks,
}

impl Subject {
    /// `web.csv, volume hm.1 (MSR Cambridge)`
    pub fn title(&self) -> String {
        let format = self.format.name();
        match &self.volume {
            Some(volume) => format!("{}, volume {volume} ({format})", self.name),
            None if self.volumes > 1 => {
                format!("{}, all {} volumes ({format})", self.name, self.volumes)
            }
            None => format!("{} ({format})", self.name),
        }
    }
}

impl Remarks {
    /// What a reader must know, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.reordered > 0 {
            all.push(format!(
                "{} {} stood out of order, by up to {}, and {} put in order.",
                self.reordered,
                one_or(&self.reordered, "access", "accesses"),
                duration_ns(self.reordered_ns_max as f64),
                if self.reordered == 1 { "was" } else { "were" },
            ));
        }
        if self.spread > 0 {
            all.push(
                "Its times are whole seconds: accesses of a second were spread evenly over it, so \
                 that nothing below a second is known."
                    .to_owned(),
            );
        }
        if self.waits > 0 {
            all.push(
                "Its waits were taken as milliseconds since the start, as fio's code does; its \
                 manual says relative microseconds."
                    .to_owned(),
            );
        }
        if self.unanswered > 0 {
            all.push(format!(
                "{} without an operation, since no reply was seen, {} left out.",
                counted(self.unanswered, "request"),
                if self.unanswered == 1 { "was" } else { "were" },
            ));
        }
        if self.empty > 0 {
            all.push(format!("{} of no byte left out.", counted(self.empty, "transfer")));
        }
        all
    }
}
