//! Everything a change must pass, one named step after the other.

mod circles;
mod links;
mod locks;
mod ratchets;
mod rooms;
mod sources;

pub use sources::files_below;

use anyhow::{Context, Result, ensure};
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// One step: its name, and what it does with the workspace's root.
type Step = (&'static str, fn(&Path) -> Result<()>);

const STEPS: [Step; 9] = [
    ("format", |root| cargo(root, &["fmt", "--all", "--check"])),
    ("rooms", rooms::check),
    ("sources", sources::check),
    ("links", links::check),
    ("ratchets", ratchets::check),
    ("clippy", |root| {
        cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
    }),
    ("clippy without features", |root| {
        cargo(
            root,
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--no-default-features",
                "--",
                "-D",
                "warnings",
            ],
        )
    }),
    ("tests", |root| cargo(root, &["test", "--workspace"])),
    ("documentation", |root| cargo(root, &["doc", "--workspace", "--no-deps"])),
];

/// Which steps are wanted.
#[derive(clap::Args)]
pub struct Options {
    /// These steps alone.
    #[arg(value_name = "STEP", value_parser = STEPS.map(|(name, _)| name))]
    steps: Vec<String>,
}

/// Runs the steps that are named, or all; stops at the first that fails and names it.
pub fn run(options: &Options) -> Result<()> {
    let wanted = &options.steps;
    let root = root();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let steps: Vec<&Step> = STEPS.iter().filter(|(name, _)| is_wanted(name)).collect();
    for (name, step) in &steps {
        println!("\n== {name}");
        step(&root).with_context(|| format!("check failed at step `{name}`"))?;
    }
    println!("\nAll {} steps passed.", steps.len());
    Ok(())
}

/// The workspace's root, above this crate.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask lies in the workspace").to_owned()
}

/// Runs the cargo that runs us.
fn cargo(root: &Path, arguments: &[&str]) -> Result<()> {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    println!("cargo {}", arguments.join(" "));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root);
    if arguments[0] == "doc" {
        command.env("RUSTDOCFLAGS", "-D warnings");
    }
    let status = command.status().context("cargo could not be started")?;
    ensure!(status.success(), "`cargo {}` ended with {status}", arguments.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_room_sees_only_what_the_architecture_allows() {
        rooms::check(&root()).expect("ARCHITECTURE.md says who sees whom");
    }

    #[test]
    fn of_what_there_is_too_much_there_is_no_more() {
        ratchets::check(&root()).expect("the counts are those of xtask/ratchets.toml");
    }

    #[test]
    fn links_and_texts_name_pages_that_are_there() {
        links::check(&root()).expect("each names a path from the root");
    }

    #[test]
    fn unsafe_stands_only_where_it_may_and_no_file_is_too_long() {
        sources::check(&root()).expect("docs and style say so");
    }
}
