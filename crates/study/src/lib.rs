//! Published studies: their printed figures, and the same trials on modelled drives.
//!
//! ```text
//!   studies/NAME/published.csv -> Figure -> Case {stack, trial} -> target::stack -> model
//!                                    |                                              |
//!                                 published                 accuracy             modelled
//!
//!   studies/NAME/study.toml -> StudyFile -> Dossier: cells, book of figures, claims
//!                                              |-> Models: the same cells, modelled
//!                                              |-> Claim::judge -> Judgement: a computed verdict
//!                                              `-> Yours: a user's records, in the study's words
//!   list: what there is; print: one of them for a terminal
//!   on: what a run or a matrix is ordered to measure of a study on a user's target
//!   page: tables, charts, claims, JSON of all of these
//! ```
#![forbid(unsafe_code)]

mod bonnie;
mod book;
mod case;
mod cell;
mod claim;
mod dossier;
mod error;
pub mod expression;
mod file;
mod fill;
mod line;
mod list;
mod load;
mod mail;
mod managed;
pub mod matrix;
mod models;
pub mod on;
pub mod page;
mod pass;
mod print;
mod published;
mod resist;
mod streams;
mod surface;
mod together;
mod trial;
pub mod yours;

pub use bonnie::BonniePhase;
pub use book::Book;
pub use case::{
    Basis, Before, Case, Flush, Group, Op, Order, Setup, Then, Trial, basis, cases, setup,
};
pub use cell::{Cell, Printed};
pub use claim::{BadClaim, Claim, Judgement, Modelled, Verdict};
pub use dossier::Dossier;
pub use error::{ErrorSummary, relative_error};
pub use file::{
    BadStudy, Beside, ClaimFile, ClaimKind, CommandLine, Derived, Device, Fact, FigureFile,
    FigureKind, FigureScale, Follows, Host, NoteFile, On, Relation, StackFile, Step, StudyFile,
    TableFile,
};
pub use fill::Filled;
pub use line::Line;
pub use list::list;
pub use load::{Load, LoadDemand, LoadOutcome, LoadSpan, run_loads};
pub use models::{Models, in_parallel};
pub use pass::{SEED, TrialError};
pub use print::{Shown, print};
pub use published::{BadFigure, Figure, Study, read};
pub use resist::{Resist, resists};
pub use streams::Streams;
pub use surface::SurfaceTest;
pub use together::run_all;
pub use trial::{Effort, Outcome, measure_together, run};
pub use yours::{Known, Yours};
