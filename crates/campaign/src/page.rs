//! A campaign on a terminal: how it stands, and what it found.

use crate::{
    Campaign, CampaignError, Merged, Standing, Survey, Task,
    fleet::{self, By, Compared},
    summary::{self, Row},
};
use report::{
    number::{self, counted},
    progress,
    terminal::{Align, Page, Paint, Style, Table},
};
use std::collections::BTreeMap;

/// Failures that are listed.
const FAILURES_MAX: usize = 8;

/// How it stands, and what failed.
///
/// # Errors
/// The list of tasks cannot be read.
pub fn status(campaign: &Campaign, style: &Style) -> Result<String, CampaignError> {
    let survey = Survey::of(campaign)?;
    let tasks = campaign.tasks()?;
    let mut page = Page::new(style);
    head(&mut page, campaign, &survey);
    failures(&mut page, &survey, &tasks);
    Ok(page.finish())
}

/// What it found: rows of treatments, at most `rows_max`. `more` is the command that prints all.
///
/// # Errors
/// The list of tasks cannot be read.
pub fn result(
    campaign: &Campaign,
    survey: &Survey,
    rows_max: usize,
    more: &str,
    style: &Style,
) -> Result<String, CampaignError> {
    let tasks = campaign.tasks()?;
    let mut page = Page::new(style);
    head(&mut page, campaign, survey);
    let rows = summary::rows(&tasks, survey.answers());
    if let Some(method) = summary::only_method(&rows) {
        page.hanging("method   ", method, Paint::Plain);
    }
    page.gap();
    page.table(&table(&rows[..rows.len().min(rows_max)]));
    if rows.len() > rows_max {
        page.line(&format!("{} of {} rows; all: {more}", rows_max, rows.len()));
    }
    fleets(&mut page, &tasks, survey);
    let counts = sums(survey);
    if !counts.is_empty() {
        let words: Vec<String> = counts.iter().map(|(name, sum)| format!("{sum} {name}")).collect();
        page.line(&words.join(", "));
    }
    failures(&mut page, survey, &tasks);
    Ok(page.finish())
}

/// Counts of all tasks together.
fn sums(survey: &Survey) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, count) in survey.answers().flat_map(|answer| &answer.found.counts) {
        *sums.entry(name.replace('_', " ")).or_insert(0u64) += count;
    }
    sums
}

/// `sweep: 120 of 200 tasks complete, 2 failed, 4 running, 74 to do; about 1:05 left`
fn head(page: &mut Page<'_>, campaign: &Campaign, survey: &Survey) {
    let counts = survey.counts();
    let mut text = format!(
        "{}: {} of {} complete",
        campaign.head.name,
        counts.complete,
        counted(counts.tasks as u64, "task")
    );
    let others = [(counts.failed, "failed"), (counts.running, "running"), (counts.open(), "to do")];
    for (count, word) in others.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {count} {word}");
    }
    if counts.lost > 0 {
        text += &format!(" ({} of them again: the worker died)", counts.lost);
    }
    if let Some(seconds) = survey.seconds_left() {
        text += &format!("; about {} left", progress::clock(seconds));
    }
    if survey.is_cancelled {
        text += "; cancelled";
    }
    page.heading(&text);
    workers(page, survey);
    time(page, survey);
}

/// On which hosts tasks run.
fn workers(page: &mut Page<'_>, survey: &Survey) {
    let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
    for task in &survey.tasks {
        if let Standing::Running(claim) = task {
            *hosts.entry(&claim.worker.host).or_default() += 1;
        }
    }
    if !hosts.is_empty() {
        let hosts: Vec<String> =
            hosts.iter().map(|(host, count)| format!("{count} on {host}")).collect();
        page.hanging("running  ", &hosts.join(", "), Paint::Plain);
    }
}

/// What tasks took, and how much of it was not their work.
fn time(page: &mut Page<'_>, survey: &Survey) {
    let answers: Vec<_> = survey.answers().collect();
    if answers.is_empty() {
        return;
    }
    let n = answers.len() as f64;
    let seconds: f64 = answers.iter().map(|answer| answer.seconds).sum();
    let work: f64 = answers.iter().map(|answer| answer.work_seconds).sum();
    let text = format!(
        "{} on average, of which {} beyond its work",
        number::duration_ns(seconds / n * 1e9),
        number::duration_ns((seconds - work) / n * 1e9)
    );
    page.hanging("a task   ", &text, Paint::Plain);
}

