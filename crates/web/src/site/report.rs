//! Reports of one run and of several, as `drivelab report --html` writes them, with the way back to
//! the list.

use super::{History, Trouble, frame};
use crate::http::{Answer, Kind, Request, encoded};
use record::{Record, Store};
use report::{
    Escaped,
    document::Document,
    html::{self, Place},
    runs::{self, Run},
};
use std::fmt::Write;

/// Runs in one comparison: more lines in a chart cannot be told apart.
const RUNS_MAX: usize = 20;

/// The report of the run `id`, of what it has so far.
pub fn of_one(history: &History<'_>, store: &Store, id: &str) -> Result<Answer, Trouble> {
    let records = [store.load(id)?];
    let runs = with_prices(history, &records);
    Ok(page(&runs::document(&runs), &frame::top("")))
}

/// The report of the runs that are named. The baseline is the one that
/// `baseline` names, else the oldest.
pub fn of_several(
    history: &History<'_>,
    store: &Store,
    request: &Request,
) -> Result<Answer, Trouble> {
    let asked: Vec<&str> = request.values("run").collect();
    let mut ids = store.oldest_first(&asked)?;
    if let Some(absent) = asked.iter().find(|asked| !ids.iter().any(|id| id == *asked)) {
        return Err(Trouble::not_found(format!("There is no run {absent} in this history.")));
    }
    if !(2..=RUNS_MAX).contains(&ids.len()) {
        let sentence = format!(
            "A comparison is of 2 to {RUNS_MAX} runs, and {} is chosen: choose others in the list.",
            ids.len()
        );
        return Err(Trouble::bad(sentence));
    }
    let baseline = request.value("baseline");
    if let Some(at) = ids.iter().position(|id| id == baseline) {
        ids[..=at].rotate_right(1);
    }
    let records: Vec<Record> = ids.iter().map(|id| store.load(id)).collect::<Result<_, _>>()?;
    let runs = with_prices(history, &records);
    let document = runs::document(&runs);
    Ok(page(&document, &frame::top(&baselines(&ids))))
}

fn with_prices<'r>(history: &History<'_>, records: &'r [Record]) -> Vec<Run<'r>> {
    records.iter().map(|record| Run { record, prices: (history.prices)(record) }).collect()
}

fn page(document: &Document, top: &str) -> Answer {
    let head = format!("{}\n<script src=\"/report.js\" defer></script>", frame::HEAD);
    Answer::of(Kind::Html, html::page_in(document, Place::Server { head: &head, top }))
}

/// A way to each comparison of the same runs with another baseline; the first is the one there is.
fn baselines(ids: &[String]) -> String {
    let all: String = ids.iter().map(|id| format!("&amp;run={}", encoded(id))).collect();
    let mut markup = String::from(" <span>Baseline:");
    for (at, id) in ids.iter().enumerate() {
        let (name, link) = (Escaped(id), encoded(id));
        let _ = if at == 0 {
            write!(markup, " <b aria-current=\"true\">{name}</b>")
        } else {
            write!(markup, " <a href=\"/compare?baseline={link}{all}\">{name}</a>")
        };
    }
    markup + "</span>"
}
