//! Arbitrary bytes at the start of a device: recognised or not; never a panic, never a read beyond
//! it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::{fs::File, io::Write};

fuzz_target!(|bytes: &[u8]| {
    let mut file: File = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("it takes the bytes");
    let _ = host::guard::signatures(&file, bytes.len() as u64);
});
