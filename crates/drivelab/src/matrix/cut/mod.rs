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

pub mod page;
mod trial;

use super::{
    ground::{self, Attached, Ground},
    stage,
};
use anyhow::{Context, Result, bail};
use host::{Ledger, Program, Roots, ledger::Mark};
use record::ServerEvent;
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
use study::matrix::{Axis, Configuration, FileSystemState, PowerCut};
use trial::Trial;

/// How long writes that nobody waits for may take, and how often they are looked at.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Cuts the power under `configuration`. `base` is a directory of this run's own; all choices come
/// from `seed`.
pub fn check(
    ledger: &mut Ledger,
    ground: &Ground,
    base: &Path,
    configuration: &Configuration,
    seed: u64,
    stop: &AtomicBool,
) -> Result<PowerCut> {
    let mark = ledger.mark();
    let mut children = Vec::new();
    let found = cut(ledger, &mut children, ground, base, configuration, seed, stop);
    put_back(ledger, mark, &mut children)?;
    found
}

/// The commands, for those who ask beforehand.
pub fn commands(configuration: &Configuration) -> Vec<String> {
    let lines = [
        "served with --power-cut, written and flushed",
        "kill -USR1 PID",
        "umount and losetup --detach",
        "attached and mounted again, compared",
    ];
    let mut lines = lines.map(str::to_owned).to_vec();
    lines
        .extend(checker(configuration, Path::new("/dev/loopN")).map(|program| program.to_string()));
    lines
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
    ground: &Ground,
    base: &Path,
    configuration: &Configuration,
    seed: u64,
    stop: &AtomicBool,
) -> Result<PowerCut> {
    let Ground::Model { text } = ground else { panic!("no other power can be cut") };
    let target = ground::with_write_cache(text, configuration.level(Axis::WriteCache))?;
    let options = ["--json".to_owned(), "--power-cut".to_owned(), seed.to_string()];
    let mut server = ground::start_server(ledger, base, &target, &options, Stdio::piped())?;
    let said = server.stdout.take().expect("it is piped");
    let pid = Pid::from_child(&server);
    children.push(server);
    let above = ledger.mark();
    let at = base.join("mount");
    let (device, client) = ground::connect(ledger, base)?;
    children.push(client);
    let attached = Attached::new(device, Vec::new())?;
    let path = stage::set(ledger, configuration, &attached, &at, false)?.path;
    let trial = match configuration.is_raw() {
        true => Trial::on_device(attached.permit()?.file(), seed, stop),
        false => Trial::on_file_system(&path, seed, stop),
    }?;
    wait_until_idle(&attached.device);
    ledger.say(&format!("kill -USR1 {}", pid.as_raw_nonzero()));
    kill_process(pid, Signal::USR1).context("the power cannot be cut")?;
    let lost_sectors = wait_for_cut(said)?;
    // The server has nobody connected: unmounting cannot write what the cut took.
    let mut clients = children.split_off(1);
    put_back(ledger, above, &mut clients)?;
    let (device, client) = ground::connect(ledger, base)?;
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
) -> Result<(trial::Found, FileSystemState)> {
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
fn wait_for_cut(said: impl Read) -> Result<u64> {
    for line in BufReader::new(said).lines() {
        let event = ServerEvent::of_line(&line.context("the server is not heard")?);
        if let Some(ServerEvent::PowerCut { sectors_changed, .. }) = event {
            return Ok(sectors_changed);
        }
    }
    bail!("the server ended when its power was to be cut")
}

fn put_back(ledger: &mut Ledger, mark: Mark, children: &mut Vec<Child>) -> Result<()> {
    let failures = ledger.put_back_to(mark);
    for mut child in children.drain(..) {
        let _ = child.wait();
    }
    match failures.first() {
        None => Ok(()),
        Some(failure) => bail!("{failure}; then `drivelab restore`"),
    }
}
