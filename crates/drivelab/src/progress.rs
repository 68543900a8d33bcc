//! What a run says while it runs: a bar with the live rate on a terminal, a line a cell elsewhere.

mod names;

pub use names::Names;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::{
    eta::Eta,
    plan::Plan,
    runner::{Event, Live, Observer},
    target::Time,
};
use record::{Flag, Record, Store};
use report::{number, progress, terminal::Style};
use std::{
    cell::RefCell,
    io::{self, IsTerminal},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// Units of the bar.
const UNITS: u64 = 1000;

/// How much a run says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Talk {
    /// Nothing but errors.
    Quiet,
    /// Progress and a line a cell.
    Normal,
}

/// A bar on a terminal, nothing elsewhere. `count` is how it tells the share that is done, as an
/// indicatif template.
pub fn bar(length: u64, count: &str, talk: Talk) -> Option<ProgressBar> {
    bar_of(length, &format!("{{bar:24}} {count}  {{eta:>4}} left  {{wide_msg}}"), talk)
}

fn bar_of(length: u64, template: &str, talk: Talk) -> Option<ProgressBar> {
    (talk == Talk::Normal && io::stderr().is_terminal()).then(|| {
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
        let look = ProgressStyle::with_template(template).expect("the template is valid");
        bar.set_style(look.progress_chars("=> "));
        bar
    })
}

/// A line above the bar, or on its own where there is none.
pub fn say(bar: Option<&ProgressBar>, talk: Talk, line: &str) {
    match bar {
        _ if talk == Talk::Quiet => {}
        Some(bar) => bar.println(line),
        None => crate::output::talk!("{line}"),
    }
}

/// What is shown while the tested area is looked at. A drive that does not answer stops here.
pub const SAMPLES: &str = "reading samples of the tested area";

/// Shows the run to the user, keeps the record in the store, listens for Ctrl-C.
pub struct Progress {
    bar: Option<ProgressBar>,
    talk: Talk,
    style: Style,
    store: Rc<RefCell<Store>>,
    interrupted: Arc<AtomicBool>,
    clock: Clock,
    eta: Eta,
    names: Names,
    fills: Fills,
    /// The step that runs, and how many there are.
    step: usize,
    steps: usize,
    /// What is going on: `random read 4 KiB [2/7]`.
    doing: String,
    save_error: Option<String>,
    /// Flags of the targets, which no cell's line repeats.
    known: Vec<Flag>,
}

/// Seconds of the run, by the clock that its cells are measured with.
struct Clock {
    began: Instant,
    /// In virtual time: seconds of the steps that ended, and of the one that runs.
    virtual_s: Option<(f64, f64)>,
}

impl Clock {
    fn now_s(&self) -> f64 {
        match self.virtual_s {
            None => self.began.elapsed().as_secs_f64(),
            Some((ended_s, running_s)) => ended_s + running_s,
        }
    }

    /// How long the reader waits for one of its seconds; unknown before any has passed.
    fn wait_s(&self) -> Option<f64> {
        match self.virtual_s {
            None => Some(1.0),
            Some(_) if self.now_s() > 0.0 => {
                Some(self.began.elapsed().as_secs_f64() / self.now_s())
            }
            Some(_) => None,
        }
    }
}

/// How often areas are written before the first cell, and how far that is.
struct Fills {
    all: f64,
    before: f64,
    share: f64,
}

impl Fills {
    fn of(plan: &Plan, record: &Record) -> Self {
        let all = f64::from(plan.fill.max(1)) * record.targets.len() as f64;
        Self { all, before: 0.0, share: 0.0 }
    }

    /// The share of all when this much of the present one is written. What is written to see
    /// whether a target compresses comes after the last.
    fn share_with(&mut self, share: f64) -> f64 {
        if share < self.share {
            self.before += 1.0;
        }
        self.share = share;
        ((self.before + share) / self.all).min(1.0)
    }
}

impl Progress {
    /// For one plan, whose run `record` is.
    pub fn new(
        plan: &Plan,
        record: &Record,
        talk: Talk,
        style: Style,
        store: Rc<RefCell<Store>>,
        interrupted: Arc<AtomicBool>,
    ) -> Self {
        let template = "{bar:12} {percent:>3}%  {prefix} left  {wide_msg}";
        let eta = {
            let earlier = store.borrow().last_like(record);
            Eta::of(plan, record.targets.len(), earlier.as_ref()).times(plan.slower)
        };
        Self {
            bar: bar_of(UNITS, template, talk),
            talk,
            style,
            store,
            interrupted,
            clock: Clock {
                began: Instant::now(),
                virtual_s: (record.time == Time::Virtual.name()).then_some((0.0, 0.0)),
            },
            eta,
            names: Names::of(std::slice::from_ref(plan), &style),
            fills: Fills::of(plan, record),
            step: 0,
            steps: plan.steps.len(),
            doing: String::new(),
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

    fn show(&self, message: String) {
        let Some(bar) = &self.bar else { return };
        let now_s = self.clock.now_s();
        let left_s = self.eta.left_s(now_s);
        let share = now_s / (now_s + left_s).max(1e-9);
        bar.set_position((share.min(1.0) * UNITS as f64) as u64);
        let wait = self.clock.wait_s().map(|wait_s| progress::clock(left_s * wait_s));
        bar.set_prefix(wait.unwrap_or_else(|| "-:--".to_owned()));
        bar.set_message(message);
    }
}

/// The rate of the moment.
pub fn live_rate(live: Live) -> String {
    progress::rate(live.iops, live.bytes_per_s, live.silent_s)
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Fill { done_bytes, total_bytes, .. } => {
                let share = done_bytes as f64 / total_bytes.max(1) as f64;
                self.eta.fill(self.clock.now_s(), self.fills.share_with(share));
                let (done, total) = (number::size(done_bytes), number::size(total_bytes));
                self.show(format!("writing the tested area: {done} of {total}"));
            }
            Event::Inspect { .. } => self.show(SAMPLES.to_owned()),
            Event::Begin { step, steps, cell, .. } => {
                self.eta.begin(self.clock.now_s(), step);
                self.step = step;
                self.doing = format!("{} [{}/{steps}]", self.names.of_spec(cell), step + 1);
                self.show(self.doing.clone());
            }
            Event::Live(live) => {
                if let Some((_, running_s)) = &mut self.clock.virtual_s {
                    *running_s = live.seconds;
                }
                self.show(format!("{} {}", self.doing, live_rate(live)));
            }
            Event::Failed(failed) => {
                if let Some((ended_s, running_s)) = &mut self.clock.virtual_s {
                    *ended_s += std::mem::take(running_s);
                }
                self.eta.end(self.clock.now_s());
                let count = format!("[{}/{}]", self.step + 1, self.steps);
                let line = format!("{count} {} failed: {}", failed.name, failed.reason);
                say(self.bar.as_ref(), self.talk, &line);
            }
            Event::End { cells, .. } => {
                if let Some((ended_s, running_s)) = &mut self.clock.virtual_s {
                    *ended_s += std::mem::take(running_s);
                }
                self.eta.end(self.clock.now_s());
                for cell in cells {
                    let count = format!("[{}/{}] ", self.step + 1, self.steps);
                    let style = Style { width: self.style.width - count.len(), ..self.style };
                    let name = self.names.of_cell(cell);
                    let line = report::terminal::cell_line(name, cell, &self.known, &style);
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
