//! The tests of `stats` from outside, in one program: each one more would be linked anew.

mod cells;
