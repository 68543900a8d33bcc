//! The command line of `drivelab campaign`.

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use std::path::PathBuf;

/// What `campaign --help` opens with.
pub const ABOUT: &str = "\
Measure many targets, methods and settings, on this machine or on a cluster. FILE is a TOML of \
targets x methods x settings x repetitions; it becomes numbered tasks in a directory, and every \
worker that sees the directory takes tasks \
from it. A worker that is killed loses none, and two workers never do the same one.";

/// What `campaign --help` ends with.
pub const HELP: &str = "\
A campaign file:
  targets = [\"model:{drive}\", \"model:4x{drive}/raid5:chunk={chunk}\"]
  methods = [\"quick\", \"mine.toml\"]
  repetitions = 3
  [vary]
  drive = [\"mtron-pro-32\", \"intel-x25e-32\"]
  chunk = [\"64K\", \"1M\"]
  [set]
  depth = [1, 32]
  [run]
  max_time = \"10s\"

Examples:
  drivelab campaign sweep.toml --dry-run      how many tasks, in which order
  drivelab campaign sweep.toml                all of it here, into sweep.campaign
  drivelab campaign sweep.toml --on slurm     one job array; ends at once
  drivelab campaign fleet.toml --print ssh    a shell script, a line a host
  drivelab campaign status sweep.campaign     how far it is, what failed
  drivelab campaign resume sweep.campaign     what is open or failed, again
  drivelab campaign result sweep.campaign     a row a treatment and cell
  drivelab campaign result sweep.campaign --html sweep.html
  drivelab campaign push sweep.campaign --store postgresql://lab@db/drivelab

docs/reference/campaign-format.md describes the file and the directory.
Exit codes: 0 all tasks complete, 2 a task failed or nothing could run,
130 interrupted.";

/// `drivelab campaign`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_long_help = HELP)]
pub struct CampaignArguments {
    /// The campaign: targets, methods, settings, repetitions
    #[arg(value_name = "FILE", required = true)]
    pub file: Option<PathBuf>,

    /// The campaign's directory, which is made; every worker must see it (NAME.campaign)
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Print how many tasks there would be, and the first of them
    #[arg(long)]
    pub dry_run: bool,

    /// Make the directory and print what starts its tasks elsewhere
    #[arg(long, value_name = "WHAT")]
    pub print: Option<Starter>,

    /// Where its tasks run.
    #[command(flatten)]
    pub place: PlaceArguments,

    /// What else to do.
    #[command(subcommand)]
    pub verb: Option<CampaignVerb>,
}

/// Where tasks run.
#[derive(Args, Debug)]
pub struct PlaceArguments {
    /// Where: here, or as a job array of Slurm's
    #[arg(long, value_name = "WHERE", default_value = "local")]
    pub on: On,

    /// Tasks side by side here; those on real drives run one at a time (processors)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,

    /// Begin no task before this moment, such as 2026-12-01T02:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub start_at: Option<Timestamp>,

    /// A history to push the runs into besides: postgresql://USER@HOST/NAME, or a file
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,

    /// No progress, only the result and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Where tasks run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    /// In this process.
    Local,
    /// As elements of a job array.
    Slurm,
}

/// What starts tasks and is not called from here.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Starter {
    /// An Indexed Job of Kubernetes', as YAML.
    Kubernetes,
    /// A shell script with a line a host.
    Ssh,
}

/// What else `campaign` does.
#[derive(Subcommand, Debug)]
pub enum CampaignVerb {
    /// Say how far a campaign is: what is complete, running, failed, to do
    Status(DirectoryArguments),
    /// Go on with what is open, and try again what failed
    Resume(ResumeArguments),
    /// Let no task be begun any more; what runs here is finished, what Slurm runs is cancelled
    Cancel(DirectoryArguments),
    /// Print what a campaign found, a row a treatment and cell
    Result(ResultArguments),
    /// Bring into a history what it lacks of a campaign's runs
    Push(PushArguments),
    /// Do one task: what sbatch, kubectl and ssh start
    Run(TaskArguments),
}

/// Names a campaign.
#[derive(Args, Debug)]
pub struct DirectoryArguments {
    /// The campaign's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// `drivelab campaign resume`.
#[derive(Args, Debug)]
pub struct ResumeArguments {
    /// The campaign's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// Where its tasks run.
    #[command(flatten)]
    pub place: PlaceArguments,
}

/// `drivelab campaign result`.
#[derive(Args, Debug)]
pub struct ResultArguments {
    /// The campaign's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// Print every row
    #[arg(long)]
    pub all: bool,

    /// Take what ran at the same time as one load: rates added, percentiles of all operations, and
    /// beside them what averaging would give
    #[arg(long)]
    pub merged: bool,

    /// Write every row to FILE as JSON; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a page with charts and all tables to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Overwrite a file that is no report of drivelab's
    #[arg(long, requires = "html")]
    pub force: bool,
}

/// `drivelab campaign push`.
#[derive(Args, Debug)]
pub struct PushArguments {
    /// The campaign's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// The history: postgresql://USER@HOST/NAME, or a file (what the campaign's file names)
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// `drivelab campaign run`.
#[derive(Args, Debug)]
pub struct TaskArguments {
    /// The campaign's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// The task's number, from 0
    #[arg(long, value_name = "K")]
    pub task: u32,

    /// Then every N-th one after it, as an element of a job array with N elements does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub every: Option<u32>,

    /// Begin no task before this moment, such as 2026-12-01T02:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub start_at: Option<Timestamp>,

    /// Try again a task that failed
    #[arg(long)]
    pub again: bool,

    /// A history to push its run into besides: postgresql://USER@HOST/NAME, or a file
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// A moment as RFC 3339 writes it.
fn moment(text: &str) -> Result<Timestamp, String> {
    let wrong = |_| "a moment is written with its zone, such as 2026-12-01T02:00:00Z".to_owned();
    text.parse().map_err(wrong)
}
