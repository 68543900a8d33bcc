//! `drivelab run`: words become an order, the order becomes a record, the record becomes a table.
//!
//! ```text
//!   arguments | --resume RUN  ->  RunOrder                              order
//!   ->  run::Prepared: targets, plan  ->  record in the store           crates/run
//!   what cannot be run, as a sentence that names the option             words
//!   record -> table, JSON                                               crates/report
//! ```

pub mod arguments;
pub mod order;
pub mod words;

pub use order::typed;
pub use words::in_words;

use crate::{
    complaint, interrupt,
    known::{Named, fail_on, prices, sheets},
    output,
    progress::{Progress, Talk, say},
};
use anyhow::{Context, Result, bail};
use arguments::RunArguments;
use host::{Consent, Roots};
use lab::runner::RunError;
use record::{Money, Record, Store, TargetInfo, Tool};
use report::{
    specification::{self, Specification},
    terminal::Notes,
};
use run::{Effect, MeasuredBy, Prepared, RunOrder};
use std::{
    cell::RefCell,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
    rc::Rc,
};
use words::OPTIONS;

/// Measures, and prints what was measured.
pub fn run(arguments: RunArguments) -> Result<ExitCode> {
    let kinds = fail_on::parse(&arguments.decide.fail_on, &[("spec", fail_on::Kind::Spec)])?;
    fail_on::check(&kinds, !arguments.decide.spec.is_empty())?;
    let keep = Keep::new(arguments.store.as_deref(), arguments.quiet, arguments.dry_run);
    let (json, sheets) = (arguments.json.as_deref(), &arguments.decide.spec);
    let how = How { keep, json, prices: &arguments.price, sheets };
    let measured = match &arguments.resume {
        Some(named) => Some(resume(named, Consent::typed(&arguments.destroy), &how)?),
        None => measure(arguments.to_order()?, &how)?,
    };
    let Some(measured) = measured else { return Ok(ExitCode::SUCCESS) };
    let record = measured.record.clone();
    let sheets = sheets::of(&Named::of_targets(&record.targets), &arguments.decide.spec)?.concat();
    let held = specification::held(&record, &sheets);
    let given = give_out(&arguments, &record, &held, &output::style());
    let ended = measured.conclude()?;
    given?;
    if ended != ExitCode::SUCCESS { Ok(ended) } else { fail_on::outcome(&kinds, &record, &held) }
}

/// A run that has ended, whatever its end was; it is in the store.
pub struct Measured {
    /// What it left.
    pub record: Record,
    outcome: Result<(), RunError>,
    /// The store that was named: where to go on.
    store: Option<PathBuf>,
}

/// Where a run or a matrix is kept, and what it says.
#[derive(Clone, Copy)]
pub struct Keep<'a> {
    /// The store that was named.
    pub store: Option<&'a Path>,
    /// What it says while it runs.
    pub talk: Talk,
    /// Whether it is only planned.
    pub effect: Effect,
}

impl<'a> Keep<'a> {
    /// As it is typed.
    pub fn new(store: Option<&'a Path>, quiet: bool, dry_run: bool) -> Self {
        let talk = if quiet { Talk::Quiet } else { Talk::Normal };
        let effect = if dry_run { Effect::Plan } else { Effect::Measure };
        Self { store, talk, effect }
    }
}

/// How a run is measured.
pub struct How<'a> {
    /// Where it is kept.
    pub keep: Keep<'a>,
    /// Where its record goes besides.
    pub json: Option<&'a Path>,
    /// Prices of the targets, as they were typed.
    pub prices: &'a [String],
    /// Data sheets of the targets, as they were typed.
    pub sheets: &'a [OsString],
}

/// Measures and keeps what is ordered. `None` where only the plan was asked for: it is printed.
pub fn measure(order: RunOrder, how: &How<'_>) -> Result<Option<Measured>> {
    // A plan that is only printed needs no history, and leaves none.
    if how.keep.effect == Effect::Measure {
        return carry_out(order, None, how, crate::store::open_swept(how.keep.store)?).map(Some);
    }
    let prepared = Prepared::new(order).map_err(in_words)?;
    let mut infos = prepared.infos();
    let Beside { sheets, .. } = Beside::of(&infos, how)?;
    for info in &mut infos {
        host::ask_tools(&mut info.stack, &Roots::default());
    }
    output::print(&prepared.page(run::rated_bytes(&infos, &sheets), &OPTIONS))?;
    Ok(None)
}

/// Goes on with a run of the history.
fn resume(named: &OsStr, consent: Consent, how: &How<'_>) -> Result<Measured> {
    let store = crate::store::open_swept(how.keep.store)?;
    let record = store.resolve(named)?;
    let order = RunOrder::resume(&record, consent).map_err(in_words)?;
    carry_out(order, Some(record), how, store)
}

