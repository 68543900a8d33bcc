//! fio's job files, read and translated into methods.
//!
//! ```text
//!   text, ${VAR}, include -> parse: sections, options with their lines
//!     -> job: what each job says, typed; refusals name option, file, line and cure
//!     -> layout: which bytes of the target stand for which file
//!     -> translate: groups between stonewalls become cells -> a method's TOML
//!   a method -> export: a job file
//! ```
//!
//! It is pure: who calls it reads files and the environment ([`Surroundings`]). It refuses to know
//! what a cell measures: what it writes is read by `lab` like any other method, so that a record of
//! it is planned, resumed and exported as every other. `docs/reference/fio-jobs.md` lists the
//! options.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod error;
mod export;
mod job;
mod layout;
mod options;
mod parse;
mod translate;
mod value;

pub use error::{JobError, Place};
pub use export::{JobFile, MARK, job_file};
pub use options::{Standing, standing};
pub use parse::{Section, Setting, Surroundings, is_job_file, parse};

/// The method that a job file stands for, as TOML. `file` is what messages call it.
///
/// # Errors
/// The first line that cannot be had, with the cure.
pub fn method(file: &str, text: &str, around: &dyn Surroundings) -> Result<String, JobError> {
    let sections = parse(file, text, around)?;
    let jobs = sections.iter().map(job::Job::read).collect::<Result<Vec<_>, _>>()?;
    translate::method(file, text, jobs)
}
