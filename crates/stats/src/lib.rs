//! What the numbers mean: how a latency is kept, when a cell is measured well enough, and how much
//! of a result is noise.
//!
//! Pure code: it is handed ticks and latencies and knows no clock, no drive and no thread, so the
//! same ticks always give the same verdict.
//!
//! ```text
//!   latency  -> Histogram --drain_delta--> Delta --add_delta--> the cell's Histogram -> percentiles
//!   ticks    -> coalesce -> warm-up cut -> batch means -> half-width, steadiness = Assessment
//!   Assessment at t, 1.15 t, ...  -> Looks -> Stop          (StopRule: quick, normal, publish)
//!   passes   -> headline (one drive)   paired (A against B)   unpaired (made apart)   snia_steady (rounds)
//!   batches  -> ratio, trend             (shares and slopes, with what is known of them)
//!   ticks    -> lasting_change, burst_credit, falling_slope            (the shapes of known traps)
//! ```
//!
//! It refuses to know why a series looks as it does: a shape is a finding, its name a hint.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod assess;
mod distribution;
mod drain;
mod histogram;
mod moments;
mod passes;
mod ratio;
mod rule;
mod shapes;
mod share;
mod snia;
mod steady;
mod step;
mod stop;
mod telling;
mod tick;
mod unpaired;

pub use assess::{Assessment, Levels, Test, assess};
pub use distribution::{normal_quantile, student_t_975};
pub use drain::{Drained, drained, level};
pub use histogram::{BadSparse, Bucket, Delta, Histogram, Sparse};
pub use moments::median;
pub use passes::{Headline, Host, Paired, PassRate, Verdict, headline, paired, verdict};
pub use ratio::{Ratio, Trend, ratio, trend};
pub use rule::{Grade, StopRule};
pub use shapes::{
    BurstCredit, Cause, Change, FallingSlope, Plateau, Temperatures, burst_credit, falling_slope,
    held_rate, is_spindle_rate, lasting_change, little,
};
pub use share::{same_share, share_interval};
pub use snia::{SniaVerdict, snia_steady};
pub use stop::{Looks, Stop};
pub use telling::{TOLD_APART, pairs_to_tell, passes_to_tell};
pub use tick::{TICK_NS, Tick, coalesce, warm_up};
pub use unpaired::{Passes, Unpaired, unpaired};
