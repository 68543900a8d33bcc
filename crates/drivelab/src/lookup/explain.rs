//! `drivelab explain`: what a flag of a run means, and what to do about it.

use crate::{
    cli::ExplainArguments,
    output::{self, hanging},
};
use anyhow::{Result, bail};
use block::names::did_you_mean;
use record::Flag;
use serde_json::Value;
use std::{fmt::Write, process::ExitCode};

/// Explains the flags that are named, or lists all.
pub fn explain(arguments: &ExplainArguments) -> Result<ExitCode> {
    let flags: Vec<Flag> = arguments.flags.iter().map(|name| flag(name)).collect::<Result<_>>()?;
    let text = if flags.is_empty() { list() } else { explained(&flags) };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let lines =
        Flag::ALL.iter().map(|flag| hanging(&format!("{:<20} ", flag.name()), flag.meaning()));
    lines.collect::<String>() + "\n`drivelab explain FLAG` adds what to do about it.\n"
}

fn explained(flags: &[Flag]) -> String {
    let mut text = String::new();
    for flag in flags {
        if !text.is_empty() {
            text.push('\n');
        }
        writeln!(text, "{flag}").expect("a text takes it");
        text += &hanging("  means  ", flag.meaning());
        text += &hanging("  to do  ", flag.cure());
    }
    text
}

/// The flag of that name, or of one that earlier records have; `-` for `_` and capitals are as
/// good.
fn flag(named: &str) -> Result<Flag> {
    let name = named.to_ascii_lowercase().replace('-', "_");
    // A record's reader knows the earlier names.
    if let Ok(flag) = serde_json::from_value(Value::from(name.as_str())) {
        return Ok(flag);
    }
    let near = did_you_mean(&name, Flag::ALL.iter().map(|flag| flag.name()));
    bail!("there is no flag `{named}`.{near} `drivelab explain` lists them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_found_by_its_name_and_by_the_one_it_had() {
        for &known in Flag::ALL {
            assert_eq!(flag(known.name()).expect("a flag"), known);
        }
        assert_eq!(flag("write_cliff").expect("an earlier name"), Flag::Burst);
        assert_eq!(flag("Not-Converged").expect("as good"), Flag::NotConverged);
    }

    #[test]
    fn a_flag_that_is_none_is_refused_with_the_nearest() {
        let said = flag("lying_fluhs").expect_err("none").to_string();
        assert_eq!(
            said,
            "there is no flag `lying_fluhs`. Did you mean `lying_flush`? `drivelab explain` lists \
             them"
        );
        assert!(flag("").is_err());
    }
}
