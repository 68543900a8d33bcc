//! `drivelab push`: runs of this machine's history into a database that many machines share.

use crate::{
    cli::PushArguments,
    interrupt, output,
    store::{self, in_words},
};
use anyhow::{Result, bail};
use record::{Ended, Place, Store, StoreError, Tables};
use std::{
    path::Path,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// How long a server that went away in the middle may take to come back.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// Pushes what the other history lacks.
pub fn push(arguments: &PushArguments) -> Result<ExitCode> {
    let to = destination(arguments)?;
    let here = store::here(arguments.store.as_deref())?;
    if let Some(path) = to.file() {
        let same = [path, &here].map(|path| path.canonicalize().ok());
        if same[0].is_some() && same[0] == same[1] {
            bail!("--to {}: it is the history that is to be pushed: name another", to);
        }
    }
    let mut local = Store::open(&here)?;
    local.close_orphans()?;
    let runs = chosen(&local, arguments)?;
    let tables = if arguments.migrate { Tables::BroughtUp } else { Tables::Made };
    let stop = interrupt::flag()?;
    let mut delivery = Delivery { local, to, tables, lacking: None };
    let ended = delivery.carry_out(&runs, &stop);
    let told = delivery.told(&runs);
    match ended {
        Ok(true) => {
            output::print(&format!("{told}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(false) => {
            output::talk!("drivelab: interrupted: {told}; `drivelab push` goes on");
            Ok(ExitCode::from(interrupt::EXIT_CODE))
        }
        Err(error) => Err(in_words(error)),
    }
}

fn destination(arguments: &PushArguments) -> Result<Place> {
    if let Some(named) = &arguments.to {
        return store::place(named, "--to");
    }
    match std::env::var_os(store::VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => match store::place(Path::new(&value), store::VARIABLE)? {
            place @ Place::Server(_) => Ok(place),
            Place::File(_) => {
                bail!("where to? Name a database: --to postgresql://USER@HOST/NAME")
            }
        },
        None => bail!(
            "where to? Name a database: --to postgresql://USER@HOST/NAME, or set {}",
            store::VARIABLE
        ),
    }
}

/// The runs that were named, or all that have ended.
fn chosen(local: &Store, arguments: &PushArguments) -> Result<Vec<Ended>> {
    if arguments.runs.is_empty() {
        return Ok(local.ended()?);
    }
    let ended = arguments.runs.iter().map(|named| {
        let id = local.resolve(named)?.id;
        match local.ended_one(&id)? {
            Some(run) => Ok(run),
            None if local.contains(&id)? => bail!("run {id} has not ended yet: push it then"),
            None => bail!(
                "run {id} is a file and not in the history: `drivelab show` reads it, and only \
                 what is in the history is pushed"
            ),
        }
    });
    ended.collect()
}

/// Runs on their way.
struct Delivery {
    local: Store,
    to: Place,
    tables: Tables,
    /// How many were not there at first, and how many of those are there now.
    lacking: Option<(usize, usize)>,
}

impl Delivery {
    /// Goes on until all are there; a server that is started again meanwhile is waited for. Whether
    /// all are: not where the user stopped it.
    fn carry_out(&mut self, runs: &[Ended], stop: &AtomicBool) -> Result<bool, StoreError> {
        let mut since = Instant::now();
        loop {
            let before = self.lacking;
            let done = self.attempt(runs, stop);
            if self.lacking != before {
                since = Instant::now();
            }
            match done {
                Err(StoreError::Server { trouble, .. })
                    if trouble.may_pass()
                        && self.lacking.is_some()
                        && since.elapsed() < PATIENCE
                        && !stop.load(Relaxed) =>
                {
                    thread::sleep(PAUSE);
                }
                done => return done,
            }
        }
    }

    fn attempt(&mut self, runs: &[Ended], stop: &AtomicBool) -> Result<bool, StoreError> {
        let mut shared = Store::at_to_push(&self.to, self.tables)?;
        let lacking = shared.lacks(runs)?;
        let total = self.lacking.map_or(lacking.len(), |(total, _)| total);
        // What was being written when the connection broke is there, or it is not: it was asked.
        let mut there = total.saturating_sub(lacking.len());
        self.lacking = Some((total, there));
        for (run, id) in lacking {
            if stop.load(Relaxed) {
                return Ok(false);
            }
            shared.push(&self.local.load(&run.id)?, &run, &id)?;
            there += 1;
            self.lacking = Some((total, there));
        }
        Ok(true)
    }

    fn told(&self, runs: &[Ended]) -> String {
        let (total, there) = self.lacking.unwrap_or((runs.len(), 0));
        let counted = |count: usize| match count {
            1 => "1 run".to_owned(),
            count => format!("{count} runs"),
        };
        let before = match runs.len() - total {
            0 => String::new(),
            1 => "; 1 was there already".to_owned(),
            many => format!("; {many} were there already"),
        };
        let of = if there == total { String::new() } else { format!(" of {total}") };
        format!("pushed {}{of} to {}{before}", counted(there), self.to)
    }
}
