//! One entry of the catalog on a page of 80 columns.

use super::{clean, list::numbers};
use crate::output::hanging;
use report::number;
use target::catalog::{Catalog, DriveEntry, Entry, Holds, HostEntry, Key, Price, Reality, Value};

/// A drive: data sheet, price, parameters.
pub fn drive(drive: &DriveEntry, catalog: &Catalog) -> String {
    let mut text = head(&drive.entry);
    text += &hanging("kind      ", &format!("{}, {}", drive.kind.name(), numbers(drive)));
    text += &hanging("capacity  ", &report::number::capacity(drive.capacity_bytes));
    if let Some(price) = &drive.price {
        text += &hanging("price     ", &clean(&price_line(price, drive.capacity_bytes)));
    }
    let others = catalog.port_names().filter(|name| *name != drive.port);
    let others = others.collect::<Vec<_>>().join(", ");
    text += &hanging("port      ", &format!("{}; another with :port= ({others})", drive.port));
    if let Some((major, minor, patch)) = drive.kernel {
        let about = "whose ways a file-system layer takes on";
        text += &hanging("kernel    ", &format!("Linux {major}.{minor}.{patch}, {about}"));
    }
    text += &hanging("file      ", &clean(&drive.entry.file));
    if !drive.data_sheet.lines.is_empty() {
        text += &format!("\nData sheet ({})\n", clean(&drive.data_sheet.source));
        let lines = &drive.data_sheet.lines;
        let width = lines.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
        for (key, value) in lines {
            text += &hanging(&format!("  {key:width$}  "), &clean(value));
        }
    }
    text + &parameters(&drive.entry, drive.kind.keys())
}

/// A port or an array driver.
pub fn host(host: &HostEntry) -> String {
    let keys = [target::catalog::PORT_KEYS, target::catalog::DRIVER_KEYS].concat();
    let mut text = head(&host.entry);
    text += &hanging("file      ", &clean(&host.entry.file));
    text + &parameters(&host.entry, &keys)
}

fn head(entry: &Entry) -> String {
    let title = hanging("", &format!("{}: {}", clean(&entry.name), clean(&entry.title)));
    title + &hanging("", &clean(&entry.about)) + "\n"
}

fn price_line(price: &Price, capacity_bytes: u64) -> String {
    let each = price.usd.map(|usd| {
        let a_gb = number::three_digits(usd / (capacity_bytes as f64 / 1e9));
        format!(", {a_gb} USD a GB")
    });
    let date =
        price.date.map_or_else(|| "of no known date".to_owned(), |date| format!("of {date}"));
    // The file has all of it: addresses are longer than lines.
    let host = |address: &str| address.split('/').nth(2).map(|host| format!(", {host}"));
    let address = price.address.as_deref().and_then(host);
    format!(
        "{}{}, {date} ({}{})",
        price.text,
        each.unwrap_or_default(),
        price.source,
        address.unwrap_or_default()
    )
}

/// Name, value, unit, and under it what it means and where it comes from.
fn parameters(entry: &Entry, keys: &[Key]) -> String {
    let shown: Vec<(&Key, String)> = keys
        .iter()
        .filter_map(|key| {
            let parameter = entry.parameters.get(key.name)?;
            let value = match (&parameter.value, &key.holds) {
                (Value::Number(_), Holds::Number(..)) => match parameter.unit.as_str() {
                    "count" => parameter.value.to_string(),
                    "percent" => format!("{} %", parameter.value),
                    unit => format!("{} {unit}", parameter.value),
                },
                _ => parameter.value.to_string(),
            };
            Some((key, value))
        })
        .collect();
    let mut text = match entry.reality {
        Reality::Generic => "\nParameters, generic, not fitted\n".to_owned(),
        Reality::Product => format!("\nParameters, {} fitted\n", entry.fitted()),
    };
    let name_width = shown.iter().map(|(key, _)| key.name.len()).max().unwrap_or(0);
    let value_width = shown.iter().map(|(_, value)| value.len()).max().unwrap_or(0);
    for (key, value) in &shown {
        let parameter = &entry.parameters[key.name];
        let label = format!("  {:name_width$}  {value:>value_width$}  ", key.name);
        let source = format!("{}: {}", parameter.from.name(), clean(&parameter.source));
        text += &hanging(&label, &source);
    }
    text
}
