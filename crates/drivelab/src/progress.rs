//! What a run says while it runs: a bar with the live rate on a terminal, a line a cell elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::{
    plan::Plan,
    runner::{Event, Live, Observer},
};
use record::{Flag, Record, Store};
use report::{number, terminal::Style};
use std::{
    cell::RefCell,
    io::{self, IsTerminal},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Bar units a step.
const UNITS: u64 = 1000;

/// How much a run says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Talk {
    /// Nothing but errors.
    Quiet,
    /// Progress and a line a cell.
    Normal,
}

/// A bar on a terminal, nothing elsewhere. `count` is how it tells the share that is done, as an indicatif template.
pub fn bar(length: u64, count: &str, talk: Talk) -> Option<ProgressBar> {
    (talk == Talk::Normal && io::stderr().is_terminal()).then(|| {
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
        let template = format!("{{bar:24}} {count}  {{eta:>4}} left  {{wide_msg}}");
        let look = ProgressStyle::with_template(&template).expect("the template is valid");
        bar.set_style(look.progress_chars("=> "));
        bar
    })
}

/// A line above the bar, or on its own where there is none.
pub fn say(bar: Option<&ProgressBar>, talk: Talk, line: &str) {
    match bar {
        _ if talk == Talk::Quiet => {}
        Some(bar) => bar.println(line),
        None => eprintln!("{line}"),
    }
}

/// Shows the run to the user, keeps the record in the store, listens for Ctrl-C.
pub struct Progress {
    bar: Option<ProgressBar>,
    talk: Talk,
    style: Style,
    store: Rc<RefCell<Store>>,
    interrupted: Arc<AtomicBool>,
    step: u64,
    steps: u64,
    seconds_max: f64,
    save_error: Option<String>,
    /// Flags of the targets, which no cell's line repeats.
    known: Vec<Flag>,
}

impl Progress {
    /// For one plan.
    pub fn new(
        plan: &Plan,
        talk: Talk,
        style: Style,
        store: Rc<RefCell<Store>>,
        interrupted: Arc<AtomicBool>,
    ) -> Self {
        let steps = plan.steps.len() as u64;
        let bar = bar(steps * UNITS, "{percent:>3}%", talk);
        let seconds_max = plan.rule.seconds_max;
        Self {
            bar,
            talk,
            style,
            store,
            interrupted,
            step: 0,
            steps,
            seconds_max,
            save_error: None,
            known: Vec::new(),
        }
    }

    /// Takes the bar away; the reason why the record could not be kept, if it could not.
    pub fn finish(self) -> Option<String> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.save_error
    }

    fn show(&self, message: String, share: f64) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.step * UNITS + (share.min(1.0) * UNITS as f64) as u64);
            bar.set_message(message);
        }
    }

    fn live(&self, live: Live) {
        let rate = format!("{}  {}", number::iops(live.iops), number::rate(live.bytes_per_s));
        self.show(rate, live.seconds / self.seconds_max);
    }
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Fill { done_bytes, total_bytes, .. } => {
                let (done, total) = (number::size(done_bytes), number::size(total_bytes));
                self.show(format!("writing the tested area: {done} of {total}"), 0.0);
            }
            Event::Begin { step, cell, .. } => {
                self.step = step as u64;
                self.show(cell.name.clone(), 0.0);
            }
            Event::Live(live) => self.live(live),
            Event::End { cells } => {
                for cell in cells {
                    let count = format!("[{}/{}] ", self.step + 1, self.steps);
                    let style = Style { width: self.style.width - count.len(), ..self.style };
                    let line = report::terminal::cell_line(cell, &self.known, &style);
                    say(self.bar.as_ref(), self.talk, &format!("{count}{line}"));
                }
            }
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn save(&mut self, record: &Record) {
        if self.known.is_empty() {
            self.known = record.targets.iter().flat_map(|target| target.flags.clone()).collect();
        }
        if let Err(error) = self.store.borrow_mut().save(record) {
            self.save_error = Some(error.to_string());
        }
    }
}
