//! What users type after `model:`, and the drives they write: understood and written back, or
//! refused in a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use target::{
    catalog::{Catalog, DriveEntry},
    stack::{Stack, open},
};

static BUILT_IN: LazyLock<Catalog> =
    LazyLock::new(|| Catalog::built_in().expect("the built-in catalog"));

fuzz_target!(|text: &str| {
    let _ = DriveEntry::parse("fuzz.toml", text);
    let Ok(stack) = text.parse::<Stack>() else { return };
    assert_eq!(stack.to_string().parse(), Ok(stack.clone()));
    // What can be built is built; a steady state of large drives would only take memory.
    if stack.drives() <= 8 && !text.contains("steady") {
        let _ = open(&stack, &BUILT_IN, 1);
    }
});
