//! The run record: the one document every run leaves, whatever it ran on.
//!
//! ```text
//!   lab, host  fill in a Record  ->  Store (SQLite history)  ->  report derives every table from it
//! ```
//!
//! The types here *are* the format described in `docs/reference/record-format.md` and, for
//! machines, in `docs/reference/record.schema.json`; a test holds the three together. Units stand
//! in the field names.
#![forbid(unsafe_code)]

mod again;
mod burst;
mod cell;
mod condition;
pub mod devices;
mod environment;
mod errors;
mod exact;
#[cfg(test)]
mod example;
mod expectation;
mod file;
mod flag;
mod fleet;
mod identity;
pub mod input;
mod knee;
mod page_cache;
mod power_cuts;
mod replay;
mod run;
mod server_event;
#[cfg(feature = "store")]
mod store;
mod summary;

/// A database as the store sees it, for the crate that brings one: statements with values in, rows
/// out.
#[cfg(feature = "store")]
pub mod sql {
    pub use crate::store::{
        Connect, KNOWN, made_as,
        sql::{Database, Dialect, Row, Value},
    };
}

pub use again::quoted;
pub use burst::{
    Burst, CellBurst, FastCacheKind, FastCachePass, beside_verdict, share_of_clean_pool,
};
pub use cell::{
    Bound, Cell, CpuCost, Latency, LatencySeries, ManagedPass, Operations, Pass, Percentile,
    Series, SsdCachePass, Stall, Transition,
};
pub use condition::{Condition, DeviceState};
pub use environment::{
    BlockLayer, Completions, Cpu, DriveIdentity, Environment, FileSystem, Health, HostFacts, Link,
    ManagedFlash, Money, Queue, TargetInfo, TargetKind,
};
pub use errors::{FailedCell, IoErrors, IoFailure};
pub use exact::{exact, from_exact, with_paths};
pub use expectation::{Expectation, ExpectationVerdict, Judged};
pub use file::FileError;
pub use flag::Flag;
pub use fleet::FleetRow;
pub use identity::TargetIdentity;
pub use knee::{Knee, KneeOutcome, KneeProbe, KneeVerdict};
pub use page_cache::{CacheDrop, CachePass, Meaning};
pub use power_cuts::{FileSystemState, PowerCutRound, PowerCuts, Promises};
pub use replay::Replay;
pub use run::{
    Calibration, CampaignTask, FORMAT, LeftOut, MethodInfo, Paired, PairedVerdict, Record, Rounds,
    State, Tool, VERSION, Warning,
};
pub use server_event::ServerEvent;
#[cfg(feature = "store")]
pub use store::{
    Address, Delivery, DeliveryCount, Ended, Found, Life, News, Orphan, Owner, Place, Pushed,
    Search, ServerTrouble, Store, StoreError, Tables, default_path,
};
pub use summary::{Headline, LARGE_BLOCK_BYTES, RunSummary};
