//! A managed flash volume on a drive with other bytes in the header of a record of the synchronous
//! ring, and a good checksum: opened, used, checked and rescued, or refused.
#![no_main]

use crash::{Forge, Structure};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static FORGE: Forge = Forge::default();
}

fuzz_target!(|input: &[u8]| FORGE.with(|forge| forge.structure(Structure::Record, input)));
