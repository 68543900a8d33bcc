//! The page of what was seen, `docs/results/guest-scenarios.md`: a row a scenario, a column a
//! kernel. A run of one kernel writes its column and leaves that of the other as it was.

use super::{kernel::Kernel, scenario::Scenario, table};
use anyhow::{Context, Result};
use std::{collections::BTreeMap, fs, path::Path};

const PAGE: &str = "docs/results/guest-scenarios.md";
const HEAD: &str = "# Scenarios of the guest, as they were seen

What `cargo xtask guest` tries ([guest.md](../reference/guest.md)), what each command has to end
with and to say, and what two kernels gave. `$NVME` and its like are a drive's path, `$nvme` its
name. Made by `cargo xtask guest --write` and `cargo xtask guest --kernel 6.1 --write`, not by hand.
The seconds are those of an emulated processor with two guests side by side.
";
const COLUMNS: &str = "| scenario | 6.1 | 6.12 | exit | words |\n|---|---|---|--:|---|\n";
const KERNELS: [Kernel; 2] = [Kernel::Six1, Kernel::Six12];

/// Cells of one kernel's column, by scenario; and its line above the table.
pub struct Column {
    pub kernel: Kernel,
    /// Of the kernel's package.
    pub version: String,
    pub cells: BTreeMap<&'static str, String>,
}

/// Puts a column into the page.
pub fn write(root: &Path, column: &Column) -> Result<()> {
    let path = root.join(PAGE);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let page = merged(&before, column, &table::all());
    fs::write(&path, page).with_context(|| path.display().to_string())?;
    println!("written: {PAGE}");
    Ok(())
}

fn merged(before: &str, column: &Column, all: &[&Scenario]) -> String {
    let rows: BTreeMap<&str, Vec<&str>> = before.lines().filter_map(row).collect();
    let cells: Vec<[String; 2]> = all
        .iter()
        .map(|scenario| {
            [0, 1].map(|number| match column.cells.get(scenario.name) {
                Some(cell) if KERNELS[number] == column.kernel => cell.clone(),
                _ => {
                    let known = rows.get(scenario.name).and_then(|cells| cells.get(number));
                    known.map_or("not tried", |cell| *cell).to_owned()
                }
            })
        })
        .collect();
    let mut page = HEAD.to_owned();
    for (number, kernel) in KERNELS.into_iter().enumerate() {
        let mark = mark(kernel);
        let known = before.lines().find_map(|line| line.strip_prefix(&mark)?.rsplit_once("; "));
        let version = match known {
            _ if kernel == column.kernel => column.version.as_str(),
            Some((_, version)) => version,
            None => continue,
        };
        page += &format!("\n{mark}{}; {version}", sum(cells.iter().map(|cells| &*cells[number])));
    }
    page += "\n\n";
    page += COLUMNS;
    for (scenario, cells) in all.iter().zip(&cells) {
        page += &format!(
            "| `{}` | {} | {} | {} |\n",
            scenario.name,
            cells.join(" | "),
            scenario.exit,
            scenario.words.iter().map(|words| quoted(words)).collect::<Vec<_>>().join(", ")
        );
    }
    page
}

/// How many of a kernel's cells begin alike. A run of a few scenarios had its own sum written above
/// the column, which then told of six where there were 132.
fn sum<'c>(cells: impl Iterator<Item = &'c str> + Clone) -> String {
    let kinds = [
        ("ok", "ok"),
        ("fails today", "known to fail"),
        ("failed", "failed"),
        ("the kernel", "stopped by a defect of the kernel"),
        ("not there", "not for this kernel"),
        ("not tried", "not tried"),
    ];
    let number = |beginning: &str| cells.clone().filter(|cell| cell.starts_with(beginning)).count();
    let counted = kinds.map(|(beginning, words)| (number(beginning), words));
    let shown = counted.into_iter().filter(|&(number, words)| number > 0 || words == "failed");
    shown.map(|(number, words)| format!("{number} {words}")).collect::<Vec<_>>().join(", ")
}

/// How the line of a kernel begins.
fn mark(kernel: Kernel) -> String {
    format!("- Kernel {}: ", kernel.name())
}

/// A scenario's name and its kernels' cells.
fn row(line: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
    Some((name, rest.split(" | ").take(KERNELS.len()).collect()))
}

/// As code in a cell of a table.
fn quoted(words: &str) -> String {
    let words = words.replace('|', "\\|");
    if words.contains('`') { format!("`` {words} ``") } else { format!("`{words}`") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::scenario::PLAIN;

    const TWO: [Scenario; 2] = [
        Scenario { name: "one", words: &["a | b", "`c`"], ..PLAIN },
        Scenario { name: "two", exit: 2, ..PLAIN },
    ];

    #[test]
    fn a_run_writes_the_column_of_its_kernel_and_leaves_the_other() {
        let all: Vec<&Scenario> = TWO.iter().collect();
        let column = |kernel, cells: &[(&'static str, &str)]| Column {
            kernel,
            version: format!("Linux {}", kernel.name()),
            cells: cells.iter().map(|(name, cell)| (*name, (*cell).to_owned())).collect(),
        };
        let first = column(Kernel::Six12, &[("one", "ok, 3 s"), ("two", "failed")]);
        let page = merged("", &first, &all);
        assert!(page.contains("| `one` | not tried | ok, 3 s | 0 | `a \\| b`, `` `c` `` |\n"));
        assert!(page.contains("\n- Kernel 6.12: 1 ok, 1 failed; Linux 6.12\n"), "{page}");
        let page = merged(&page, &column(Kernel::Six1, &[("one", "ok, 5 s")]), &all);
        assert!(page.contains("| `one` | ok, 5 s | ok, 3 s | 0 |"), "{page}");
        assert!(page.contains("| `two` | not tried | failed | 2 |"), "{page}");
        let sums = "\n- Kernel 6.1: 1 ok, 0 failed, 1 not tried; Linux 6.1\n\
                    - Kernel 6.12: 1 ok, 1 failed; Linux 6.12\n";
        assert!(page.contains(sums), "{page}");
        let page = merged(&page, &column(Kernel::Six12, &[("two", "ok, 1 s")]), &all);
        assert!(page.contains("| `one` | ok, 5 s | ok, 3 s |"), "a part is no reason to forget");
        assert!(page.contains("| `two` | not tried | ok, 1 s |"), "{page}");
        assert!(page.contains("- Kernel 6.12: 2 ok, 0 failed; Linux 6.12\n"), "of all: {page}");
    }
}
