//! What IOzone prints. Its table is read by columns, 16 letters of kB, 8 of the record's and 9 a
//! test: a test that did not run is blank, and a wide figure touches its neighbour.

use super::{COLUMNS, Mode, TESTS, Test, Unit, draft};
use crate::{
    ImportError,
    draft::{Draft, PassDraft},
    number,
};
use serde_json::json;

/// Where the first test's column begins, and how wide each is.
const FIRST: usize = 24;
const WIDTH: usize = 9;

pub(crate) fn is(text: &str) -> bool {
    (text.contains("Iozone: Performance Test") || text.contains("Command line used: "))
        && (text.lines().any(is_heading) || text.contains("Children see throughput"))
        || text.lines().any(|line| title(line).is_some())
}

/// The second line of the table's head.
fn is_heading(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("kb"))
        && words.next() == Some("reclen")
}

/// `"Writer report"`.
fn title(line: &str) -> Option<&'static Test> {
    let inner = line.trim().strip_prefix('"')?.strip_suffix('"')?.to_ascii_lowercase();
    let name = inner.strip_suffix(" report")?;
    TESTS.iter().find(|test| test.title == name)
}

pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut mode = Mode::default();
    let (mut words, mut record, mut file) = (Vec::new(), 0, 0);
    let (mut version, mut began) = (String::new(), None);
    for line in text.lines().map(str::trim) {
        if let Some(command) = line.strip_prefix("Command line used: ") {
            words = command.split_whitespace().map(str::to_owned).collect();
            mode.of_command(&words);
        } else if let Some(number) = line.strip_prefix("Version $Revision: ") {
            version = number.trim_end_matches(['$', ' ']).to_owned();
        } else if let Some(time) = line.strip_prefix("Run began: ") {
            began = number::time("%a %b %d %H:%M:%S %Y", time);
        } else if let Some(size) = line.strip_prefix("Record Size ") {
            record = number::binary(size).unwrap_or(0);
        } else if let Some(size) = line.strip_prefix("File size set to ") {
            file = number::binary(size).unwrap_or(0);
        } else if let Some((sizes, _)) =
            line.strip_prefix("Each process writes a ").and_then(|rest| rest.split_once(" records"))
            && let Some((of_file, of_record)) = sizes.split_once(" file in ")
        {
            let size = |text: &str| number::binary(&text.replace("Byte", "B")).unwrap_or(0);
            (file, record) = (size(of_file), size(of_record));
        } else if line.starts_with("Output is in operations per second") {
            mode.unit = Unit::Operations;
        } else if line.contains("Output is in microseconds per operation") {
            mode.unit = Unit::Microseconds;
        }
    }
    let mut draft = draft(words);
    (draft.version, draft.started) = (version, began);
    table(&mut draft, text, &mode)?;
    excel(&mut draft, text, &mode)?;
    throughput(&mut draft, text, &mode, file, record)?;
    if draft.started.is_some() {
        draft.note("the file does not tell the zone of its time: UTC is taken for it");
    }
    draft.note("IOzone's figures stand alone, with nothing to hold them against");
    Ok(draft)
}

fn wrong(at: usize, line: &str) -> ImportError {
    ImportError::Damaged {
        line: at + 1,
        what: format!("`{}` is not a whole line of IOzone's: take it as printed", line.trim()),
    }
}

fn table(draft: &mut Draft, text: &str, mode: &Mode) -> Result<(), ImportError> {
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        if is_heading(line) {
            inside = true;
            continue;
        }
        if !inside {
            continue;
        }
        if line.trim().is_empty() || !line.trim_start().starts_with(|l: char| l.is_ascii_digit()) {
            inside = false;
            continue;
        }
        row(draft, line, mode).ok_or_else(|| wrong(at, line))?;
    }
    Ok(())
}

