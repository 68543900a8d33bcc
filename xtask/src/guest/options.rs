//! What `cargo xtask guest` is told on the command line.

use super::{kernel::Kernel, scenario::Scenario, table};
use anyhow::{Context, Result, bail, ensure};
use std::{path::PathBuf, thread, time::Duration};

/// More would not be quicker: each wants a processor for itself, and some GB of memory.
const GUESTS_MAX: usize = 8;

pub struct Options {
    pub kernel: Kernel,
    pub only: Vec<String>,
    /// The small set alone that every change is tried with.
    pub quick: bool,
    pub list: bool,
    /// Nothing but the kernel's package, so that a later call needs no mirror.
    pub fetch: bool,
    pub program: Option<PathBuf>,
    /// All of it together.
    pub limit: Duration,
    /// Side by side.
    pub guests: usize,
    /// What was seen goes into the page.
    pub write: bool,
    pub verbose: bool,
    /// Run this instead of the scenarios.
    pub command: Option<String>,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            kernel: Kernel::Six12,
            only: Vec::new(),
            quick: false,
            list: false,
            fetch: false,
            program: None,
            limit: Duration::from_secs(1800),
            guests: thread::available_parallelism().map_or(1, usize::from).min(2),
            write: false,
            verbose: false,
            command: None,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--kernel" => options.kernel = Kernel::named(value()?)?,
                "--only" => options.only.push(value()?.clone()),
                "--quick" => options.quick = true,
                "--list" => options.list = true,
                "--fetch" => options.fetch = true,
                "--write" => options.write = true,
                "--verbose" => options.verbose = true,
                "--program" => options.program = Some(PathBuf::from(value()?)),
                "--limit" => {
                    let seconds = value()?.parse().context("--limit is a number of seconds")?;
                    options.limit = Duration::from_secs(seconds);
                }
                "--guests" => {
                    options.guests = value()?.parse().context("--guests is a number")?;
                    let is_right = (1..=GUESTS_MAX).contains(&options.guests);
                    ensure!(is_right, "--guests is a number from 1 to {GUESTS_MAX}");
                }
                "--" => {
                    options.command = Some(words.by_ref().cloned().collect::<Vec<_>>().join(" "));
                }
                _ => bail!("`{word}` is unknown; `cargo xtask help` has it"),
            }
        }
        Ok(options)
    }

    /// Those named, or of which a word is a part of the name; without words the small set, or all
    /// that need not be asked for by name.
    pub fn chosen(&self) -> Result<Vec<&'static Scenario>> {
        let all = table::all();
        for only in &self.only {
            let known = all.iter().any(|scenario| scenario.name.contains(only.as_str()));
            ensure!(known, "no scenario's name has `{only}`; `cargo xtask guest --list` has them");
        }
        let is_named = |scenario: &Scenario| {
            self.only.iter().any(|only| match scenario.by_name {
                true => scenario.name == only,
                false => scenario.name.contains(only.as_str()),
            })
        };
        let is_chosen = |scenario: &&Scenario| match (self.only.is_empty(), self.quick) {
            (false, _) => is_named(scenario),
            (true, true) => table::QUICK.contains(&scenario.name),
            (true, false) => self.list || !scenario.by_name,
        };
        Ok(all.into_iter().filter(is_chosen).collect())
    }
}
