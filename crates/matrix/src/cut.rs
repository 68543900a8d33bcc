//! The power of modelled drives is cut under a configuration, and its class is held against what is
//! left.
//!
//! ```text
//!   drivelab serve --power-cut, nbdfuse, losetup, mkfs, mount
//!   Trial: files that are flushed, files that are not; what was flushed is kept in memory here     trial
//!   SIGUSR1: the drives lose what their caches held, nbdfuse is disconnected
//!   umount, losetup --detach: what Linux still holds has nowhere to go
//!   nbdfuse, losetup, mount: the journal is replayed, files are compared, the checker has its say
//! ```

mod trial;

use crate::{
    attached::Attached,
    axes::Configuration,
    axis::Axis,
    device::{TestDevice, with_write_cache},
    error::{InWords, MatrixError},
    power_cut::PowerCut,
    serving::{FailingPower, Serving, connect},
    stage,
};
use host::{Ledger, Program, Roots, ledger::Mark};
use record::{FileSystemState, ServerEvent};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Stdio},
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};
use target::serve::Flushes;
use trial::Trial;

/// How long writes that nobody waits for may take, and how often they are looked at.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// What a cut needs besides its configuration.
pub struct Cutting<'a> {
    /// The model.
    pub device: &'a TestDevice,
    /// How it is served.
    pub serving: &'a Serving,
    /// A directory of this run's own.
    pub base: &'a Path,
    /// Where all choices come from.
    pub seed: u64,
    /// Raised when the user stops it.
    pub stop: &'a AtomicBool,
}

/// Cuts the power under `configuration`.
pub fn check(
    ledger: &mut Ledger,
    cutting: &Cutting<'_>,
    configuration: &Configuration,
) -> Result<PowerCut, MatrixError> {
    let mark = ledger.mark();
    let mut children = Vec::new();
    let found = cut(ledger, &mut children, cutting, configuration);
    put_back(ledger, mark, &mut children)?;
    found
}

/// The program that looks for damage and changes nothing; none for a raw device.
pub fn checker(configuration: &Configuration, device: &Path) -> Option<Program> {
    let words: &[&str] = match configuration.fs() {
        "ext2" | "ext3" | "ext4" => &["e2fsck", "-f", "-n"],
        "xfs" => &["xfs_repair", "-n"],
        "btrfs" => &["btrfs", "check", "--readonly"],
        "f2fs" => &["fsck.f2fs", "--dry-run"],
        _ => return None,
    };
    let device = device.display().to_string();
    Some(Program::new(words.iter().map(|word| (*word).to_owned()).chain([device])))
}

fn cut(
    ledger: &mut Ledger,
    children: &mut Vec<Child>,
    cutting: &Cutting<'_>,
    configuration: &Configuration,
) -> Result<PowerCut, MatrixError> {
    let Cutting { device: TestDevice::Model { stack }, serving, base, seed, stop } = *cutting
    else {
        panic!("no other power can be cut")
    };
    let target = with_write_cache(stack, configuration.level(Axis::WriteCache));
    let target = format!("model:{target}");
    let flushes = Flushes::Honoured;
    let power = FailingPower { seed, flushes, lost_member: None, record_writes: None };
    let mut server = serving.start(ledger, base, &target, Some(power), Stdio::piped())?;
    let said = server.stdout.take().expect("it is piped");
    let pid = Pid::from_child(&server);
    children.push(server);
    let above = ledger.mark();
    let at = base.join("mount");
    let (device, client) = connect(ledger, base, None)?;
    children.push(client);
    let attached = Attached::new(device, Vec::new())?;
    let path = stage::set(ledger, configuration, &attached, &at, false)?.path;
    let trial = match configuration.is_raw() {
        true => Trial::on_device(attached.permit()?.file(), seed, stop),
        false => Trial::on_file_system(&path, seed, stop),
    }?;
    wait_until_idle(&attached.device);
    ledger.say(&format!("kill -USR1 {}", pid.as_raw_nonzero()));
    kill_process(pid, Signal::USR1).in_words("the power cannot be cut")?;
    let lost_sectors = wait_for_cut(said)?;
    // The server has nobody connected: unmounting cannot write what the cut took.
    let mut clients = children.split_off(1);
    put_back(ledger, above, &mut clients)?;
    let (device, client) = connect(ledger, base, None)?;
    children.push(client);
    let (found, file_system) = look(ledger, &trial, configuration, &device, &at)?;
    let trial::Found { flushed, intact, foreign } = found;
    Ok(PowerCut { flushed, intact, foreign, file_system, lost_sectors })
}

/// Mounts what is left, reads what was written, and lets the checker see what the journal made of
/// it.
fn look(
    ledger: &mut Ledger,
    trial: &Trial,
    configuration: &Configuration,
    device: &Path,
    at: &Path,
) -> Result<(trial::Found, FileSystemState), MatrixError> {
    let Some(checker) = checker(configuration, device) else {
        return Ok((trial.look(device), FileSystemState::None));
    };
    let mark = ledger.mark();
    if let Err(error) = stage::mount_again(ledger, configuration, device, at) {
        ledger.say(&error.to_string());
        return Ok((trial.nothing(), FileSystemState::Unmountable));
    }
    let found = trial.look(at);
    put_back(ledger, mark, &mut Vec::new())?;
    ledger.say(&checker.to_string());
    let file_system = match checker.run() {
        Ok(_) => FileSystemState::Sound,
        Err(error) => {
            ledger.say(&error.to_string());
            FileSystemState::Damaged
        }
    };
    Ok((found, file_system))
}

/// Until what was handed on has reached the drive's cache, where it can be lost; a drive that takes
/// longer has it under way.
fn wait_until_idle(device: &Path) {
    let name = device.file_name().unwrap_or_default();
    let inflight = Roots::default().sys.join("block").join(name).join("inflight");
    let deadline = Instant::now() + PATIENCE;
    let is_idle = || {
        let text = fs::read_to_string(&inflight).unwrap_or_default();
        text.split_whitespace().all(|count| count == "0")
    };
    while !is_idle() && Instant::now() < deadline {
        thread::sleep(PAUSE);
    }
}

/// How many sectors the cut changed, as the server says when it is done.
///
/// # Errors
/// The server has ended.
pub fn wait_for_cut(said: impl Read) -> Result<u64, MatrixError> {
    for line in BufReader::new(said).lines() {
        let event = ServerEvent::of_line(&line.in_words("the server is not heard")?);
        if let Some(ServerEvent::PowerCut { sectors_changed, .. }) = event {
            return Ok(sectors_changed);
        }
    }
    Err(MatrixError::Process("the server ended when its power was to be cut".to_owned()))
}

/// Puts back what was changed since `mark`, and waits for the processes behind it.
///
/// # Errors
/// Something is left changed.
pub fn put_back(
    ledger: &mut Ledger,
    mark: Mark,
    children: &mut Vec<Child>,
) -> Result<(), MatrixError> {
    let failures = ledger.put_back_to(mark);
    for mut child in children.drain(..) {
        let _ = child.wait();
    }
    match failures.first() {
        None => Ok(()),
        Some(failure) => Err(MatrixError::LeftChanged(failure.to_string())),
    }
}
