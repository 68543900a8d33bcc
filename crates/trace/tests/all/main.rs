//! Traces: every format read right, damage refused in one sentence, workloads told as they were
//! made.

mod damage;
mod formats;
mod generated;
mod order;
mod pages;
mod reuse;

use std::{io::Cursor, path::Path};
use trace::{Access, Op, Trace, TraceError};

/// A file of the corpus.
fn corpus(name: &str) -> Vec<u8> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus")).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn opened(bytes: impl Into<Vec<u8>>) -> Result<Trace, TraceError> {
    trace::open(Cursor::new(bytes.into()))
}

/// All accesses, or the first error.
fn read(bytes: impl Into<Vec<u8>>) -> Result<Vec<Access>, TraceError> {
    opened(bytes)?.collect()
}

/// Accesses as short as they can be written: time, operation, offset, bytes.
fn short(accesses: &[Access]) -> Vec<(u64, Op, u64, u64)> {
    let short = |access: &Access| (access.at_ns, access.op, access.offset, access.bytes);
    accesses.iter().map(short).collect()
}

/// The sentence that refuses it.
fn refusal(bytes: impl Into<Vec<u8>>) -> String {
    match read(bytes) {
        Err(error) => error.to_string(),
        Ok(accesses) => panic!("it was read: {accesses:?}"),
    }
}
