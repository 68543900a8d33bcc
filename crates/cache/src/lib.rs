//! Which blocks a cache keeps. Block numbers in, hits and misses out.
//!
//! ```text
//!   block -> Replacement::access -> Hit | Miss { evicted } | Passed { evicted }
//!              | fifo, lru, clock        one queue            queue.rs
//!              | 2q, s3fifo              a queue for newcomers, a main one, ghosts
//!              | arc, lirs               recency against reuse, ghosts tell which
//!              | tinylfu                 a window, and who is asked for more often stays
//!              | smq                     levels by hits, and regions that miss
//!   all blocks, known beforehand -> misses_min                belady.rs
//!   a sample of the blocks -> Miniature -> a miss-ratio curve of any policy
//! ```
//!
//! A *ghost* is a block that is remembered and not held. Every policy but smq takes a block in at
//! its first miss and gives up one for it when it is full. A cache below can say what it holds by
//! the answers alone.
//!
//! This knows no bytes and no drives; smq alone asks for the time. An access allocates nothing:
//! what a policy needs is set aside when it is made, 24 B a block that it holds or remembers, and
//! as much again for finding it.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod arc;
mod belady;
mod lirs;
mod miniature;
mod policy;
mod queue;
mod replacement;
mod s3fifo;
mod sketch;
mod smq;
mod store;
mod tinylfu;
mod two_queues;

pub use belady::misses_min;
pub use miniature::{Miniature, is_sampled};
pub use policy::{CAPACITY_MAX, Policy};
pub use replacement::{Access, Replacement};
pub use store::Table;
