//! A study's methods on a target of the user's: what `run` and `matrix` are ordered to measure.
//!
//! ```text
//!   [[on]] method, settings -> Ordered: a directory, a file: a run
//!                              a loop device, a block device, a model: a matrix under the
//!                              study's settings, as far as they are to be had
//!   all orders -> sizes, room, bytes written: refused or said, before the first byte    budget
//!   records of a matrix, printed figures -> its page                                    printed
//! ```

mod budget;
mod printed;

pub use budget::{Kept, keep};
pub use printed::{MatrixPage, page};

use crate::{Dossier, On, Study};
use block::{BadSize, parse_bytes};
use host::Consent;
use lab::{
    method::Method,
    order::{Order as MethodOrder, OrderError},
    plan::Options,
};
use matrix::{
    Axes, Axis, Choice, Configuration, MatrixError, MatrixOrder, PowerCuts, ROUNDS, TestDevice,
    in_turns, page::pivots,
};
use run::{CannotRun, Effect, Purge, RunOrder, Wear};
use std::{collections::BTreeMap, ffi::OsStr, fs, os::unix::fs::FileTypeExt};
use target::{BadTarget, TargetText};

/// What the user asks of all of a study's methods.
#[derive(Clone, Debug)]
pub struct Asked {
    /// On what.
    pub choice: Choice,
    /// Settings of every cell.
    pub settings: Vec<(String, String)>,
    /// The same of each method; the bytes are those of all methods together.
    pub options: Options,
    /// How much it may write.
    pub wear: Wear,
    /// What is to be done.
    pub effect: Effect,
}

/// A method of the study, ready to be measured.
pub struct Ready<'d> {
    /// The method and its settings.
    pub on: &'d On,
    /// As what.
    pub order: Ordered,
    /// What of the study's settings is not to be had.
    pub left_out: Vec<LeftOut>,
}

/// As what a method is measured.
pub enum Ordered {
    /// As it is.
    Run(Box<RunOrder>),
    /// Under the study's settings.
    Matrix(Box<MatrixOrder>),
}

/// What of the study's settings is not to be had.
#[derive(Debug)]
pub enum LeftOut {
    /// A file system.
    FileSystem {
        /// Its name.
        name: String,
        /// Why.
        error: MatrixError,
    },
    /// A setting, or a level that is gone from the kernel.
    Setting(MatrixError),
    /// These settings are taken as they are on the target; only where file systems can be made are
    /// they varied.
    AsTheyAre(Vec<String>),
}

/// Why a study cannot be measured on a target. Who reads words adds the option and the cure.
#[derive(Debug, thiserror::Error)]
pub enum CannotMeasure {
    /// A loop device is for file systems, and the study compares none.
    #[error("{} does not compare file systems", .0.name())]
    NoFileSystems(Study),
    /// Making file systems needs root.
    #[error("making file systems needs root")]
    NotRoot,
    /// None of its file systems is to be had.
    #[error("none of its file systems is to be had")]
    NoFileSystem(Vec<LeftOut>),
    /// Its methods together write more than was agreed to.
    #[error("{} writes up to {written_bytes} bytes here ({each})", study.name())]
    OverBudget {
        /// The study.
        study: Study,
        /// At most, bytes.
        written_bytes: u64,
        /// Each method with its bytes.
        each: String,
        /// What it may write, bytes.
        limit_bytes: u64,
        /// Whether the user named the limit.
        wear: Wear,
    },
    /// One of these, of one method.
    #[error("method {method}: {error}")]
    Method {
        /// Its name.
        method: String,
        /// Why.
        error: Box<CannotMeasure>,
    },
    /// The TARGET's text.
    #[error(transparent)]
    Text(#[from] BadTarget),
    /// The method or a setting.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A size in the study's own file.
    #[error("size: {0}")]
    Size(#[from] BadSize),
    /// A run.
    #[error(transparent)]
    Run(#[from] CannotRun),
    /// A matrix.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

/// What of the study's methods is to be measured on the target, and as what.
///
/// # Errors
/// A target that is none, and settings that are not to be had there.
pub fn orders<'d>(dossier: &'d Dossier, asked: &Asked) -> Result<Vec<Ready<'d>>, CannotMeasure> {
    let makes_file_systems = makes_file_systems(&asked.choice)?;
    let order = |on: &'d On| match &asked.choice {
        _ if makes_file_systems && !on.matrix.is_empty() => in_matrix(on, dossier.study, asked),
        Choice::Loop { .. } => Err(CannotMeasure::NoFileSystems(dossier.study)),
        Choice::Target { word, consent } => as_it_is(on, dossier.study, asked, word, consent),
    };
    dossier.file.on.iter().map(order).collect()
}

/// Whether file systems can be made there. Elsewhere there is one, or none.
fn makes_file_systems(choice: &Choice) -> Result<bool, BadTarget> {
    let Choice::Target { word, .. } = choice else { return Ok(true) };
    Ok(match TargetText::of_word(word)? {
        TargetText::Model(_) => true,
        TargetText::Path(path) => {
            fs::metadata(&path).is_ok_and(|info| info.file_type().is_block_device())
        }
        _ => false,
    })
}

/// As a run.
fn as_it_is<'d>(
    on: &'d On,
    study: Study,
    asked: &Asked,
    word: &OsStr,
    consent: &Consent,
) -> Result<Ready<'d>, CannotMeasure> {
    let order = RunOrder {
        targets: vec![TargetText::of_word(word)?],
        method: method(on, study, asked, asked.options.passes)?,
        consent: consent.clone(),
        purge: Purge::Nothing,
        wear: asked.wear,
    };
    let mut left_out = gone(on);
    if !on.matrix.is_empty() {
        left_out.push(LeftOut::AsTheyAre(on.matrix.keys().cloned().collect()));
    }
    Ok(Ready { on, order: Ordered::Run(Box::new(order)), left_out })
}

