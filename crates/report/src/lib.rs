//! Tables rendered from records: a record and a style in, text out.
//!
//! ```text
//!   Record ---> terminal::run         by the layout its method names
//!   Cell -----> terminal::cell_line   while a run goes on
//!   summaries > terminal::history
//! ```
//!
//! This crate sees only `record`. It does no I/O, asks no terminal and no environment: the caller decides on
//! width, colours and characters.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod number;
pub mod terminal;
