//! Flash drives: what stands between a NAND array and a host that wants to write wherever it likes.

pub mod block_mapped;
pub mod page_mapped;
