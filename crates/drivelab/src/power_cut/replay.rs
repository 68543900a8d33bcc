//! `drivelab power-cut STACK --replay LOG`: what was recorded, cut at many places.

use super::{PowerCutArguments, in_words, retyped};
use crate::{cli, interrupt, matrix::caller, output, restore};
use anyhow::{Result, bail};
use clap::Parser;
use powercut::{
    PowerCutError,
    replay::{self, Audience, Cut, Place, Tally},
};
use std::{
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

/// How often a terminal is told how far it is.
const PAUSE: Duration = Duration::from_secs(10);

/// Replays `log`, and says which cuts broke a promise.
pub fn power_cuts(arguments: &PowerCutArguments, log: &Path) -> Result<ExitCode> {
    output::check_json(arguments.json.as_deref())?;
    let survey = replay::open(log).map_err(in_words)?;
    // What was ordered is what was typed then.
    let Ok(cli::Cli { verb: cli::Verb::PowerCut(recorded) }) =
        cli::Cli::try_parse_from(&survey.command)
    else {
        bail!(
            "{}: it was recorded by words that this drivelab does not know: record anew",
            log.display()
        );
    };
    let order = arguments.to_replay(&recorded, log, survey)?;
    let caller = caller()?;
    powercut::check(&order.order, &caller).map_err(in_words)?;
    let stop = interrupt::flag()?;
    restore::tell_left_behind();
    let to_stdout = arguments.json.as_deref() == Some(Path::new("-"));
    let shows = !arguments.quiet && !to_stdout;
    if shows {
        output::print(&replay::head(&order))?;
    }
    let mut tally = Tally::default();
    let verbose = arguments.verbose;
    let mut told = Told { shows, verbose, broken: Vec::new(), last: Instant::now() };
    let ended = replay::replay(&order, &caller, &mut tally, &mut told, &stop);
    if !to_stdout {
        let typed = &caller.by.command_line;
        let again = |place: Place| {
            let cut = vec!["--cut".to_owned(), place.to_string()];
            let words = retyped(typed, &["--cuts", "--cut", "--json"], &[], cut);
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
        Err(PowerCutError::Interrupted) => {
            output::talk!("drivelab: interrupted; everything is put back");
            Ok(ExitCode::from(interrupt::EXIT_CODE))
        }
        Err(error) => Err(in_words(error)),
        Ok(()) if tally.broken > 0 => Ok(ExitCode::from(1)),
        Ok(()) => Ok(ExitCode::SUCCESS),
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
