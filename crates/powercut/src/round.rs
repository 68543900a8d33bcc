//! One round after the other, each on new drives.

use crate::{
    answers::Answers,
    error::PowerCutError,
    moment::{Moment, draw},
    order::{Phase, Place, PowerCutOrder},
    protocol,
    recording::Recording,
    tree,
    workload::{Heard, Workload},
};
use block::split_mix;
use host::{Directory, Ledger, Roots, ledger::Mark};
use matrix::{
    Caller, FailingPower, MatrixError, TestDevice,
    rig::{self, Attached},
};
use record::{FileSystemState, PowerCutRound, PowerCuts, Promises};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, ChildStdout, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// How long a signal may go unseen while a program is listened to.
const LOOK: Duration = Duration::from_millis(100);

/// What a server ends with that cannot open its target.
const REFUSED: i32 = 2;

/// Who hears of it.
pub trait Audience {
    /// A command, as it would be typed.
    fn step(&self) -> Box<dyn FnMut(&str)>;

    /// A round has ended, the last of these.
    ///
    /// # Errors
    /// It cannot be kept: no further round begins.
    fn round(&mut self, cuts: &PowerCuts) -> Result<(), PowerCutError>;
}

/// Refuses what cannot be had here, before anything is touched.
///
/// # Errors
/// A sentence with the cure.
pub fn check(order: &PowerCutOrder, caller: &Caller) -> Result<(), PowerCutError> {
    let is_raw = order.configuration.is_raw();
    if is_raw && order.program.is_built_in {
        return Err(PowerCutError::Raw(order.program.name.clone()));
    }
    caller.check_place()?;
    if let Some(path) = &order.record_writes {
        Recording::check(path)?;
    }
    lost_member(order)?;
    let device = TestDevice::Model { stack: order.stack.clone() };
    if is_raw {
        device.info()?;
        return Ok(());
    }
    device.check(std::slice::from_ref(&order.configuration))?;
    if let Some(checker) = rig::checker(&order.configuration, Path::new("")) {
        checker.require().map_err(MatrixError::from)?;
    }
    Ok(())
}

/// Refuses an array that cannot do without a member.
pub(crate) fn lost_member(order: &PowerCutOrder) -> Result<(), PowerCutError> {
    let Some(member) = order.lost_member else { return Ok(()) };
    let without = target::serve::without(&order.stack, member);
    without.map(drop).map_err(|error| PowerCutError::NoMember(error.to_string()))
}

