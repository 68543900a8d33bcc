//! The list of runs: a form to search, a table to choose from, a page at a time.

mod query;

use super::{History, Trouble, frame};
use crate::http::{Answer, Kind, Request, encoded};
use query::Query;
use record::{Flag, Found, RunSummary, State};
use report::{Escaped, brief};
use serde_json::json;
use std::fmt::Write;

/// Above the list.
const TITLE: &str = "Runs";

/// The list as a page.
pub fn page(history: &History<'_>, request: &Request) -> Result<Answer, Trouble> {
    let query = Query::of(request)?;
    let origin = history.store.to_string();
    let Some(store) = history.open()? else { return Ok(empty(history, &origin)) };
    let found = store.search(&query.search, query.skip(), query.show)?;
    if found.count == 0 && query.is_everything() {
        return Ok(empty(history, &origin));
    }
    let mut body = String::new();
    query.form(&mut body, &store.methods()?);
    count(&mut body, &query, &found);
    if found.runs.is_empty() {
        body += "<p>No run fits. <a href=\"/\">Show all runs</a></p>\n";
    } else {
        table(&mut body, &found);
        pages(&mut body, &query, found.count);
    }
    Ok(frame::page_below(&frame::top(""), TITLE, &origin, &body))
}

/// The same as JSON, as docs/guide/web.md describes it.
pub fn json(history: &History<'_>, request: &Request) -> Result<Answer, Trouble> {
    let query = Query::of(request)?;
    let found = match history.open()? {
        Some(store) => store.search(&query.search, query.skip(), query.show)?,
        None => Found { runs: Vec::new(), count: 0 },
    };
    let run = |run: &RunSummary| json!({ "run": run, "cells": cells(run), "headline": brief::headline(run) });
    let runs: Vec<_> = found.runs.iter().map(run).collect();
    Ok(Answer::of(Kind::Json, json!({ "count": found.count, "runs": runs }).to_string()))
}

fn empty(history: &History<'_>, origin: &str) -> Answer {
    let body = format!(
        "<p>There are no runs yet. Make a first one, and it appears here:</p>\n\
         <pre tabindex=\"0\">{}</pre>\n<p id=\"news\" role=\"status\" data-count=\"0\"></p>\n",
        Escaped(history.first_run)
    );
    frame::page_below(&frame::top(""), TITLE, origin, &body)
}

/// `51 to 100 of 1,000 runs`, and where the page says that there are more.
fn count(body: &mut String, query: &Query, found: &Found) {
    let (first, last) = (query.skip() + 1, query.skip() + found.runs.len() as u64);
    let what = match (found.count, query.is_everything()) {
        (1, true) => "run",
        (1, false) => "run that fits",
        (_, true) => "runs",
        (_, false) => "runs that fit",
    };
    let all = thousands(found.count);
    let text = match (found.count, first, last) {
        (0, ..) => format!("0 {what}"),
        (count, 1, last) if last == count => format!("{all} {what}"),
        _ => format!("{} to {} of {all} {what}", thousands(first), thousands(last)),
    };
    let _ = write!(
        body,
        "<p class=\"count\">{text}</p>\n<p id=\"news\" role=\"status\" data-count=\"{}\"></p>\n",
        found.count
    );
}

/// `12,345`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `7 cells`.
fn cells(run: &RunSummary) -> String {
    if run.cells == 1 { "1 cell".to_owned() } else { format!("{} cells", thousands(run.cells)) }
}

fn table(body: &mut String, found: &Found) {
    *body += "<form id=\"choose\" action=\"/compare\">\n\
              <div class=\"scroll list\" tabindex=\"0\" role=\"region\" aria-label=\"Table: runs\">\
              <table id=\"runs\" class=\"cards\"><caption class=\"unseen\">Runs, newest first</caption><thead><tr>\
              <th scope=\"col\"><span class=\"unseen\">choose</span></th>";
    for head in ["run", "started", "method", "target", "state", "result", "flags"] {
        let _ = write!(body, "<th scope=\"col\">{head}</th>");
    }
    *body += "</tr></thead><tbody>\n";
    for run in &found.runs {
        row(body, run);
    }
    *body += "</tbody></table></div>\n\
              <div class=\"chosen\"><button id=\"compare\">Compare the chosen runs</button>\
              <ul id=\"chosen\" aria-label=\"Chosen runs\"></ul><span id=\"said\" class=\"unseen\" role=\"status\"></span></div>\n</form>\n";
}

fn row(body: &mut String, run: &RunSummary) {
    let (id, link) = (Escaped(&run.id), encoded(&run.id));
    let targets = run.targets.join(" and ");
    let _ = write!(
        body,
        "<tr data-run=\"{id}\"><td class=\"box\"><input type=\"checkbox\" name=\"run\" value=\"{id}\" \
         aria-label=\"choose run {id}, {}\"></td>\
         <th scope=\"row\" data-l=\"run\"><a href=\"/runs/{link}\">{id}</a></th>\
         <td data-l=\"started\" class=\"time\">{}</td><td data-l=\"method\">{}</td><td data-l=\"target\">{}",
        Escaped(&targets),
        Escaped(brief::started(run)),
        Escaped(&run.method),
        Escaped(&targets)
    );
    labels(body, run);
    let _ = write!(
        body,
        "</td><td data-l=\"state\"><span class=\"state {0}\">{0}</span> <small>{1}</small></td>\
         <td data-l=\"result\">{2}</td><td data-l=\"flags\">",
        run.state.name(),
        cells(run),
        Escaped(brief::headline(run))
    );
    flags(body, &run.flags);
    *body += "</td></tr>\n";
}

fn labels(body: &mut String, run: &RunSummary) {
    if run.labels.is_empty() {
        return;
    }
    *body += "<ul class=\"labels\" aria-label=\"labels\">";
    for (key, value) in &run.labels {
        let text = if key == "label" { value.clone() } else { format!("{key}={value}") };
        let _ = write!(body, "<li>{}</li>", Escaped(&text));
    }
    *body += "</ul>";
}

fn flags(body: &mut String, flags: &[Flag]) {
    if flags.is_empty() {
        return;
    }
    *body += "<ul class=\"flags\">";
    for flag in flags {
        let _ = write!(body, "<li title=\"{}\">{}</li>", Escaped(flag.meaning()), flag.name());
    }
    *body += "</ul>";
}

fn pages(body: &mut String, query: &Query, count: u64) {
    let last = count.div_ceil(query.show).max(1);
    if last == 1 {
        return;
    }
    *body += "<nav class=\"pages\" aria-label=\"Pages\">";
    let mut link = |page: u64, text: &str, relation: &str| {
        let _ = if (1..=last).contains(&page) && page != query.page {
            write!(body, "<a href=\"{}\"{relation}>{text}</a>", query.link(page))
        } else {
            write!(body, "<span>{text}</span>")
        };
    };
    link(1, "Newest", "");
    link(query.page.saturating_sub(1), "Newer", " rel=\"prev\"");
    let here = format!("page {} of {}", thousands(query.page), thousands(last));
    link(0, &here, "");
    link(query.page + 1, "Older", " rel=\"next\"");
    link(last, "Oldest", "");
    *body += "</nav>\n";
}

/// Every state, as the form offers them.
const STATES: [State; 4] = [State::Running, State::Complete, State::Interrupted, State::Failed];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_are_parted_in_thousands() {
        let texts = [0, 999, 1000, 12_345, 1_000_000].map(thousands);
        assert_eq!(texts, ["0", "999", "1,000", "12,345", "1,000,000"]);
    }
}
