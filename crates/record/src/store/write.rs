//! Records into the tables: one transaction a save, whichever engine it is.

use super::{
    Store, StoreError, columns,
    owner::Owner,
    sql::{Database, Purpose, Value, insert, within},
};
use crate::{Cell, Record, State, TargetKind};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Which of two saves of one run stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saving {
    /// This one: the run is measured here.
    Next,
    /// The one with the higher number, of the same run; another run is left alone.
    Numbered(u64),
}

/// A record as it goes into the tables.
pub struct Texts {
    header: String,
    summary: String,
    /// Place and text of the cells that are written.
    cells: Vec<(usize, String)>,
}

impl Store {
    /// Writes the record, new or as it now is. Call it when the run starts and after each cell: it
    /// costs one flush of the drive the store is on, and the bytes of the cells that changed. While
    /// the record's state is [`State::Running`], this process is noted as its owner.
    ///
    /// # Errors
    /// [`StoreError`]; the store then still holds the state of the save before.
    pub fn save(&mut self, record: &Record) -> Result<(), StoreError> {
        let before = self.written.get(&record.id).map_or(&[][..], Vec::as_slice);
        let (texts, fingerprints) = Texts::of(record, before)?;
        let owner = self.owner.as_ref().filter(|_| record.state == State::Running);
        write(self.database.as_ref(), owner, record, &texts, Saving::Next)?;
        if record.state == State::Running {
            self.written.insert(record.id.clone(), fingerprints);
        } else {
            self.written.remove(&record.id);
        }
        Ok(())
    }
}

impl Texts {
    /// Of a record whose cells had these fingerprints when they were last written.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`].
    pub fn of(record: &Record, before: &[u64]) -> Result<(Self, Vec<u64>), StoreError> {
        assert!(!record.id.is_empty(), "a record without an id");
        let header = serde_json::to_string(&record.without_cells()).expect("only string keys");
        readable::<Record>(&record.id, &header)?;
        let summary = serde_json::to_string(&record.summary()).expect("only string keys");
        let (mut cells, mut fingerprints) = (Vec::new(), Vec::with_capacity(record.cells.len()));
        for (position, cell) in record.cells.iter().enumerate() {
            let document = serde_json::to_string(cell).expect("a cell has only string keys");
            let fingerprint = fingerprint(&document);
            if before.get(position) != Some(&fingerprint) {
                readable::<Cell>(&record.id, &document)?;
                cells.push((position, document));
            }
            fingerprints.push(fingerprint);
        }
        Ok((Self { header, summary, cells }, fingerprints))
    }

    /// PostgreSQL's documents have no NUL, as its texts have none.
    pub fn without_nul(mut self) -> Self {
        for text in [&mut self.header, &mut self.summary]
            .into_iter()
            .chain(self.cells.iter_mut().map(|(_, text)| text))
        {
            if text.contains("\\u0000") {
                *text = without_nul(text);
            }
        }
        self
    }
}

/// JSON with the replacement character for each escaped NUL.
fn without_nul(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(place) = rest.find('\\') {
        text += &rest[..place];
        let (escape, behind) = match rest[place..].strip_prefix("\\u0000") {
            Some(behind) => ("\\ufffd", behind),
            // An escaped letter, a backslash among them: what follows it is no escape of its own.
            None => rest[place..].split_at(2),
        };
        text += escape;
        rest = behind;
    }
    text + rest
}

/// All of one save, or nothing of it. Whether it was written: not where another stays.
///
/// # Errors
/// A failure of the engine.
pub fn write(
    database: &dyn Database,
    owner: Option<&Owner>,
    record: &Record,
    texts: &Texts,
    saving: Saving,
) -> Result<bool, StoreError> {
    within(database, Purpose::Write, || {
        let Some((run, save)) = write_run(database, record, texts, saving)? else {
            return Ok(false);
        };
        if database.dialect().has_processes() {
            write_owner(database, owner, run)?;
        }
        write_cells(database, record, texts, run, save)?;
        write_labels_and_drives(database, record, run)?;
        Ok(true)
    })
}

/// The run's row; its sequence and how often it was saved.
fn write_run(
    database: &dyn Database,
    record: &Record,
    texts: &Texts,
    saving: Saving,
) -> Result<Option<(i64, i64)>, StoreError> {
    let document = database.dialect().document();
    let (number, next, guard) = match saving {
        Saving::Next => (1, "run.saves + 1", ""),
        Saving::Numbered(number) => (
            i64::try_from(number).unwrap_or(i64::MAX),
            "excluded.saves",
            "WHERE run.host = excluded.host AND run.started = excluded.started
                 AND run.saves < excluded.saves",
        ),
    };
    let statement = format!(
        "INSERT INTO run (id, started, state, method, target, summary, document, host, campaign,
                          task, words, saves)
         VALUES (?, ?, ?, ?, ?, {document}, {document}, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET
             started = excluded.started, state = excluded.state, method = excluded.method,
             target = excluded.target, summary = excluded.summary, document = excluded.document,
             host = excluded.host, campaign = excluded.campaign, task = excluded.task,
             words = excluded.words, saves = {next}
         {guard}
         RETURNING sequence, saves"
    );
    let [campaign, task] = columns::campaign(record);
    let rows = database.rows(
        &statement,
        &[
            Value::from(record.id.as_str()),
            Value::from(record.started.as_str()),
            Value::from(record.state.name()),
            Value::from(record.method.name.as_str()),
            Value::from(columns::targets(record)),
            Value::from(texts.summary.as_str()),
            Value::from(texts.header.as_str()),
            Value::from(record.environment.host.name.as_str()),
            campaign,
            task,
            Value::from(columns::words(record, &record.summary())),
            Value::from(number),
        ],
    )?;
    Ok(rows.first().map(|row| (row.integer(0), row.integer(1))))
}

