//! The volume under power cuts, against an oracle that knows every value that may be there.

pub(crate) mod bench;
mod campaign;
mod drive;
mod faults;
mod mutations;
mod oracle;
mod requests;
