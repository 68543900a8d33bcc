//! The cells of an accuracy report, one line each.

use study::{Basis, Case, relative_error};

/// Prints published, modelled and error of every cell.
pub fn print_cells<'a>(cells: impl Iterator<Item = (&'a Case, f64)>) {
    println!(
        "  {:<26} {:<30} {:>7} {:>3}  {:>10} {:>10} {:>7}",
        "table", "device, operation", "bytes", "thr", "published", "modelled", "error"
    );
    for (case, value) in cells {
        let figure = &case.figure;
        let what = format!("{} {}", short(&figure.device), figure.op);
        let config = match figure.setting("fs") {
            Some(fs) => format!(
                "{} {}",
                fs,
                figure.setting("wc").map_or(String::new(), |wc| format!("wc={wc}"))
            ),
            None => String::new(),
        };
        let table = format!("{} {}", figure.table, config);
        let threads = figure.threads.map_or(String::new(), |threads| threads.to_string());
        let bytes = figure.block_bytes.map_or(String::new(), |bytes| bytes.to_string());
        let mark = if case.basis == Basis::Predicted { "predicted" } else { "fitted" };
        println!(
            "  {:<26} {:<30} {:>7} {:>3}  {:>10.4} {:>10.4} {:>+6.1}%  {mark}",
            cut(&table, 26),
            cut(&what, 30),
            bytes,
            threads,
            figure.value,
            value,
            100.0 * relative_error(value, figure.value)
        );
    }
}

fn short(device: &str) -> &str {
    if device.contains('+') { "4+4" } else { device }
}

fn cut(text: &str, columns: usize) -> String {
    text.chars().take(columns).collect()
}
