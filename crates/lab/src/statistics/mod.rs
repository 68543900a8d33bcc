//! What the numbers mean: how a latency is kept, when a cell is measured well enough, and how much
//! of a result is noise.
//!
//! Pure code: it is handed ticks and latencies and knows no clock, no drive and no thread, so the same
//! ticks always give the same verdict.
//!
//! ```text
//!   latency  -> Histogram --drain_delta--> Delta --add_delta--> the cell's Histogram -> percentiles
//!   ticks    -> coalesce -> warm-up cut -> batch means -> half-width, steadiness, alarm = Assessment
//!   Assessment at t, 1.15 t, ...  -> Looks -> Stop          (StopRule: quick, normal, publish)
//!   passes   -> headline (one drive)   paired (A against B)   unpaired (made apart)   snia_steady (rounds)
//!   ticks    -> cliff, burst_credit, falling_slope            (the shapes of known traps)
//! ```
//!
//! It refuses to know why a series looks as it does: a shape is a finding, its name a hint.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod assess;
mod distribution;
mod histogram;
mod moments;
mod passes;
mod shapes;
mod snia;
mod stop;
mod tick;
mod unpaired;

pub use assess::{Assessment, assess};
pub use distribution::{normal_quantile, student_t_975};
pub use histogram::{BadSparse, Bucket, Delta, Histogram, Sparse};
pub use passes::{Headline, Paired, Verdict, headline, paired};
pub use shapes::{
    BurstCredit, Cause, Cliff, FallingSlope, Plateau, Temperatures, burst_credit, cliff,
    falling_slope, is_spindle_rate, little,
};
pub use snia::{SniaVerdict, snia_steady};
pub use stop::{Grade, Looks, Stop, StopRule};
pub use tick::{TICK_NS, Tick, WarmUp, coalesce, warm_up};
pub use unpaired::{Passes, Unpaired, unpaired};
