//! What is asked of a target: streams of operations, and the worker that carries one out.
//!
//! ```text
//!   Stream (what, how many)  ->  Worker (one a thread)  -- Request -->  Engine
//!     Pattern -> Offsets                 ^ Completion ---------------------'
//!     Contents -> buffers                `-> Recorder: histogram and ticks -> runner
//! ```
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod contents;
mod errors;
mod mix;
mod pacing;
mod pattern;
mod place;
mod recorder;
pub mod replay;
mod scatter;
mod stream;
pub mod tree;
mod worker;
mod zipf;
mod zones;

pub use contents::{Contents, is_stamped};
pub use errors::{ErrorLog, OnError};
pub use mix::BlockMix;
pub use pacing::{Moves, Rate, Think};
pub use pattern::{Area, Offsets, Pattern, Share};
pub use place::{Reach, StreamPlace};
pub use recorder::{Recorder, TickPart};
pub use scatter::Scatter;
pub use stream::{Caching, EngineChoice, Io, Op, Pages, Stream, Syncing};
pub use worker::{
    Budget, Counted, Failure, Finish, Length, Pace, Worker, WorkerPlan, drain, drive, once,
};
pub use zipf::Zipf;
pub use zones::Zones;
