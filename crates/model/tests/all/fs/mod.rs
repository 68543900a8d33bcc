//! The file-system layer against closed forms and recorded requests.

mod cache;
mod disk;
mod drive;
mod files;
mod memory;
mod order;
mod sync;
