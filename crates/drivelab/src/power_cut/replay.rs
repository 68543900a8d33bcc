//! `drivelab power-cut STACK --replay LOG`: what was recorded, cut at many places.

use super::{PowerCutArguments, in_words, retyped};
use crate::{cli, interrupt, matrix::caller, output, restore};
use anyhow::{Result, bail};
use clap::Parser;
use matrix::Caller;
use powercut::{
    PowerCutError,
    replay::{self, Audience, Cut, Place, ReplayOrder, Share, Tally},
};
use std::{
    num::{NonZero, NonZeroU32},
    path::Path,
    process::{Command, ExitCode},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

/// How often a terminal is told how far it is.
const PAUSE: Duration = Duration::from_secs(10);

/// Replays `log`, and says which cuts broke a promise.
pub fn power_cuts(arguments: &PowerCutArguments, log: &Path) -> Result<ExitCode> {
    output::check_json(arguments.json.as_deref())?;
    let order = order(arguments, log)?;
    let caller = caller()?;
    replay::check(&order, &caller).map_err(in_words)?;
    let stop = interrupt::flag()?;
    if arguments.share.is_some() {
        return share(&order, &caller, &stop);
    }
    restore::tell_left_behind();
    let to_stdout = arguments.json.as_deref() == Some(Path::new("-"));
    let shows = !arguments.quiet && !to_stdout;
    if shows {
        output::print(&replay::head(&order))?;
    }
    let mut tally = Tally::default();
    let verbose = arguments.verbose;
    let mut told = Told { shows, verbose, broken: Vec::new(), last: Instant::now() };
    let workers = workers(arguments, &order);
    let ended = match workers.get() {
        1 => replay::replay(&order, &caller, &mut tally, &mut told, &stop),
        _ => {
            let program = &caller.serving.program;
            let command = |share| worker(program, share);
            let code = interrupt::EXIT_CODE;
            replay::side_by_side(workers, &command, code, &mut tally, &mut told, &stop)
        }
    };
    told.broken.sort_by_key(|cut| cut.place);
    if !to_stdout {
        let typed = &caller.by.command_line;
        let again = |place: Place| {
            let cut = vec!["--cut".to_owned(), place.to_string()];
            let words = retyped(typed, &["--cuts", "--cut", "--json", "--workers"], &[], cut);
            words.iter().map(record::quoted).collect::<Vec<_>>().join(" ")
        };
        output::print(&replay::verdict(&tally, &again))?;
    }
    if let Some(path) = arguments.json.as_deref() {
        let json = replay::json(&order, &tally, &told.broken);
        let json = serde_json::to_string_pretty(&json)? + "\n";
        if to_stdout { output::print(&json)? } else { output::write_json(path, &json)? }
    }
    match ended {
        Err(PowerCutError::Interrupted) => Ok(interrupted()),
        Err(error) => Err(in_words(error)),
        Ok(()) if tally.broken > 0 => Ok(ExitCode::from(1)),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// What was ordered is what was typed when it was recorded.
fn order(arguments: &PowerCutArguments, log: &Path) -> Result<ReplayOrder> {
    let survey = replay::open(log).map_err(in_words)?;
    let Ok(cli::Cli { verb: cli::Verb::PowerCut(recorded) }) =
        cli::Cli::try_parse_from(&survey.command)
    else {
        bail!(
            "{}: it was recorded by words that this drivelab does not know: record anew",
            log.display()
        );
    };
    arguments.to_replay(&recorded, log, survey)
}

fn interrupted() -> ExitCode {
    output::talk!("drivelab: interrupted; everything is put back");
    ExitCode::from(interrupt::EXIT_CODE)
}

/// How many processes.
fn workers(arguments: &PowerCutArguments, order: &ReplayOrder) -> NonZeroU32 {
    if arguments.verbose {
        return NonZeroU32::MIN;
    }
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get) as u32;
    let default = || replay::workers(order, processors);
    arguments.workers.and_then(NonZeroU32::new).unwrap_or_else(default)
}

/// A process that cuts its share, as this one was called.
fn worker(program: &Path, share: Share) -> Command {
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    command.arg(format!("--share={share}"));
    command
}

/// Is such a process: a line a cut, for the one that started it.
fn share(order: &ReplayOrder, caller: &Caller, stop: &AtomicBool) -> Result<ExitCode> {
    powercut::end_with_parent();
    let mut tally = Tally::default();
    match replay::replay(order, caller, &mut tally, &mut Lines, stop) {
        Err(PowerCutError::Interrupted) => Ok(interrupted()),
        Err(error) => Err(in_words(error)),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// Every cut on stdout.
struct Lines;

impl Audience for Lines {
    fn step(&self) -> Box<dyn FnMut(&str)> {
        super::steps(false)
    }

    fn cut(&mut self, cut: &Cut, _: &Tally) -> Result<(), PowerCutError> {
        // Nobody listens any more: nobody is to be told.
        output::print(&replay::told(cut)).map_err(|_| PowerCutError::Interrupted)
    }
}

struct Told {
    shows: bool,
    verbose: bool,
    broken: Vec<Cut>,
    last: Instant,
}

impl Audience for Told {
    fn step(&self) -> Box<dyn FnMut(&str)> {
        super::steps(self.verbose)
    }

    fn cut(&mut self, cut: &Cut, tally: &Tally) -> Result<(), PowerCutError> {
        if cut.found.is_broken() {
            if self.shows {
                // Who closed the pipe is told by the verdict.
                let _ = output::print(&replay::line(cut));
            }
            self.broken.push(cut.clone());
        }
        if self.shows && self.last.elapsed() >= PAUSE {
            self.last = Instant::now();
            output::talk!("{}", replay::progress(cut, tally));
        }
        Ok(())
    }
}
