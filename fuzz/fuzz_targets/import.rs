//! What other programs wrote, or nobody: taken in as a run and shown, or refused; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use report::terminal::{Notes, Style, run};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(record) = import::import("fuzz", bytes, "2026-11-25T04:00:00Z") {
        run(&record, &Style::PLAIN, Notes::Brief { more: "drivelab show last --explain" });
        record.summary();
    }
});
