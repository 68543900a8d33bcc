//! Guests side by side, each with drives of its own, which take scenarios from one queue.
//!
//! ```text
//!   queue -- number --> guest 0: run.sh -- lines --> Seen --+
//!     |                                                     +--> Ended, in the order of their ends
//!     +----- number --> guest 1: run.sh -- lines --> Seen --+
//! ```
//!
//! A guest that stops or hangs costs the scenario that it was in, and one that fails may leave what
//! the next would trip over: a fresh guest goes on with the rest.

use super::{
    machine::{self, Machine, Parts},
    scenario::{Scenario, Seen},
};
use anyhow::{Result, bail};
use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Mutex, MutexGuard,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// A scenario's texts end by themselves, each after its limit; what is around them takes so long.
const AROUND: Duration = Duration::from_secs(180);

/// An emulated kernel does not come up each time, and that is no fault of what is tried in it.
const FAILED_STARTS_MAX: u32 = 1;

/// What a guest told, or what became of it.
pub enum News {
    Ended {
        scenario: &'static Scenario,
        seen: Seen,
        faults: Vec<String>,
    },
    /// Of a guest that did not come up, or was not well when it ended.
    Lost(String),
    Note(String),
}

/// What is left to do, in turn.
pub struct Queue {
    scenarios: Vec<&'static Scenario>,
    next: Mutex<usize>,
}

impl Queue {
    pub fn new(scenarios: Vec<&'static Scenario>) -> Self {
        Self { scenarios, next: Mutex::new(0) }
    }

    fn next(&self) -> MutexGuard<'_, usize> {
        self.next.lock().expect("no thread panics with it")
    }

    fn take(&self) -> Option<usize> {
        let mut next = self.next();
        (*next < self.scenarios.len()).then(|| {
            *next += 1;
            *next - 1
        })
    }

    /// How many nobody has begun.
    pub fn left(&self) -> usize {
        self.scenarios.len() - *self.next()
    }
}

/// Runs all of a queue in as many guests as there are parts, and tells of each scenario as it ends.
pub fn run(queue: &Queue, machines: &[Parts<'_>], mut tell: impl FnMut(News)) {
    let (sender, news) = mpsc::channel();
    thread::scope(|scope| {
        for parts in machines {
            let mut guest = Guest {
                queue,
                parts,
                sender: sender.clone(),
                drives: BTreeMap::new(),
                now: None,
                failed_starts: 0,
            };
            scope.spawn(move || guest.run());
        }
        drop(sender);
        news.into_iter().for_each(&mut tell);
    });
}

/// What a guest is in the middle of.
struct Now {
    number: usize,
    seen: Seen,
    began: Instant,
    /// What the machine had taken when it began; less than nothing after a power cut.
    processor_s: f64,
}

/// How a machine came to its end.
enum Power {
    Off,
    Cut,
}

/// What a scenario left behind in its guest.
#[derive(PartialEq, Eq)]
enum Left {
    Clean,
    Dirty,
}

struct Guest<'a> {
    queue: &'a Queue,
    parts: &'a Parts<'a>,
    sender: Sender<News>,
    drives: BTreeMap<String, String>,
    now: Option<Now>,
    failed_starts: u32,
}

impl Guest<'_> {
    fn run(&mut self) {
        let mut again = None;
        while self.queue.left() > 0 || again.is_some() {
            match self.boot(again.take()) {
                Ok(Power::Off) => {}
                Ok(Power::Cut) => again = self.now.as_ref().map(|now| now.number),
                // Nobody can say what it would have given with more time.
                Err(_) if Instant::now() >= self.parts.ends => {
                    let name = self.now.take().map(|now| self.queue.scenarios[now.number].name);
                    let during = name.unwrap_or("the start");
                    self.tell(News::Lost(format!("out of time (--limit) in {during}")));
                }
                Err(error) => {
                    if self.end(Some(format!("{error:#}"))).is_none() {
                        if self.failed_starts == FAILED_STARTS_MAX {
                            self.tell(News::Lost(format!("{error:#}")));
                            return;
                        }
                        self.failed_starts += 1;
                        self.tell(News::Note(format!("a guest is started again: {error:#}")));
                    }
                }
            }
            if Instant::now() >= self.parts.ends {
                return;
            }
        }
    }

    /// From power on to power off.
    fn boot(&mut self, again: Option<usize>) -> Result<Power> {
        self.drives.clear();
        let mut machine = Machine::start(self.parts, again)?;
        while let Some(line) = machine.line()? {
            if let Some(text) = line.strip_prefix("@@ drive ") {
                let (name, path) = text.split_once('=').unwrap_or((text, ""));
                self.drives.insert(name.to_owned(), path.to_owned());
            } else if line == "@@ again" {
                machine.allow(self.time_for(again));
            } else if line == "@@ ready" {
                self.begin(&mut machine)?;
            } else if line == "@@ cut" {
                if self.now.is_none() {
                    bail!("the guest says that its power is off, and is in no scenario");
                }
                self.now.iter_mut().for_each(|now| now.processor_s -= machine.processor_s());
                return Ok(Power::Cut);
            } else if let Some(now) = &mut self.now
                && now.seen.take(&line)
            {
                now.seen.processor_s = machine.processor_s() - now.processor_s;
                if self.end(None) == Some(Left::Dirty) {
                    return Ok(Power::Off);
                }
            }
        }
        Ok(Power::Off)
    }

    /// The next scenario, or the end.
    fn begin(&mut self, machine: &mut Machine) -> Result<()> {
        let known = machine::drives().count();
        if self.drives.len() < known {
            let found = self.drives.len();
            self.tell(News::Note(format!("of {known} drives only {found} are there")));
        }
        let number = self.queue.take();
        machine.allow(self.time_for(number));
        let Some(number) = number else { return machine.say("off") };
        let (seen, began, processor_s) = (Seen::default(), Instant::now(), machine.processor_s());
        self.now = Some(Now { number, seen, began, processor_s });
        machine.say(&format!("{number:03}"))
    }

    fn time_for(&self, number: Option<usize>) -> Duration {
        number.map_or(AROUND, |number| AROUND + self.queue.scenarios[number].time())
    }

    /// What it was in the middle of is over, if it was in something.
    fn end(&mut self, lost: Option<String>) -> Option<Left> {
        let Now { number, mut seen, began, .. } = self.now.take()?;
        let scenario = self.queue.scenarios[number];
        seen.seconds = began.elapsed().as_secs_f64();
        let faults = match lost {
            Some(why) => {
                // What the kernel said, nobody could ask it any more.
                let console = fs::read(self.parts.directory.join("console")).unwrap_or_default();
                seen.take_console(&String::from_utf8_lossy(&console));
                vec![why]
            }
            None => seen.faults(scenario, &self.drives),
        };
        let left = if faults.is_empty() { Left::Clean } else { Left::Dirty };
        self.tell(News::Ended { scenario, seen, faults });
        Some(left)
    }

    fn tell(&self, news: News) {
        // Who listens does so to the end.
        let _ = self.sender.send(news);
    }
}
