//! Runs from one history into another: each once, by its id.
//!
//! ```text
//!   file: ended() -> what the other lacks -> load, push -> database, or another file
//! ```
//!
//! An id is eight digits, drawn on one machine: of some ten thousand runs of many machines two may
//! have drawn the same. Runs are the same where id, machine and start are; a run whose id another
//! has got is pushed under a longer one, which follows from machine and start, so that it is found
//! there again.

use super::{
    Store, StoreError,
    sql::{Dialect, Value},
    write::{Saving, Texts, write},
};
use crate::Record;
use std::collections::BTreeMap;

/// A run that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Its id.
    pub id: String,
    /// The machine that measured it.
    pub host: String,
    /// When it began.
    pub started: String,
    /// How often it was saved: it grows when the run goes on.
    pub saves: u64,
}

/// What became of a push.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pushed {
    /// It is there, as it now is.
    Written,
    /// It was there already.
    Known,
}

impl Ended {
    /// The id where another run has got its own.
    pub fn longer_id(&self) -> String {
        // FNV-1a, 32 bits: it must be the same in every version of the program.
        let mut hash = 0x811c_9dc5_u32;
        for byte in self.host.bytes().chain([0]).chain(self.started.bytes()) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        format!("{}{hash:08x}", self.id)
    }

    fn is(&self, other: &Self) -> bool {
        self.host == other.host && self.started == other.started
    }
}

const ENDED: &str = "SELECT id, host, started, saves FROM run";

impl Store {
    /// All runs that have ended, oldest first.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn ended(&self) -> Result<Vec<Ended>, StoreError> {
        self.read_ended(&format!("{ENDED} WHERE state <> 'running' ORDER BY sequence"), &[])
    }

    /// The run of this id, if it has ended.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn ended_one(&self, id: &str) -> Result<Option<Ended>, StoreError> {
        let one = format!("{ENDED} WHERE state <> 'running' AND id = ?");
        Ok(self.read_ended(&one, &[Value::from(id)])?.pop())
    }

    /// Those of `runs` that are not here, or not as they now are, in their order, each with the id
    /// that it is to have here.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn lacks(&self, runs: &[Ended]) -> Result<Vec<(Ended, String)>, StoreError> {
        let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        let here = self.known(&ids)?;
        let taken = |run: &&Ended| here.get(&run.id).is_some_and(|known| !known.is(run));
        let longer: Vec<String> = runs.iter().filter(taken).map(Ended::longer_id).collect();
        let longer_here = self.known(&longer.iter().map(String::as_str).collect::<Vec<_>>())?;
        let mut lacking = Vec::new();
        for run in runs {
            let (id, known) = match here.get(&run.id) {
                Some(known) if !known.is(run) => {
                    let id = run.longer_id();
                    let known = longer_here.get(&id);
                    (id, known)
                }
                known => (run.id.clone(), known),
            };
            if known.is_none_or(|known| known.saves < run.saves) {
                lacking.push((run.clone(), id));
            }
        }
        Ok(lacking)
    }

    /// Takes in a run of another history, all of it or nothing, under the id that [`Store::lacks`]
    /// gave, or under the longer one where another run was faster. Done twice it is there once.
    ///
    /// # Errors
    /// A failure of the store: then nothing was changed.
    pub fn push(&mut self, record: &Record, run: &Ended, id: &str) -> Result<Pushed, StoreError> {
        if self.push_as(record, run, id)? {
            return Ok(Pushed::Written);
        }
        let is_same = |known: Option<&Ended>| known.is_some_and(|known| known.is(run));
        if is_same(self.known(&[id])?.get(id)) {
            return Ok(Pushed::Known);
        }
        let written = self.push_as(record, run, &run.longer_id())?;
        Ok(if written { Pushed::Written } else { Pushed::Known })
    }

    /// Pushes those of `runs` that are lacking here; `record_of` reads one. `goes_on` is asked
    /// before each and told at the end: how many were lacking, and how many of those are here now.
    /// Whether it went on to the end.
    ///
    /// # Errors
    /// A failure of the store, or of `record_of`: what was pushed before stays.
    pub fn push_lacking(
        &mut self,
        runs: &[Ended],
        record_of: &mut dyn FnMut(&Ended) -> Result<Record, StoreError>,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<bool, StoreError> {
        let lacking = self.lacks(runs)?;
        let count = lacking.len();
        for (pushed, (run, id)) in lacking.iter().enumerate() {
            if !goes_on(count, pushed) {
                return Ok(false);
            }
            self.push(&record_of(run)?, run, id)?;
        }
        goes_on(count, count);
        Ok(true)
    }

    fn push_as(&self, record: &Record, run: &Ended, id: &str) -> Result<bool, StoreError> {
        let record = Record { id: id.to_owned(), ..record.clone() };
        let (mut texts, _) = Texts::of(&record, &[])?;
        if self.database.dialect() == Dialect::Postgresql {
            texts = texts.without_nul();
        }
        let saving = Saving::Numbered(run.saves);
        write(self.database.as_ref(), None, &record, &texts, saving)
    }

    fn known(&self, ids: &[&str]) -> Result<BTreeMap<String, Ended>, StoreError> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let list = self.database.dialect().list();
        let ids = serde_json::to_string(ids).expect("a list of texts");
        let found = self.read_ended(&format!("{ENDED} WHERE id IN {list}"), &[Value::from(ids)])?;
        Ok(found.into_iter().map(|run| (run.id.clone(), run)).collect())
    }

    fn read_ended(&self, statement: &str, values: &[Value]) -> Result<Vec<Ended>, StoreError> {
        let rows = self.database.rows(statement, values)?;
        let ended = rows.iter().map(|row| Ended {
            id: row.text(0),
            host: row.text(1),
            started: row.text(2),
            saves: row.integer(3).unsigned_abs(),
        });
        Ok(ended.collect())
    }
}
