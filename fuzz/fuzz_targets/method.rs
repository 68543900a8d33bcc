//! A method file from anywhere: parsed and planned, or refused; never a panic.
#![no_main]

use lab::{
    method::Method,
    plan::{Options, Plan},
    target::Offer,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(method) = Method::parse("fuzz", text, &[]) else { return };
    let offer = Offer { memory_bytes: 8 << 30, wears: false, ..Offer::everything(1 << 40) };
    if method.cells.len() > 1000 || method.file.passes.is_some_and(|passes| passes > 100) {
        return;
    }
    let _ = Plan::new(method, &Options::default(), &[offer]);
});
