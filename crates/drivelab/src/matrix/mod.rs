//! `drivelab matrix`: a method under every combination of settings.
//!
//! ```text
//!   arguments -> matrix::{Axes, TestDevice, Order}            arguments, order
//!   matrix::check: room, programs, bytes written; a refusal   words
//!     becomes a sentence that names the option
//!   matrix::measure -> records, cuts, floors                  crates/matrix; watch
//!   all of it -> matrix::page: text, a document
//! ```

pub mod arguments;
mod dry;
mod order;
mod watch;
mod words;

pub use arguments::MatrixArguments;

use crate::{
    interrupt, output,
    progress::Talk,
    report::save::{Format, Outputs},
    restore,
    run::{Foreseen, chosen_seed},
};
use ::study::matrix::{STUDY, printed};
use anyhow::{Context, Result, anyhow, bail, ensure};
use matrix::{
    Configuration, End, Order, TestDevice,
    page::{self, Printed},
};
use order::{order, test_device};
use record::Record;
use report::document::Document;
use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    process::ExitCode,
    rc::Rc,
};
use watch::Watch;
use words::in_words;

/// Measures the matrix and prints it.
pub fn matrix(arguments: &MatrixArguments) -> Result<ExitCode> {
    let Some(measured) = measure(arguments)? else { return Ok(ExitCode::SUCCESS) };
    let given = give_out(arguments, &measured);
    // How the machine was left is said, whatever became of the page.
    let code = measured.conclude()?;
    given.map(|()| code)
}

/// A matrix that has ended, by its plan or by the user; its records are in the store.
pub struct Measured {
    /// One a method; a cell's target is its configuration, whose levels are among the cell's
    /// coordinates.
    pub records: Vec<Record>,
    /// Where it took place, in words.
    pub ground: String,
    /// Every configuration, pivots, effects, the best: for the terminal.
    pub page: String,
    /// The same with charts, for a browser.
    pub document: Document,
    end: End,
    /// What could not be put back.
    left_changed: Option<String>,
}

/// A directory of this process's own, to be made: mount points and sockets lie in it.
fn place() -> Result<PathBuf> {
    let temporary = std::env::temp_dir();
    let temporary = temporary
        .canonicalize()
        .with_context(|| format!("cannot look at {}: set TMPDIR", temporary.display()))?;
    ensure!(
        temporary.to_str().is_some(),
        "{} is no text, and mount(8) and nbdfuse are told of it: set TMPDIR to a directory whose \
         name is text",
        temporary.display()
    );
    Ok(temporary.join(format!("drivelab-matrix-{}", std::process::id())))
}

/// Refuses what cannot be measured here, before anything is touched.
pub fn check(arguments: &MatrixArguments) -> Result<()> {
    let axes = arguments.axes()?;
    test_device(arguments)?.check(&axes.configurations()).map_err(in_words)
}

/// Refuses a place that is not there, or is no place for a matrix.
pub fn check_place(arguments: &MatrixArguments) -> Result<()> {
    test_device(arguments).map(drop)
}

/// What the matrix would write, and where; nothing is done.
///
/// # Errors
/// A place that is none, and one that is too small for a file system or a method, with the size
/// that is needed.
pub fn foresee(arguments: &MatrixArguments) -> Result<Foreseen> {
    let device = test_device(arguments)?;
    let order = order(arguments, arguments.axes()?, 0, place()?)?;
    let seen = matrix::foresee(&order, &device).map_err(in_words)?;
    Ok(Foreseen {
        written_bytes: seen.written_bytes,
        wears: seen.wears,
        is_shared: false,
        question: None,
        target: seen.target,
    })
}

