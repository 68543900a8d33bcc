//! A table a run, for an issue or a wiki: GitHub's dialect.

use crate::{brief, number};
use record::{Record, TargetInfo};

/// By which a file of ours is known; no reader shows it.
pub(crate) const MARK: &str = "<!-- drivelab export -->";

/// All runs, one under the other.
pub(super) fn text(records: &[&Record]) -> String {
    let runs: Vec<String> = records.iter().map(|record| of_run(record)).collect();
    format!("{MARK}\n{}", runs.join("\n"))
}

fn of_run(record: &Record) -> String {
    let mut text = format!("### {}, run {}\n\n", code(&record.method.name), code(&record.id));
    for (at, target) in record.targets.iter().enumerate() {
        text += &format!("- target{}: {}\n", numbered(record, at), of_target(target));
    }
    text += &format!("- machine: {}\n", machine(record));
    let state = match record.state {
        record::State::Complete => String::new(),
        state => format!(", {}", state.name()),
    };
    text +=
        &format!("- {} {}, {}{state}\n\n", record.tool.name, record.tool.version, record.started);
    text += "| cell | rate | 95 % | p50 | p99 | flags |\n|---|--:|--:|--:|--:|---|\n";
    for cell in &record.cells {
        let brief = brief::cell(cell);
        let name = format!("{}{}", plain(&brief.name), numbered(record, cell.target));
        let flags: Vec<String> = brief.flags.iter().map(|flag| code(flag)).collect();
        let fields = [name, brief.rate, brief.interval, brief.p50, brief.p99, flags.join(" ")];
        text += &format!("| {} |\n", fields.join(" | "));
    }
    let mut meanings: Vec<_> = record.cells.iter().flat_map(|cell| &cell.flags).collect();
    meanings.extend(&record.flags);
    meanings.sort_unstable();
    meanings.dedup();
    if !meanings.is_empty() {
        text.push('\n');
    }
    for flag in meanings {
        text += &format!("- {}: {}\n", code(flag.name()), plain(flag.meaning()));
    }
    text
}

/// ` (2)` behind what belongs to the second of several targets.
fn numbered(record: &Record, at: usize) -> String {
    if record.targets.len() > 1 { format!(" ({})", at + 1) } else { String::new() }
}

fn of_target(target: &TargetInfo) -> String {
    let mut text = format!("{}, {}", code(&target.text), number::capacity(target.capacity_bytes));
    if let Some(system) = &target.file_system {
        text += &format!(", {} ({})", plain(&system.kind), code(&system.options));
    }
    let drives = target.stack.iter().filter_map(|layer| layer.drive.as_ref());
    for model in drives.filter_map(|drive| drive.model.as_deref()) {
        text += &format!(", {}", plain(model));
    }
    text
}

fn machine(record: &Record) -> String {
    let environment = &record.environment;
    let parts = [
        environment.host.distribution.clone().unwrap_or_default(),
        format!("Linux {}", environment.host.kernel),
        environment.cpu.model.clone(),
        format!("{} processors", environment.cpu.online),
        format!("{} of memory", number::size(environment.host.memory_bytes)),
        environment.host.virtualisation.clone().unwrap_or_default(),
    ];
    let told: Vec<String> =
        parts.iter().filter(|part| !part.trim().is_empty()).map(|part| plain(part)).collect();
    told.join(", ")
}

/// Text that cannot become a field, a link, HTML, or another line.
fn plain(text: &str) -> String {
    let mut clean = String::new();
    for letter in text.chars() {
        match letter {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '&' | '~' | '@' => {
                clean.push('\\');
                clean.push(letter);
            }
            letter if letter.is_control() => clean.push(' '),
            letter => clean.push(letter),
        }
    }
    clean
}

/// Text as code: with no end of it inside. A field of a table ends at a bar even there.
fn code(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|letter| if letter.is_control() || letter == '`' { ' ' } else { letter })
        .collect();
    format!("`{}`", clean.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::example;

    #[test]
    fn a_table_has_a_row_a_cell_and_as_many_fields_in_each() {
        let record = example();
        let text = text(&[&record]);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), record.cells.len() + 2, "{text}");
        let bars = |row: &str| row.replace("\\|", "").matches('|').count();
        assert!(rows.iter().all(|row| bars(row) == 7), "{text}");
        assert!(text.contains("52.1k IOPS"), "{text}");
        for flag in record.cells.iter().flat_map(|cell| &cell.flags) {
            assert!(text.contains(&format!("- `{}`: ", flag.name())), "{text}");
        }
    }

    /// What a path is called is the user's, and what a drive says of itself is its maker's.
    #[test]
    fn no_name_breaks_out_of_its_place() {
        let mut record = example();
        record.targets[0].text = "a|b`c\n# d".to_owned();
        record.environment.cpu.model = "<script>|[x](y)".to_owned();
        let text = text(&[&record]);
        assert!(text.contains("`a\\|b c # d`"), "{text}");
        assert!(text.contains("\\<script\\>\\|\\[x\\](y)"), "{text}");
    }
}
