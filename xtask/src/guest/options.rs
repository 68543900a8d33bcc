//! What `cargo xtask guest` is told on the command line.

use super::{kernel::Kernel, scenario::Scenario, table};
use anyhow::{Result, ensure};
use std::{path::PathBuf, thread, time::Duration};

/// More would not be quicker: each wants a processor for itself, and some GB of memory.
const GUESTS_MAX: i64 = 8;

/// What is tried, and where.
#[derive(clap::Args)]
pub struct Options {
    /// The guest's Linux: 6.1 or 6.12.
    #[arg(long, default_value = "6.12", value_parser = Kernel::named)]
    pub kernel: Kernel,
    /// The scenarios whose names have this in them; may be given again.
    #[arg(long, value_name = "NAME", conflicts_with = "quick")]
    pub only: Vec<String>,
    /// The small set of .ci/run; what is out of time is run once more.
    #[arg(long)]
    pub quick: bool,
    /// Names the scenarios and runs none.
    #[arg(long)]
    pub list: bool,
    /// Fetches the kernel from Debian's mirror, once; an error where it cannot be had.
    #[arg(long)]
    pub fetch: bool,
    /// This binary instead of one that is built.
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// How long all of it may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    limit: u64,
    /// How many run side by side; each wants a processor for itself, and some GB of memory.
    #[arg(long, value_name = "N", default_value_t = guests())]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=GUESTS_MAX))]
    guests: u8,
    /// Writes what was seen into docs/results/guest-scenarios.md.
    #[arg(long)]
    pub write: bool,
    #[arg(long)]
    pub verbose: bool,
    /// Runs this in such a machine instead of the scenarios.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn guests() -> u8 {
    thread::available_parallelism().map_or(1, |count| count.get().min(2) as u8)
}

impl Options {
    /// All of it together.
    pub fn limit(&self) -> Duration {
        Duration::from_secs(self.limit)
    }

    /// So many side by side.
    pub fn guests(&self) -> usize {
        usize::from(self.guests)
    }

    /// What runs instead of the scenarios.
    pub fn command(&self) -> Option<String> {
        (!self.command.is_empty()).then(|| self.command.join(" "))
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
