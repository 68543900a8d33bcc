//! The command line of `drivelab import`.

use crate::output::hanging;
use clap::Args;
use std::path::PathBuf;

/// What `import --help` opens with.
pub(super) const ABOUT: &str = "\
Take results of other programs into the history. A file is recognised by its content and becomes a \
run, which is shown, compared, priced and reported as any other. What it lacks is marked absent: \
nothing is guessed.";

fn help() -> String {
    let mut text = String::from("Recognised:\n");
    for kind in import::Kind::ALL {
        text += &hanging("  ", kind.about());
    }
    text + "\nThe same file is the same run: twice imported, it is there once. Of several \
            files,\nall are read before one is taken in.\n\nExamples:\n  \
            drivelab import fio.json --label before\n  \
            drivelab import iozone.xls bonnie.csv dd.txt\n  \
            smartctl -j -x /dev/sda > drive.json; drivelab import fio.json drive.json\n  \
            drivelab compare last~1 last\n\n\
            docs/reference/import-formats.md says what is read of each."
}

/// `drivelab import`.
#[derive(Args, Debug)]
#[command(after_long_help = help())]
pub struct ImportArguments {
    /// What programs wrote; a drive's identity goes to the other files' runs
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Name the runs: KEY=VALUE or a bare word
    #[arg(long, value_name = "LABEL")]
    pub label: Vec<String>,

    /// Show the runs and take nothing in
    #[arg(long)]
    pub dry_run: bool,

    /// The history to take them into; a database gets them at the end, see `push`
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}
