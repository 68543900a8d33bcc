//! What the tests of several crates share. For development: no program is built with it.
//!
//! ```text
//!   drive    a drive whose answers overtake each other
//!   memory   an engine in memory that fails and forgets as a test tells it
//!   device   loop devices and mounts, undone on drop
//!   postgresql  a server of PostgreSQL's in a directory that vanishes
//!   program  programs of the system, and tests that skip without them
//! ```
#![forbid(unsafe_code)]

mod device;
mod drive;
pub mod memory;
mod postgresql;
mod program;

pub use device::{LoopDevice, Mounted};
pub use drive::Shuffling;
pub use postgresql::Postgresql;
pub use program::{has, hash, is_program, skip, system};
