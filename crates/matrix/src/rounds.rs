//! A matrix is measured: every configuration once a round, each round in a new order.

use crate::{
    age,
    attached::Attached,
    audience::{Audience, Told},
    axes::{Axes, Configuration, fill_percent},
    axis::Axis,
    configured::Configured,
    cut::{self, Cutting},
    device::TestDevice,
    durability::{Durability, Machine},
    error::MatrixError,
    foresee::{offer_under, usable_percent},
    order::{Caller, MatrixOrder, PowerCuts},
    power_cut::PowerCut,
    stage::{self, Ready},
    wear,
};
use block::Rng;
use engine::Clock;
use host::{Directory, Ledger, Roots, ledger::Mark};
use lab::{
    order::Order as MethodOrder,
    plan::Plan,
    runner::{self, FlushCost, Observer, RunError, Turn},
    target::{Offer, Target, Time},
    workload::OnError,
};
use record::{Cell, FailedCell, Flag, IoErrors, Record, Store, TargetInfo, Warning};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::Path,
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering},
};
use target::{Pace, Permission, TargetText};

/// A path that is not so many times as fast as a cell has its part in the cell's rate.
const FLOOR_FACTOR: f64 = 5.0;
/// Memory behind the path whose own floor is measured.
const FLOOR_BYTES: u64 = 4 << 30;

/// A matrix that has ended.
pub struct Measured {
    /// One a method; a cell's target is its configuration, whose levels are among the cell's
    /// coordinates. They are in the store.
    pub records: Vec<Record>,
    /// The path's own speed, where there is such a path.
    pub floors: Vec<Floor>,
    /// What a power cut left, one a configuration.
    pub cuts: Vec<Option<Cut>>,
    /// What the drive said of its write cache.
    pub caches: Vec<String>,
    /// What ended it.
    pub end: End,
    /// What could not be put back.
    pub left_changed: Option<String>,
}

impl Measured {
    /// What went wrong, in a sentence that ends with what is left changed on the machine, or with
    /// where to find what was measured.
    pub fn failure(&self) -> Option<String> {
        let ended = match &self.end {
            End::Failed(failure) => Some(failure.clone()),
            End::Planned | End::Interrupted => None,
        };
        match (ended, &self.left_changed) {
            (Some(failure), Some(left)) => Some(format!("{failure}; {left}")),
            (None, Some(left)) => Some(left.clone()),
            (ended, None) => {
                let failed = || self.records.iter().find_map(Record::failed_sentence);
                let failure = ended.or_else(failed)?;
                Some(format!("{failure}; what was measured stands above"))
            }
        }
    }
}

/// What ended a matrix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// Its plan.
    Planned,
    /// The user.
    Interrupted,
    /// A failure, in a sentence.
    Failed(String),
}

