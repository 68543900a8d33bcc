//! The tests of `model` from outside, in one program: each one more would be linked anew.

mod array_data;
mod array_easyco;
mod array_shelf;
mod battery_cache;
mod block_mapped;
mod disk;
mod elevator;
mod flash_beside;
mod fs;
mod media;
mod page_mapped;
mod placement;
mod port;
mod quota;
mod ssd_cache;
mod volatile;
