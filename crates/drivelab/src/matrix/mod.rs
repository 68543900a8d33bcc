//! `drivelab matrix`: a method under every combination of settings.
//!
//! ```text
//!   arguments -> study::matrix::Axes -> configurations, classes       matrix/arguments
//!   Ground: loop device | block device | model over NBD               matrix/ground
//!   sizes, room, bytes written, before the first of them              matrix/foresee, wear
//!   for each round, in a new order, for each configuration:
//!     attach, wipe, settings, mkfs, mount      through host::Ledger   matrix/ground, stage
//!     fill to the wanted share                                        matrix/age
//!     lab::runner::run_turn for each method -> its record             matrix/configured
//!     all of it put back
//!   on a model: once more with its power cut -> PowerCut              matrix/cut
//!   records -> Outcome -> pivot, effects, best -> page                matrix/page
//! ```

mod age;
pub mod arguments;
mod configured;
mod cut;
mod dry;
mod foresee;
mod ground;
mod order;
mod page;
mod stage;
mod watch;
mod wear;

pub use arguments::MatrixArguments;
pub use foresee::foresee;

use crate::{
    complaint, interrupt, output,
    progress::{Names, Talk},
    report::save::{Format, Outputs},
    restore, run,
};
use anyhow::{Context, Result, anyhow, bail, ensure};
use block::Rng;
use configured::Configured;
use engine::Clock;
use ground::{Attached, Ground};
use host::{Consent, Directory, Ledger, Roots};
use lab::{
    order::Order,
    plan::Plan,
    runner::{self, FlushCost, RunError, Turn},
    target::{Offer, Target, Time},
    workload::OnError,
};
use order::orders;
use record::{Cell, FailedCell, Flag, IoErrors, Record, TargetInfo, Warning};
use report::document::Document;
use stage::Ready;
use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use study::matrix::{Axes, Axis, Configuration, PowerCut};
use target::{Permission, TargetText};
use watch::{Voice, Watch};

/// Of a file system's size, what a tested area may take: the rest is for its own books.
const USABLE_PERCENT: u64 = 85;
/// Bytes of an ext file system for each inode, as mke2fs.conf(5) has it by default; others make
/// inodes as they need them.
const BYTES_PER_INODE: u64 = 16 << 10;
/// A path that is not so many times as fast as a cell has its part in the cell's rate.
const FLOOR_FACTOR: f64 = 5.0;
/// Memory behind the path whose own floor is measured.
const FLOOR_BYTES: u64 = 4 << 30;

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
    interrupted: bool,
    /// What ended it early.
    failure: Option<String>,
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
    ground(arguments)?.check(&axes.configurations())
}

/// Refuses a place that is not there, or is no place for a matrix.
pub fn check_place(arguments: &MatrixArguments) -> Result<()> {
    ground(arguments).map(drop)
}

fn ground(arguments: &MatrixArguments) -> Result<Ground> {
    Ground::choose(
        arguments.target.as_deref(),
        arguments.loop_directory.as_deref(),
        arguments.loop_size,
        &Consent::typed(&arguments.destroy),
    )
}

