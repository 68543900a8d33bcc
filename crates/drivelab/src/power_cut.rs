//! `drivelab power-cut`: promises under power cuts.
//!
//! ```text
//!   arguments | --resume RUN -> PowerCutOrder
//!   powercut::check, powercut::rounds     crates/powercut
//!   -> a run in the history after every round
//!   -> a line a round, the verdict        report::power_cuts
//! ```

pub mod arguments;
mod grid;
mod replay;

use crate::{cli, interrupt, matrix::caller, output, restore, run::measured_by};
use anyhow::{Context, Error, Result, anyhow, bail};
use arguments::{CaseArguments, Phase, PowerCutArguments};
use clap::Parser;
use engine::Clock;
use lab::target::Time;
use matrix::{Caller, MatrixError, RefusalKind, TestDevice};
use powercut::{Audience, PowerCutError, PowerCutOrder, cases};
use record::{PowerCuts, Record, State, Store};
use report::power_cuts;
use std::{io, path::Path, process::ExitCode, sync::atomic::AtomicBool};
use target::write_log::WriteLogError;

/// Cuts, keeps what was found, and says what the program kept.
pub fn power_cut(arguments: &PowerCutArguments) -> Result<ExitCode> {
    if let Some(log) = &arguments.replay {
        return replay::power_cuts(arguments, log);
    }
    if arguments.cuts.is_some() || arguments.cut.is_some() || arguments.workers.is_some() {
        bail!("--cuts, --cut and --workers are of a replay: name its log by --replay FILE");
    }
    if arguments.matrix {
        return grid::power_cuts(arguments);
    }
    let Some(named) = &arguments.resume else {
        let order = arguments.to_order()?;
        return carry_out(arguments, &order, None);
    };
    let record = crate::store::open_swept(arguments.store.as_deref())?.resolve(named)?;
    let id = &record.id;
    if record.state == State::Running {
        return Err(crate::run::in_words(run::Refusal::Running(id.clone()).into()));
    }
    if record.power_cuts.as_ref().with_context(|| other(&record))?.next().is_none() {
        bail!("run {id} has all its rounds: `drivelab show {id}`");
    }
    // What was ordered is what was typed then.
    let typed = cli::Cli::try_parse_from(&record.command_line);
    let Ok(cli::Cli { verb: cli::Verb::PowerCut(earlier) }) = typed else {
        bail!("run {id} was ordered in words that this drivelab does not know: cut anew");
    };
    let order = earlier.to_order()?;
    carry_out(arguments, &order, Some(record))
}

/// What is resumed elsewhere.
fn other(record: &Record) -> String {
    let Record { id, method, .. } = record;
    format!("run {id} is of the method {}: `drivelab run --resume {id}`", method.name)
}

