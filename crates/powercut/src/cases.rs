//! Programs that are built in: each works in a directory and promises, or checks there.
//!
//! A case is run by a process of its own, since it is killed with the power.

mod files;
mod postgresql;
mod sqlite;

use crate::order::Phase;
use std::{
    error::Error,
    io::{BufRead, Write},
    path::Path,
};

/// What a case may fail with: a sentence, on stderr.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What each case is called, and what it does.
pub const CASES: &[(&str, &str)] = &[
    ("sqlite", "SQLite, one row a transaction: journal_mode=wal, synchronous=full unless set"),
    ("postgresql", "PostgreSQL: one row a transaction; fsync, synchronous_commit and any other"),
    ("files", "files written beside their place, fsynced, renamed; fsync=off leaves that out"),
];

/// A setting of a case: `synchronous=off`.
pub type Setting = (String, String);

/// Where a case has no such setting, those that it has. PostgreSQL's server knows its own, and
/// refuses what is none; SQLite takes a word that is none for another one.
pub fn refused(case: &str, key: &str, value: &str) -> Option<&'static str> {
    let (known, words): (_, &[(&str, &[&str])]) = match case {
        "sqlite" => (
            "journal_mode=delete, truncate, persist, wal or off, and synchronous=off, normal, full \
             or extra",
            &[
                ("journal_mode", &["delete", "truncate", "persist", "wal", "off"]),
                ("synchronous", &["off", "normal", "full", "extra"]),
            ],
        ),
        "files" => ("fsync=on or off", &[("fsync", &["on", "off"])]),
        _ => return None,
    };
    let is_known = words.iter().any(|(name, values)| *name == key && values.contains(&value));
    (!is_known).then_some(known)
}

/// Does a phase of a case in `directory`: promises go to `said`, and what was promised is read from
/// `told`.
///
/// # Errors
/// A sentence; of [`Phase::Check`] it means that what is left cannot be used.
///
/// # Panics
/// Of a case that is not among [`CASES`].
pub fn run(
    case: &str,
    settings: &[Setting],
    phase: Phase,
    directory: &Path,
    told: &mut dyn BufRead,
    said: &mut dyn Write,
) -> Result<(), Failure> {
    match (case, phase) {
        ("sqlite", Phase::Run) => sqlite::run(settings, directory, said),
        ("sqlite", Phase::Check) => sqlite::check(directory, told, said),
        ("files", Phase::Run) => files::run(settings, directory, said),
        ("files", Phase::Check) => files::check(directory, told, said),
        ("postgresql", Phase::Run) => postgresql::run(settings, directory, said),
        ("postgresql", Phase::Check) => postgresql::check(settings, directory, told, said),
        _ => panic!("{case} is no case"),
    }
}

/// Says a promise, at once.
fn promise(said: &mut dyn Write, id: u64) -> std::io::Result<()> {
    writeln!(said, "ack {id}")?;
    said.flush()
}

/// What was promised.
fn promised(told: &mut dyn BufRead) -> std::io::Result<Vec<u64>> {
    let ids = told.lines().map(|line| {
        let line = line?;
        let bad = |_| std::io::Error::other(format!("{line} is no promise of ours"));
        line.trim().parse().map_err(bad)
    });
    ids.collect()
}

/// What is kept under a number; nothing else has it. At most 2,000 bytes, text.
fn contents(id: u64) -> String {
    let mut rng = block::Rng::new(id, 0x6361_7365);
    let bytes = 100 + rng.below(1900) as usize;
    let letter = |rng: &mut block::Rng| char::from(b'a' + rng.below(26) as u8);
    (0..bytes).map(|_| letter(&mut rng)).collect()
}
