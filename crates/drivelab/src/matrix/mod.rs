//! `drivelab matrix`: a method under every combination of settings.
//!
//! ```text
//!   arguments -> MatrixOrder                                  arguments
//!   matrix::check: room, programs, bytes written; a refusal   words
//!     becomes a sentence that names the option
//!   matrix::measure -> records, cuts, floors                  crates/matrix; watch
//!   all of it -> study::on::page: text, a document
//! ```

pub mod arguments;
mod watch;
pub mod words;

pub use arguments::{MatrixArguments, choice};

use crate::{
    interrupt, output,
    report::save::{Format, Outputs},
    restore,
    run::{Keep, measured_by},
};
use anyhow::{Context, Result, bail};
use matrix::{Caller, End, FailingPower, MatrixOrder, Serving, TestDevice};
use report::document::Document;
use run::Effect;
use std::{cell::RefCell, num::NonZeroU32, path::Path, process::ExitCode, rc::Rc};
use study::on::MatrixPage;
use target::serve::Flushes;
use watch::Watch;
pub use words::in_words;

/// Measures the matrix and prints it.
pub fn matrix(arguments: &MatrixArguments) -> Result<ExitCode> {
    let order = arguments.to_order()?;
    if !arguments.dry_run {
        output::check_json(arguments.json.as_deref())?;
        pages(arguments, &Document::default())?;
    }
    let keep = Keep::new(arguments.store.as_deref(), arguments.quiet, arguments.dry_run);
    let Some(measured) = measure(&order, &keep)? else { return Ok(ExitCode::SUCCESS) };
    let given = give_out(arguments, &measured);
    // How the machine was left is said, whatever became of the page.
    let code = measured.conclude()?;
    given.map(|()| code)
}

/// A matrix that has ended, by its plan or by the user; its records are in the store.
pub struct Measured {
    /// Its records, and what ended it.
    pub measured: matrix::Measured,
    /// The same, to be shown.
    pub page: MatrixPage,
}

/// Measures what is ordered. `None` where only the plan was asked for: it is printed.
pub fn measure(order: &MatrixOrder, keep: &Keep<'_>) -> Result<Option<Measured>> {
    let mut caller = caller()?;
    caller.serving.slower = order.slower();
    let device = TestDevice::choose(&order.choice, &order.axes).map_err(in_words)?;
    if keep.effect == Effect::Plan {
        output::print(&matrix::describe(order, &caller, &device))?;
        return Ok(None);
    }
    matrix::check(order, &caller, &device).map_err(in_words)?;
    let store = Rc::new(RefCell::new(crate::store::open_here(keep.store)?));
    let stop = interrupt::flag()?;
    restore::tell_left_behind();
    let mut watch = Watch::new(order, keep.talk, Rc::clone(&store), stop.clone());
    let measured = matrix::measure(order, &caller, &device, &store, &mut watch, &stop);
    watch.finish();
    let measured = measured.map_err(in_words)?;
    measured.records.iter().for_each(|record| crate::store::deliver(keep.store, &record.id));
    let page = study::on::page(order, &device, &measured, &output::style());
    Ok(Some(Measured { measured, page }))
}

/// What a room that serves models by another process is to know of this program.
pub fn caller() -> Result<Caller> {
    Ok(Caller {
        by: measured_by(),
        place: matrix::place()?,
        serving: Serving {
            program: std::env::current_exe().context("drivelab does not know where it is")?,
            words: serving_words,
            power_cut: "--power-cut",
            slower: None,
        },
    })
}

/// What another process of drivelab is told, to serve a target.
fn serving_words(
    target: &str,
    address: &str,
    power: Option<FailingPower>,
    slower: Option<NonZeroU32>,
) -> Vec<String> {
    let mut words = ["serve", target, "--nbd", address, "--quiet"].map(str::to_owned).to_vec();
    words.extend(slower.map(|times| format!("--slower={times}")));
    if let Some(FailingPower { seed, flushes, lost_member, record_writes }) = power {
        // What the cut took is told as an event.
        words.extend(["--json".to_owned(), format!("--power-cut={seed}")]);
        if flushes != Flushes::Honoured {
            words.push(format!("--flushes={}", flushes.name()));
        }
        words.extend(lost_member.map(|member| format!("--lose-member={member}")));
        let path = record_writes.iter().filter_map(|path| path.to_str());
        words.extend(path.map(|path| format!("--record-writes={path}")));
    }
    words
}

impl Measured {
    /// Its end as an exit code, or as an error where the machine is not as it was.
    pub fn conclude(self) -> Result<ExitCode> {
        if let Some(sentence) = self.measured.failure() {
            bail!("{sentence}");
        }
        if self.measured.end == End::Interrupted {
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
    for line in pages(arguments, &measured.page.document)?.write()? {
        output::talk!("{line}");
    }
    if arguments.html.as_deref() == Some(Path::new("-")) {
        return Ok(());
    }
    if let Some(path) = arguments.json.as_deref() {
        let json = serde_json::to_string_pretty(&measured.measured.records)? + "\n";
        if path == Path::new("-") {
            return output::print(&json);
        }
        output::write_json(path, &json)?;
    }
    output::print(&measured.page.text)
}
