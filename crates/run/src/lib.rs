//! A run: what is ordered is opened, planned, asked about, carried out and kept.
//!
//! ```text
//!   RunOrder: targets, a method with its options, consent                      order
//!     (or from the record of a run that was interrupted)
//!     a method's text: built in, or a file's                                   method
//!     a job file of fio's becomes one                                          job_file
//!   -> Prepared: targets open, the plan made, nothing written                  prepared
//!        foresee: bytes, whether they wear, what is to be agreed to
//!        page: the plan as text; writes, wrote: bytes in a sentence            page, wear
//!        record, begin, carry_out, conclude: a record in the store             keep, prepared
//!   ReplayOrder: a trace becomes the one cell of a run                    replay, trace_file
//!   what a killed run left                                                     keep
//! ```
//!
//! It refuses to know how an option is spelled: a [`Refusal`] has a kind, [`OptionNames`] are
//! given, and who reads words knows which option that is.
#![forbid(unsafe_code)]

mod error;
mod job_file;
mod keep;
mod method;
mod order;
mod page;
mod prepared;
mod replay;
mod trace_file;
mod wear;

pub use error::{CannotRun, Refusal};
pub use keep::{LeftBehind, MeasuredBy, begin, clean_up, conclude, opening};
pub use method::method_text;
pub use order::{Effect, Purge, RunOrder, Wear};
pub use page::OptionNames;
pub use prepared::{Foreseen, Prepared};
pub use replay::{CannotReplay, REPLAY, ReplayOrder, Surveyed};
pub use trace_file::{CannotTrace, TraceFile, Volume};
pub use wear::{Written, rated_bytes};
