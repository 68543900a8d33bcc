//! A method file from anywhere: parsed and planned, or refused; never a panic.
#![no_main]

use lab::{
    method::Method,
    plan::{Options, Plan},
    target::{Access, Offer, Time},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(method) = Method::parse("fuzz", text, &[]) else { return };
    let offer = Offer {
        capacity_bytes: 1 << 40,
        block_bytes: 512,
        access: Access::ReadWrite,
        uring: Ok(()),
        direct: Ok(()),
        buffered: Ok(()),
        stdio: Ok(()),
        trim: Ok(()),
        write_zeroes: Ok(()),
        drop_machine: Ok(()),
        remount: Ok(()),
        files_max: Ok(1 << 30),
        time: Time::Wall,
        memory_bytes: 8 << 30,
        wears: false,
    };
    if method.cells.len() > 1000 || method.file.passes.is_some_and(|passes| passes > 100) {
        return;
    }
    let _ = Plan::new(method, &Options::default(), &[offer]);
});
