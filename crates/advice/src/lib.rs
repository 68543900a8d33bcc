//! What to buy for a mix of reads and writes, with reasons; and what a managed volume would make of
//! a drive.
//!
//! ```text
//!   Question {need, workload, prices}                             question.rs
//!     <- Traced: the workload of a trace                          traced.rs
//!   Field: drives, arrays, volumes, runs; refused ones apart      candidates.rs, recorded.rs
//!     -> Answered {offer, check, basis}                           modelled.rs
//!          steady: rates of small, aged drives                    steady.rs
//!          volume: the sequential rate and the closed form of flash   volume.rs
//!     -> rank: price for delivered operations                     rank.rs
//!     -> the first run as they stand                              check.rs
//!     -> Advice -> sentences: why, what would change it           reasons.rs
//! ```
//!
//! `docs/guide/advice.md` has the formulas. It opens no store, reads no words of a command line and
//! names no option: a sentence that has a cure says which [`reasons::Cure`], and who prints it
//! knows how that is spelled.
#![forbid(unsafe_code)]

mod candidates;
mod check;
mod error;
pub mod forecast_page;
pub mod json;
mod modelled;
pub mod page;
pub mod prices;
mod question;
pub mod rank;
pub mod reasons;
mod recorded;
pub mod steady;
mod traced;
pub mod volume;

pub use candidates::{Array, Candidate, Field, Measured, NothingFits, Source};
pub use error::AdviceError;
pub use modelled::{Answered, Basis};
pub use question::{Asked, Price, Question, UnknownPrice, money};
pub use recorded::{Lacks, candidate};
pub use traced::{Fit, Traced};

use rank::{Offer, Ranking, Refusal};
use target::catalog::Catalog;

/// Everything that an answer is made of.
pub struct Advice<'a> {
    /// What was asked.
    pub question: &'a Question,
    /// Where the drives are.
    pub catalog: &'a Catalog,
    /// Each of the offers with where it comes from.
    pub answered: Vec<(&'a Candidate, Answered)>,
    /// The same, for the ranking.
    pub offers: Vec<Offer>,
    /// Indices of offers, ranked.
    pub ranking: Ranking,
    /// What was out of the question before it was modelled.
    pub refused: &'a [(String, Option<f64>, Refusal)],
    /// What cannot be built, and why.
    pub impossible: Vec<(&'a str, String)>,
    /// What the user should know.
    pub notes: &'a [String],
}

/// What is going on while an answer is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Going {
    /// Stacks are modelled.
    Modelling {
        /// So many are done.
        done: usize,
        /// Of so many.
        of: usize,
    },
    /// The first are run as they stand.
    Checking {
        /// So many were run.
        run: usize,
    },
}

impl<'a> Advice<'a> {
    /// Answers; `progress` hears how far it is.
    ///
    /// # Errors
    /// A stack that cannot be modelled.
    pub fn new(
        question: &'a Question,
        field: &'a Field,
        catalog: &'a Catalog,
        progress: &(dyn Fn(Going) + Sync),
    ) -> Result<Self, AdviceError> {
        let modelling = |done, of| progress(Going::Modelling { done, of });
        let answers = modelled::answer(&field.candidates, catalog, question, &modelling)?;
        let (mut answered, mut impossible) = (Vec::new(), Vec::new());
        for (candidate, answer) in field.candidates.iter().zip(answers) {
            match answer {
                Ok(answer) => answered.push((candidate, answer)),
                Err(reason) => impossible.push((candidate.name.as_str(), reason)),
            }
        }
        let checking = |run| progress(Going::Checking { run });
        let (offers, ranking) = check::ranked(&mut answered, catalog, question, &checking)?;
        let (refused, notes) = (&field.refused, &field.notes);
        Ok(Self { question, catalog, answered, offers, ranking, refused, impossible, notes })
    }
}
