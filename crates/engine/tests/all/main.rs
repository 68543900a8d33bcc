//! The tests of `engine` from outside, in one program: each one more would be linked anew.

mod common;
mod engines;
mod raw;
mod uring;
