//! A study's methods on a target of the user's, through the same machinery as `drivelab run` and `drivelab matrix`.
//!
//! ```text
//!   [[on]] method, settings -> a directory, a file: run::measure
//!                           -> a loop device, a block device, a model: matrix::measure, under the study's settings
//!   records in the store -> study::Yours -> tables (yours.rs), JSON, page
//! ```

use super::arguments::StudyArguments;
use crate::{
    cli::{Cli, Verb},
    matrix::{self, MatrixArguments},
    run,
};
use anyhow::{Result, bail};
use clap::Parser;
use record::Record;
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::FileTypeExt,
    process::ExitCode,
};
use study::{
    Dossier, On, Study,
    matrix::{Axes, Axis},
};
use target::TargetText;

/// What was measured for one [`On`].
pub struct Part<'d> {
    /// The method and its settings.
    pub on: &'d On,
    /// What of the study's settings was not to be had, with reasons.
    pub left_out: Vec<String>,
    measured: Measured,
}

enum Measured {
    Run(Box<run::Measured>),
    Matrix(Box<matrix::Measured>),
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
) -> Result<Option<Vec<Part<'d>>>> {
    let place = place(arguments)?;
    let mut parts = Vec::new();
    for on in &dossier.file.on {
        let part = match place {
            Place::Matrix if !on.matrix.is_empty() => in_matrix(on, dossier.study, arguments)?,
            _ if arguments.loop_directory.is_some() => bail!(
                "--loop: {} does not compare file systems: use --on with the directory",
                dossier.study.name()
            ),
            _ => as_it_is(on, dossier.study, arguments)?,
        };
        parts.extend(part);
    }
    Ok((!parts.is_empty()).then_some(parts))
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
fn as_it_is<'d>(on: &'d On, study: Study, arguments: &StudyArguments) -> Result<Option<Part<'d>>> {
    let mut words = vec![OsString::from("drivelab"), OsString::from("run")];
    words.extend(common(on, study, arguments));
    words.extend(arguments.passes.map(|passes| format!("--passes={passes}").into()));
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
    let measured = run::measure(&order)?;
    Ok(measured.map(|run| Part { on, left_out, measured: Measured::Run(Box::new(run)) }))
}

/// By `drivelab matrix`, under those of the study's settings that are to be had.
fn in_matrix<'d>(on: &'d On, study: Study, arguments: &StudyArguments) -> Result<Option<Part<'d>>> {
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
    let measured = matrix::measure(with(&axes)?.as_ref())?;
    Ok(measured.map(|done| Part { on, left_out, measured: Measured::Matrix(Box::new(done)) }))
}

/// What the matrix says of settings that the study had and this kernel has not.
fn gone(on: &On) -> Vec<String> {
    let refused = |(axis, level): &(String, String)| {
        let axis = Axis::ALL.into_iter().find(|known| known.name() == axis)?;
        Some(Axes::default().add(axis, level).err()?.to_string())
    };
    on.gone.iter().filter_map(refused).collect()
}

/// What `run` and `matrix` are told in the same words.
fn common(on: &On, study: Study, arguments: &StudyArguments) -> Vec<OsString> {
    let mut words =
        vec![format!("--method={}", on.method), format!("--label=study={}", study.name())];
    for (key, value) in on.set.iter().chain(arguments.set.iter().map(|(key, value)| (key, value))) {
        words.push(format!("--set={key}={value}"));
    }
    words.extend(arguments.size.map(|bytes| format!("--size={bytes}")));
    words.extend(arguments.seed.map(|seed| format!("--seed={seed}")));
    words.extend(arguments.max_time.map(|seconds| format!("--max-time={seconds}s")));
    words.extend(arguments.on_error.iter().map(|what| format!("--on-error={what}")));
    let switches =
        [("--yes", arguments.yes), ("--dry-run", arguments.dry_run), ("--quiet", arguments.quiet)];
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
    /// What it left.
    pub fn record(&self) -> &Record {
        match &self.measured {
            Measured::Run(run) => &run.record,
            Measured::Matrix(matrix) => &matrix.records[0],
        }
    }

    /// Where it was measured, in words.
    pub fn place(&self) -> &str {
        match &self.measured {
            Measured::Run(run) => &run.record.targets[0].text,
            Measured::Matrix(matrix) => &matrix.ground,
        }
    }

    /// Every configuration with pivots and effects, where it was measured under several.
    pub fn matrix(&self) -> Option<&matrix::Measured> {
        match &self.measured {
            Measured::Run(_) => None,
            Measured::Matrix(matrix) => Some(matrix),
        }
    }

    /// Its end.
    pub fn conclude(self) -> Result<ExitCode> {
        match self.measured {
            Measured::Run(run) => run.conclude(),
            Measured::Matrix(matrix) => matrix.conclude(),
        }
    }
}
