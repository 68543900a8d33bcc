//! The tests of job files, in one binary.

mod common;
mod corpus;
mod exported;
mod odd;
mod translated;
