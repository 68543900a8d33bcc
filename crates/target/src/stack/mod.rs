//! STACK: its text, what it stands for, and an engine of it.
//!
//! ```text
//!   "4xmtron-pro-32/raid5:chunk=64K"
//!      | text       grammar, no names
//!   Stack
//!      | resolve    names and settings, from the catalog; refusals
//!      | memory     what would not fit into this machine
//!      | open       machines on a virtual clock
//!   Opened          an engine, and what it is
//! ```

mod array;
mod bench;
mod beside;
mod cached;
mod controller;
mod drives;
mod elevator;
mod layer_words;
mod layers;
mod managed;
mod memory;
mod meter;
mod named;
mod open;
mod placed;
mod resolve;
mod second;
mod settings;
mod text;

pub use bench::{Kept, Power, has_volatile_cache};
pub use layers::{CHUNK_BYTES, LayerInfo, QUEUE_DEPTH, RAM_BYTES};
pub use managed::{Managed, SPARE_PER_MILLE};
pub(crate) use managed::{on_memory, standing, unmapped};
pub use memory::Flash;
pub use meter::Traffic;
pub use model::BLOCKS_MAX as CACHE_BLOCKS_MAX;
pub(crate) use named::counted;
pub use open::{Below, Opened, Purpose, Top, open, open_for};
pub(crate) use text::part;
pub use text::{BadStack, DRIVES_MAX, Member, Part, Stack};
