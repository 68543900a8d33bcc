//! Tables and charts rendered from records and studies: data and a style in, text out.
//!
//! ```text
//!   Record ---> terminal::run         by the layout its method names
//!   Cell -----> terminal::cell_line   while a run goes on
//!   summaries > terminal::history
//!   Record ---> runs::figures --> chart::Figure --> svg::file, svg::element
//!   Record ---> runs::document > html::page, xlsx::workbook
//!   Record ---> long_form::csv    one row a value
//!   Record ---> export            as other programs take them
//!   what a person knows beside > known   prices, sheets, findings, and what names mean
//!   record::PowerCuts > power_cuts  a line a round, the verdict, two runs beside each other
//!   summary, cell -> brief        a line of a list, for pages that draw their own
//!   record::devices > devices     a list of block devices, a page of one
//! ```
//!
//! This crate sees records and statistics, and nothing of the laboratory. It does no I/O,
//! asks no terminal and no environment: the caller decides on width, colours and characters.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod brief;
pub mod chart;
pub mod comparison;
pub mod derive;
pub mod devices;
pub mod document;
pub mod export;
mod format;
pub mod html;
mod knee;
pub mod known;
pub mod long_form;
mod markup;
pub mod number;
pub mod power_cuts;
pub mod progress;
pub mod runs;
pub mod specification;
pub mod svg;
pub mod terminal;
pub mod xlsx;

pub use format::Format;
pub use markup::Escaped;

/// Stands in every page of ours, so that it can be told from others.
pub const HTML_MARK: &str = "<meta name=\"generator\" content=\"drivelab report\">";

/// Stands in every SVG file of ours, so that it can be told from others.
pub const SVG_MARK: &str = "<!-- drivelab report -->";

#[cfg(test)]
mod tests;
