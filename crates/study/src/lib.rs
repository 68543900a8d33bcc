//! Published studies: their printed figures, and the same trials on modelled drives.
//!
//! ```text
//!   studies/NAME/published.csv -> Figure -> Case {stack, trial} -> target::stack -> model
//!                                    |                                              |
//!                                 published                 accuracy             modelled
//! ```
#![forbid(unsafe_code)]

mod case;
pub mod closed_loop;
mod error;
mod file;
mod published;
mod resist;
mod trial;

pub use case::{Basis, Case, Flush, Group, Op, Order, Trial, cases};
pub use error::{ErrorSummary, relative_error};
pub use file::{
    BadStudy, ClaimFile, ClaimKind, Derived, Device, NoteFile, On, Relation, StackFile, Step,
    StudyFile, TableFile,
};
pub use published::{BadFigure, Figure, Study, read};
pub use resist::{Resist, resists};
pub use trial::{Effort, Outcome, TrialError, run};
