//! The managed flash volume under power cuts, faults and damage, against an oracle that knows every
//! value that may be there. For development: `cargo xtask soak` and the fuzzer run the campaigns,
//! and `flash` has most of its tests here. What they need of its inside is `flash::testing`.
//!
//! ```text
//!   scenario       what a seed is about: shape, drives, requests
//!   campaign       lives, and the moments at which they are cut
//!   point          one cut: recovered, scanned, recovered again
//!   exhaustive     short sequences of operations, all of them
//!   oracle         what may be there
//!   scan, chunk    what is there
//!   tally          what was tried
//!   backing        the drives below: one, or a RAID-5
//!   damage         bits that flip in what was left, and who names what is wrong
//!   forged         drives that say anything, with good checksums
//!   roots          the newest root damaged
//!   attest, ring   what was flushed last, and what the ring holds of it
//!   faults         drives that fail
//!   requests       what is owed with the power on
//!   limits         what cleaner and host are held to
//!   amplification  what cleaning costs
//!   images         volumes that earlier code made
//!   mutations      every rule broken on purpose
//!   tools          status, check, rescue and resize on such drives
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
// The campaigns alone do without some of what the tests use.
#![cfg_attr(not(test), allow(dead_code, unused_imports))]

mod backing;
pub(crate) mod bench;
mod caller;
mod campaign;
mod chunk;
mod damage;
mod exhaustive;
mod forged;
mod oracle;
mod point;
pub(crate) mod roots;
mod scan;
mod scan_ring;
mod scenario;
mod tally;

#[cfg(test)]
mod amplification;
#[cfg(test)]
mod attest;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod images;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod ring;
#[cfg(test)]
mod tools;

pub use campaign::campaign;
pub use damage::{Toll, trial};
pub use exhaustive::{Pace, Prologue, sequences};
pub use forged::{Forge, Structure};
pub use scenario::Scenario;
pub use tally::{Doing, Tally};
