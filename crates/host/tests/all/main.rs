//! The tests of `host` from outside, in one program: each one more would be linked anew.

#[macro_use]
extern crate testkit;
mod common;

mod consent;
mod contents_real;
mod guard_fake;
mod guard_real;
mod identify_fake;
mod ledger_drives;
mod ledger_owner;
mod ledger_real;
mod stack_fake;
mod write_cache;