fn carry_out(
    arguments: &PowerCutArguments,
    order: &PowerCutOrder,
    earlier: Option<Record>,
) -> Result<ExitCode> {
    output::check_json(arguments.json.as_deref())?;
    let caller = caller()?;
    powercut::check(order, &caller).map_err(in_words)?;
    let store = crate::store::open_swept(arguments.store.as_deref())?;
    let record = match earlier {
        Some(record) => record,
        None => opened(arguments, order, &store)?,
    };
    let stop = interrupt::flag()?;
    restore::tell_left_behind();
    let to_stdout = arguments.json.as_deref() == Some(Path::new("-"));
    let shows = !arguments.quiet && !to_stdout;
    if shows {
        let cuts = record.power_cuts.as_ref().expect("a run of power cuts");
        output::print(&power_cuts::head(&record, cuts))?;
        output::print(&format!("run {}\n{}", record.id, power_cuts::heads()))?;
    }
    let Cut { mut store, record, ended } =
        cut(arguments, order, &caller, (store, record), (shows, &stop))?;
    let cuts = record.power_cuts.as_ref().expect("a run of power cuts");
    // First for who waits: neither history nor file may fit on its disk.
    if !to_stdout {
        let again = |round| again(&record.command_line, round);
        // A round that was recorded ended with the recording: a replay cuts there again.
        let again: Option<&dyn Fn(u32) -> String> =
            if arguments.record_writes.is_none() { Some(&again) } else { None };
        output::print(&power_cuts::verdict(cuts, again))?;
    }
    run::conclude(&mut store, &record).context("the record could not be kept")?;
    deliver(arguments, &record);
    if let Some(path) = arguments.json.as_deref() {
        let json = serde_json::to_string_pretty(&record)? + "\n";
        if to_stdout { output::print(&json)? } else { output::write_json(path, &json)? }
    }
    if let (Some(log), Ok(()), false) = (&arguments.record_writes, &ended, to_stdout) {
        let survey = powercut::replay::open(log)?;
        output::print(&powercut::replay::recorded(log, &survey))?;
    }
    let is_broken = cuts.broken().next().is_some();
    let go_on = go_on(arguments, &record);
    match ended {
        Err(PowerCutError::Interrupted) => {
            output::talk!("drivelab: interrupted; everything is put back; {go_on}");
            Ok(ExitCode::from(interrupt::EXIT_CODE))
        }
        Err(error) if cuts.rounds.is_empty() => Err(in_words(error)),
        Err(error) => Err(anyhow!("{}; then {go_on}", in_words(error))),
        Ok(()) if is_broken => Ok(ExitCode::from(1)),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// Rounds that were cut, as far as it came, not yet concluded.
struct Cut {
    store: Store,
    record: Record,
    ended: Result<(), PowerCutError>,
}

/// Cuts all rounds of `record` that have not ended; `shows` a line each.
fn cut(
    arguments: &PowerCutArguments,
    order: &PowerCutOrder,
    caller: &Caller,
    (mut store, mut record): (Store, Record),
    (shows, stop): (bool, &AtomicBool),
) -> Result<Cut> {
    (record.error, record.finished) = (None, None);
    run::begin(&mut store, &mut record)?;
    let mut cuts = record.power_cuts.clone().expect("a run of power cuts");
    let mut told = Told { shows, verbose: arguments.verbose, record: &mut record, store };
    let ended = powercut::rounds(order, caller, &mut cuts, &mut told, stop);
    let Told { store, .. } = told;
    record.power_cuts = Some(cuts);
    (record.state, record.error) = match &ended {
        Ok(()) => (State::Complete, None),
        Err(PowerCutError::Interrupted) => (State::Interrupted, None),
        Err(error) => (State::Failed, Some(error.to_string())),
    };
    record.finished = Some(host::now());
    Ok(Cut { store, record, ended })
}

fn deliver(arguments: &PowerCutArguments, record: &Record) {
    crate::store::deliver(arguments.store.as_deref(), &record.id);
}

/// How the rounds that are missing are cut.
fn go_on(arguments: &PowerCutArguments, record: &Record) -> String {
    let place = output::store_option(arguments.store.as_deref());
    format!("go on with `drivelab power-cut --resume {}{place}`", record.id)
}

/// A run of which no round has ended.
fn opened(arguments: &PowerCutArguments, order: &PowerCutOrder, store: &Store) -> Result<Record> {
    let device = TestDevice::Model { stack: order.stack.clone() };
    let target = device.info().map_err(|error| in_words(error.into()))?;
    let targets = target.into_iter().collect();
    let opening = run::opening(targets, Time::Wall, &measured_by(), store, Clock::start())?;
    let labels = lab::order::labels(&arguments.label);
    Ok(powercut::record(order, order.begun(arguments.rounds()), opening, labels))
}

/// The command line that runs a round again: without what chose the rounds, or where they go.
fn again(words: &[String], round: u32) -> String {
    let round = vec!["--round".to_owned(), round.to_string()];
    let words = retyped(words, &["--rounds", "--round", "--json"], &[], round);
    words.iter().map(record::quoted).collect::<Vec<_>>().join(" ")
}

/// A command line without some options and flags, and with others.
fn retyped(words: &[String], options: &[&str], flags: &[&str], more: Vec<String>) -> Vec<String> {
    let mut words = words.iter().skip(1).cloned();
    let (mut kept, mut after) = (vec!["drivelab".to_owned()], Vec::new());
    while let Some(word) = words.next() {
        let (name, level) = word.split_once('=').map_or((&*word, None), |it| (it.0, Some(it.1)));
        match name {
            // What follows is the program's.
            "--" => {
                after.push(word);
                after.extend(words.by_ref());
            }
            _ if flags.contains(&name) => {}
            _ if options.contains(&name) => {
                if level.is_none() {
                    words.next();
                }
            }
            _ => kept.push(word),
        }
    }
    kept.extend(more);
    kept.extend(after);
    kept
}

/// One sentence with the cure.
fn in_words(error: PowerCutError) -> Error {
    match error {
        PowerCutError::Raw(_) => anyhow!("--fs raw: {error}"),
        PowerCutError::Log { source: WriteLogError::NoLog, .. } | PowerCutError::NoPromise(_) => {
            anyhow!(
                "{error}: `drivelab power-cut STACK --record-writes FILE` makes one that has all"
            )
        }
        PowerCutError::NoMember(_) => anyhow!("--lose-member: {error}"),
        PowerCutError::Matrix(MatrixError::Refused(refusal)) => match refusal.kind {
            RefusalKind::NotRoot => anyhow!(
                "power-cut attaches devices and mounts file systems: run it as root (`sudo \
                 drivelab power-cut ...`)"
            ),
            _ => crate::matrix::in_words(MatrixError::Refused(refusal)),
        },
        PowerCutError::Matrix(error) => crate::matrix::in_words(error),
        error => error.into(),
    }
}

/// Prints every command, where that is wished for.
fn steps(verbose: bool) -> Box<dyn FnMut(&str)> {
    Box::new(move |step| {
        if verbose {
            output::talk!("+ {step}");
        }
    })
}

struct Told<'a> {
    shows: bool,
    verbose: bool,
    record: &'a mut Record,
    store: Store,
}

impl Audience for Told<'_> {
    fn step(&self) -> Box<dyn FnMut(&str)> {
        steps(self.verbose)
    }

    fn round(&mut self, cuts: &PowerCuts) -> Result<(), PowerCutError> {
        if self.shows {
            let last = cuts.rounds.last().expect("one has ended");
            // Who closed the pipe is told by the verdict.
            let _ = output::print(&power_cuts::line(last));
        }
        self.record.power_cuts = Some(cuts.clone());
        Ok(self.store.save(self.record)?)
    }
}

/// A built-in case, in a process of its own.
pub fn case(arguments: &CaseArguments) -> Result<ExitCode> {
    if !cases::CASES.iter().any(|(name, _)| *name == arguments.case) {
        bail!("{}: `drivelab power-cut` starts this", arguments.case);
    }
    if !powercut::die_with_parent(arguments.of) {
        bail!("{}: the `drivelab power-cut` that started this is gone", arguments.case);
    }
    let phase = match arguments.phase {
        Phase::Run => powercut::Phase::Run,
        Phase::Check => powercut::Phase::Check,
        Phase::Checks => powercut::Phase::Checks,
    };
    let (mut told, mut said) = (io::stdin().lock(), io::stdout().lock());
    let CaseArguments { case, set, directory, .. } = arguments;
    cases::run(case, set, phase, directory, &mut told, &mut said)
        .map_err(|failure| anyhow!("{failure}"))?;
    Ok(ExitCode::SUCCESS)
}
