//! fio's results.

pub(crate) mod json;
pub(crate) mod terse;
