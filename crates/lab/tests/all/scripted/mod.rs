//! A drive whose every habit is written by the test, and a laboratory around it: whole cells of a
//! minute run in milliseconds, on a virtual clock, and replay from their seed.
//!
//! ```text
//!   Script (habits) -> Scripted (a Target) -> Lab::run -> Record and the Log of requests
//! ```
#![allow(dead_code, unused_imports)] // Each test crate uses its part.

mod bench;
mod drive;
mod target;
mod wall;

pub use bench::{Lab, Watcher, cell, flags, method, pass_rates, warning};
pub use drive::{Admission, CAPACITY_BYTES, Kind, Life, Logged, Script, Service};
pub use target::{Facts, Scripted, honest};
pub use wall::{Fate, Walled};
