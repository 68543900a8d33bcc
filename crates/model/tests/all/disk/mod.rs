//! A modelled disk against what its physics says: seek curve, revolution and zone rate are computed
//! here, from the parameters alone.

mod caches;
mod mechanics;
mod queue;
pub mod rig;
mod shingled;
