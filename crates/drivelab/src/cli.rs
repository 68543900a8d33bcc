//! The command line, as `--help` shows it: all verbs, and `run`. Others stand in a file each, here
//! or beside their verb.

mod compare;
mod devices;
mod drives;
mod export;
mod history;
mod import;
mod lookup;
mod push;
mod replay;
mod report;
mod restore;
mod serve;
mod trace;
mod web;

pub use compare::CompareArguments;
pub use devices::DevicesArguments;
pub use drives::{DrivesArguments, DrivesVerb, FitArguments};
pub use export::ExportArguments;
pub use history::{HistoryArguments, ShowArguments};
pub use import::ImportArguments;
pub use lookup::{
    CompletionsArguments, DocsArguments, ExplainArguments, HelpArguments, ManArguments,
    MethodsArguments, Shell,
};
pub use push::PushArguments;
pub use replay::ReplayArguments;
pub use report::ReportArguments;
pub use restore::RestoreArguments;
pub use serve::{ServeArguments, Slower};
pub use trace::TraceArguments;
pub use web::WebArguments;

use crate::{
    advise::arguments as advise, campaign::arguments as campaign, flash::arguments as flash,
    hybrid::arguments as hybrid, matrix::arguments as matrix, power_cut::arguments as power_cut,
    run::arguments as run, study::arguments as study,
};
use clap::{Parser, Subcommand};

/// A storage laboratory: measures a drive, file system or array, and says how sure it is.
#[derive(Parser, Debug)]
#[command(name = "drivelab", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "RUN is a run's id, a unique beginning of one, `last`, `last~1`, a --label value, or a \
                        record file.\n\nStart with: drivelab run ."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Verb {
    #[command(about = "Measure a directory, file, block device or modelled drive", long_about = run::ABOUT)]
    Run(Box<run::RunArguments>),
    #[command(about = "Re-run a published study, on its own drives modelled or on yours", long_about = study::ABOUT)]
    Study(Box<study::StudyArguments>),
    #[command(about = "Measure every combination of file system, write cache, TRIM and other settings", long_about = matrix::ABOUT)]
    Matrix(Box<matrix::MatrixArguments>),
    #[command(about = "Cut modelled drives' power under a database; count broken promises")]
    #[command(long_about = power_cut::ABOUT)]
    PowerCut(Box<power_cut::PowerCutArguments>),
    #[command(hide = true)]
    PowerCutCase(power_cut::CaseArguments),
    #[command(about = "Measure many targets and settings as tasks, here or on a cluster")]
    #[command(long_about = campaign::ABOUT)]
    Campaign(Box<campaign::CampaignArguments>),
    #[command(about = "Put back what a killed run left changed on this machine", long_about = restore::ABOUT)]
    Restore(RestoreArguments),
    #[command(about = "Managed flash volumes: make, look at, check, predict", long_about = flash::ABOUT)]
    Flash(Box<flash::FlashArguments>),
    #[command(about = "Serve a target as a network block device (NBD)", long_about = serve::ABOUT)]
    Serve(ServeArguments),
    #[command(about = "Say what a block trace is like: mix, sizes, reuse, bursts, cache misses")]
    #[command(long_about = trace::ABOUT)]
    Trace(TraceArguments),
    #[command(about = "Play a block trace on a target at its own times")]
    #[command(long_about = replay::ABOUT)]
    Replay(Box<ReplayArguments>),
    /// List the runs in the store, newest first
    History(HistoryArguments),
    #[command(about = "Push runs into a database that many machines share")]
    #[command(long_about = push::ABOUT)]
    Push(PushArguments),
    /// Print a run's table again
    Show(ShowArguments),
    #[command(about = "Compare runs, cell by cell, with intervals", long_about = compare::ABOUT)]
    Compare(CompareArguments),
    #[command(about = "Say what to buy for a mix of reads and writes", long_about = advise::ABOUT)]
    Advise(Box<advise::AdviseArguments>),
    #[command(about = "Say which way of putting flash beside disks does most for a trace")]
    #[command(long_about = hybrid::ABOUT)]
    Hybrid(Box<hybrid::HybridArguments>),
    #[command(about = "Write runs as pictures and tables", long_about = report::ABOUT)]
    Report(ReportArguments),
    #[command(about = "Write runs for other programs: CSV, OpenMetrics, Markdown, fio's JSON")]
    #[command(long_about = export::ABOUT)]
    Export(ExportArguments),
    #[command(about = "Take in results of fio, IOzone, Bonnie++, dd, ioping and others")]
    #[command(long_about = import::ABOUT)]
    Import(ImportArguments),
    #[command(about = "List the drives that can be modelled, show one, or propose one from a run")]
    #[command(long_about = drives::ABOUT)]
    Drives(DrivesArguments),
    #[command(about = "List this machine's block devices: what is on them, and what may be done", long_about = devices::ABOUT)]
    Devices(DevicesArguments),
    #[command(about = "Show the history in a browser, on this machine", long_about = web::ABOUT)]
    Web(WebArguments),
    /// List the methods, or tell what one of them does
    Methods(MethodsArguments),
    /// Say what a run's flags mean, and what to do about them
    Explain(ExplainArguments),
    /// Print a page of the manual that the help names
    Docs(DocsArguments),
    /// Print the help of a verb
    Help(HelpArguments),
    /// Print or write pages for `man`
    Man(ManArguments),
    /// Print what completes words in bash, fish or zsh
    Completions(CompletionsArguments),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
