//! `cargo xtask flash`: what a managed flash volume does on modelled drives, in tables.

mod sync;

use anyhow::{Result, bail};

/// Prints the parts that `arguments` name; all of them without a name.
pub fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => sync::run(),
        [part] if part == "sync" => sync::run(),
        _ => bail!("`{}` is unknown: there is `sync`", arguments.join(" ")),
    }
}
