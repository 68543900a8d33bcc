//! The laboratory: workloads, methods, plans and the runner.
//!
//! ```text
//!   method (TOML)  ->  plan (cells x passes, in order)  ->  runner  ->  record
//!                                                            |  ^
//!                             Target: engines of workers <--'  '---- ticks, observations
//! ```
//!
//! It declares what it needs of the world as traits ([`target::Target`]) and never opens a file
//! itself: a method does not know what it runs on.
#![forbid(unsafe_code)]

mod compression_probe;
pub mod duration;
pub mod eta;
pub mod knee;
pub mod load;
pub mod method;
pub mod order;
pub mod plan;
pub mod runner;
pub mod target;
pub mod trial;
pub mod workload;

pub use stats::{Drained, drained, level};
