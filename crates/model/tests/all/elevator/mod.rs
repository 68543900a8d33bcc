//! Elevators: each against a simple oracle of what it promises, and on a disk for what it gains.

mod disk;
mod every;
mod promises;
mod rig;
