//! The highest rate at which latencies still hold a limit, and the search for it.
//!
//! ```text
//!   `p99<1ms`                     -> Condition                                 condition
//!   a pass at some rate: its ticks -> judge -> KneeProbe: ratio, verdict       judge
//!   all probes so far              -> Search::next -> a rate, or the outcome   search
//! ```
//!
//! All of it is pure: what is tried next follows from the probes alone, so that a search which goes
//! on after an interrupt takes the way that it would have taken.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod condition;
mod judge;
mod search;

pub use condition::{Condition, Limited};
pub use judge::{OpenLoop, judge};
pub use search::{Next, PROBES_MAX, Search};
