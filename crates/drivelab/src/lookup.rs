//! What tells about drivelab itself, from what it is built of: no target is opened, no history
//! read.
//!
//! ```text
//!   methods      lab::method::BUILT_IN           explain   record::Flag::ALL
//!   docs         docs/guide, docs/reference      help, man, completions   cli::Cli
//! ```

pub mod completions;
pub mod docs;
pub mod explain;
pub mod help;
pub mod man;
pub mod methods;
