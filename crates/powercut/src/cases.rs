//! Programs that are built in: each works in a directory and promises, or checks there.
//!
//! A case is run by a process of its own, since it is killed with the power.

mod files;
mod postgresql;
mod sqlite;

use crate::{order::Phase, protocol};
use std::{
    collections::BTreeMap,
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

/// Whether one process can check again and again, since a check leaves nothing open or running.
pub fn checks_again(case: &str) -> bool {
    matches!(case, "sqlite" | "files")
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
        ("files", Phase::Run) => files::run(settings, directory, said),
        ("postgresql", Phase::Run) => postgresql::run(settings, directory, said),
        (_, Phase::Check) => {
            let of = (case, settings);
            check(of, directory, &promised(told)?, &mut Contents::default(), said)
        }
        (_, Phase::Checks) => checks((case, settings), directory, told, said),
        _ => panic!("{case} is no case"),
    }
}

fn check(
    (case, settings): (&str, &[Setting]),
    directory: &Path,
    promised: &[u64],
    contents: &mut Contents,
    said: &mut dyn Write,
) -> Result<(), Failure> {
    match case {
        "sqlite" => sqlite::check(directory, promised, contents, said),
        "files" => files::check(directory, promised, contents, said),
        "postgresql" => postgresql::check(settings, directory, promised, contents, said),
        _ => panic!("{case} is no case"),
    }
}

/// Checks as often as it is told a number and so many promises: answers, then a line that has the
/// reason where what is left cannot be used.
fn checks(
    of: (&str, &[Setting]),
    directory: &Path,
    told: &mut dyn BufRead,
    said: &mut dyn Write,
) -> Result<(), Failure> {
    let mut contents = Contents::default();
    let mut line = String::new();
    while told.read_line(&mut line)? > 0 {
        let count: u64 = line.trim().parse()?;
        let mut ids = Vec::new();
        for _ in 0..count {
            line.clear();
            told.read_line(&mut line)?;
            ids.push(number(&line)?);
        }
        let mut answers = Vec::new();
        let checked = check(of, directory, &ids, &mut contents, &mut answers);
        said.write_all(&answers)?;
        let why = checked.err().map(|failure| failure.to_string());
        let why = why.as_deref().map(|why| why.lines().next().unwrap_or_default());
        writeln!(said, "{}", protocol::ended(why))?;
        said.flush()?;
        line.clear();
    }
    Ok(())
}

/// Says a promise, at once.
fn promise(said: &mut dyn Write, id: u64) -> std::io::Result<()> {
    writeln!(said, "ack {id}")?;
    said.flush()
}

/// What was promised.
fn promised(told: &mut dyn BufRead) -> std::io::Result<Vec<u64>> {
    told.lines().map(|line| number(&line?)).collect()
}

fn number(line: &str) -> std::io::Result<u64> {
    let bad = |_| std::io::Error::other(format!("{line} is no promise of ours"));
    line.trim().parse().map_err(bad)
}

/// What is kept under a number; nothing else has it. At most 2,000 bytes, text.
fn contents(id: u64) -> String {
    let mut rng = block::Rng::new(id, 0x6361_7365);
    let bytes = 100 + rng.below(1900) as usize;
    let letter = |rng: &mut block::Rng| char::from(b'a' + rng.below(26) as u8);
    (0..bytes).map(|_| letter(&mut rng)).collect()
}

/// [`contents`] that were asked for, kept for the next check.
#[derive(Default)]
struct Contents(BTreeMap<u64, String>);

impl Contents {
    fn of(&mut self, id: u64) -> &str {
        self.0.entry(id).or_insert_with(|| contents(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process a check took most of a cut's time.
    #[test]
    fn one_process_checks_again_and_again_and_says_where_each_check_ends() {
        let at = tempfile::tempdir().expect("room");
        std::fs::write(at.path().join("file-0"), contents(0)).expect("room");
        let mut said = Vec::new();
        let told = "1\n0\n0\n2\n0\n2\n";
        run("files", &[], Phase::Checks, at.path(), &mut told.as_bytes(), &mut said)
            .expect("it can be read");
        assert_eq!(String::from_utf8(said).expect("text"), "end\nend\nlost 2\nend\n");
        let mut said = Vec::new();
        std::fs::write(at.path().join("case.db"), vec![7; 8192]).expect("room");
        run("sqlite", &[], Phase::Checks, at.path(), &mut "1\n0\n0\n".as_bytes(), &mut said)
            .expect("what is left is no reason to end");
        let said = String::from_utf8(said).expect("text");
        assert_eq!(said.matches("end ").count(), 2, "{said}");
        for told in ["x\n", "2\n0\n", "1\nx\n"] {
            let mut told = told.as_bytes();
            let done = run("files", &[], Phase::Checks, at.path(), &mut told, &mut Vec::new());
            assert!(done.is_err(), "{told:?}");
        }
    }
}
