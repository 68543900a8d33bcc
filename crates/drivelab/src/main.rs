//! drivelab: is this drive, volume or array as fast as its data sheet says, for my workload?
//!
//! ```text
//!   cli (words)  ->  run | study | campaign | serve | show | history | push | compare | advise |
//!                     report | export | drives | devices | web | methods | explain | docs
//!   ->  stdout: tables and data, stderr: talk
//! ```
//!
//! Exit codes: 0 the plan completed, 1 a finding, 2 could not run, 130 interrupted. What nobody
//! reads changes none of them; a result that cannot be written, on a full disk, is 2.
#![forbid(unsafe_code)]

mod advise;
mod campaign;
mod cli;
mod compare;
mod complaint;
mod devices;
mod drives;
mod export;
mod flash;
mod history;
mod hybrid;
mod import;
mod interrupt;
mod key_value;
mod known;
mod lookup;
mod matrix;
mod no_verb;
mod other_words;
mod output;
mod power_cut;
mod progress;
mod push;
mod replay;
mod report;
mod restore;
mod run;
mod serve;
mod show;
mod store;
mod study;
mod trace;
mod traced;
mod values;
mod web;

use clap::{Parser, error::ErrorKind};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are no errors; without a verb the help says what there is.
        Err(error) if is_help(&error) => return help(&error),
        Err(error) => return refused(&complaint::of_the_command_line(&error)),
    };
    interrupt::outlive_large_files();
    target::catalog::tell_left_out(|bad| output::talk!("drivelab: left out: {bad}"));
    let outcome = match cli.verb {
        cli::Verb::Run(arguments) => run::run(*arguments),
        cli::Verb::Matrix(arguments) => matrix::matrix(&arguments),
        cli::Verb::PowerCut(arguments) => power_cut::power_cut(&arguments),
        cli::Verb::PowerCutCase(arguments) => power_cut::case(&arguments),
        cli::Verb::Campaign(arguments) => campaign::campaign(&arguments),
        cli::Verb::Restore(arguments) => restore::restore(&arguments),
        cli::Verb::Serve(arguments) => serve::serve(&arguments),
        cli::Verb::Flash(arguments) => flash::flash(&arguments),
        cli::Verb::History(arguments) => history::history(&arguments),
        cli::Verb::Push(arguments) => push::push(&arguments),
        cli::Verb::Show(arguments) => show::show(&arguments),
        cli::Verb::Study(arguments) => study::study(&arguments),
        cli::Verb::Compare(arguments) => compare::compare(&arguments),
        cli::Verb::Advise(arguments) => advise::advise(&arguments),
        cli::Verb::Hybrid(arguments) => hybrid::hybrid(&arguments),
        cli::Verb::Report(arguments) => report::report(&arguments),
        cli::Verb::Export(arguments) => export::export(&arguments),
        cli::Verb::Import(arguments) => import::import(&arguments),
        cli::Verb::Drives(arguments) => drives::drives(&arguments),
        cli::Verb::Devices(arguments) => devices::devices(&arguments),
        cli::Verb::Replay(arguments) => replay::replay(&arguments),
        cli::Verb::Trace(arguments) => trace::trace(&arguments),
        cli::Verb::Web(arguments) => web::web(&arguments),
        cli::Verb::Methods(arguments) => lookup::methods::methods(&arguments),
        cli::Verb::Explain(arguments) => lookup::explain::explain(&arguments),
        cli::Verb::Docs(arguments) => lookup::docs::docs(&arguments),
        cli::Verb::Help(arguments) => lookup::help::help(&arguments),
        cli::Verb::Man(arguments) => lookup::man::man(&arguments),
        cli::Verb::Completions(arguments) => lookup::completions::completions(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => refused(&complaint::sentence(&error)),
    }
}

fn refused(sentence: &str) -> ExitCode {
    output::talk!("drivelab: {sentence}");
    ExitCode::from(2)
}

fn help(help: &clap::Error) -> ExitCode {
    match output::judged(help.print()) {
        Ok(()) => ExitCode::from(help.exit_code() as u8),
        Err(error) => refused(&complaint::sentence(&error)),
    }
}

fn is_help(error: &clap::Error) -> bool {
    !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}
