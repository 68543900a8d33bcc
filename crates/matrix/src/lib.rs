//! The configuration matrix: which configurations there are, what each is to be told, what it
//! promises after a power cut, how each is made and measured, and what the rates say about each
//! setting.
//!
//! ```text
//!   words -> Axes -> Configuration...                          axes, axis, refused, wording
//!                        |-> Durability: what a power cut leaves; PowerCut: what one left
//!                                                                   durability, power_cut
//!   MatrixOrder, Caller: what is measured, on what, by whom                   order
//!   TestDevice: loop device | block device | model over NBD                   device, serving
//!   Place: the journal inside, or on a second device              journal, journal_place
//!   sizes, room, bytes written, before the first of them                      foresee, wear
//!   every command as it would be typed, and nothing is done                   dry
//!   for each round, in a new order, for each configuration:                   rounds
//!     attach, wipe, settings, mkfs, mount      through host::Ledger           device, stage
//!     fill to the wanted share                                                age
//!     lab::runner::run_turn for each method -> its record                     configured
//!     all of it put back; who follows is told                                 audience
//!   on a model: once more with its power cut -> PowerCut                      cut
//!   records -> Outcome -> pivot, effects, best of each class                  effect, best
//!     -> tables and charts, for a terminal and a browser                      page
//! ```
//!
//! It refuses to know how an option is spelled: a [`Refusal`] has a kind,
//! and who reads words knows which option that is. Axes, wording, classes and effects are pure.
#![forbid(unsafe_code)]

mod age;
mod attached;
mod audience;
mod axes;
mod axis;
mod best;
mod configured;
mod cut;
mod device;
mod dry;
mod durability;
mod effect;
mod error;
mod foresee;
mod journal;
mod journal_place;
mod order;
pub mod page;
mod power_cut;
mod refused;
mod rounds;
mod serving;
mod stage;
mod wear;
mod wording;

/// What a model is served, attached, formatted and checked by, for others that cut its power.
pub mod rig {
    pub use crate::{
        attached::Attached,
        cut::{checker, put_back, wait_for_cut},
        device::check_image,
        serving::{connect, uri},
        stage::{mount_again, remounting, set},
    };
}

pub use audience::{Audience, Told};
pub use axes::{Axes, Configuration};
pub use axis::{Axis, BadAxis};
pub use best::{Best, Goal, best};
pub use device::TestDevice;
pub use dry::describe;
pub use durability::{Durability, Machine};
pub use effect::{Effect, Outcome, Pivot, effects, pivot};
pub use error::{MatrixError, NoDevice, Refusal, RefusalKind};
pub use foresee::{Foreseen, check, foresee};
pub use order::{Caller, Choice, MatrixOrder, PowerCuts, ROUNDS, in_turns, place};
pub use power_cut::PowerCut;
pub use rounds::{Cut, End, Floor, Measured, measure};
pub use run::Wear;
pub use serving::{FailingPower, Serving};
pub use wording::{Format, formatted, ignores_direct_io, mount_options};
