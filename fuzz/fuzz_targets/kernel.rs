//! What the kernel tells in text files.
#![no_main]

use host::watch::{CpuTimes, Traffic};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for mount in host::parse_mountinfo(text) {
        mount.option("compress");
    }
    host::unescape_octal(text);
    let _ = CpuTimes::parse(text);
    let _ = Traffic::parse_stat(text);
    let _ = Traffic::parse_diskstats(text, "sda");
});
