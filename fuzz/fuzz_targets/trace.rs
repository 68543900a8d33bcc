//! A trace from anywhere: read or refused in one sentence, never a panic; what is read is told.
#![no_main]

use libfuzzer_sys::fuzz_target;
use report::terminal::Style;
use std::io::Cursor;
use trace::{Analysis, page};

/// A line may be an access of 1 GiB, which is many blocks.
const BYTES_MAX: u64 = 1 << 32;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut trace) = trace::open(Cursor::new(bytes.to_vec())) else { return };
    let (mut analysis, mut all, mut last_ns) = (Analysis::new(256), 0u64, 0);
    loop {
        match trace.next_access() {
            Ok(None) => break,
            Ok(Some(access)) => {
                assert!(access.at_ns >= last_ns, "time goes forward");
                last_ns = access.at_ns;
                all += if access.op.is_transfer() { access.bytes } else { 0 };
                if all > BYTES_MAX {
                    return;
                }
                analysis.add(&access);
            }
            Err(error) => {
                assert!(error.to_string().contains(':'), "{error}");
                return;
            }
        }
    }
    let subject = page::Subject {
        name: "fuzz".to_owned(),
        format: trace.format(),
        volume: None,
        volumes: trace.volumes().by_count().len(),
        remarks: trace.remarks(),
    };
    let seen = analysis.conclude();
    page::terminal(&seen, &subject, &Style::PLAIN);
    page::document(&seen, &subject, "fuzz");
    page::json(&seen, &subject);
});
