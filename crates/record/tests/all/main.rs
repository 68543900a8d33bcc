//! The tests of `record` from outside, in one program: each one more would be linked anew.

mod killed;
mod schema;
