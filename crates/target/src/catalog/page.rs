//! The catalog as it is printed: a line a drive, or one entry on a page; 80 columns.

use super::{
    Catalog, DRIVER_KEYS, DriveEntry, DriveKind, Entry, Holds, HostEntry, Key, PORT_KEYS, Price,
    Reality, Value,
};
use report::{number, terminal::hanging};

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
        "Numbers: how many of a drive's were fitted on published or measured cells. What is \
         generic is typical of its kind and fitted on nothing. `drivelab drives NAME` shows one, \
         `drivelab run model:NAME` measures it in virtual time.",
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
        number::capacity(drive.capacity_bytes),
        price.unwrap_or_else(|| "-".to_owned()),
        numbers(drive),
    ]
}

/// `5 fitted`, `not fitted`, `generic`.
fn numbers(drive: &DriveEntry) -> String {
    match (drive.entry.reality, drive.fitted()) {
        (Reality::Generic, _) => "generic".to_owned(),
        (Reality::Product, 0) => "not fitted".to_owned(),
        (Reality::Product, count) => format!("{count} fitted"),
    }
}

/// A drive: data sheet, price, parameters.
pub fn drive(drive: &DriveEntry, catalog: &Catalog) -> String {
    let mut text = head(&drive.entry);
    text += &hanging("kind      ", &format!("{}, {}", drive.kind.name(), numbers(drive)));
    text += &hanging("capacity  ", &number::capacity(drive.capacity_bytes));
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
    if !drive.median_of.is_empty() {
        text += &hanging("drives    ", &drive.median_of.join(", "));
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
    let keys = [PORT_KEYS, DRIVER_KEYS].concat();
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

/// Text of a user's file, safe for a terminal.
fn clean(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}
