//! `cargo xtask flash`: what a managed flash volume does on modelled drives, in tables.

mod arrays;
mod bed;
mod drive;
mod sync;

use anyhow::{Result, bail};
use target::catalog::Catalog;

/// Prints the parts that `arguments` name; all of them without a name.
pub fn run(arguments: &[String]) -> Result<()> {
    let (quick, parts): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| *argument == "--quick");
    let device_bytes = if quick.is_empty() { 8 << 30 } else { 1 << 30 };
    let parts: Vec<&str> = match parts[..] {
        [] => vec!["drive", "arrays", "sync"],
        _ => parts.iter().map(|part| part.as_str()).collect(),
    };
    let catalog = Catalog::built_in()?;
    for part in parts {
        match part {
            "drive" => println!("{}", drive::run(&catalog, device_bytes)?),
            "arrays" => println!("{}", arrays::run(&catalog, device_bytes / 4)?),
            "sync" => sync::run()?,
            _ => bail!("`{part}` is unknown: there are `drive`, `arrays` and `sync`"),
        }
    }
    Ok(())
}
