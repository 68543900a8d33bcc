//! `drivelab run`: words become a plan, the plan becomes a record, the record becomes a table.
//!
//! ```text
//!   arguments | --resume RUN  ->  Order  ->  targets, plan  ->  lab::runner  ->  store, JSON, table
//! ```

mod dry;
mod order;
mod resume;
mod wear;

pub use order::{Ordered, chosen_seed, labels, method_text};

use crate::{
    cli::RunArguments,
    complaint, interrupt,
    known::{Named, fail_on, prices, sheets},
    output,
    progress::{Progress, Talk, say},
};
use anyhow::{Context, Result, bail};
use block::{Rng, display_bytes};
use engine::Clock;
use host::{Consent, Roots};
use lab::{
    method::{CellBound, CellSpec},
    order::{Opening, Order},
    plan::Plan,
    runner::{self, RunError},
    target::{Access, Reset, Target, Time},
};
use record::{Record, State, Store, TargetInfo, TargetKind, Tool};
use report::{specification, terminal::Notes};
use std::{
    cell::RefCell,
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
    rc::Rc,
};
use target::{Permission, TargetText};

/// Measures, and prints what was measured.
pub fn run(arguments: RunArguments) -> Result<ExitCode> {
    let kinds = fail_on::parse(&arguments.decide.fail_on, &[("spec", fail_on::Kind::Spec)])?;
    fail_on::check(&kinds, !arguments.decide.spec.is_empty())?;
    let Some(measured) = measure(&arguments)? else { return Ok(ExitCode::SUCCESS) };
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

/// What a run or a matrix would write, known before it is begun.
pub struct Foreseen {
    /// At most, bytes: fills and all passes.
    pub written_bytes: u64,
    /// Whether there is anything that writing could wear.
    pub wears: bool,
    /// Whether some cells are bound by time alone, so that fewer bytes make them shorter.
    pub is_shared: bool,
    /// What has to be agreed to first, with the way to do so.
    pub question: Option<String>,
    /// What will be measured.
    pub target: Option<TargetInfo>,
}

/// Looks at the target and plans, and does nothing.
///
/// # Errors
/// A target that is not there or may not be written, and a plan for which it has no room.
pub fn foresee(arguments: &RunArguments) -> Result<Foreseen> {
    let Ordered { targets, order } = Ordered::new(arguments)?;
    let targets = open_targets(&targets, &order, &permission(arguments, &order), Clock::start())?;
    let offers: Vec<_> = targets.iter().map(|target| target.offer()).collect();
    let plan = Plan::new(order.method.clone(), &order.options, &offers)?;
    let is_timed = |cell: &CellSpec| {
        let unbound = matches!(cell.bound, CellBound::Time | CellBound::Exhaust);
        cell.writes() && cell.tree.is_none() && unbound
    };
    let asks = must_ask(&plan, &targets) && !arguments.yes;
    Ok(Foreseen {
        written_bytes: plan.written_bytes_max,
        wears: wears(&targets),
        is_shared: plan.cells.iter().any(is_timed),
        question: asks.then(|| question(&plan)),
        target: targets.first().map(|target| target.info().clone()),
    })
}

fn permission(arguments: &RunArguments, order: &Order) -> Permission {
    Permission {
        consent: Consent::typed(&arguments.destroy),
        reads_only: order.options.reads_only || !order.writes(),
    }
}

/// Measures and keeps the run. `None` where only the plan was asked for: it is printed.
pub fn measure(arguments: &RunArguments) -> Result<Option<Measured>> {
    // A plan that is only printed needs no history, and leaves none.
    let mut store = match arguments.dry_run {
        true => None,
        false => Some(output::open_store(arguments.store.as_deref())?),
    };
    if let Some(store) = &mut store {
        clean_up_after_killed_runs(store)?;
    }
    let earlier = match (&arguments.resume, &store) {
        (Some(run), Some(store)) => Some(store.resolve(run)?),
        _ => None,
    };
    let Ordered { targets, order } = match &earlier {
        Some(record) => Ordered::resume(record)?,
        None => Ordered::new(arguments)?,
    };
    let clock = Clock::start();
    let mut targets = open_targets(&targets, &order, &permission(arguments, &order), clock)?;
    // What the user says of the targets is read before the first byte, not after the last.
    let mut infos: Vec<TargetInfo> = targets.iter().map(|target| target.info().clone()).collect();
    let named = Named::of_targets(&infos);
    let sheets = sheets::of(&named, &arguments.decide.spec)?.concat();
    let prices = prices::given(&named, &arguments.price)?;
    let offers: Vec<_> = targets.iter().map(|target| target.offer()).collect();
    let plan = Plan::new(order.method.clone(), &order.options, &offers)?;
    if let Some(record) = &earlier {
        resume::check(record, &infos, &plan, &host::environment(&Roots::default()))?;
    }
    let Some(store) = store else {
        for info in &mut infos {
            host::ask_tools(&mut info.stack, &Roots::default());
        }
        let rated_bytes = wear::rated_bytes(&infos, &sheets);
        output::print(&dry::describe(&plan, &targets, rated_bytes))?;
        return Ok(None);
    };
    output::check_json(arguments.json.as_deref())?;
    if arguments.purge {
        check_purge(&targets)?;
    }
    if must_ask(&plan, &targets) && !arguments.yes && earlier.is_none() {
        bail!("{}", question(&plan));
    }
    let mut record = match earlier {
        Some(record) => record,
        None => {
            let time = targets[0].offer().time;
            let mut record = order.record(&plan, opening(infos, time, &store, clock)?);
            record.method.not_measured = dry::not_measured(&plan, &targets);
            record
        }
    };
    for (_, target, money) in prices {
        record.targets[target].price = Some(money);
    }
    let rated_bytes = wear::rated_bytes(&record.targets, &sheets);
    carry_out(arguments, &plan, &mut targets, rated_bytes, record, store).map(Some)
}

/// Whether the plan writes so much, to something that wears, that the user must agree first.
fn must_ask(plan: &Plan, targets: &[Box<dyn Target>]) -> bool {
    wears(targets) && plan.must_ask()
}

fn question(plan: &Plan) -> String {
    format!(
        "this plan writes up to {}, {:.0} times the tested area of {}: look at it with --dry-run, then add \
         --yes, or limit it with --max-written",
        display_bytes(plan.written_bytes_max),
        plan.written_bytes_max as f64 / plan.span_bytes as f64,
        display_bytes(plan.span_bytes)
    )
}

/// Whether there is anything that writing could wear.
fn wears(targets: &[Box<dyn Target>]) -> bool {
    targets.iter().any(|target| target.offer().wears)
}

/// Only a device can be told to forget everything, and only with permission to write.
fn check_purge(targets: &[Box<dyn Target>]) -> Result<()> {
    for target in targets {
        let (info, offer) = (target.info(), target.offer());
        if info.kind != TargetKind::BlockDevice || offer.access != Access::ReadWrite {
            bail!(
                "--purge discards a whole block device that --destroy names and write cells may overwrite, and \
                 {} is none: leave it out",
                info.text
            );
        }
    }
    Ok(())
}

/// Runs the plan and keeps what it found, however it ended.
fn carry_out(
    arguments: &RunArguments,
    plan: &Plan,
    targets: &mut Vec<Box<dyn Target>>,
    rated_bytes: Option<u64>,
    mut record: Record,
    mut store: Store,
) -> Result<Measured> {
    record.state = State::Running;
    store.save(&record)?;
    // A note without a run would be taken for an orphan by whoever starts meanwhile.
    note_scratch(&mut store, &record)?;
    let store = Rc::new(RefCell::new(store));
    let talk = if arguments.quiet { Talk::Quiet } else { Talk::Normal };
    let style = output::style();
    let flag = interrupt::flag()?;
    let worn = (wears(targets) && plan.written_bytes_max > 0).then(|| wear::filled(plan, targets));
    if worn.is_some() {
        say(None, talk, output::hanging("writes ", &wear::before(plan, rated_bytes)).trim_end());
    }
    if arguments.purge {
        targets.iter_mut().try_for_each(|target| target.reset(Reset::Purge))?;
    }
    let mut progress = Progress::new(plan, &record, talk, style, Rc::clone(&store), flag);
    let outcome = runner::run(plan, targets, &mut record, &mut progress);
    let save_error = progress.finish();
    // Scratch files go now, before anything else can fail.
    targets.clear();
    for info in &mut record.targets {
        host::health::conclude(info, &Roots::default());
    }
    record.flags = runner::flags_of(&record);
    record.finished = Some(host::now());
    forget_scratch(&mut store.borrow_mut(), &record)?;
    store.borrow_mut().save(&record).context("the record could not be kept")?;
    if let Some(filled) = worn {
        let text = wear::after(plan, &record, &filled, rated_bytes);
        say(None, talk, output::hanging("wrote ", &text).trim_end());
    }
    if let Some(error) = save_error {
        output::talk!("drivelab: at first the record could not be kept: {error}");
    }
    Ok(Measured { record, outcome, store: arguments.store.clone() })
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

fn open_targets(
    words: &[OsString],
    order: &Order,
    permission: &Permission,
    clock: Clock,
) -> Result<Vec<Box<dyn Target>>> {
    let mut targets = Vec::new();
    for text in words {
        let text = TargetText::of_word(text)?;
        targets.push(target::open(&text, permission, clock, order.options.seed)?);
    }
    Ok(targets)
}

/// Who measures, by which program, at what time: what is known of a run before its first cell.
pub fn opening(
    mut targets: Vec<TargetInfo>,
    time: Time,
    store: &Store,
    clock: Clock,
) -> Result<Opening> {
    let environment = host::environment_of(&mut targets, &Roots::default());
    let mut rng = Rng::new(host::entropy(), 1);
    Ok(Opening {
        id: store.fresh_id(|| rng.next() as u32)?,
        started: host::now(),
        time,
        targets,
        environment,
        calibration: target::calibrate(clock),
        command_line: complaint::words_typed(),
        tool: tool(),
    })
}

/// What a record is measured by.
pub fn tool() -> Tool {
    Tool { name: "drivelab".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Runs that were killed are marked as interrupted, and what they left behind is removed.
fn clean_up_after_killed_runs(store: &mut Store) -> Result<()> {
    store.close_orphans()?;
    for path in store.orphaned_scratch()? {
        if path.is_dir() {
            let removed = host::Directory::open(&path).and_then(|it| host::remove_orphans(&it));
            for (removed, bytes) in removed.unwrap_or_default() {
                let (path, bytes) = (removed.display(), display_bytes(bytes));
                output::talk!("drivelab: removed {path} ({bytes}), left behind by a killed run");
            }
        } else if path.exists() {
            let path = path.display();
            output::talk!(
                "drivelab: a killed run left {path} behind: remove it if you do not need it"
            );
        }
        store.forget_scratch(&path)?;
    }
    Ok(())
}

/// Where this run may leave something behind if it is killed.
fn scratch_places(record: &Record) -> impl Iterator<Item = PathBuf> {
    let made = [TargetKind::Directory, TargetKind::NewFile];
    let targets = record.targets.iter().filter(move |target| made.contains(&target.kind));
    targets.filter_map(TargetInfo::place)
}

fn note_scratch(store: &mut Store, record: &Record) -> Result<()> {
    scratch_places(record).try_for_each(|path| Ok(store.note_scratch(&record.id, &path)?))
}

fn forget_scratch(store: &mut Store, record: &Record) -> Result<()> {
    scratch_places(record).try_for_each(|path| Ok(store.forget_scratch(&path)?))
}
