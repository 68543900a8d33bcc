//! A record file from anywhere: read and shown, or refused; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::Record;
use report::terminal::{Style, run};

fuzz_target!(|text: &str| {
    if let Ok(record) = Record::from_json(text, "fuzz") {
        run(&record, &Style::PLAIN);
        record.summary();
    }
});