fn write_owner(database: &dyn Database, owner: Option<&Owner>, run: i64) -> Result<(), StoreError> {
    let statement = "UPDATE run SET owner_pid = ?, owner_started = ?, owner_boot = ?,
                         owner_namespace = ? WHERE sequence = ?";
    let values = [
        Value::Integer(owner.map(|owner| i64::from(owner.pid))),
        Value::Integer(owner.map(|owner| owner.started_ticks.cast_signed())),
        Value::Text(owner.map(|owner| owner.boot.clone())),
        Value::Text(owner.map(|owner| owner.namespace.clone())),
        Value::from(run),
    ];
    database.change(statement, &values).map(drop)
}

fn write_cells(
    database: &dyn Database,
    record: &Record,
    texts: &Texts,
    run: i64,
    save: i64,
) -> Result<(), StoreError> {
    let document = database.dialect().document();
    let row = |(position, text): &(usize, String)| {
        let cell = &record.cells[*position];
        let [drive, firmware] = below(record, cell);
        vec![
            Value::from(run),
            Value::from(*position as i64),
            Value::from(text.as_str()),
            Value::from(save),
            Value::from(record.method.name.as_str()),
            Value::from(cell.name.as_str()),
            Value::from(record.environment.host.name.as_str()),
            Value::from(drive),
            Value::from(firmware),
            Value::from(cell.iops),
        ]
    };
    insert(
        database,
        "cell (run, position, document, save, method, name, host, drive, firmware, iops)",
        &format!("(?, ?, {document}, ?, ?, ?, ?, ?, ?, ?)"),
        "ON CONFLICT (run, position) DO UPDATE SET document = excluded.document,
             save = excluded.save, method = excluded.method, name = excluded.name,
             host = excluded.host, drive = excluded.drive, firmware = excluded.firmware,
             iops = excluded.iops",
        texts.cells.iter().map(row).collect(),
    )?;
    let cells = record.cells.len() as i64;
    let behind = "DELETE FROM cell WHERE run = ? AND position >= ?";
    database.change(behind, &[Value::from(run), Value::from(cells)]).map(drop)
}

/// The drive that a cell's rate is the rate of, and its firmware: the only one below its target, or
/// the model. Of an array it is none's.
fn below(record: &Record, cell: &Cell) -> [Option<String>; 2] {
    let drives = columns::drives(record);
    let mut of_target = drives.iter().filter(|(target, ..)| *target == cell.target as i64);
    match (of_target.next(), of_target.next()) {
        (Some((_, _, [model, _, firmware])), None) => [model.clone(), firmware.clone()],
        (None, _) => {
            let target = record.targets.get(cell.target);
            let model = target.filter(|target| target.kind == TargetKind::Model);
            [model.map(|target| target.text.clone()), None]
        }
        _ => [None, None],
    }
}

fn write_labels_and_drives(
    database: &dyn Database,
    record: &Record,
    run: i64,
) -> Result<(), StoreError> {
    database.change("DELETE FROM label WHERE run = ?", &[Value::from(run)])?;
    let labels = record.labels.iter().map(|(key, value)| {
        vec![Value::from(run), Value::from(key.as_str()), Value::from(value.as_str())]
    });
    insert(database, "label (run, key, value)", "(?, ?, ?)", "", labels.collect())?;
    database.change("DELETE FROM drive WHERE run = ?", &[Value::from(run)])?;
    let drives = columns::drives(record).into_iter().map(|(target, layer, told)| {
        let mut row = vec![Value::from(run), Value::from(target), Value::from(layer)];
        row.extend(told.map(Value::from));
        row
    });
    let into = "drive (run, target, layer, model, serial, firmware)";
    insert(database, into, "(?, ?, ?, ?, ?, ?)", "", drives.collect())
}

/// JSON has no infinity and no NaN: they are written as null and refused on reading. Better to hear
/// of it while the numbers are still at hand.
fn readable<T: serde::de::DeserializeOwned>(id: &str, document: &str) -> Result<(), StoreError> {
    serde_json::from_str::<T>(document)
        .map(drop)
        .map_err(|source| StoreError::Unwritable { id: id.to_owned(), source })
}

fn fingerprint(document: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    document.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_replaced_and_what_looks_like_one_is_not() {
        let text = "a\0b \\u0000 \\ \0\0 \u{1}";
        let json = serde_json::to_string(text).expect("a text");
        let read: String = serde_json::from_str(&without_nul(&json)).expect("JSON");
        assert_eq!(read, text.replace('\0', "\u{fffd}"));
    }
}
