//! IOzone's results: its table, its throughput mode, its `-R` tables, and its `-b` file.

pub(crate) mod text;
pub(crate) mod workbook;

use crate::draft::{CellDraft, Draft, PassDraft};
use serde_json::json;

/// One of IOzone's tests.
struct Test {
    /// Its name in our tables.
    name: &'static str,
    op: &'static str,
    pattern: &'static str,
    engine: &'static str,
    /// Its title in `-R` tables and in the `-b` file, in small letters, without `report`.
    title: &'static str,
    /// What throughput mode calls its processes.
    processes: &'static str,
}

const fn test(
    name: &'static str,
    (op, pattern, engine): (&'static str, &'static str, &'static str),
    title: &'static str,
    processes: &'static str,
) -> Test {
    Test { name, op, pattern, engine, title, processes }
}

/// In the order of the table's columns; the last four have none.
const TESTS: [Test; 16] = [
    test("write", ("write", "seq", "sync"), "writer", "initial writers"),
    test("re-write", ("write", "seq", "sync"), "re-writer", "rewriters"),
    test("read", ("read", "seq", "sync"), "reader", "readers"),
    test("re-read", ("read", "seq", "sync"), "re-reader", "re-readers"),
    test("random read", ("read", "permutation", "sync"), "random read", "random readers"),
    test("random write", ("write", "permutation", "sync"), "random write", "random writers"),
    test("backward read", ("read", "backward", "sync"), "backward read", "reverse readers"),
    test("record re-write", ("write", "rewrite", "sync"), "record rewrite", ""),
    test("stride read", ("read", "strided:17", "sync"), "stride read", "stride readers"),
    test("fwrite", ("write", "seq", "stdio:block"), "fwrite", "fwriters"),
    test("re-fwrite", ("write", "seq", "stdio:block"), "re-fwrite", "re-fwriters"),
    test("fread", ("read", "seq", "stdio:block"), "fread", "freaders"),
    test("re-fread", ("read", "seq", "stdio:block"), "re-fread", "re-freaders"),
    test("random mix", ("mixed", "permutation", "sync"), "mixed workload", "mixed workload"),
    test("pwrite", ("write", "seq", "sync"), "pwrite", "pwrite writers"),
    test("pread", ("read", "seq", "sync"), "pread", "pread readers"),
];
/// Columns of the table.
const COLUMNS: usize = 13;

/// In what a run's figures are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Unit {
    #[default]
    KibPerSecond,
    /// `-O`.
    Operations,
    /// `-N`.
    Microseconds,
}

/// What holds for every figure of a run.
#[derive(Clone, Debug, Default)]
struct Mode {
    unit: Unit,
    direct: bool,
    sync: bool,
    /// `-e`: what was written is on the drive when the time ends.
    flush: bool,
    close: bool,
}

impl Mode {
    /// From the command line, which every form repeats.
    fn of_command(&mut self, words: &[String]) {
        for word in words {
            let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.starts_with('+')) else {
                continue;
            };
            // One letter, or several without values in one word.
            let plain = letters.chars().all(|letter| letter.is_ascii_alphabetic());
            let has = |letter: char| plain && letters.contains(letter);
            self.direct |= has('I');
            self.sync |= has('o');
            self.flush |= has('e');
            self.close |= has('c');
            if has('O') {
                self.unit = Unit::Operations;
            } else if has('N') {
                self.unit = Unit::Microseconds;
            }
        }
    }

    fn cell(&self, test: &Test, file_bytes: u64, block_bytes: u64, figure: f64) -> CellDraft {
        let block = block_bytes as f64;
        let iops = match self.unit {
            Unit::KibPerSecond => figure * 1024.0 / block.max(1.0),
            Unit::Operations => figure,
            Unit::Microseconds => 1e6 / figure.max(1e-3),
        };
        let mut io = if self.direct { "direct" } else { "buffered" }.to_owned();
        io += if self.sync { ",sync" } else { "" };
        let mut cell = CellDraft {
            name: format!("{}-f{file_bytes}-{block_bytes}", test.name.replace(' ', "-")),
            op: test.op,
            pattern: test.pattern.to_owned(),
            block_bytes,
            threads: 1,
            depth: 1,
            engine: test.engine.to_owned(),
            io,
            bounded_by_bytes: true,
            passes: vec![PassDraft { iops, bytes_per_s: iops * block, ..PassDraft::default() }],
            ..CellDraft::default()
        };
        cell.coordinates.insert("test".to_owned(), json!(test.name));
        cell.coordinates.insert("file_bytes".to_owned(), json!(file_bytes));
        if self.flush {
            cell.coordinates.insert("flush".to_owned(), json!("timed"));
        }
        if self.close {
            cell.coordinates.insert("close".to_owned(), json!("timed"));
        }
        cell
    }
}

fn draft(words: Vec<String>) -> Draft {
    let mut draft = Draft::new("iozone");
    draft.layout = "iozone";
    if let Some(at) = words.iter().position(|word| word == "-f")
        && let Some(path) = words.get(at + 1)
    {
        draft.target(path);
    }
    draft.command = words;
    draft
}
