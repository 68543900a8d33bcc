//! The catalog, one line a drive.

use super::clean;
use crate::output::hanging;
use target::catalog::{Catalog, DriveEntry, DriveKind, Reality};

/// All drives by kind and name, then ports and array drivers; 80 columns.
pub fn list(catalog: &Catalog) -> String {
    let rows: Vec<[String; 5]> = sorted(catalog).into_iter().map(row).collect();
    let heads = ["drive", "kind", "capacity", "price", "numbers"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&heads]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |row: &[String; 5]| {
        let [name, kind, capacity, price, numbers] = row;
        format!(
            "{name:0$}  {kind:1$}  {capacity:>2$}  {price:>3$}  {numbers}\n",
            widths[0], widths[1], widths[2], widths[3]
        )
    };
    let mut text = line(&heads);
    rows.iter().for_each(|row| text += &line(row));
    let ports = catalog.port_names().collect::<Vec<_>>().join(", ");
    let drivers =
        catalog.drivers().iter().map(|driver| driver.name()).collect::<Vec<_>>().join(", ");
    text.push('\n');
    text += &hanging("Ports (port=NAME): ", &ports);
    text += &hanging("Array drivers (/raid5:driver=NAME): ", &drivers);
    text.push('\n');
    text + &hanging(
        "",
        "Numbers: how many of a drive's were fitted on published or measured cells. What is generic is \
                         typical of its kind and fitted on nothing. `drivelab drives NAME` shows one, `drivelab run \
                         model:NAME` measures it in virtual time.",
    )
}

fn sorted(catalog: &Catalog) -> Vec<&DriveEntry> {
    let mut drives: Vec<&DriveEntry> = catalog.drives().iter().collect();
    let is_generic = |drive: &DriveEntry| drive.entry.reality == Reality::Generic;
    drives.sort_by_key(|drive| (is_generic(drive), drive.kind == DriveKind::Disk));
    drives
}

fn row(drive: &DriveEntry) -> [String; 5] {
    let price = drive.price.as_ref().and_then(|price| {
        let year = price.date.map_or_else(String::new, |date| format!(" ({})", date.year));
        Some(format!("${:.0}{year}", price.usd?))
    });
    [
        clean(drive.name()),
        drive.kind.name().to_owned(),
        report::number::capacity(drive.capacity_bytes),
        price.unwrap_or_else(|| "-".to_owned()),
        numbers(drive),
    ]
}

/// `5 fitted`, `not fitted`, `generic`.
pub fn numbers(drive: &DriveEntry) -> String {
    match (drive.entry.reality, drive.fitted()) {
        (Reality::Generic, _) => "generic".to_owned(),
        (Reality::Product, 0) => "not fitted".to_owned(),
        (Reality::Product, count) => format!("{count} fitted"),
    }
}
