//! The tests of `nbd` from outside, in one program: each one more would be linked anew.

mod clients;
mod common;
mod load;
mod places;
mod protocol;
mod server;
mod whole_writes;
