//! What a matrix says while it runs: a bar over all turns, a line a cell, each step as it would be
//! typed.

use crate::progress::{self, Names, Talk};
use indicatif::ProgressBar;
use lab::runner::{Event, Observer};
use record::{Record, Store};
use report::{number, terminal::Style};
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The bar and the lines above it; clones share it.
#[derive(Clone)]
pub struct Voice {
    bar: Option<ProgressBar>,
    talk: Talk,
}

impl Voice {
    /// For so many cells in all.
    pub fn new(cells: u64, talk: Talk) -> Self {
        Self { bar: progress::bar(cells, "{pos}/{len}", talk), talk }
    }

    /// A line of its own.
    pub fn say(&self, line: &str) {
        progress::say(self.bar.as_ref(), self.talk, line);
    }

    /// What is going on now.
    pub fn show(&self, message: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message);
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn forward(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

/// Shows one turn, keeps the record, listens for Ctrl-C.
pub struct Watch {
    /// Where it is said.
    pub voice: Voice,
    /// How lines look.
    pub style: Style,
    /// Where the record is kept.
    pub store: Rc<RefCell<Store>>,
    /// Raised by Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
    /// The configuration whose turn it is.
    pub label: String,
    /// What the method's cells are called.
    pub names: Names,
    /// What is going on.
    pub doing: String,
    /// Why the record could not be kept.
    pub save_error: Option<String>,
}

impl Observer for Watch {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Fill { done_bytes, total_bytes, .. } => {
                let (done, total) = (number::size(done_bytes), number::size(total_bytes));
                self.voice
                    .show(format!("{}: writing the tested area: {done} of {total}", self.label));
            }
            Event::Inspect { .. } => {
                self.voice.show(format!("{}: {}", self.label, progress::SAMPLES));
            }
            Event::Begin { cell, .. } => {
                self.doing = format!("{}: {}", self.label, self.names.of_spec(cell));
                self.voice.show(self.doing.clone());
            }
            Event::Live(live) => {
                self.voice.show(format!("{} {}", self.doing, progress::live_rate(live)));
            }
            Event::Failed(failed) => {
                self.voice.forward();
                self.voice
                    .say(&format!("{}: {} failed: {}", self.label, failed.name, failed.reason));
            }
            Event::End { cells } => {
                self.voice.forward();
                for cell in cells {
                    let width = self.style.width.saturating_sub(self.label.len() + 2).max(20);
                    let style = Style { width, ..self.style };
                    let line =
                        report::terminal::cell_line(self.names.of_cell(cell), cell, &[], &style);
                    self.voice.say(&format!("{}: {line}", self.label));
                }
            }
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn save(&mut self, record: &Record) {
        if let Err(error) = self.store.borrow_mut().save(record) {
            self.save_error = Some(error.to_string());
        }
    }
}
