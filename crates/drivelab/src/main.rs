//! drivelab: is this drive, volume or array as fast as its data sheet says, for my workload?
//!
//! ```text
//!   cli (words)  ->  run | show | history  ->  stdout: tables and data, stderr: talk
//! ```
//!
//! Exit codes: 0 the plan completed, 2 could not run, 130 interrupted.
#![forbid(unsafe_code)]

mod cli;
mod duration;
mod history;
mod interrupt;
mod output;
mod progress;
mod run;
mod show;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let outcome = match cli.verb {
        cli::Verb::Run(arguments) => run::run(*arguments),
        cli::Verb::History(arguments) => history::history(&arguments),
        cli::Verb::Show(arguments) => show::show(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("drivelab: {error:#}");
            ExitCode::from(2)
        }
    }
}
