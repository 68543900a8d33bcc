//! What is ordered of a matrix, and by which program it is measured.

use crate::{
    axes::Axes,
    axis::Axis,
    error::{MatrixError, Refusal, RefusalKind},
    serving::Serving,
};
use host::Consent;
use lab::order::Order as MethodOrder;
use run::{MeasuredBy, Wear};
use std::{env, ffi::OsString, num::NonZeroU32, path::PathBuf, process};

/// How often every configuration is measured, unless somebody says so.
pub const ROUNDS: u32 = 3;

/// What is to be measured, and on what.
#[derive(Clone, Debug)]
pub struct MatrixOrder {
    /// On what.
    pub choice: Choice,
    /// Which settings, and their levels.
    pub axes: Axes,
    /// Which two of them stand against each other in each pivot table.
    pub pivots: Vec<(Axis, Axis)>,
    /// Methods, none of which runs in rounds of its own: see [`in_turns`].
    pub methods: Vec<MethodOrder>,
    /// How often every configuration is measured.
    pub rounds: u32,
    /// Whether the power of a model is cut at the end.
    pub cuts: PowerCuts,
    /// How much it may write: unasked the whole drive once, all turns together.
    pub wear: Wear,
    /// Where the order of turns and all random choices come from.
    pub seed: u64,
}

impl MatrixOrder {
    /// How many times slower the drives' time passes, as its methods are ordered: a model is served
    /// so, of anything else it is said.
    pub fn slower(&self) -> Option<NonZeroU32> {
        self.methods.iter().find_map(|method| method.options.slower)
    }

    /// How many cells are measured in all turns.
    pub fn cells(&self) -> u64 {
        let cells: usize = self.methods.iter().map(|order| order.method.cells.len()).sum();
        let configurations = self.axes.configurations().len();
        cells as u64 * configurations as u64 * u64::from(self.rounds)
    }
}

/// What the user named for the configurations to be put on.
#[derive(Clone, Debug)]
pub enum Choice {
    /// A loop device over a scratch file.
    Loop {
        /// Where the file is made.
        directory: PathBuf,
        /// Its size.
        bytes: u64,
        /// Which devices may be lost, if a journal goes onto one.
        consent: Consent,
    },
    /// A block device or modelled drives.
    Target {
        /// TARGET, as it was typed.
        word: OsString,
        /// Which devices may be lost.
        consent: Consent,
    },
}

/// Whether the classes are checked: only a model's power can be cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PowerCuts {
    /// Of every configuration once.
    All,
    /// Of none.
    None,
}

/// By which program a matrix is measured, and what is that program's own.
#[derive(Clone, Debug)]
pub struct Caller {
    /// What the records say of it.
    pub by: MeasuredBy,
    /// A directory that is to be made, and is this process's own: mount points and sockets lie in
    /// it.
    pub place: PathBuf,
    /// How a model is served.
    pub serving: Serving,
}

impl Caller {
    /// Where its mount points and sockets lie; mount(8) goes there by path.
    ///
    /// # Errors
    /// Others could put another directory in its place.
    pub fn check_place(&self) -> Result<(), MatrixError> {
        let parent = self.place.parent().expect("it lies in a directory");
        host::directory::check_way(parent).map_err(|error| {
            let cure = "set TMPDIR to a directory of root's, such as /run";
            MatrixError::Process(format!("{error}: {cure}"))
        })
    }
}

/// A directory of this process's own, to be made in TMPDIR.
///
/// # Errors
/// TMPDIR is none, or its name is no text.
pub fn place() -> Result<PathBuf, MatrixError> {
    let temporary = env::temp_dir();
    let temporary = temporary.canonicalize().map_err(|source| MatrixError::Io {
        what: format!("cannot look at {}: set TMPDIR", temporary.display()),
        source,
    })?;
    if temporary.to_str().is_none() {
        return Err(MatrixError::Process(format!(
            "{} is no text, and mount(8) and nbdfuse are told of it: set TMPDIR to a directory \
             whose name is text",
            temporary.display()
        )));
    }
    Ok(temporary.join(format!("drivelab-matrix-{}", process::id())))
}

/// A method as it is measured in turns.
///
/// # Errors
/// One that runs in rounds of its own.
pub fn in_turns(mut order: MethodOrder) -> Result<MethodOrder, Refusal> {
    if order.method.file.rounds.is_some() {
        let text = format!(
            "{}: it runs in rounds until steady, and a matrix has rounds of its own: name another",
            order.method.file.name
        );
        return Err(Refusal::new(RefusalKind::Method, text));
    }
    // A matrix adds up its turns and asks; a run's own bound knows nothing of them.
    order.options.written_bytes_max = Some(u64::MAX);
    Ok(order)
}
