//! docs/results/five-documents.md: the test that holds it to the binary makes it, too.

use crate::check::root;
use anyhow::{Context, Result, ensure};
use std::{env, process::Command};

/// What is done with the page.
#[derive(clap::Args)]
pub struct Options {
    /// Makes the page anew.
    #[arg(long)]
    write: bool,
}

/// Runs that test, which with `--write` writes the page.
pub fn run(options: &Options) -> Result<()> {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    // Of the workspace, as the tests before it: for one package all would be built once more.
    command.args(["test", "--quiet", "--workspace", "--test", "all", "--locked"]);
    command.args(["five_documents", "--", "--include-ignored"]);
    if options.write {
        command.env("DRIVELAB_WRITE_PAGE", "1");
    }
    let status = command.current_dir(root()).status().context("cargo could not be started")?;
    ensure!(status.success(), "the page was not written, or differs: the test says where");
    Ok(())
}
