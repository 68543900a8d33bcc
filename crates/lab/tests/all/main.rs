//! The tests of `lab` from outside, in one program: each one more would be linked anew.

mod errors;
mod levels;
mod methods;
mod page_cache;
mod quota;
mod replay;
mod resumed;
mod runner;
mod scripted;
mod streams;
mod threads;
mod traps;
mod trees;
