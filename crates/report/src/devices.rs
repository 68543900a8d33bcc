//! Block devices: all on a list, one on a page.

mod list;
mod page;

pub use list::{bus, list, measured_in_words, size, unseen, what};
pub use page::page;

/// What a command line calls things.
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    /// The option that takes a device's word.
    pub destroy: &'static str,
    /// How all of one device is told, a sentence.
    pub tells_all: &'static str,
}
