//! The tests of `study` from outside, in one program: each one more would be linked anew.

mod claims;
mod discard;
mod martin;
mod methods;
mod models;
mod tables;
mod today;