/// All rounds of `cuts` that have not ended, until one cannot be had or `stop` is raised; each is
/// added when it has ended, and told.
///
/// # Errors
/// Everything is put back then, too.
pub fn rounds(
    order: &PowerCutOrder,
    caller: &Caller,
    cuts: &mut PowerCuts,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<(), PowerCutError> {
    match all_rounds(order, caller, cuts, audience, stop) {
        // A signal goes to the programs that it runs, too: then it is one of them that has failed.
        Err(PowerCutError::Matrix(error @ MatrixError::LeftChanged(_))) => Err(error.into()),
        _ if stop.load(Ordering::Relaxed) => Err(PowerCutError::Interrupted),
        ended => ended,
    }
}

fn all_rounds(
    order: &PowerCutOrder,
    caller: &Caller,
    cuts: &mut PowerCuts,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<(), PowerCutError> {
    let (mut ledger, whole) = begin(caller, audience.step())?;
    while let Some(round) = cuts.next() {
        let mark = ledger.mark();
        let mut rig = Rig { order, caller, stop, round, children: Vec::new(), workload: None };
        let result = rig.round(&mut ledger);
        rig.end_workload();
        rig::put_back(&mut ledger, mark, &mut rig.children)?;
        let result = result?;
        // Ctrl-C goes to mount and fsck, too: what they say then is said of nothing.
        if stop.load(Ordering::Relaxed) {
            return Err(PowerCutError::Interrupted);
        }
        cuts.rounds.push(result);
        audience.round(cuts)?;
    }
    Ok(rig::put_back(&mut ledger, whole, &mut Vec::new())?)
}

/// A ledger, of which `step` hears, and in it the directory in which devices are mounted.
pub(crate) fn begin(
    caller: &Caller,
    step: Box<dyn FnMut(&str)>,
) -> Result<(Ledger, Mark), PowerCutError> {
    let said = caller.by.command_line.join(" ");
    let mut ledger = Ledger::create(&Ledger::directory(), &said, &Roots::default(), step)?;
    tree::adopt();
    let whole = ledger.mark();
    let (parent, name) = caller.place.parent().zip(caller.place.file_name()).expect("a path");
    ledger.new_directory(&Directory::open_canonical(parent)?, name)?;
    // A database's server is not root: it may pass, and neither list nor write.
    fs::set_permissions(&caller.place, Permissions::from_mode(0o711)).map_err(|error| {
        MatrixError::Process(format!("{} cannot be opened: {error}", caller.place.display()))
    })?;
    Ok((ledger, whole))
}

/// What came of a program's work.
struct Worked {
    cut_after: Duration,
    promised: Vec<String>,
    /// How long the log was when each was heard, where there is one.
    log_bytes: Vec<u64>,
    /// Sectors that the cut changed; an error where the drives did not come back.
    lost: Result<u64, PowerCutError>,
}

/// What is there during a round.
pub(crate) struct Rig<'a> {
    pub order: &'a PowerCutOrder,
    pub caller: &'a Caller,
    pub stop: &'a AtomicBool,
    pub round: u32,
    pub children: Vec<Child>,
    pub workload: Option<Workload>,
}

impl Rig<'_> {
    fn round(&mut self, ledger: &mut Ledger) -> Result<PowerCutRound, PowerCutError> {
        let (order, base) = (self.order, self.caller.place.as_path());
        let mut drawn = order.seed ^ u64::from(self.round) << 32;
        let seed = split_mix(&mut drawn);
        let target = format!("model:{}", order.stack);
        let serving = &self.caller.serving;
        let log = order.record_writes.as_deref();
        let log = log.map(|path| Recording::begin(ledger, path)).transpose()?;
        let (flushes, lost_member) = (order.flushes, order.lost_member);
        let record_writes = log.as_ref().map(|log| log.path().to_owned());
        let power = FailingPower { seed, flushes, lost_member, record_writes };
        let mut server = serving.start(ledger, base, &target, Some(power), Stdio::piped())?;
        let said = server.stdout.take().expect("it is piped");
        let power = Pid::from_child(&server);
        self.children.push(server);
        let above = ledger.mark();
        let place = match order.configuration.is_raw() {
            true => Place::Served { uri: rig::uri(base), directory: base.to_owned() },
            false => self.file_system(ledger)?,
        };
        let Worked { cut_after, mut promised, log_bytes, lost } =
            self.work(ledger, &place, (power, said), log.as_ref())?;
        if let Some(log) = log {
            log.finish(&promised, &log_bytes, &self.caller.by.command_line)?;
        }
        let mut heard = BTreeSet::new();
        promised.retain(|id| heard.insert(id.clone()));
        let made = promised.len() as u64;
        let sectors_changed = match lost {
            Ok(sectors) => sectors,
            Err(error) => return self.not_back(error, cut_after, made),
        };
        // The server has nobody connected: unmounting cannot write what the cut took.
        let mut clients = self.children.split_off(1);
        rig::put_back(ledger, above, &mut clients)?;
        let mut result = PowerCutRound {
            round: self.round,
            cut_after_s: cut_after.as_secs_f64(),
            sectors_changed,
            promises: Promises { made, lost: 0, torn: 0 },
            broken: None,
            file_system: FileSystemState::Unmountable,
            mounted_after_s: 0.0,
        };
        let Place::Directory(at) = &place else {
            result.file_system = FileSystemState::None;
            self.ask(ledger, &place, &promised, &mut result)?;
            return Ok(result);
        };
        let since = Instant::now();
        let (device, client) = rig::connect(ledger, base, Some(order.bytes))?;
        self.children.push(client);
        let mark = ledger.mark();
        if let Err(error) = rig::mount_again(ledger, &order.configuration, &device, at) {
            ledger.say(&error.to_string());
            result.mounted_after_s = since.elapsed().as_secs_f64();
            result.promises.lost = made;
            return Ok(result);
        }
        result.mounted_after_s = since.elapsed().as_secs_f64();
        self.ask(ledger, &place, &promised, &mut result)?;
        rig::put_back(ledger, mark, &mut Vec::new())?;
        result.file_system = file_system(ledger, order, &device);
        Ok(result)
    }

    /// A new file system on the drives.
    fn file_system(&mut self, ledger: &mut Ledger) -> Result<Place, PowerCutError> {
        let (order, base) = (self.order, self.caller.place.as_path());
        let at = base.join("mount");
        let (device, client) = rig::connect(ledger, base, Some(order.bytes))?;
        self.children.push(client);
        let attached = Attached::new(device, Vec::new())?;
        rig::set(ledger, &order.configuration, &attached, &at, false)?;
        Ok(Place::Directory(at))
    }

    /// What stands on the drives, a managed volume or a tier, could not be opened again: all of it
    /// is lost, and the server has ended with a sentence that says why. One that ended otherwise
    /// says nothing of the drives.
    fn not_back(
        &mut self,
        error: PowerCutError,
        cut_after: Duration,
        made: u64,
    ) -> Result<PowerCutRound, PowerCutError> {
        let server = self.children.first_mut().expect("it was started");
        let mut said = String::new();
        if let Some(mut pipe) = server.stderr.take() {
            let _ = pipe.read_to_string(&mut said);
        }
        let has_refused = server.wait().is_ok_and(|status| status.code() == Some(REFUSED));
        let Some(why) = said.lines().last().filter(|_| has_refused) else { return Err(error) };
        Ok(PowerCutRound {
            round: self.round,
            cut_after_s: cut_after.as_secs_f64(),
            sectors_changed: 0,
            promises: Promises { made, lost: made, torn: 0 },
            broken: Some(why.trim_start_matches("drivelab: ").to_owned()),
            file_system: FileSystemState::Unmountable,
            mounted_after_s: 0.0,
        })
    }

    /// When the power goes: drawn, or at the end of a recording.
    fn moment(&self) -> Moment {
        let PowerCutOrder { seed, within, .. } = *self.order;
        match self.order.record_writes {
            Some(_) => Moment::After(within),
            None => draw(seed, self.round, within),
        }
    }

    /// Lets the program work until the moment has come, stops it where it is, and cuts the power
    /// of the server that is named and says so. In a flush the power goes first: what the program
    /// promises after that, on a machine that would be off, is not counted.
    fn work(
        &mut self,
        ledger: &mut Ledger,
        place: &Place,
        (power, said): (Pid, ChildStdout),
        log: Option<&Recording>,
    ) -> Result<Worked, PowerCutError> {
        let (program, moment) = (&self.order.program, self.moment());
        let workload = Workload::start(ledger, program, Phase::Run, place, String::new())?;
        let workload = self.workload.insert(workload);
        let (mut promised, mut log_bytes) = (Vec::<String>::new(), Vec::new());
        let mut first = None;
        let mut deadline = Instant::now() + self.order.patience;
        let mut said = Some(said);
        let (cut_at, lost) = loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(PowerCutError::Interrupted);
            }
            match workload.hear(deadline.min(Instant::now() + LOOK)) {
                Heard::Line(heard, line) => {
                    let Some(id) = protocol::acknowledged(&line) else { continue };
                    promised.push(id.to_owned());
                    log_bytes.extend(log.map(Recording::bytes));
                    if first.is_none() {
                        first = Some(heard);
                        deadline = heard
                            + match moment {
                                Moment::After(time) => time,
                                Moment::AfterPromise(_) | Moment::InFlush(_) => self.order.within,
                            };
                    }
                    let count = promised.len() as u32;
                    match moment {
                        Moment::AfterPromise(number) if count >= number => {
                            break (Instant::now(), None);
                        }
                        Moment::InFlush(number) if count >= number => {
                            if let Some(said) = said.take() {
                                signal(ledger, power, Signal::USR2)?;
                                workload.hear_of_cut(said);
                            }
                        }
                        _ => {}
                    }
                }
                Heard::Cut(lost) => break (Instant::now(), Some(lost.map_err(Into::into))),
                // The server cuts soon, whatever the program does.
                Heard::Silence | Heard::End if said.is_none() => {}
                Heard::Silence if Instant::now() < deadline => {}
                Heard::Silence if first.is_some() => break (Instant::now(), None),
                Heard::Silence => return Err(self.no_promise()),
                Heard::End => break (self.ended_early(first)?, None),
            }
        };
        let lost = match (lost, said) {
            (None, Some(said)) => {
                self.workload.as_ref().inspect(|workload| workload.freeze());
                let lost = cut(ledger, power, said);
                promised.extend(self.end_workload());
                lost
            }
            (lost, _) => {
                self.end_workload();
                lost.expect("it was heard of")
            }
        };
        let cut_after = cut_at.duration_since(first.unwrap_or(cut_at));
        Ok(Worked { cut_after, promised, log_bytes, lost })
    }

    /// A program that has done all it wanted may end; one that fails may not. When it did.
    fn ended_early(&mut self, first: Option<Instant>) -> Result<Instant, PowerCutError> {
        let workload = self.workload.take().expect("it was started");
        let (status, complaint) = workload.wait();
        match (status, first) {
            (Some(status), Some(_)) if status.success() => Ok(Instant::now()),
            (Some(status), None) if status.success() => Err(self.fault(
                "the program ended without a promise: it must print a line `ack ID` when \
                 something is promised",
            )),
            (status, _) => {
                let status = status.map_or_else(|| "a lost status".to_owned(), |s| s.to_string());
                let why = if complaint.is_empty() { "it said nothing" } else { &complaint };
                Err(self
                    .fault(&format!("`{}` ended with {status}: {why}", self.order.program.shown())))
            }
        }
    }

    /// Asks the program which promises are not kept.
    pub fn ask(
        &mut self,
        ledger: &mut Ledger,
        place: &Place,
        promised: &[String],
        result: &mut PowerCutRound,
    ) -> Result<(), PowerCutError> {
        let round = self.round;
        let told: String = promised.iter().map(|id| format!("{id}\n")).collect();
        let program = &self.order.program;
        let workload = Workload::start(ledger, program, Phase::Check, place, told)?;
        let workload = self.workload.insert(workload);
        let deadline = Instant::now() + self.order.patience;
        let mut answers = Answers::new(promised, result);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(PowerCutError::Interrupted);
            }
            match workload.hear(deadline.min(Instant::now() + LOOK)) {
                Heard::Line(_, line) => {
                    let taken = answers.take(&line);
                    taken.map_err(|text| PowerCutError::Workload { round, text })?;
                }
                Heard::Silence if Instant::now() < deadline => {}
                Heard::Silence => return Err(self.fault(&self.order.late())),
                Heard::Cut(_) => unreachable!("nobody listens for it"),
                Heard::End => break,
            }
        }
        let workload = self.workload.take().expect("it was started");
        let (status, complaint) = workload.wait();
        let failed = !status.is_some_and(|status| status.success());
        answers.end(failed.then_some(complaint), place.directory());
        Ok(())
    }

    fn no_promise(&self) -> PowerCutError {
        let seconds = self.order.patience.as_secs();
        self.fault(&format!(
            "`{} run` promised nothing within {seconds} s: it must print a line `ack ID` when \
             something is promised, and not keep it in a buffer",
            self.order.program.shown()
        ))
    }

    fn fault(&self, text: &str) -> PowerCutError {
        PowerCutError::Workload { round: self.round, text: text.to_owned() }
    }

    /// Whatever it is doing; promises of it that were not heard yet.
    pub fn end_workload(&mut self) -> Vec<String> {
        self.workload.take().map(Workload::kill).unwrap_or_default()
    }
}

