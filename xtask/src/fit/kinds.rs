//! `cargo xtask fit --kinds`: the generic kinds' medians, written again from their drives.

use super::as_it_lies_there;
use crate::check::root;
use anyhow::{Context, Result};
use std::fs;
use target::catalog::{Catalog, DriveEntry, Origin};

/// Writes every number that is a median, with what its drives say of it.
pub fn write() -> Result<()> {
    let catalog = as_it_lies_there()?;
    for kind in catalog.drives().iter().filter(|drive| !drive.median_of.is_empty()) {
        let text = with_medians(&catalog, kind)?;
        let path = root().join(&kind.entry.file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The kind's file, each median with its value and source as the drives give them.
fn with_medians(catalog: &Catalog, kind: &DriveEntry) -> Result<String> {
    let mut lines: Vec<String> = kind.entry.text().lines().map(str::to_owned).collect();
    let medians = kind.entry.parameters.iter().filter(|(_, it)| it.from == Origin::Median);
    for (name, number) in medians {
        let what = || format!("{}: `{name}`", kind.entry.file);
        let spread = catalog.spread(kind, name, &[]);
        let spread = spread.with_context(|| format!("{}: no drive has it", what()))?;
        let starts = format!("{name} = {{ value = ");
        let line = lines.iter_mut().find(|line| line.starts_with(&starts));
        let line = line.with_context(|| format!("{}: is not on one line", what()))?;
        let of = match number.of.as_slice() {
            [] => String::new(),
            drives => format!(", of = [\"{}\"]", drives.join("\", \"")),
        };
        let (value, unit) = (spread.rounded(), &number.unit);
        let source = spread.source(unit);
        *line = format!(
            "{starts}{value}, unit = \"{unit}\", from = \"median\"{of}, source = \"{source}\" }}"
        );
        println!("{} {name} = {value} {unit}: {source}", kind.name());
    }
    Ok(lines.join("\n") + "\n")
}
