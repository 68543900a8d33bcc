//! Campaigns: a file of targets, methods and settings becomes numbered tasks, and any number of
//! workers on any number of machines does each of them once.
//!
//! ```text
//!   campaign.toml -> CampaignFile -> expand: Task...       file, expand, task      (pure)
//!   -> Campaign: a directory that workers share            directory, whole
//!        claim: one worker an attempt, a dead one's again  claim, beat
//!        what killed writers left half written, removed    sweep
//!        Gate: tasks that begin together                   gate
//!        Hands: a run, or what another program does        measure, work
//!        Answer, record                                    answer
//!        Delivery: runs into a history that others share   delivery
//!   -> Survey: how all tasks stand                         survey
//!   -> rows of treatments, hosts and drives compared       summary, fleet
//!      what ran together as one load                       merge
//!      a terminal's page, a report                         page, document
//! ```
//!
//! It starts no process and knows no scheduler: whoever starts `Shift::turn_to` with a number, on
//! whatever machine sees the directory, is a worker. Nobody is in charge, so no death matters.
#![forbid(unsafe_code)]

pub mod answer;
mod beat;
mod claim;
mod delivery;
mod directory;
pub mod document;
mod error;
mod expand;
pub mod file;
pub mod fleet;
mod gate;
mod measure;
mod merge;
pub mod page;
pub mod summary;
mod survey;
mod sweep;
pub mod task;
mod whole;
mod work;

pub use answer::Answer;
pub use beat::Beating;
pub use claim::{Beat, Claim, Worker};
pub use delivery::{Delivered, Delivery};
pub use directory::{Campaign, Claimed, Failed, Head, NamedMethod};
pub use error::{BadOrder, CampaignError};
pub use expand::TASKS_MAX;
pub use file::CampaignFile;
pub use measure::{Measured, Unmeasured, order};
pub use merge::{Merged, MergedPercentile, merged};
pub use survey::{Counts, Standing, Survey, record_of};
pub use task::{Task, Work};
pub use whole::Made;
pub use work::{Hands, Measuring, Shift, Turned, Yield};