/// Measures the matrix. `None` where only the plan was asked for: it is printed.
pub fn measure(arguments: &MatrixArguments) -> Result<Option<Measured>> {
    let axes = arguments.axes()?;
    let pivots = page::pivots(&arguments.pivot, &axes)?;
    let seed = arguments.seed.unwrap_or_else(run::chosen_seed);
    let orders = orders(arguments, seed)?;
    let ground = ground(arguments)?;
    let configurations = axes.configurations();
    let place = place()?;
    if arguments.dry_run {
        output::print(&dry::describe(&ground, &axes, &orders, arguments, &place))?;
        return Ok(None);
    }
    // mount(8) goes there by path.
    host::directory::check_way(place.parent().expect("it lies in TMPDIR"))
        .map_err(|error| anyhow!("{error}: set TMPDIR to a directory of root's, such as /run"))?;
    ground.check(&configurations)?;
    foresee::plans(&ground, &configurations, &orders)?;
    if cuts_power(&ground, arguments) {
        for program in configurations.iter().filter_map(|one| cut::checker(one, Path::new(""))) {
            let required = program.require();
            required.map_err(|error| anyhow!("{error}; or leave the check out: --no-power-cut"))?;
        }
    }
    output::check_json(arguments.json.as_deref())?;
    pages(arguments, &Document::default())?;
    let talk = if arguments.quiet { Talk::Quiet } else { Talk::Normal };
    let mut bench = Bench::new(arguments, &ground, &configurations, &orders, seed, place, talk)?;
    let outcome = match bench.rounds(arguments.passes, seed) {
        // A signal goes to the programs that it runs, too: then it is one of them that has failed.
        Err(_) if bench.stop.load(Ordering::Relaxed) => Err(RunError::Interrupted.into()),
        Err(error) => Err(match ground.gone() {
            Some(gone) if !error.to_string().contains(&gone) => anyhow!("{gone}"),
            _ => error,
        }),
        Ok(()) => Ok(()),
    };
    bench.voice.finish();
    let left_changed = bench.close(&outcome)?;
    let records = bench.records;
    let interrupted = outcome.as_ref().is_err_and(is_interrupt);
    let failure = outcome.err().filter(|_| !interrupted).map(|error| error.to_string());
    if let Some(error) = failure.as_ref().filter(|_| records.iter().all(|it| it.cells.is_empty())) {
        bail!("{error}{}", left_changed.map_or(String::new(), |text| format!("; {text}")));
    }
    let page = page::Matrix {
        ground: ground.describe(),
        axes: &axes,
        configurations: &configurations,
        records: &records,
        floors: &bench.floors,
        drive: ground.drive(),
        machines: configurations.iter().map(|one| ground.machine(one)).collect(),
        cuts: &bench.cuts,
        caches: drive_said(&ground, &axes, &bench.caches),
        pivots: &pivots,
        seed,
    };
    let (document, page) = (page.document(), page.text(&output::style()));
    let ground = ground.describe();
    Ok(Some(Measured { records, ground, page, document, interrupted, failure, left_changed }))
}

/// What the drive said of its write cache, each sentence once, and what it says now that all is put
/// back.
fn drive_said(ground: &Ground, axes: &Axes, caches: &[Vec<String>]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for sentence in caches.iter().flatten() {
        if !said.contains(sentence) {
            said.push(sentence.clone());
        }
    }
    let is_switched = axes.iter().any(|(axis, _)| axis == Axis::WriteCache);
    said.extend(ground.cache_now().filter(|_| is_switched).map(|now| format!("afterwards {now}")));
    said
}

