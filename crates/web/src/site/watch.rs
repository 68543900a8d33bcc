//! A run in progress: its cells as they come. The page asks again every second, and is told only
//! what changed.

use super::{Trouble, frame};
use crate::http::{Answer, Kind, encoded};
use record::{Cell, RunSummary, State, Store};
use report::{Escaped, brief};
use serde_json::{Value, json};
use std::fmt::Write;

/// The page of a run in progress; `None` when there is none of this id that runs.
pub fn page(store: &Store, id: &str) -> Result<Option<Answer>, Trouble> {
    let Some(run) = store.summary(id)?.filter(|run| run.state == State::Running) else {
        return Ok(None);
    };
    let Some(news) = store.news(id, 0)? else { return Ok(None) };
    let (name, link) = (Escaped(id), encoded(id));
    let mut body = format!(
        "<noscript><p>Without scripts this page stays as it is: load it again.</p></noscript>\n\
         <p id=\"state\" role=\"status\">{}</p>\n\
         <p><a id=\"report\" href=\"/runs/{link}/report\">The report so far</a></p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table: cells of run {name}\">\
         <table id=\"cells\" class=\"cards\" data-run=\"{link}\" data-saves=\"{}\">\
         <caption class=\"unseen\">Cells of run {name}</caption><thead><tr>",
        standing(news.state, news.cells),
        news.saves
    );
    for (head, key) in columns(&run) {
        let _ = write!(body, "<th scope=\"col\" data-k=\"{key}\">{head}</th>");
    }
    body += "</tr></thead><tbody>";
    for (_, cell) in &news.changed {
        row(&mut body, &run, cell);
    }
    body += "</tbody></table></div>\n";
    let title = format!("{} on {}", run.method, run.targets.join(" and "));
    let origin = format!("run {id} of {}", brief::started(&run));
    Ok(Some(frame::page(&title, &origin, &body)))
}

/// Heads of the table, and the key of each column's words in the news.
fn columns(run: &RunSummary) -> impl Iterator<Item = (&'static str, &'static str)> {
    let target = (run.targets.len() > 1).then_some(("target", "target"));
    let rest = [
        ("rate", "rate"),
        ("95 %", "interval"),
        ("p50", "p50"),
        ("p99", "p99"),
        ("passes", "passes"),
        ("flags", "flags"),
        // Cells that look alike in words are told apart by it.
        ("in the method", "own"),
    ];
    [("cell", "name")].into_iter().chain(target).chain(rest)
}

fn row(body: &mut String, run: &RunSummary, cell: &Cell) {
    let words = words(run, cell);
    *body += "<tr>";
    for (at, (head, key)) in columns(run).enumerate() {
        let tag = if at == 0 { "th scope=\"row\"" } else { "td" };
        let end = if at == 0 { "th" } else { "td" };
        let text = words[key].as_str().unwrap_or_default();
        let _ = write!(body, "<{tag} data-k=\"{key}\" data-l=\"{head}\">{}</{end}>", Escaped(text));
    }
    *body += "</tr>";
}

fn words(run: &RunSummary, cell: &Cell) -> Value {
    let words = brief::cell(cell);
    json!({
        "name": words.name,
        "own": cell.name,
        "target": run.targets.get(cell.target),
        "rate": words.rate,
        "interval": words.interval,
        "p50": words.p50,
        "p99": words.p99,
        "passes": cell.passes.len().to_string(),
        "flags": words.flags.join(", "),
    })
}

/// `Running: 3 cells so far.`
fn standing(state: State, cells: u64) -> String {
    let cells = match cells {
        0 => "no cell".to_owned(),
        1 => "one cell".to_owned(),
        more => format!("{more} cells"),
    };
    match state {
        State::Running => format!("Running: {cells} so far."),
        State::Complete => format!("Complete: {cells}."),
        State::Interrupted => format!("Interrupted after {cells}."),
        State::Failed => format!("Failed after {cells}."),
    }
}

/// What changed after the first `seen` saves, as docs/guide/web.md describes it.
pub fn news(store: &Store, id: &str, seen: &str) -> Result<Answer, Trouble> {
    let seen: u64 = match seen {
        "" => 0,
        number => number.parse().map_err(|_| {
            Trouble::bad("`seen` is a number of saves: write seen=0 for everything.")
        })?,
    };
    let absent = || Trouble::not_found(format!("There is no run {id} in this history."));
    let run = store.summary(id)?.ok_or_else(absent)?;
    let news = store.news(id, seen)?.ok_or_else(absent)?;
    let changed = news.changed.iter().map(|(place, cell)| {
        let mut words = words(&run, cell);
        words["place"] = (*place).into();
        words
    });
    let document = json!({
        "id": id,
        "saves": news.saves,
        "state": news.state,
        "standing": standing(news.state, news.cells),
        "cells": news.cells,
        "changed": changed.collect::<Vec<_>>(),
    });
    Ok(Answer::of(Kind::Json, document.to_string()))
}
