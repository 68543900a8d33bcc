//! What a matrix says while it runs: a bar over all turns, a line a cell, each step as it would be
//! typed.

use crate::{
    output,
    progress::{self, Names, Talk},
};
use indicatif::ProgressBar;
use lab::{
    plan::Plan,
    runner::{Event, Observer},
};
use matrix::{Audience, MatrixOrder, Told};
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
struct Voice {
    bar: Option<ProgressBar>,
    talk: Talk,
}

impl Voice {
    /// For so many cells in all.
    fn new(cells: u64, talk: Talk) -> Self {
        Self { bar: progress::bar(cells, "{pos}/{len}", talk), talk }
    }

    /// A line of its own.
    fn say(&self, line: &str) {
        progress::say(self.bar.as_ref(), self.talk, line);
    }

    /// What is going on now.
    fn show(&self, message: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message);
        }
    }

    fn forward(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

/// Shows turns, keeps records, listens for Ctrl-C.
pub struct Watch {
    voice: Voice,
    style: Style,
    store: Rc<RefCell<Store>>,
    interrupted: Arc<AtomicBool>,
    /// The configuration whose turn it is.
    label: String,
    /// What the methods' cells are called.
    names: Names,
    /// What is going on.
    doing: String,
}

impl Watch {
    /// Over all turns of this order. What is measured is kept in `store`.
    pub fn new(
        order: &MatrixOrder,
        talk: Talk,
        store: Rc<RefCell<Store>>,
        interrupted: Arc<AtomicBool>,
    ) -> Self {
        let style = output::style();
        Self {
            voice: Voice::new(order.cells(), talk),
            style,
            store,
            interrupted,
            label: String::new(),
            names: Names::of(&[], &style),
            doing: String::new(),
        }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Some(bar) = &self.voice.bar {
            bar.finish_and_clear();
        }
    }
}

impl Audience for Watch {
    fn planned(&mut self, plans: &[Plan]) {
        self.names = Names::of(plans, &self.style);
    }

    fn tell(&mut self, told: Told<'_>) {
        match told {
            Told::Turn { configuration, .. } => self.label = configuration.to_string(),
            Told::Floor(configuration) => self.label = format!("floor, fs={}", configuration.fs()),
            Told::PowerCut(_) => self.voice.show(told.to_string()),
            Told::Failed { .. } => {}
        }
        self.voice.say(&told.to_string());
    }

    fn log(&self) -> Box<dyn Fn(&str)> {
        let voice = self.voice.clone();
        Box::new(move |step| voice.say(&format!("  {step}")))
    }
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
            Event::End { cells, .. } => {
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
        // At the end it is saved once more, and then it is an error.
        let _ = self.store.borrow_mut().save(record);
    }
}
