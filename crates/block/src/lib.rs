//! The vocabulary every room speaks: a [`Request`] goes down, a [`Completion`] comes back, and an
//! [`Engine`] is the only thing that waits in between. Engines wait; machines don't.
//!
//! ```text
//!   workload        makes a Request, owns a Buf
//!      | submit
//!   Stack           a Machine on an Engine: remaps, splits, caches, never waits
//!   Wrapper         an Engine around an Engine: looks on, and loses nothing
//!   Engine          null, sync, io_uring, stdio (real); a virtual clock over a machine (modelled)
//!      | wait       time passes here and nowhere else
//!   Completion      the Buf is back, with two instants
//! ```
//!
//! This crate depends on nothing, does no I/O and knows no clock.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod buffer;
mod count;
mod engine;
mod machine;
pub mod names;
mod opening;
mod pause;
mod prefetch;
mod request;
mod rng;
mod size;
mod slots;
mod wrapper;
mod zeroes;

pub use buffer::{Buf, HUGE_PAGE_BYTES, PAGE_BYTES, Pages, Region};
pub use count::{counted, one_or};
pub use engine::{Allocation, Data, Engine, Geometry, submit_and_wait, submit_to_and_wait};
pub use machine::{Effects, Machine, Stack};
pub use opening::{Caching, Discarded, Syncing};
pub use pause::Pause;
pub use prefetch::prefetch;
pub use request::{
    Actor, Command, Completion, Drive, Durability, Extent, Instant, IoError, Payload, Request, Tag,
};
pub use rng::{Rng, split_mix};
pub use size::{BadSize, display_bytes, parse_bytes};
pub use slots::Slots;
pub use wrapper::Wrapper;
pub use zeroes::is_zero;
