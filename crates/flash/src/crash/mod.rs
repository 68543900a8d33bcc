//! The volume under power cuts, against an oracle that knows every value that may be there.

mod amplification;
pub(crate) mod bench;
mod campaign;
mod drive;
mod exhaustive;
mod faults;
mod mutations;
mod oracle;
mod requests;