/// What the user says of the targets. It is read before the first byte, not after the last.
struct Beside {
    /// Index of a target, and its price.
    prices: Vec<(usize, Money)>,
    /// One a target.
    sheets: Vec<Option<Specification>>,
}

impl Beside {
    fn of(targets: &[TargetInfo], how: &How<'_>) -> Result<Self> {
        let named = Named::of_targets(targets);
        let sheets = sheets::of(&named, how.sheets)?.concat();
        let prices = prices::given(&named, how.prices)?;
        let prices = prices.into_iter().map(|(_, target, money)| (target, money)).collect();
        Ok(Self { prices, sheets })
    }
}

/// Runs the plan and keeps what it found, however it ended. `earlier` is the run that goes on.
fn carry_out(
    order: RunOrder,
    earlier: Option<Record>,
    how: &How<'_>,
    mut store: Store,
) -> Result<Measured> {
    let mut prepared = Prepared::new(order).map_err(in_words)?;
    let Beside { prices, sheets } = Beside::of(&prepared.infos(), how)?;
    if let Some(record) = &earlier {
        let same = prepared.check_resumed(record, env!("CARGO_PKG_VERSION"));
        same.map_err(|refusal| in_words(refusal.into()))?;
    }
    output::check_json(how.json)?;
    let allowed = prepared.check_purge().and_then(|()| prepared.check_agreed());
    allowed.map_err(|refusal| in_words(refusal.into()))?;
    let mut record = match earlier {
        Some(record) => record,
        None => prepared.record(&measured_by(), &store)?,
    };
    for (target, money) in prices {
        record.targets[target].price = Some(money);
    }
    run::begin(&mut store, &mut record)?;
    let store = Rc::new(RefCell::new(store));
    let flag = interrupt::flag()?;
    let written = prepared.writes(run::rated_bytes(&record.targets, &sheets));
    let tell =
        |label, text: &str| say(None, how.keep.talk, output::hanging(label, text).trim_end());
    if let Some(written) = &written {
        tell("writes ", &written.before(prepared.plan(), &OPTIONS));
    }
    prepared.purge()?;
    let (plan, style) = (prepared.plan(), output::style());
    let mut progress = Progress::new(plan, &record, how.keep.talk, style, Rc::clone(&store), flag);
    let outcome = prepared.carry_out(&mut record, &mut progress);
    let save_error = progress.finish();
    run::conclude(&mut store.borrow_mut(), &record).context("the record could not be kept")?;
    crate::store::deliver(how.keep.store, &record.id);
    if let Some(written) = &written {
        tell("wrote ", &written.after(prepared.plan(), &record));
    }
    if let Some(error) = save_error {
        output::talk!("drivelab: at first the record could not be kept: {error}");
    }
    Ok(Measured { record, outcome, store: how.keep.store.map(Path::to_owned) })
}

impl Measured {
    /// The run's end as an exit code, or as an error with the way to go on.
    pub fn conclude(self) -> Result<ExitCode> {
        let (record, store) = (self.record, output::store_option(self.store.as_deref()));
        match self.outcome {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(RunError::Interrupted) => {
                output::talk!(
                    "drivelab: interrupted; go on with `drivelab run --resume {}{store}`",
                    record.id
                );
                Ok(ExitCode::from(interrupt::EXIT_CODE))
            }
            Err(error) if record.cells.is_empty() => bail!("{error}"),
            Err(error) => {
                bail!("{error}; then go on with `drivelab run --resume {}{store}`", record.id)
            }
        }
    }
}

/// The table to stdout, the record to its file; with `--json -` the record alone.
fn give_out(
    arguments: &RunArguments,
    record: &Record,
    held: &[specification::Held<'_>],
    style: &report::terminal::Style,
) -> Result<()> {
    let json = || serde_json::to_string_pretty(record).map(|text| text + "\n");
    match arguments.json.as_deref() {
        Some(path) if path == Path::new("-") => return output::print(&json()?),
        Some(path) => output::write_json(path, &json()?)?,
        None => {}
    }
    let store = output::store_option(arguments.store.as_deref());
    let more = format!("drivelab show {}{store} --explain", record.id);
    let notes = Notes::Brief { more: &more };
    output::print(
        &(report::terminal::run(record, style, notes) + &specification::tables(held, style)),
    )
}

/// What a record is measured by.
pub fn measured_by() -> MeasuredBy {
    MeasuredBy {
        tool: Tool { name: "drivelab".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        command_line: complaint::words_typed(),
    }
}
