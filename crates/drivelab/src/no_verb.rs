//! What is said of a word that stands where a verb does, and is none.

use crate::{cli::Cli, lookup::docs, other_words};
use block::names::did_you_mean;
use clap::{Command, CommandFactory};
use lab::method::BUILT_IN;
use record::Flag;
use std::path::Path;

/// What is said of a word below `above` that is no verb: where it is one, what does here what it
/// says elsewhere, what measures the target that it names, who tells about it, or what is near.
pub fn no_verb(wrong: &str, above: &str, command: &Command) -> String {
    let shown = || command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let below = || {
        let verb = shown().find(|verb| verb.find_subcommand(wrong).is_some())?;
        Some(format!("`{above} {} {wrong}` is one", verb.get_name()))
    };
    let target = || {
        let is_target = wrong.contains(['/', ':']) || Path::new(wrong).exists();
        is_target.then(|| format!("`drivelab run {wrong}` measures a target"))
    };
    let none = format!("there is no verb `{wrong}`");
    let here = || {
        below()
            .or_else(|| other_words::verb(wrong).map(str::to_owned))
            .or_else(target)
            .or_else(|| elsewhere(wrong))
    };
    let is_top = above == "drivelab";
    let top =
        || Some(format!("`drivelab {}` is one", Cli::command().find_subcommand(wrong)?.get_name()));
    let here = if is_top { here() } else { top() };
    if let Some(here) = here {
        return format!("{none}: {here}");
    }
    let near = did_you_mean(wrong, shown().map(Command::get_name));
    let stop = if near.is_empty() { "" } else { "." };
    format!("{none}{stop}{near}")
}

/// Who tells about a word that is no verb.
fn elsewhere(word: &str) -> Option<String> {
    let who = if BUILT_IN.iter().any(|(name, _)| *name == word) {
        "methods"
    } else if Flag::ALL.iter().any(|flag| flag.name() == word) {
        "explain"
    } else if docs::names().any(|name| name == word) {
        "docs"
    } else {
        return None;
    };
    Some(format!("`drivelab {who} {word}` tells about that"))
}
