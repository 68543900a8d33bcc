//! A study's methods on a target of the user's, through the same machinery as `drivelab run` and
//! `drivelab matrix`.
//!
//! ```text
//!   arguments -> Asked -> study::on::orders: a run or a matrix a method     crates/study/src/on.rs
//!   what cannot be had, as a sentence that names the option                 words
//!   run::measure, matrix::measure: records in the store
//!     -> study::Yours -> study::page: tables, JSON, a page
//! ```

use super::{
    arguments::StudyArguments,
    words::{self, in_words},
};
use crate::{
    known::{Named, prices, sheets},
    matrix, output,
    run::{self, typed},
};
use ::matrix::Wear;
use ::run::Effect;
use anyhow::{Context, Error, Result, ensure};
use lab::plan::Options;
use record::{State, TargetInfo};
use std::process::ExitCode;
use study::{
    Dossier, Known, On,
    on::{self, Asked, Ordered, Ready},
    page::yours,
};

/// All that was measured, whatever its end was.
pub struct Measured<'d> {
    /// One a method that was begun; never empty.
    pub parts: Vec<Part<'d>>,
    /// What the user says of the drive.
    pub known: Known,
    /// What ended it before the last method.
    failure: Option<Error>,
}

/// What was measured for one [`On`].
pub struct Part<'d> {
    /// The method and its settings.
    pub on: &'d On,
    /// What of the study's settings was not to be had, with reasons.
    pub left_out: Vec<String>,
    outcome: Outcome,
}

enum Outcome {
    Run(Box<run::Measured>),
    Matrix(Box<matrix::Measured>),
}

impl StudyArguments {
    /// What is asked of all methods.
    fn asked(&self, effect: Effect) -> Result<Asked> {
        let directory = self.loop_directory.as_deref();
        // Who names the bytes has agreed to them.
        let agreed = self.yes || self.max_written.is_some();
        Ok(Asked {
            choice: matrix::choice(directory, self.loop_size, self.on.as_deref(), &self.destroy),
            settings: self.set.clone(),
            options: Options {
                span_bytes: self.size,
                written_bytes_max: self.max_written,
                seconds_max: self.max_time,
                seed: self.seed.unwrap_or_else(host::chosen_seed),
                passes: self.passes,
                on_error: typed(&self.on_error, str::parse)?,
                until: None,
                ..Options::default()
            },
            wear: if agreed { Wear::AgreedTo } else { Wear::Unasked },
            effect,
        })
    }
}

/// Runs the study's methods on the target. `None` where only plans were asked for.
pub fn measure<'d>(
    dossier: &'d Dossier,
    arguments: &StudyArguments,
) -> Result<Option<Measured<'d>>> {
    let keep = run::Keep::new(arguments.store.as_deref(), arguments.quiet, arguments.dry_run);
    let asked = arguments.asked(keep.effect)?;
    let mut orders = on::orders(dossier, &asked).map_err(in_words)?;
    let on::Kept { targets, writes } =
        on::keep(dossier.study, &mut orders, &asked).map_err(in_words)?;
    let known = known(&targets, arguments)?;
    let how = run::How { keep, json: None, prices: &arguments.price, sheets: &[] };
    if !writes.is_empty() && !arguments.quiet {
        output::talk!("{}", output::hanging("writes ", &writes).trim_end());
    }
    let mut measured = Measured { parts: Vec::new(), known, failure: None };
    for Ready { on, order, left_out } in orders {
        let outcome = match &order {
            Ordered::Run(order) => run::measure(order.as_ref().clone(), &how)
                .map(|run| run.map(|run| Outcome::Run(Box::new(run)))),
            Ordered::Matrix(order) => matrix::measure(order, &keep)
                .map(|matrix| matrix.map(|matrix| Outcome::Matrix(Box::new(matrix)))),
        };
        match outcome {
            Ok(None) => {}
            Ok(Some(outcome)) => {
                let left_out = left_out.into_iter().map(words::left_out).collect();
                measured.parts.push(Part { on, left_out, outcome });
            }
            // What was measured before is not lost for it.
            Err(error) if !measured.parts.is_empty() => {
                measured.failure = Some(error.context(format!("method {}", on.method)));
            }
            Err(error) => return Err(error),
        }
        let last = measured.parts.last();
        let ended = last.is_some_and(|part| part.seen().record.state == State::Interrupted);
        if measured.failure.is_some() || ended {
            break;
        }
    }
    Ok((!measured.parts.is_empty()).then_some(measured))
}

/// What the user says of the one drive, read before anything is measured.
fn known(targets: &[TargetInfo], arguments: &StudyArguments) -> Result<Known> {
    let Some(target) = targets.first() else {
        let is_asked = !arguments.price.is_empty() || !arguments.spec.is_empty();
        ensure!(
            !is_asked,
            "--price and --spec are a drive's, and a loop device over a file is none: name one with --on, or leave them \
             out"
        );
        return Ok(Known::default());
    };
    let only = std::slice::from_ref(target);
    let named = Named::of_targets(only);
    let mut prices = prices::given(&named, &arguments.price)?;
    let mut sheets = sheets::of(&named, &arguments.spec)?.concat();
    Ok(Known {
        price: prices.pop().map(|(.., money)| money),
        capacity_bytes: report::specification::capacity(target),
        sheet: sheets.pop().flatten(),
    })
}

impl Part<'_> {
    fn seen(&self) -> yours::Part<'_> {
        let (record, place, matrix) = match &self.outcome {
            Outcome::Run(run) => (&run.record, &run.record.targets[0].text, None),
            Outcome::Matrix(it) => {
                (&it.measured.records[0], &it.page.ground, Some(&it.page.document))
            }
        };
        yours::Part { on: self.on, left_out: &self.left_out, record, place, matrix }
    }

    /// Every configuration with pivots and effects, where it was measured under several.
    pub fn matrix(&self) -> Option<&matrix::Measured> {
        match &self.outcome {
            Outcome::Run(_) => None,
            Outcome::Matrix(matrix) => Some(matrix),
        }
    }

    /// Its end.
    fn conclude(self) -> Result<ExitCode> {
        match self.outcome {
            Outcome::Run(run) => run.conclude(),
            Outcome::Matrix(matrix) => matrix.conclude(),
        }
    }
}

impl Measured<'_> {
    /// The same, to be shown.
    pub fn seen(&self) -> yours::Measured<'_> {
        yours::Measured { parts: self.parts.iter().map(Part::seen).collect(), known: &self.known }
    }

    /// The first end that was none by plan.
    pub fn conclude(self) -> Result<ExitCode> {
        for part in self.parts {
            let code = part.conclude()?;
            if code != ExitCode::SUCCESS {
                return Ok(code);
            }
        }
        match self.failure {
            Some(error) => Err(error).context("what was measured before stands above"),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}
