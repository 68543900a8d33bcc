//! Addresses and their pages. Every request reads the store anew, as it is at that moment.
//!
//! ```text
//!   /                    the list: search, pages, choosing                     list
//!   /runs.json           the same as JSON                                      list
//!   /runs/ID             a run's report; of a run in progress its cells, live  report, watch
//!   /runs/ID/report      the report, of what there is so far
//!   /runs/ID/news?seen=N cells since the Nth save, JSON                        watch
//!   /compare?run=A&run=B the report of several runs                            report
//!   /devices             the block devices of this machine                     devices
//! ```
//!
//! A run is named by its whole id alone: what `drivelab show` takes besides, such as the path of a
//! file, is not for whoever can open a connection.

pub mod devices;
mod frame;
mod list;
mod report;
mod watch;

use crate::{
    http::{Answer, Kind, Request},
    server::Site,
};
use record::{Place, Record, Store, StoreError};

/// What the drives of each target of a run cost, as far as it is known.
pub type Prices = dyn Fn(&Record) -> Vec<Option<::report::runs::Money>> + Sync;

/// Which block devices there are.
pub type Machine = dyn Fn() -> devices::Devices + Sync;

/// The pages over one store.
pub struct History<'p> {
    /// Where it is: a file, which need not exist, or a database.
    pub store: Place,
    /// The command that makes a first run, for a history without one.
    pub first_run: &'p str,
    /// Prices for reports.
    pub prices: &'p Prices,
    /// The machine's block devices, as they are now.
    pub devices: &'p Machine,
}

/// Why there is no page: a status, and a sentence for the reader.
#[derive(Debug)]
struct Trouble {
    status: &'static str,
    sentence: String,
}

impl Trouble {
    fn not_found(sentence: impl Into<String>) -> Self {
        Self { status: "404 Not Found", sentence: sentence.into() }
    }

    fn bad(sentence: impl Into<String>) -> Self {
        Self { status: "400 Bad Request", sentence: sentence.into() }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { text, .. } => {
                Self::not_found(format!("There is no run {text} in this history."))
            }
            other => Self { status: "500 Internal Server Error", sentence: format!("{other}.") },
        }
    }
}

impl Site for History<'_> {
    fn answer(&self, request: &Request) -> Answer {
        self.page(request).unwrap_or_else(|Trouble { status, sentence }| {
            let title = status.split_once(' ').map_or(status, |(_, words)| words);
            let body = format!("<p>{}</p>\n", ::report::Escaped(&sentence));
            Answer { status, ..frame::page(title, "", &body) }
        })
    }
}

impl History<'_> {
    fn page(&self, request: &Request) -> Result<Answer, Trouble> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match path[..] {
            ["style.css"] => Ok(Answer::of(Kind::Css, frame::style())),
            ["script.js"] => Ok(Answer::of(Kind::Script, include_str!("script.js"))),
            ["report.js"] => Ok(Answer::of(Kind::Script, ::report::html::SCRIPT)),
            [] => list::page(self, request),
            ["runs.json"] => list::json(self, request),
            ["runs", id] => {
                let store = self.open()?.ok_or_else(|| no_run(id))?;
                match watch::page(&store, id)? {
                    Some(page) => Ok(page),
                    None => report::of_one(self, &store, id),
                }
            }
            ["runs", id, "report"] => {
                let store = self.open()?.ok_or_else(|| no_run(id))?;
                report::of_one(self, &store, id)
            }
            ["runs", id, "news"] => {
                let store = self.open()?.ok_or_else(|| no_run(id))?;
                watch::news(&store, id, request.value("seen"))
            }
            ["devices"] => Ok(devices::page(&(self.devices)())),
            ["compare"] => {
                let store = self.open()?.ok_or_else(|| no_run(request.value("run")))?;
                report::of_several(self, &store, request)
            }
            _ => Err(Trouble::not_found("There is no such page here.")),
        }
    }

    /// `None` while there is no history.
    fn open(&self) -> Result<Option<Store>, Trouble> {
        Ok(Store::at_to_read(&self.store)?)
    }
}

fn no_run(id: &str) -> Trouble {
    Trouble::not_found(format!("There is no run {id}: the history is empty."))
}
