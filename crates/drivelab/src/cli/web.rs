//! The command line of `drivelab web`.

use clap::Args;
use std::path::PathBuf;

/// What `web --help` opens with.
pub(super) const ABOUT: &str = "\
Show the history in a browser: list and search all runs, open a run's report, compare runs, and watch one that is \
going on, cell by cell. Open the address that it prints; Ctrl-C ends it.

The pages come from this machine and ask nobody else for anything. They show the history as it is, also while runs are being \
added, and change nothing in it.";

/// What `web --help` ends with.
const HELP: &str = "\
Examples:
  drivelab web
  drivelab web --port 0                        any port that is free; it prints which
  drivelab web --store lab.sqlite
  ssh -t -L 3752:127.0.0.1:3752 lab drivelab web
                                               the history of the machine `lab`,
                                               at http://localhost:3752/ here

Only this machine can reach it. With --listen and --allow-remote others can,
too, by the machine's number: all of them may read all runs, with no password
and no encryption. A tunnel as above is safer.

Exit codes: 0 ended by a signal, 2 could not listen.";

/// `drivelab web`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct WebArguments {
    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 3752)]
    pub port: u16,

    /// The address to listen on, as a number; others than those of this machine alone need
    /// --allow-remote
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub listen: String,

    /// Let other machines read the history: whoever reaches the address given by --listen may
    #[arg(long, requires = "listen")]
    pub allow_remote: bool,

    /// The history to show: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}
