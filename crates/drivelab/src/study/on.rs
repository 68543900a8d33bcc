//! A study's methods on a target of the user's, through the same machinery as `drivelab run` and
//! `drivelab matrix`.
//!
//! ```text
//!   [[on]] method, settings -> Order: a directory, a file: run's arguments
//!                                     a loop device, a block device, a model: matrix' under the study's settings
//!   all orders -> sizes, room, bytes written: refused or said, before the first byte     budget.rs
//!   run::measure, matrix::measure: records in the store
//!     -> study::Yours -> study::page: tables, JSON, a page
//! ```

use super::{arguments::StudyArguments, budget};
use crate::{
    cli::{Cli, RunArguments, Verb},
    known::{Named, prices, sheets},
    matrix::{self, MatrixArguments},
    output, run,
};
use ::matrix::{Axes, Axis};
use anyhow::{Context, Error, Result, bail, ensure};
use clap::Parser;
use record::{Record, State, TargetInfo};
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::FileTypeExt,
    process::ExitCode,
};
use study::{Dossier, Known, On, Study, page::yours};
use target::TargetText;

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

/// A method of the study, ready to be measured.
pub struct Ready<'d> {
    /// The method and its settings.
    pub on: &'d On,
    /// By which verb.
    pub order: Order,
    left_out: Vec<String>,
}

/// What `run` or `matrix` are told.
pub enum Order {
    /// As it is.
    Run(Box<RunArguments>),
    /// Under the study's settings.
    Matrix(Box<MatrixArguments>),
}

/// Where the user wants it measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// As it is: there is one file system, or none.
    AsItIs,
    /// Where file systems can be made.
    Matrix,
}

/// Runs the study's methods on the target. `None` where only plans were asked for.
pub fn measure<'d>(
    dossier: &'d Dossier,
    arguments: &StudyArguments,
) -> Result<Option<Measured<'d>>> {
    let place = place(arguments)?;
    let mut orders = Vec::new();
    for on in &dossier.file.on {
        orders.push(match place {
            Place::Matrix if !on.matrix.is_empty() => in_matrix(on, dossier.study, arguments)?,
            _ if arguments.loop_directory.is_some() => bail!(
                "--loop: {} does not compare file systems: use --on with the directory",
                dossier.study.name()
            ),
            _ => as_it_is(on, dossier.study, arguments)?,
        });
    }
    let budget::Kept { targets, writes } = budget::keep(dossier.study, &mut orders, arguments)?;
    let known = known(&targets, arguments)?;
    if !writes.is_empty() && !arguments.quiet {
        output::talk!("{}", output::hanging("writes ", &writes).trim_end());
    }
    let mut measured = Measured { parts: Vec::new(), known, failure: None };
    for Ready { on, order, left_out } in orders {
        let outcome = match order {
            Order::Run(order) => {
                run::measure(&order).map(|run| run.map(|run| Outcome::Run(Box::new(run))))
            }
            Order::Matrix(order) => matrix::measure(&order)
                .map(|matrix| matrix.map(|matrix| Outcome::Matrix(Box::new(matrix)))),
        };
        match outcome {
            Ok(None) => {}
            Ok(Some(outcome)) => measured.parts.push(Part { on, left_out, outcome }),
            // What was measured before is not lost for it.
            Err(error) if !measured.parts.is_empty() => {
                measured.failure = Some(error.context(format!("method {}", on.method)));
            }
            Err(error) => return Err(error),
        }
        let ended = measured.parts.last().is_some_and(Part::was_interrupted);
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

fn place(arguments: &StudyArguments) -> Result<Place> {
    let Some(target) = &arguments.on else { return Ok(Place::Matrix) };
    Ok(match TargetText::of_word(target)? {
        TargetText::Model(_) => Place::Matrix,
        TargetText::Path(path)
            if fs::metadata(&path).is_ok_and(|info| info.file_type().is_block_device()) =>
        {
            Place::Matrix
        }
        _ => Place::AsItIs,
    })
}

/// By `drivelab run`.
fn as_it_is<'d>(on: &'d On, study: Study, arguments: &StudyArguments) -> Result<Ready<'d>> {
    let mut words = vec![OsString::from("drivelab"), OsString::from("run")];
    words.extend(common(on, study, arguments));
    words.extend(arguments.passes.map(|passes| format!("--passes={passes}").into()));
    words.extend(arguments.price.iter().map(|price| format!("--price={price}").into()));
    words.extend(["--".into(), arguments.on.clone().expect("it was named")]);
    let Verb::Run(order) = Cli::try_parse_from(words)?.verb else {
        unreachable!("the words begin with run")
    };
    let axes: Vec<&str> = on.matrix.keys().map(String::as_str).collect();
    let mut left_out = gone(on);
    if !axes.is_empty() {
        left_out.push(format!(
            "{}: taken as they are here; --loop DIR, a block device or a model vary them",
            axes.join(", ")
        ));
    }
    Ok(Ready { on, order: Order::Run(order), left_out })
}