fn row(draft: &mut Draft, line: &str, mode: &Mode) -> Option<()> {
    // A table that was copied may have lost letters in front or have got some.
    let kib = |from: usize, to: usize| -> Option<u64> {
        let bytes: u64 = line.get(from..to)?.trim().parse().ok()?;
        bytes.checked_mul(1024).filter(|bytes| *bytes > 0)
    };
    let (file, record) = (kib(0, 16)?, kib(16, FIRST)?);
    (record <= file).then_some(())?;
    for (column, test) in TESTS.iter().enumerate().take(COLUMNS) {
        let from = FIRST + column * WIDTH;
        let end = (from + WIDTH).min(line.len());
        let Some(text) = line.get(from..end).filter(|text| !text.trim().is_empty()) else {
            continue;
        };
        // Right-aligned: a figure that does not end here, or begins before, is another's too.
        let touches = text.starts_with(|l: char| l.is_ascii_digit())
            && line.get(from - 1..from).is_some_and(|before| before != " ");
        if touches || (text.ends_with(' ') && end == from + WIDTH) {
            return None;
        }
        let figure = number::plain(text)?;
        if figure > 0.0 {
            draft.add(mode.cell(test, file, record, figure));
        }
    }
    Some(())
}

/// `-R`: the same figures again, or alone.
fn excel(draft: &mut Draft, text: &str, mode: &Mode) -> Result<(), ImportError> {
    let had_table = !draft.cells.is_empty();
    let mut current: Option<(&Test, Vec<u64>)> = None;
    for (at, line) in text.lines().enumerate() {
        if let Some(test) = title(line) {
            current = Some((test, Vec::new()));
            continue;
        }
        let Some((test, records)) = &mut current else { continue };
        let trimmed = line.trim();
        if trimmed.is_empty() {
            current = None;
            continue;
        }
        let quoted = |word: &str| -> Option<u64> {
            let kib: u64 = word.strip_prefix('"')?.strip_suffix('"')?.parse().ok()?;
            kib.checked_mul(1024).filter(|bytes| *bytes > 0)
        };
        let words: Vec<&str> = trimmed.split_whitespace().collect();
        if records.is_empty() {
            let sizes: Option<Vec<u64>> = words.iter().map(|word| quoted(word)).collect();
            *records = sizes.ok_or_else(|| wrong(at, line))?;
            continue;
        }
        let file = quoted(words[0]).ok_or_else(|| wrong(at, line))?;
        if words.len() - 1 > records.len() {
            return Err(wrong(at, line));
        }
        // Records that are skipped for large files are written as 0.
        for (word, record) in words[1..].iter().zip(records.iter()) {
            let figure = number::plain(word).ok_or_else(|| wrong(at, line))?;
            if figure > 0.0 {
                again(draft, had_table, mode.cell(test, file, *record, figure));
            }
        }
    }
    Ok(())
}

/// Takes it in, or holds it against the table's.
fn again(draft: &mut Draft, had_table: bool, cell: crate::draft::CellDraft) {
    match draft.cells.iter_mut().find(|known| known.name == cell.name) {
        Some(known) => {
            let (table, excel) = (known.passes[0].iops, cell.passes[0].iops);
            known.check("its table against its -R report", table, excel);
        }
        None => {
            let mut cell = cell;
            if had_table {
                cell.notes.push("it stands in the -R report alone, not in the table".to_owned());
            }
            draft.add(cell);
        }
    }
}

/// `Children see throughput for  2 initial writers = 4562070.00 kB/sec`
fn throughput(
    draft: &mut Draft,
    text: &str,
    mode: &Mode,
    file: u64,
    record: u64,
) -> Result<(), ImportError> {
    for (at, line) in text.lines().enumerate() {
        let Some(rest) = line.trim().strip_prefix("Children see throughput for ") else { continue };
        let parsed = || {
            let (who, figure) = rest.split_once('=')?;
            let (count, name) = who.trim().split_once(' ')?;
            let name = name.trim();
            let test = TESTS.iter().find(|t| !t.processes.is_empty() && t.processes == name)?;
            let figure = number::plain(figure.trim().split(' ').next()?)?;
            Some((count.parse::<u32>().ok()?, test, figure))
        };
        let Some((threads, test, figure)) = parsed() else { return Err(wrong(at, line)) };
        draft.layout = "list";
        if figure <= 0.0 {
            draft.leave_out(test.name, "IOzone measured 0");
            continue;
        }
        let mut cell = mode.cell(test, file, record, figure);
        cell.threads = threads;
        cell.name = format!("{}-t{threads}", test.name.replace(' ', "-"));
        if record == 0 {
            cell.passes = vec![PassDraft { bytes_per_s: figure * 1024.0, ..PassDraft::default() }];
            cell.notes.push("the file does not tell the record size: it is absent".to_owned());
        }
        cell.coordinates.insert("processes".to_owned(), json!(threads));
        draft.add(cell);
    }
    Ok(())
}