/// Measures the matrix. `None` where only the plan was asked for: it is printed.
pub fn measure(arguments: &MatrixArguments) -> Result<Option<Measured>> {
    let axes = arguments.axes()?;
    let pivots =
        page::pivots(&arguments.pivot, &axes).map_err(|refusal| in_words(refusal.into()))?;
    let seed = arguments.seed.unwrap_or_else(chosen_seed);
    let order = order(arguments, axes, seed, place()?)?;
    let device = test_device(arguments)?;
    if arguments.dry_run {
        output::print(&dry::describe(&device, &order))?;
        return Ok(None);
    }
    // mount(8) goes there by path.
    host::directory::check_way(order.place.parent().expect("it lies in TMPDIR"))
        .map_err(|error| anyhow!("{error}: set TMPDIR to a directory of root's, such as /run"))?;
    matrix::check(&order, &device).map_err(in_words)?;
    output::check_json(arguments.json.as_deref())?;
    pages(arguments, &Document::default())?;
    let talk = if arguments.quiet { Talk::Quiet } else { Talk::Normal };
    let store = Rc::new(RefCell::new(output::open_store(arguments.store.as_deref())?));
    let stop = interrupt::flag()?;
    if let Some(sentence) = restore::left_behind() {
        output::talk!("drivelab: {sentence}");
    }
    let mut watch = Watch::new(&order, talk, Rc::clone(&store), stop.clone());
    let measured = matrix::measure(&order, &device, &store, &mut watch, &stop);
    watch.finish();
    Ok(Some(shown(&order, &device, &pivots, measured.map_err(in_words)?)))
}

/// The page of what was measured.
fn shown(
    order: &Order,
    device: &TestDevice,
    pivots: &[(matrix::Axis, matrix::Axis)],
    measured: matrix::Measured,
) -> Measured {
    let matrix::Measured { records, floors, cuts, caches, end, left_changed } = measured;
    let configurations = order.axes.configurations();
    let ground = device.describe();
    let drive = device.drive();
    let rate = |one: &Configuration, block_bytes| {
        printed(drive.as_deref()?, one, block_bytes).map(|printed| printed.text)
    };
    let source = format!(
        "Printed: by the study {STUDY} (`drivelab study {STUDY}`), of the real drive on its own \
         machine."
    );
    let page = page::Matrix {
        ground: ground.clone(),
        axes: &order.axes,
        configurations: &configurations,
        records: &records,
        floors: &floors,
        printed: Printed { rate: &rate, source },
        machines: configurations.iter().map(|one| device.machine(one)).collect(),
        cuts: &cuts,
        caches,
        pivots,
        seed: order.seed,
    };
    let (document, page) = (page.document(), page.text(&output::style()));
    Measured { records, ground, page, document, end, left_changed }
}

impl Measured {
    /// Its end as an exit code, or as an error where the machine is not as it was.
    pub fn conclude(self) -> Result<ExitCode> {
        if let Some(text) = self.left_changed {
            match self.end {
                End::Failed(failure) => bail!("{failure}; {text}"),
                End::Planned | End::Interrupted => bail!("{text}"),
            }
        }
        if let End::Failed(failure) = self.end {
            bail!("{failure}; what was measured stands above");
        }
        if let Some(sentence) = self.records.iter().find_map(Record::failed_sentence) {
            bail!("{sentence}; what was measured stands above");
        }
        if self.end == End::Interrupted {
            output::talk!(
                "drivelab: interrupted; everything is put back, what was measured stands above"
            );
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The page that was asked for; refused where it would take somebody else's place.
fn pages(arguments: &MatrixArguments, document: &Document) -> Result<Outputs> {
    let mut outputs = Outputs::new(arguments.force);
    if let Some(path) = &arguments.html {
        outputs.add(path, Format::Html, report::html::page(document).into_bytes())?;
    }
    Ok(outputs)
}

fn give_out(arguments: &MatrixArguments, measured: &Measured) -> Result<()> {
    for line in pages(arguments, &measured.document)?.write()? {
        output::talk!("{line}");
    }
    if arguments.html.as_deref() == Some(Path::new("-")) {
        return Ok(());
    }
    if let Some(path) = arguments.json.as_deref() {
        let json = serde_json::to_string_pretty(&measured.records)? + "\n";
        if path == Path::new("-") {
            return output::print(&json);
        }
        output::write_json(path, &json)?;
    }
    output::print(&measured.page)
}
