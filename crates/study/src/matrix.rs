//! The configuration matrix, without a machine: which configurations there are, what each is to be
//! told, what it promises after a power cut, and what the measured rates say about each setting.
//!
//! ```text
//!   words -> Axes -> Configuration... -> (staged and measured elsewhere) -> Outcome...
//!                        |-> wording: mkfs, mount options, or a refusal with the nearest equivalent
//!                        |-> Durability: the class of what a power cut leaves; PowerCut: what one left, held against it
//!   Outcome... -> pivot, effects, best of each class
//! ```

mod axis;
mod best;
mod cut;
mod durability;
mod effect;
mod published;
mod wording;

pub use axis::{Axes, Axis, BadAxis, Configuration};
pub use best::{Best, Goal, best};
pub use cut::{FileSystemState, PowerCut};
pub use durability::{Durability, Machine};
pub use effect::{Effect, Outcome, Pivot, effects, pivot};
pub use published::{PrintedRate, STUDY, printed};
pub use wording::{Format, formatted, ignores_direct_io, mount_options};