/// By `drivelab matrix`, under those of the study's settings that are to be had.
fn in_matrix<'d>(on: &'d On, study: Study, arguments: &StudyArguments) -> Result<Ready<'d>> {
    let with = |axes: &BTreeMap<&str, String>| {
        let mut words = vec![OsString::from("drivelab"), OsString::from("matrix")];
        words.extend(common(on, study, arguments));
        let passes = arguments.passes.map(|passes| format!("--passes={passes}"));
        let axes = axes.iter().map(|(axis, levels)| format!("--{axis}={levels}"));
        words.extend(passes.into_iter().chain(axes).map(OsString::from));
        match (&arguments.loop_directory, &arguments.on) {
            (Some(directory), _) => {
                words.push(option("--loop=", directory));
                words.push(format!("--loop-size={}", arguments.loop_size).into());
            }
            (None, target) => {
                words.extend(["--".into(), target.clone().expect("one was named")]);
            }
        }
        let Verb::Matrix(order) = Cli::try_parse_from(words)?.verb else {
            unreachable!("the words begin with matrix")
        };
        Ok::<Box<MatrixArguments>, anyhow::Error>(order)
    };
    let mut axes = BTreeMap::new();
    let mut left_out = gone(on);
    let can_be_asked = rustix::process::geteuid().is_root();
    if !can_be_asked && !arguments.dry_run {
        bail!(
            "making file systems needs root (`sudo drivelab study ...`); --on with a directory measures the one that is there"
        );
    }
    if can_be_asked || arguments.loop_directory.is_some() {
        // Once, and not as the reason why each of the settings is not to be had.
        matrix::check_place(with(&BTreeMap::new())?.as_ref())?;
    }
    for (axis, levels) in &on.matrix {
        let check = |levels: &str| {
            // The others' levels are of no matter here; a file system stands by itself.
            let mut alone = BTreeMap::from([("fs", "raw".to_owned())]);
            alone.insert(axis, levels.to_owned());
            if can_be_asked { matrix::check(with(&alone)?.as_ref()) } else { Ok(()) }
        };
        let parts: Vec<&str> =
            if axis == "fs" { levels.split(',').collect() } else { vec![levels] };
        let mut kept: Vec<&str> = Vec::new();
        for level in parts {
            match (check(level), axis.as_str()) {
                (Ok(()), _) => kept.push(level),
                (Err(reason), "fs") => left_out.push(format!("{level}: {reason}")),
                (Err(reason), _) => left_out.push(reason.to_string()),
            }
        }
        if !kept.is_empty() {
            axes.insert(axis.as_str(), kept.join(","));
        }
    }
    if on.matrix.contains_key("fs") && !axes.contains_key("fs") {
        bail!("{}", left_out.join("; "));
    }
    Ok(Ready { on, order: Order::Matrix(with(&axes)?), left_out })
}

/// What the matrix says of settings that the study had and this kernel has not.
fn gone(on: &On) -> Vec<String> {
    let refused = |(axis, level): &(String, String)| {
        let axis = Axis::ALL.into_iter().find(|known| known.name() == axis)?;
        Some(Axes::default().add(axis, level).err()?.worded(|axis| format!("--{axis}")))
    };
    on.gone.iter().filter_map(refused).collect()
}

/// What `run` and `matrix` are told in the same words.
fn common(on: &On, study: Study, arguments: &StudyArguments) -> Vec<OsString> {
    let mut words =
        vec![format!("--method={}", on.method), format!("--label=study={}", study.name())];
    let mut settings = on.set.clone();
    if let (Some(bytes), Some(file)) = (arguments.size, settings.get_mut("file")) {
        // The file is all of the area that the study's method works on.
        *file = bytes.to_string();
    }
    settings.extend(arguments.set.iter().cloned());
    words.extend(settings.iter().map(|(key, value)| format!("--set={key}={value}")));
    let size = arguments.size.map(|bytes| bytes.to_string()).or(on.size.clone());
    words.extend(size.map(|size| format!("--size={size}")));
    words.extend(arguments.seed.map(|seed| format!("--seed={seed}")));
    words.extend(arguments.max_time.map(|seconds| format!("--max-time={seconds}s")));
    words.extend(arguments.on_error.iter().map(|what| format!("--on-error={what}")));
    // Who names the bytes has agreed to them.
    let agreed = arguments.yes || arguments.max_written.is_some();
    let switches =
        [("--yes", agreed), ("--dry-run", arguments.dry_run), ("--quiet", arguments.quiet)];
    words.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| (*flag).to_owned()));
    let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    words.extend(arguments.destroy.iter().map(|serial| option("--destroy=", serial)));
    words.extend(arguments.store.iter().map(|path| option("--store=", path)));
    words
}

/// An option with a value that need not be text.
fn option(name: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut word = OsString::from(name);
    word.push(value);
    word
}

impl Part<'_> {
    fn seen(&self) -> yours::Part<'_> {
        yours::Part {
            on: self.on,
            left_out: &self.left_out,
            record: self.record(),
            place: self.place(),
            matrix: self.matrix().map(|matrix| &matrix.document),
        }
    }

    /// What it left.
    fn record(&self) -> &Record {
        match &self.outcome {
            Outcome::Run(run) => &run.record,
            Outcome::Matrix(matrix) => &matrix.records[0],
        }
    }

    /// Where it was measured, in words.
    fn place(&self) -> &str {
        match &self.outcome {
            Outcome::Run(run) => &run.record.targets[0].text,
            Outcome::Matrix(matrix) => &matrix.ground,
        }
    }

    /// Every configuration with pivots and effects, where it was measured under several.
    pub fn matrix(&self) -> Option<&matrix::Measured> {
        match &self.outcome {
            Outcome::Run(_) => None,
            Outcome::Matrix(matrix) => Some(matrix),
        }
    }

    fn was_interrupted(&self) -> bool {
        self.record().state == State::Interrupted
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
