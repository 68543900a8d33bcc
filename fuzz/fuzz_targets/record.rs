//! A record file from anywhere: read and shown, or refused; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::Record;
use report::terminal::{Notes, Style, run};

fuzz_target!(|text: &str| {
    if let Ok(record) = Record::from_json(text, "fuzz") {
        run(&record, &Style::PLAIN, Notes::Brief { more: "drivelab show last --explain" });
        run(&record, &Style::PLAIN, Notes::Explained);
        record.summary();
    }
});