impl Measured {
    /// Its end as an exit code, or as an error where the machine is not as it was.
    pub fn conclude(self) -> Result<ExitCode> {
        if let Some(text) = self.left_changed {
            bail!("{}{text}", self.failure.map_or(String::new(), |failure| format!("{failure}; ")));
        }
        if let Some(failure) = self.failure {
            bail!("{failure}; what was measured stands above");
        }
        if let Some(sentence) = self.records.iter().find_map(Record::failed_sentence) {
            bail!("{sentence}; what was measured stands above");
        }
        if self.interrupted {
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

/// Whether the classes are checked: only a model's power can be cut.
fn cuts_power(ground: &Ground, arguments: &MatrixArguments) -> bool {
    matches!(ground, Ground::Model { .. }) && !arguments.no_power_cut
}

/// How fast the path itself is, where there is one: operations a second of one cell with nothing
/// behind it.
pub struct Floor {
    /// Under which file system.
    pub fs: String,
    /// Which cell.
    pub cell: String,
    /// Operations a second.
    pub iops: f64,
}

impl Floor {
    /// Whether the path under the cell is not five times as fast as the cell, or was slower.
    fn is_near(&self, configuration: &Configuration, cell: &Cell) -> bool {
        let is_of = self.fs == configuration.fs() && self.cell == cell.name;
        is_of && cell.iops * FLOOR_FACTOR > self.iops
    }

    /// Whether the path by itself was slower than the cell, which lies at its end.
    pub fn is_above(&self, configuration: &Configuration, cell: &Cell) -> bool {
        self.is_near(configuration, cell) && cell.iops > self.iops
    }
}

/// What a power cut left of a configuration.
#[derive(Clone)]
pub enum Cut {
    /// It was done.
    Done(PowerCut),
    /// It was not, and why.
    Failed(String),
}

/// All that a running matrix holds.
struct Bench<'a> {
    arguments: &'a MatrixArguments,
    ground: &'a Ground,
    configurations: &'a [Configuration],
    ledger: Ledger,
    place: PathBuf,
    plans: Vec<Plan>,
    records: Vec<Record>,
    floors: Vec<Floor>,
    /// One a configuration, where its power was cut.
    cuts: Vec<Option<Cut>>,
    /// What the drive said of its write cache, one list a configuration, each sentence once.
    caches: Vec<Vec<String>>,
    /// What a flush costs, by the settings that decide whether it arrives: it is asked in the
    /// first turn of each.
    flush_costs: BTreeMap<String, Option<FlushCost>>,
    clock: Clock,
    voice: Voice,
    watch: Watch,
    stop: Arc<AtomicBool>,
    seed: u64,
}

impl<'a> Bench<'a> {
    fn new(
        arguments: &'a MatrixArguments,
        ground: &'a Ground,
        configurations: &'a [Configuration],
        orders: &[Order],
        seed: u64,
        place: PathBuf,
        talk: Talk,
    ) -> Result<Self> {
        let store = output::open_store(arguments.store.as_deref())?;
        let stop = interrupt::flag()?;
        let clock = Clock::start();
        let cells: usize = orders.iter().map(|order| order.method.cells.len()).sum();
        let all = (cells * configurations.len()) as u64 * u64::from(arguments.passes);
        let voice = Voice::new(all, talk);
        let log = voice.clone();
        if let Some(sentence) = restore::left_behind() {
            output::talk!("drivelab: {sentence}");
        }
        let command = complaint::words_typed();
        let mut ledger = Ledger::create(
            &Ledger::directory(),
            &command.join(" "),
            &Roots::default(),
            move |step| log.say(&format!("  {step}")),
        )?;
        let (parent, name) = place.parent().zip(place.file_name()).expect("it lies in TMPDIR");
        ledger.new_directory(&Directory::open_canonical(parent)?, name)?;
        let (offer, info) = look(ground, &mut ledger, &place, &configurations[0], clock)?;
        let device_bytes = offer.capacity_bytes;
        let usable = device_bytes / 100 * usable_percent(configurations);
        let remount = can_remount(configurations);
        let offer = Offer { capacity_bytes: usable, remount, ..offer };
        let offers: Vec<Offer> =
            configurations.iter().map(|one| offer_under(one, &offer)).collect();
        let plans: Vec<Plan> = orders
            .iter()
            .map(|order| Plan::new(order.method.clone(), &order.options, &offers))
            .collect::<Result<_, _>>()?;
        wear::check(arguments, ground, configurations, &plans, device_bytes)?;
        let infos: Vec<TargetInfo> = configurations
            .iter()
            .map(|one| TargetInfo { text: one.to_string(), ..info.clone() })
            .collect();
        let mut records = Vec::new();
        for (order, plan) in orders.iter().zip(&plans) {
            let opening = run::opening(infos.clone(), Time::Wall, &store, clock)?;
            records.push(order.record(plan, opening));
        }
        let watch = Watch {
            voice: voice.clone(),
            style: output::style(),
            store: Rc::new(RefCell::new(store)),
            interrupted: Arc::clone(&stop),
            label: String::new(),
            names: Names::of(&plans, &output::style()),
            doing: String::new(),
            save_error: None,
        };
        Ok(Self {
            arguments,
            ground,
            configurations,
            ledger,
            place,
            plans,
            records,
            floors: Vec::new(),
            cuts: configurations.iter().map(|_| None).collect(),
            caches: vec![Vec::new(); configurations.len()],
            flush_costs: BTreeMap::new(),
            clock,
            voice,
            watch,
            stop,
            seed,
        })
    }

    /// Every configuration once a round, each round in a new order.
    fn rounds(&mut self, passes: u32, seed: u64) -> Result<()> {
        self.floors()?;
        let mut rng = Rng::new(seed, 0x3a7);
        for pass in 0..passes {
            let mut order: Vec<usize> = (0..self.configurations.len()).collect();
            for last in (1..order.len()).rev() {
                order.swap(last, (rng.next() % (last as u64 + 1)) as usize);
            }
            for index in order {
                self.turn(index, pass)?;
            }
        }
        self.cut_power()
    }

    /// Holds the class of every configuration against what a power cut leaves; how full it is makes
    /// no difference.
    fn cut_power(&mut self) -> Result<()> {
        if !cuts_power(self.ground, self.arguments) {
            return Ok(());
        }
        let but_fill = |one: &Configuration| -> Vec<String> {
            let levels = one.levels().filter(|(axis, _)| *axis != Axis::Fill);
            levels.map(|(_, level)| level.to_owned()).collect()
        };
        for (index, configuration) in self.configurations.iter().enumerate() {
            let same = |other: &Configuration| but_fill(other) == but_fill(configuration);
            if let Some(known) = self.configurations[..index].iter().position(same) {
                self.cuts[index] = self.cuts[known].clone();
                continue;
            }
            self.voice.say(&format!("power cut: {configuration}"));
            self.voice.show(format!("power cut: {configuration}"));
            let seed = self.seed.wrapping_add(index as u64);
            let (ledger, place) = (&mut self.ledger, &self.place);
            let found = cut::check(ledger, self.ground, place, configuration, seed, &self.stop);
            let cut = match found {
                Err(_) if self.stop.load(Ordering::Relaxed) => {
                    return Err(RunError::Interrupted.into());
                }
                Err(error) => Cut::Failed(error.to_string()),
                Ok(cut) => Cut::Done(cut),
            };
            self.cuts[index] = Some(cut);
        }
        Ok(())
    }

    fn turn(&mut self, index: usize, pass: u32) -> Result<()> {
        let configuration = &self.configurations[index];
        self.watch.label = configuration.to_string();
        self.voice.say(&format!("round {}: {configuration}", pass + 1));
        let mark = self.ledger.mark();
        let attached = self.ground.attach(&mut self.ledger, &self.place, configuration)?;
        let measured = self.measure(configuration, &attached, Turn { target: index, pass });
        let detached = attached.detach(&mut self.ledger, mark);
        let cleared = detached.and_then(|()| self.ground.clear(&mut self.ledger));
        let measured = measured.or_else(|error| self.without(index, pass, error));
        let said = |error| match self.ground.gone() {
            Some(gone) if !is_interrupt(&error) => anyhow!("{configuration}: {gone}"),
            _ => named(configuration, error),
        };
        measured.map_err(said).and(cleared)
    }

    /// Goes on without a turn that the drive's errors ended, such as making its file system, if
    /// that is wished for and the drive is there.
    fn without(&mut self, target: usize, pass: u32, error: anyhow::Error) -> Result<()> {
        let is_runs = error.downcast_ref::<RunError>().is_some();
        let goes_on = self.plans.iter().all(|plan| plan.on_error != OnError::Stop);
        if self.ground.gone().is_some() || is_runs || !goes_on || self.stop.load(Ordering::Relaxed)
        {
            return Err(error);
        }
        self.voice.say(&format!("{} failed: {error}", self.configurations[target]));
        for (plan, record) in self.plans.iter().zip(&mut self.records) {
            let is_measured = |name: &str| {
                let of = |cell: &&Cell| cell.target == target && cell.group == name;
                record
                    .cells
                    .iter()
                    .filter(of)
                    .flat_map(|cell| &cell.passes)
                    .any(|it| it.pass == pass)
            };
            let missing = plan.cells.iter().filter(|cell| !is_measured(&cell.name));
            let failed = missing.map(|cell| FailedCell {
                target,
                name: cell.name.clone(),
                pass,
                reason: error.to_string(),
                errors: IoErrors::default(),
            });
            record.failed.extend(failed.collect::<Vec<_>>());
        }
        Ok(())
    }

    fn measure(
        &mut self,
        configuration: &Configuration,
        attached: &Attached,
        turn: Turn,
    ) -> Result<()> {
        let Ready { path, cache } = self.set(configuration, attached)?;
        let cache_is_off = cache.is_some() && configuration.level(Axis::WriteCache) == Some("off");
        self.note_cache(turn.target, cache);
        let permission = attached.permission();
        for at in 0..self.plans.len() {
            let opened = self.open(configuration, attached, &path, &permission)?;
            let mut target = Configured::new(opened, &configuration.to_string(), cache_is_off);
            let (plan, record) = (&self.plans[at], &mut self.records[at]);
            let known = self.flush_costs.entry(flushed_by(configuration)).or_default();
            runner::run_turn(plan, turn, &mut target, record, &mut self.watch, known)?;
        }
        self.note_cache(turn.target, self.ground.cache_that_moved(configuration)?);
        Ok(())
    }

    fn note_cache(&mut self, configuration: usize, said: Option<String>) {
        let said = said.filter(|said| !self.caches[configuration].contains(said));
        self.caches[configuration].extend(said);
    }

    /// The device, or the directory on its file system, which may be mounted anew.
    fn open(
        &self,
        configuration: &Configuration,
        attached: &Attached,
        path: &Path,
        permission: &Permission,
    ) -> Result<Box<dyn Target>> {
        let voice = self.voice.clone();
        let say = move |step: &str| voice.say(&format!("  {step}"));
        let (clock, seed) = (self.clock, self.seed);
        Ok(match stage::remount(configuration, attached, path, say) {
            Some(remount) => target::open_remountable(path, permission, clock, seed, remount)?,
            None => target::open(&TargetText::Path(path.to_owned()), permission, clock, seed)?,
        })
    }

    fn set(&mut self, configuration: &Configuration, attached: &Attached) -> Result<Ready> {
        let at = self.place.join("mount");
        let switches = matches!(self.ground, Ground::Device { .. });
        let ready = stage::set(&mut self.ledger, configuration, attached, &at, switches)?;
        let filling = age::Filling {
            percent: fill_percent(configuration),
            area_bytes: self.plans.iter().map(|plan| plan.span_bytes).max().unwrap_or(0),
            seed: self.seed,
        };
        let filled = match configuration.is_raw() {
            true => age::device(attached, filling, &self.stop),
            false => age::file_system(&at, filling, &self.stop),
        };
        filled.map(|()| ready)
    }

    /// The path's own cost, under each file system, with memory behind it that answers at once.
    fn floors(&mut self) -> Result<()> {
        let mut seen: Vec<&str> = Vec::new();
        for configuration in self.configurations {
            if seen.contains(&configuration.fs()) {
                continue;
            }
            seen.push(configuration.fs());
            let mark = self.ledger.mark();
            let Some(attached) = self.ground.floor(&mut self.ledger, &self.place, FLOOR_BYTES)?
            else {
                return Ok(());
            };
            self.voice.say(&format!("the path's own floor, {}", configuration.fs()));
            let measured = self.measure_floor(configuration, &attached);
            let detached = attached.detach(&mut self.ledger, mark);
            measured.and(detached)?;
        }
        Ok(())
    }

    fn measure_floor(&mut self, configuration: &Configuration, attached: &Attached) -> Result<()> {
        let mut plain = Axes::default();
        plain.add(Axis::Fs, configuration.fs())?;
        let plain = plain.configurations().remove(0);
        self.watch.label = format!("floor, {plain}");
        let path = self.set(&plain, attached)?.path;
        let permission = attached.permission();
        for at in 0..self.plans.len() {
            let opened = self.open(&plain, attached, &path, &permission)?;
            let mut target = Configured::new(opened, "floor", false);
            let mut record = Record { cells: Vec::new(), ..self.records[at].clone() };
            let turn = Turn { target: 0, pass: 0 };
            // It is no run of its own: nobody keeps it.
            let mut apart = Apart(&mut self.watch);
            let plan = &self.plans[at];
            runner::run_turn(plan, turn, &mut target, &mut record, &mut apart, &mut None)?;
            for cell in record.cells {
                let fs = configuration.fs().to_owned();
                self.floors.push(Floor { fs, cell: cell.name, iops: cell.iops });
            }
        }
        Ok(())
    }

    /// Puts everything back and closes the records; a sentence where something is left changed.
    fn close(&mut self, outcome: &Result<()>) -> Result<Option<String>> {
        let failures = self.ledger.put_back_to(host::ledger::Mark::START);
        let ended = match outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(match error.downcast_ref::<RunError>() {
                Some(RunError::Interrupted) => RunError::Interrupted,
                _ => RunError::Failed(error.to_string()),
            }),
        };
        for (plan, record) in self.plans.iter().zip(&mut self.records) {
            for cell in &mut record.cells {
                let configuration = &self.configurations[cell.target];
                for (axis, level) in configuration.levels() {
                    cell.coordinates.insert(axis.name().to_owned(), level.into());
                }
                if let Some(floor) = self.floors.iter().find(|one| one.is_near(configuration, cell))
                {
                    cell.flag(
                        Flag::PathFloor,
                        &format!("the path by itself: {:.0} IOPS", floor.iops),
                    );
                }
            }
            for (target, cut) in record.targets.iter_mut().zip(&self.cuts) {
                let Some(cut) = cut else { continue };
                let text = match cut {
                    Cut::Done(cut) => format!("after a power cut: {cut}"),
                    Cut::Failed(why) => format!("the power could not be cut: {why}"),
                };
                target.warnings.push(Warning { flag: None, text });
            }
            for (target, said) in record.targets.iter_mut().zip(&self.caches) {
                let warnings = said.iter().map(|text| Warning { flag: None, text: text.clone() });
                target.warnings.extend(warnings);
            }
            for info in &mut record.targets {
                host::health::conclude(info, &Roots::default());
            }
            runner::conclude(plan, record, &ended);
            record.flags = runner::flags_of(record);
            record.finished = Some(host::now());
            if !record.cells.is_empty() {
                self.watch
                    .store
                    .borrow_mut()
                    .save(record)
                    .context("the record could not be kept")?;
            }
        }
        Ok(failures.first().map(|failure| format!("{failure}; then `drivelab restore`")))
    }
}

fn is_interrupt(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(RunError::Interrupted))
}

