//! IOzone's `-b` file: a sheet of BIFF2, records of number, length and content. A label that ends
//! in `Report` opens a test; the row below has record sizes, the first column file sizes, in KiB.

use super::{Mode, TESTS, draft};
use crate::{ImportError, draft::Draft};
use std::collections::BTreeMap;

const BOF: u16 = 0x0009;
const EOF: u16 = 0x000A;
const INTEGER: u16 = 0x0002;
const NUMBER: u16 = 0x0003;
const LABEL: u16 = 0x0004;

pub(crate) fn is(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x09, 0x00, 0x04, 0x00, 0x02, 0x00])
}

enum Field {
    Number(f64),
    Label(String),
}

fn damaged(at: usize, what: &str) -> ImportError {
    let what = format!("{what}: take the file as IOzone wrote it");
    ImportError::Damaged { line: at, what }
}

/// Fields by row and column.
fn fields(bytes: &[u8]) -> Result<BTreeMap<(u16, u16), Field>, ImportError> {
    let mut fields = BTreeMap::new();
    let mut at = 0;
    loop {
        let word = |from: usize| -> Option<u16> {
            Some(u16::from_le_bytes(bytes.get(from..from + 2)?.try_into().ok()?))
        };
        let cut = || damaged(at, "the sheet ends in the middle");
        let (kind, length) = (word(at).ok_or_else(cut)?, word(at + 2).ok_or_else(cut)?);
        let from = at + 4;
        let content = bytes.get(from..from + usize::from(length)).ok_or_else(cut)?;
        let place = || Some((word(from)?, word(from + 2)?));
        let short = || damaged(at, "a field of the sheet is too short");
        match kind {
            EOF => return Ok(fields),
            BOF => {}
            LABEL => {
                let length = usize::from(*content.get(7).ok_or_else(short)?);
                let text = content.get(8..8 + length).ok_or_else(short)?;
                let text = String::from_utf8_lossy(text);
                let text = text.trim_end_matches('\0').trim().to_owned();
                fields.insert(place().ok_or_else(short)?, Field::Label(text));
            }
            NUMBER => {
                let value = content.get(7..15).and_then(|bytes| bytes.try_into().ok());
                let value = f64::from_le_bytes(value.ok_or_else(short)?);
                fields.insert(place().ok_or_else(short)?, Field::Number(value));
            }
            INTEGER => {
                let value = content.get(7..9).and_then(|bytes| bytes.try_into().ok());
                let value = f64::from(u16::from_le_bytes(value.ok_or_else(short)?));
                fields.insert(place().ok_or_else(short)?, Field::Number(value));
            }
            _ => return Err(damaged(at, "there is a record in it that IOzone does not write")),
        }
        at = from + usize::from(length);
    }
}

pub(crate) fn read(bytes: &[u8]) -> Result<Draft, ImportError> {
    let fields = fields(bytes)?;
    let label = |at: (u16, u16)| match fields.get(&at) {
        Some(Field::Label(text)) => Some(text.as_str()),
        _ => None,
    };
    let kib = |at: (u16, u16)| -> Option<u64> {
        let kib = match fields.get(&at)? {
            Field::Number(value) => *value,
            Field::Label(text) => text.parse().ok()?,
        };
        ((1.0..1e12).contains(&kib) && kib.fract() == 0.0).then(|| kib as u64 * 1024)
    };
    let words = label((0, 0)).unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let mut mode = Mode::default();
    let mut draft = draft(words);
    mode.of_command(&draft.command);
    let rows = fields.keys().map(|(row, _)| *row).max().unwrap_or(0);
    let columns = fields.keys().map(|(_, column)| *column).max().unwrap_or(0);
    let mut row = 0;
    while row < rows {
        let title = label((row, 0)).map(str::to_ascii_lowercase).unwrap_or_default();
        let name = title.strip_suffix(" report").unwrap_or_default();
        row += 1;
        let Some(test) = TESTS.iter().find(|test| test.title == name) else { continue };
        let head = row;
        row += 1;
        while let Some(file) = kib((row, 0)) {
            for column in 1..=columns {
                let figure = match fields.get(&(row, column)) {
                    Some(Field::Number(value)) if *value > 0.0 && value.is_finite() => *value,
                    Some(Field::Number(value)) if *value == 0.0 => continue,
                    None => continue,
                    _ => return Err(damaged(usize::from(row), "a figure is no number")),
                };
                let record = kib((head, column)).filter(|record| *record <= file);
                let record =
                    record.ok_or_else(|| damaged(usize::from(head), "a record size is missing"))?;
                draft.add(mode.cell(test, file, record, figure));
            }
            row += 1;
        }
    }
    Ok(draft)
}
