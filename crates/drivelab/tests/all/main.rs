//! The whole program, as its users meet it: one binary, so that it is linked once.
//!
//! One file a subject; `cargo test -p drivelab --test all matrix::` runs those of one.

#[macro_use]
extern crate testkit;
#[macro_use]
mod common;
mod advise;
mod bad_input;
mod buffered;
// Tests begin in the order of their names: what takes as long as its clock says is not to be waited
// for alone at the end.
mod by_the_clock {
    mod quota;
}
mod bytes;
mod campaign;
mod cells;
mod compare;
mod consent;
mod crash;
mod damage;
mod databases;
mod decide;
mod devices;
mod drives;
mod examples;
mod export;
mod fio_jobs;
mod five_documents;
mod flash;
mod guard;
mod help;
mod hybrid;
mod import;
mod iozone;
mod killed;
mod knee;
mod lookup;
mod matrix;
mod matrix_journal;
mod matrix_model;
mod matrix_refused;
mod memory;
mod misspelt;
mod model;
#[allow(dead_code)] // Other tests use the rest.
#[path = "../../../nbd/tests/all/common/client.rs"]
mod nbd_client;
mod outputs;
mod power_cut;
mod promises;
mod push;
mod read_only;
mod readme;
mod record;
mod report;
mod restart;
mod resume;
mod serve;
mod service;
mod slurm;
mod study;
mod swapped;
mod trace;
mod traps;
mod trees;
mod unread;
mod walks;
mod web;
mod web_reader;
mod workbook;
mod write_orders;
mod writes;