/// Says under which configuration something failed; that the user stopped it needs no place.
fn named(configuration: &Configuration, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<RunError>() {
        Some(RunError::Interrupted) => error,
        _ => anyhow::anyhow!("{configuration}: {error}"),
    }
}

/// An observer that keeps nothing.
struct Apart<'a>(&'a mut Watch);

impl runner::Observer for Apart<'_> {
    fn event(&mut self, event: runner::Event<'_>) {
        if !matches!(event, runner::Event::End { .. }) {
            self.0.event(event);
        }
    }

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }

    fn save(&mut self, _: &Record) {}
}

/// Whether every configuration has a file system that can be mounted anew.
fn can_remount(configurations: &[Configuration]) -> Result<(), String> {
    match configurations.iter().any(Configuration::is_raw) {
        false => Ok(()),
        true => Err("raw has no file system that could be mounted anew: leave it out of --fs, or use --set \
                     drop_cache=file"
            .to_owned()),
    }
}

/// What the device offers, before any file system is on it.
fn look(
    ground: &Ground,
    ledger: &mut Ledger,
    place: &Path,
    configuration: &Configuration,
    clock: Clock,
) -> Result<(Offer, TargetInfo)> {
    let mark = ledger.mark();
    let attached = ground.attach(ledger, place, configuration)?;
    let permission = attached.permission();
    let text = TargetText::Path(attached.device.clone());
    let seen = target::open(&text, &permission, clock, 0)
        .map(|target| (target.offer(), target.info().clone()));
    attached.detach(ledger, mark)?;
    Ok(seen?)
}

/// What a configuration offers on a device with this offer: a file system has files.
fn offer_under(configuration: &Configuration, device: &Offer) -> Offer {
    let files_max = match configuration.is_raw() {
        true => device.files_max.clone(),
        false => Ok(device.capacity_bytes / BYTES_PER_INODE),
    };
    Offer { files_max, ..device.clone() }
}

/// What of the device the tested area may take. Where there are old files, they are at least half
/// of what there is.
fn usable_percent(configurations: &[Configuration]) -> u64 {
    let filled = configurations.iter().map(fill_percent).filter(|percent| *percent > 0).min();
    filled.map_or(USABLE_PERCENT, |least| USABLE_PERCENT.min(u64::from(least) / 2))
}

/// What decides whether a flush arrives at the drive: where it sets out, and what passes it on.
fn flushed_by(configuration: &Configuration) -> String {
    let axes = [Axis::Fs, Axis::Mount, Axis::KernelFlush, Axis::WriteCache];
    axes.map(|axis| configuration.level(axis).unwrap_or_default()).join("|")
}

fn fill_percent(configuration: &Configuration) -> u32 {
    configuration.level(Axis::Fill).and_then(|level| level.parse().ok()).unwrap_or(0)
}