/// Cuts the power, and says how many sectors that changed.
fn cut(ledger: &mut Ledger, power: Pid, said: ChildStdout) -> Result<u64, PowerCutError> {
    signal(ledger, power, Signal::USR1)?;
    Ok(rig::wait_for_cut(said)?)
}

/// Has the power cut: by USR1 now, by USR2 in the middle of the next flush.
fn signal(ledger: &mut Ledger, power: Pid, signal: Signal) -> Result<(), PowerCutError> {
    let word = if signal == Signal::USR1 { "USR1" } else { "USR2" };
    ledger.say(&format!("kill -{word} {}", power.as_raw_nonzero()));
    kill_process(power, signal)
        .map_err(|error| MatrixError::Process(format!("the power cannot be cut: {error}")).into())
}

/// What the file system's own check says, once it is not mounted any more.
pub fn file_system(ledger: &mut Ledger, order: &PowerCutOrder, device: &Path) -> FileSystemState {
    let Some(checker) = rig::checker(&order.configuration, device) else {
        return FileSystemState::None;
    };
    ledger.say(&checker.to_string());
    match checker.run() {
        Ok(_) => FileSystemState::Sound,
        Err(error) => {
            ledger.say(&error.to_string());
            FileSystemState::Damaged
        }
    }
}