/// As a matrix, under those of the study's settings that are to be had.
fn in_matrix<'d>(on: &'d On, study: Study, asked: &Asked) -> Result<Ready<'d>, CannotMeasure> {
    let can_be_asked = host::environment::is_root();
    if !can_be_asked && asked.effect == Effect::Measure {
        return Err(CannotMeasure::NotRoot);
    }
    // Once, and not as the reason why each of the settings is not to be had.
    let device = match &asked.choice {
        Choice::Target { .. } if !can_be_asked => None,
        choice => Some(TestDevice::choose(choice, &Axes::default())?),
    };
    let device = device.filter(|_| can_be_asked);
    let mut left_out = gone(on);
    let mut axes = Axes::default();
    for (name, levels) in &on.matrix {
        let axis = named(name).expect("an axis of the matrix: a test reads all studies");
        // The file systems that are not to be had are left out one by one.
        let parts: Vec<&str> = match axis {
            Axis::Fs => levels.split(',').collect(),
            _ => vec![levels],
        };
        let mut kept: Vec<&str> = Vec::new();
        for level in parts {
            let refused = |error| match axis {
                Axis::Fs => LeftOut::FileSystem { name: level.to_owned(), error },
                _ => LeftOut::Setting(error),
            };
            match check(device.as_ref(), axis, level) {
                Ok(()) => kept.push(level),
                Err(error) => left_out.push(refused(error)),
            }
        }
        if !kept.is_empty() {
            axes.add(axis, &kept.join(",")).map_err(MatrixError::from)?;
        }
    }
    if on.matrix.contains_key(Axis::Fs.name()) && !axes.iter().any(|(axis, _)| axis == Axis::Fs) {
        return Err(CannotMeasure::NoFileSystem(left_out));
    }
    let rounds = asked.options.passes.unwrap_or(ROUNDS);
    let method = in_turns(method(on, study, asked, Some(rounds))?).map_err(MatrixError::from)?;
    // What is only planned writes nothing.
    let wear = if asked.effect == Effect::Plan { Wear::AgreedTo } else { asked.wear };
    let order = MatrixOrder {
        choice: asked.choice.clone(),
        pivots: pivots(&[], &axes).map_err(MatrixError::from)?,
        axes,
        methods: vec![method],
        rounds,
        cuts: PowerCuts::All,
        wear,
        seed: asked.options.seed,
    };
    Ok(Ready { on, order: Ordered::Matrix(Box::new(order)), left_out })
}

/// Whether a level is to be had, where that can be asked; of the other settings nothing is.
fn check(device: Option<&TestDevice>, axis: Axis, level: &str) -> Result<(), MatrixError> {
    let Some(device) = device else { return Ok(()) };
    let mut alone = Axes::default();
    if axis != Axis::Fs {
        alone.add(Axis::Fs, "raw")?;
    }
    alone.add(axis, level)?;
    let configurations: Vec<Configuration> = alone.configurations();
    device.check(&configurations)
}

/// What the matrix says of settings that the study had and this kernel has not.
fn gone(on: &On) -> Vec<LeftOut> {
    let refused = |(axis, level): &(String, String)| {
        let refused = Axes::default().add(named(axis)?, level).err()?;
        Some(LeftOut::Setting(refused.into()))
    };
    on.gone.iter().filter_map(refused).collect()
}

fn named(axis: &str) -> Option<Axis> {
    Axis::ALL.into_iter().find(|known| known.name() == axis)
}

/// The method with the study's settings and the user's.
fn method(
    on: &On,
    study: Study,
    asked: &Asked,
    passes: Option<u32>,
) -> Result<MethodOrder, CannotMeasure> {
    let mut settings = on.set.clone();
    if let (Some(bytes), Some(file)) = (asked.options.span_bytes, settings.get_mut("file")) {
        // The file is all of the area that the study's method works on.
        *file = bytes.to_string();
    }
    let settings: Vec<_> = settings.into_iter().chain(asked.settings.iter().cloned()).collect();
    let own = on.size.as_deref().map(parse_bytes).transpose()?;
    let options = Options {
        span_bytes: asked.options.span_bytes.or(own),
        passes,
        written_bytes_max: None,
        ..asked.options.clone()
    };
    let text = Method::built_in(&on.method, &[]).map_err(OrderError::from)?.text;
    let labels = BTreeMap::from([("study".to_owned(), study.name().to_owned())]);
    Ok(MethodOrder::new(&on.method, &text, &settings, &options, labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_names_methods_sizes_and_settings_that_there_are() {
        let mut matrices = 0;
        for study in Study::ALL {
            let asked = Asked {
                choice: Choice::Target { word: "x".into(), consent: Consent::default() },
                settings: Vec::new(),
                options: Options::default(),
                wear: Wear::Unasked,
                effect: Effect::Plan,
            };
            for on in &study.file().on {
                method(on, study, &asked, None).expect("a method of its own");
                assert_eq!(gone(on).len(), on.gone.len(), "{}", study.name());
                let mut axes = Axes::default();
                for (axis, levels) in &on.matrix {
                    axes.add(named(axis).expect("an axis"), levels).expect("levels");
                }
                matrices += usize::from(axes.configurations().len() > 1);
            }
        }
        assert!(matrices >= 3, "{matrices}");
    }
}
