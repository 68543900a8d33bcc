//! A managed flash volume's drive with other bytes anywhere, checksums made good again or not:
//! opened, used, checked and rescued, or refused.
#![no_main]

use crash::Forge;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static FORGE: Forge = Forge::default();
}

fuzz_target!(|input: &[u8]| FORGE.with(|forge| forge.image(input)));