/// Measures a matrix that [`check`](crate::check) let pass. Raising `stop` ends it.
///
/// # Errors
/// What went wrong before the first cell was measured. Later failures are its [`End`].
pub fn measure(
    order: &MatrixOrder,
    caller: &Caller,
    device: &TestDevice,
    store: &Rc<RefCell<Store>>,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<Measured, MatrixError> {
    let configurations = order.axes.configurations();
    let mut running = Running::new(order, caller, device, &configurations, store, audience, stop)?;
    let outcome = match running.rounds() {
        // A signal goes to the programs that it runs, too: then it is one of them that has failed.
        Err(_) if stop.load(Ordering::Relaxed) => Err(RunError::Interrupted.into()),
        Err(error) => Err(match device.gone() {
            Some(gone) if !error.is_gone() => MatrixError::Gone(gone),
            _ => error,
        }),
        Ok(()) => Ok(()),
    };
    let left_changed = running.close(&outcome)?;
    let Running { records, floors, cuts, caches, .. } = running;
    let end = match outcome {
        Ok(()) => End::Planned,
        Err(error) if error.is_interrupt() => End::Interrupted,
        Err(error) if records.iter().all(|it| it.cells.is_empty()) => {
            return Err(match left_changed {
                Some(left) => MatrixError::Process(format!("{error}; {left}")),
                None => error,
            });
        }
        Err(error) => End::Failed(error.to_string()),
    };
    let caches = drive_said(device, &order.axes, &caches);
    Ok(Measured { records, floors, cuts, caches, end, left_changed })
}

/// What the drive said of its write cache, each sentence once, and what it says now that all is put
/// back.
fn drive_said(device: &TestDevice, axes: &Axes, caches: &[Vec<String>]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for sentence in caches.iter().flatten() {
        if !said.contains(sentence) {
            said.push(sentence.clone());
        }
    }
    let is_switched = axes.iter().any(|(axis, _)| axis == Axis::WriteCache);
    said.extend(device.cache_now().filter(|_| is_switched).map(|now| format!("afterwards {now}")));
    said
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

impl Cut {
    /// The class that a configuration is given in the end: what a cut disproved is not said of it.
    pub fn class(
        cut: Option<&Self>,
        configuration: &Configuration,
        machine: Machine,
    ) -> Durability {
        let (predicted, _) = Durability::of(configuration, machine);
        match cut {
            Some(Self::Done(cut)) => predicted.max(cut.class()),
            Some(Self::Failed(_)) | None => predicted,
        }
    }
}

/// All that a running matrix holds.
struct Running<'a> {
    order: &'a MatrixOrder,
    caller: &'a Caller,
    device: &'a TestDevice,
    configurations: &'a [Configuration],
    ledger: Ledger,
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
    store: Rc<RefCell<Store>>,
    audience: &'a mut dyn Audience,
    stop: &'a AtomicBool,
}

impl<'a> Running<'a> {
    fn new(
        order: &'a MatrixOrder,
        caller: &'a Caller,
        device: &'a TestDevice,
        configurations: &'a [Configuration],
        store: &Rc<RefCell<Store>>,
        audience: &'a mut dyn Audience,
        stop: &'a AtomicBool,
    ) -> Result<Self, MatrixError> {
        let clock = Clock::start();
        let log = audience.log();
        let mut ledger = Ledger::create(
            &Ledger::directory(),
            &caller.by.command_line.join(" "),
            &Roots::default(),
            move |step| log(step),
        )?;
        let (parent, name) = caller.place.parent().zip(caller.place.file_name()).expect("a path");
        ledger.new_directory(&Directory::open_canonical(parent)?, name)?;
        let (offer, info) = look(caller, device, &mut ledger, &configurations[0], clock)?;
        let device_bytes = offer.capacity_bytes;
        let usable = device_bytes / 100 * usable_percent(configurations);
        let remount = can_remount(configurations);
        let offer = Offer { capacity_bytes: usable, remount, ..offer };
        let offers: Vec<Offer> =
            configurations.iter().map(|one| offer_under(one, &offer)).collect();
        let plan = |one: &MethodOrder| Plan::new(one.method.clone(), &one.options, &offers);
        let plans: Vec<Plan> = order.methods.iter().map(plan).collect::<Result<_, _>>()?;
        wear::check(order, device, configurations, &plans, device_bytes)?;
        let named = |one: &Configuration| TargetInfo { text: one.to_string(), ..info.clone() };
        let infos: Vec<TargetInfo> = configurations.iter().map(named).collect();
        let mut records = Vec::new();
        for (method, plan) in order.methods.iter().zip(&plans) {
            let store = store.borrow();
            let opening = run::opening(infos.clone(), Time::Wall, &caller.by, &store, clock)?;
            records.push(method.record(plan, opening));
        }
        audience.planned(&plans);
        Ok(Self {
            order,
            caller,
            device,
            configurations,
            ledger,
            plans,
            records,
            floors: Vec::new(),
            cuts: configurations.iter().map(|_| None).collect(),
            caches: vec![Vec::new(); configurations.len()],
            flush_costs: BTreeMap::new(),
            clock,
            store: Rc::clone(store),
            audience,
            stop,
        })
    }

    /// Every configuration once a round, each round in a new order.
    fn rounds(&mut self) -> Result<(), MatrixError> {
        self.floors()?;
        let mut rng = Rng::new(self.order.seed, 0x3a7);
        for pass in 0..self.order.rounds {
            let mut order: Vec<usize> = (0..self.configurations.len()).collect();
            rng.shuffle(&mut order);
            for index in order {
                self.turn(index, pass)?;
            }
        }
        self.cut_power()
    }

    /// Holds the class of every configuration against what a power cut leaves; how full it is makes
    /// no difference.
    fn cut_power(&mut self) -> Result<(), MatrixError> {
        let is_model = matches!(self.device, TestDevice::Model { .. });
        if !is_model || self.order.cuts == PowerCuts::None {
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
            self.audience.tell(Told::PowerCut(configuration));
            let cutting = Cutting {
                device: self.device,
                serving: &self.caller.serving,
                base: &self.caller.place,
                seed: self.order.seed.wrapping_add(index as u64),
                stop: self.stop,
            };
            let found = cut::check(&mut self.ledger, &cutting, configuration);
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

    fn turn(&mut self, index: usize, pass: u32) -> Result<(), MatrixError> {
        let configuration = &self.configurations[index];
        self.audience.tell(Told::Turn { round: pass + 1, configuration });
        let mark = self.ledger.mark();
        let attached = self.device.attach(
            &mut self.ledger,
            &self.caller.place,
            configuration,
            &self.caller.serving,
        )?;
        let measured = self.measure(configuration, &attached, Turn { target: index, pass });
        let detached = attached.detach(&mut self.ledger, mark);
        let cleared = detached.and_then(|()| self.device.clear(&mut self.ledger));
        let measured = measured.or_else(|error| self.without(index, pass, error));
        let under = |error| {
            let (place, error) = (configuration.to_string(), Box::new(error));
            MatrixError::Under { place, error }
        };
        let said = |error: MatrixError| match self.device.gone() {
            _ if error.is_interrupt() => error,
            Some(gone) => under(MatrixError::Gone(gone)),
            None => under(error),
        };
        measured.map_err(said).and(cleared)
    }

    /// Goes on without a turn that the drive's errors ended, such as making its file system, if
    /// that is wished for and the drive is there.
    fn without(&mut self, target: usize, pass: u32, error: MatrixError) -> Result<(), MatrixError> {
        let is_runs = matches!(error, MatrixError::Run(_));
        let goes_on = self.plans.iter().all(|plan| plan.on_error != OnError::Stop);
        if self.device.gone().is_some() || is_runs || !goes_on || self.stop.load(Ordering::Relaxed)
        {
            return Err(error);
        }
        let configuration = &self.configurations[target];
        self.audience.tell(Told::Failed { configuration, error: &error.to_string() });
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
    ) -> Result<(), MatrixError> {
        let Ready { path, cache } = self.set(configuration, attached)?;
        let cache_is_off = cache.is_some() && configuration.level(Axis::WriteCache) == Some("off");
        self.note_cache(turn.target, cache);
        let permission = attached.permission();
        for at in 0..self.plans.len() {
            let opened = self.open(configuration, attached, &path, &permission)?;
            let mut target = Configured::new(opened, &configuration.to_string(), cache_is_off);
            let (plan, record) = (&self.plans[at], &mut self.records[at]);
            let known = self.flush_costs.entry(flushed_by(configuration)).or_default();
            let observer: &mut dyn Observer = self.audience;
            runner::run_turn(plan, turn, &mut target, record, observer, known)?;
        }
        self.note_cache(turn.target, self.device.cache_that_moved(configuration)?);
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
    ) -> Result<Box<dyn Target>, MatrixError> {
        let log = self.audience.log();
        let say = move |step: &str| log(step);
        let (pace, seed) = (Pace::of(self.clock, self.order.slower()), self.order.seed);
        Ok(match stage::remount(configuration, attached, path, say) {
            Some(remount) => target::open_remountable(path, permission, pace, seed, remount)?,
            None => target::open(&TargetText::Path(path.to_owned()), permission, pace, seed)?,
        })
    }

    fn set(
        &mut self,
        configuration: &Configuration,
        attached: &Attached,
    ) -> Result<Ready, MatrixError> {
        let at = self.caller.place.join("mount");
        let switches = matches!(self.device, TestDevice::Device { .. });
        let ready = stage::set(&mut self.ledger, configuration, attached, &at, switches)?;
        let filling = age::Filling {
            percent: fill_percent(configuration),
            area_bytes: self.plans.iter().map(|plan| plan.span_bytes).max().unwrap_or(0),
            seed: self.order.seed,
        };
        let filled = match configuration.is_raw() {
            true => age::device(attached, filling, self.stop),
            false => age::file_system(&at, filling, self.stop),
        };
        filled.map(|()| ready)
    }

    /// The path's own cost, under each file system, with memory behind it that answers at once.
    fn floors(&mut self) -> Result<(), MatrixError> {
        let mut seen: Vec<&str> = Vec::new();
        for configuration in self.configurations {
            if seen.contains(&configuration.fs()) {
                continue;
            }
            seen.push(configuration.fs());
            let mark = self.ledger.mark();
            let (base, serving) = (&self.caller.place, &self.caller.serving);
            let floor = self.device.floor(&mut self.ledger, base, FLOOR_BYTES, serving)?;
            let Some(attached) = floor else { return Ok(()) };
            self.audience.tell(Told::Floor(configuration));
            let measured = self.measure_floor(configuration, &attached);
            let detached = attached.detach(&mut self.ledger, mark);
            measured.and(detached)?;
        }
        Ok(())
    }

    fn measure_floor(
        &mut self,
        configuration: &Configuration,
        attached: &Attached,
    ) -> Result<(), MatrixError> {
        let mut plain = Axes::default();
        plain.add(Axis::Fs, configuration.fs()).expect("a file system of the matrix's");
        let plain = plain.configurations().remove(0);
        let path = self.set(&plain, attached)?.path;
        let permission = attached.permission();
        for at in 0..self.plans.len() {
            let opened = self.open(&plain, attached, &path, &permission)?;
            let mut target = Configured::new(opened, "floor", false);
            let mut record = Record { cells: Vec::new(), ..self.records[at].clone() };
            let turn = Turn { target: 0, pass: 0 };
            // It is no run of its own: nobody keeps it.
            let mut apart = Apart(self.audience);
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
    fn close(&mut self, outcome: &Result<(), MatrixError>) -> Result<Option<String>, MatrixError> {
        let failures = self.ledger.put_back_to(Mark::START);
        let ended = match outcome {
            Ok(()) => Ok(()),
            Err(error) if error.is_interrupt() => Err(RunError::Interrupted),
            Err(error) => Err(RunError::Failed(error.to_string())),
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
                self.store.borrow_mut().save(record)?;
            }
        }
        Ok(failures.first().map(|it| MatrixError::LeftChanged(it.to_string()).to_string()))
    }
}

/// An observer that keeps nothing.
struct Apart<'a>(&'a mut dyn Audience);

impl Observer for Apart<'_> {
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
        true => Err("raw has no file system that could be mounted anew: leave raw out, or use \
                     drop_cache=file"
            .to_owned()),
    }
}

/// What the device offers, before any file system is on it.
fn look(
    caller: &Caller,
    device: &TestDevice,
    ledger: &mut Ledger,
    configuration: &Configuration,
    clock: Clock,
) -> Result<(Offer, TargetInfo), MatrixError> {
    let mark = ledger.mark();
    let attached = device.attach(ledger, &caller.place, configuration, &caller.serving)?;
    let permission = attached.permission();
    let text = TargetText::Path(attached.device.clone());
    let seen = target::open(&text, &permission, Pace::real(clock), 0)
        .map(|target| (target.offer(), target.info().clone()));
    attached.detach(ledger, mark)?;
    Ok(seen?)
}

/// What decides whether a flush arrives at the drive: where it sets out, and what passes it on.
fn flushed_by(configuration: &Configuration) -> String {
    let axes = [Axis::Fs, Axis::Mount, Axis::Journal, Axis::KernelFlush, Axis::WriteCache];
    axes.map(|axis| configuration.level(axis).unwrap_or_default()).join("|")
}