fn table(rows: &[Row]) -> Table {
    let has_latency = rows.iter().any(|row| row.p99_ns.is_some());
    let has_methods = summary::only_method(rows).is_none();
    let first = if has_methods { "target, settings, method" } else { "target, settings" };
    let mut heads = vec![
        (first, Align::Left),
        ("cell", Align::Left),
        ("n", Align::Right),
        ("rate", Align::Right),
        ("±", Align::Right),
    ];
    heads.extend(has_latency.then_some(("p99", Align::Right)));
    let mut table = Table::new(&heads);
    let mut before = String::new();
    for row in rows {
        let mut label = row.label();
        if has_methods {
            label += &format!(" {}", row.method);
        }
        let is_repeated = label == before;
        before.clone_from(&label);
        let mut fields = vec![
            if is_repeated { String::new() } else { label },
            row.cell.clone(),
            row.rate.n.to_string(),
            rate(row.rate.median, row.is_bandwidth),
            row.half_width_relative().map(number::percent).unwrap_or_default(),
        ];
        if has_latency {
            let p99 = row.p99_ns.map(|ns| number::duration_ns(ns as f64));
            fields.push(p99.unwrap_or_default());
        }
        table.row(fields);
    }
    table
}

/// Hosts, drives and firmware against each other, where there are several.
fn fleets(page: &mut Page<'_>, tasks: &[Task], survey: &Survey) {
    let answers: Vec<_> = survey.answers().collect();
    for by in By::ALL {
        let compared = fleet::compared(tasks, &answers, by);
        if compared.is_empty() {
            continue;
        }
        page.heading(by.title());
        for slow in compared.iter().filter(|it| it.found.verdict == stats::Verdict::Slower) {
            let percent = number::percent(1.0 - slow.found.ratio);
            page.line(&format!("{} {} is slow: by {percent}", named(by), slow.who));
        }
        page.table(&compared_table(by, &compared));
    }
}

fn named(by: By) -> &'static str {
    match by {
        By::Host => "host",
        By::Serial => "drive",
        By::Firmware => "firmware",
    }
}

fn compared_table(by: By, compared: &[Compared]) -> Table {
    let heads = [
        (named(by), Align::Left),
        ("n", Align::Right),
        ("ratio", Align::Right),
        ("95 % interval", Align::Right),
        ("verdict", Align::Left),
    ];
    let mut table = Table::new(&heads);
    for it in compared {
        let interval = it.found.ci95.map(|[low, high]| format!("{low:.3} to {high:.3}"));
        let against = match it.against.as_str() {
            "" => String::new(),
            against => format!(" over {against}"),
        };
        let who = format!("{} {}{against}", it.model, it.who);
        table.row(vec![
            who.trim_start().to_owned(),
            it.n.to_string(),
            format!("{:.3}", it.found.ratio),
            interval.unwrap_or_default(),
            fleet::word(it.found.verdict).to_owned(),
        ]);
    }
    table
}

/// What ran together, as one load: percentiles of all operations, and beside each what averaging
/// the parts' would give.
pub fn merged(cells: &[Merged], style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading("All targets as one load");
    let heads = [
        ("cell", Align::Left),
        ("of", Align::Right),
        ("rate", Align::Right),
        ("percentile", Align::Right),
        ("of all", Align::Right),
        ("averaged", Align::Right),
    ];
    let mut table = Table::new(&heads);
    for cell in cells {
        let rate = rate(
            if cell.is_large_block { cell.bytes_per_s } else { cell.iops },
            cell.is_large_block,
        );
        let mut first = vec![cell.cell.clone(), cell.n.to_string(), rate];
        if cell.percentiles.is_empty() {
            first.extend(["".to_owned(), "".to_owned(), "".to_owned()]);
            table.row(first);
            continue;
        }
        for at in &cell.percentiles {
            let averaged = at.averaged_ns.map(number::duration_ns).unwrap_or_default();
            let mut fields = first;
            fields.extend([
                format!("p{}", at.percent),
                number::duration_ns(at.ns as f64),
                averaged,
            ]);
            table.row(fields);
            first = vec![String::new(), String::new(), String::new()];
        }
    }
    page.table(&table);
    page.line("A mean of percentiles is no percentile: it hides the slow part.");
    page.finish()
}

fn rate(value: f64, is_bandwidth: bool) -> String {
    if is_bandwidth { number::rate(value) } else { format!("{} IOPS", number::iops(value)) }
}

fn failures(page: &mut Page<'_>, survey: &Survey, tasks: &[Task]) {
    let failed: Vec<_> = survey
        .tasks
        .iter()
        .filter_map(|task| match task {
            Standing::Failed(answer) => Some(answer.as_ref()),
            _ => None,
        })
        .collect();
    if failed.is_empty() {
        return;
    }
    page.heading("Failed");
    for answer in failed.iter().take(FAILURES_MAX) {
        let treatment = tasks.get(answer.task as usize).map(Task::treatment).unwrap_or_default();
        let sentence = answer.error.as_deref().unwrap_or_default();
        let text = format!("{treatment}, on {}: {sentence}", answer.host);
        page.hanging(&format!("  {}  ", answer.task), &text, Paint::Plain);
    }
    if failed.len() > FAILURES_MAX {
        page.line(&format!("  and {} more", failed.len() - FAILURES_MAX));
    }
}
