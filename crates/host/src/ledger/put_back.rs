//! Putting one change back. Each asks first what is there now: it may have been done already, the
//! change may never have begun, and what somebody else has set since is theirs.

use super::{
    DriveMark,
    change::Change,
    mark::{Boot, Fit},
};
use crate::{
    ask::drive_at,
    directory::Directory,
    error::{ErrorKind, HostError},
    mountinfo::{Mount, parse_mountinfo},
    program::Program,
    roots::{Roots, names_in},
    setting::{Attribute, Switch, WriteCache, said},
    sysfs::{BlockDevice, disks},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long something busy is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// Puts `change` back, or finds that there is nothing to do.
pub(super) fn put_back(
    change: &Change,
    boot: Boot,
    roots: &Roots,
    log: &mut dyn FnMut(&str),
) -> Result<(), HostError> {
    match change {
        Change::File { path } => {
            remove(path, "rm", log, |directory, name| directory.remove_left(name))
        }
        Change::Directory { path } => {
            remove(path, "rmdir", log, |directory, name| directory.remove_empty(name))
        }
        Change::Loop { file } => detach(file, roots, log),
        Change::Mount { source, at, fs, .. } => unmount(source, at, fs, roots, log),
        Change::WriteCache { device, switch, was, kernel, drive, .. } => {
            let found = DriveMark::of(device, roots);
            let fit = drive.fit(&found, device.exists(), boot, roots);
            let command = |name: Option<&str>| {
                let device = name.map_or(device.clone(), |name| roots.dev.join(name));
                switch.telling(&device, *was, roots)
            };
            // A kernel that was started since has its own opinion.
            let kernel = kernel.as_deref().filter(|_| boot == Boot::Same);
            match fit {
                Fit::Same => write_cache(device, *switch, *was, kernel, roots, log),
                Fit::Moved(name) => {
                    let now = roots.dev.join(name);
                    log(&format!("# what was {} is {} now", device.display(), now.display()));
                    write_cache(&now, *switch, *was, kernel, roots, log)
                }
                Fit::Gone => {
                    say_gone(boot, &command(None), log);
                    Ok(())
                }
                Fit::Other { why, now } => Err(left_alone(&why, &command(now.as_deref()))),
            }
        }
        Change::Queue { device, attribute, was, now, drive } => {
            let is_there = roots.sys.join("block").join(device).exists();
            let found = DriveMark::of_name(device, roots);
            match drive.fit(&found, is_there, boot, roots) {
                Fit::Same => queue(device, *attribute, was, now, roots, log),
                // The setting went with the queue.
                Fit::Gone => Ok(()),
                Fit::Moved(name) => {
                    let why = format!("that drive is called {name} now");
                    Err(left_alone(&why, &setting(&name, *attribute, was)))
                }
                Fit::Other { why, now } => {
                    let device = now.as_deref().unwrap_or(device);
                    Err(left_alone(&why, &setting(device, *attribute, was)))
                }
            }
        }
        Change::Process { program, mark } => end_process(program, mark, roots, log),
    }
}

/// What bears the name is not, or may not be, the drive that was changed.
fn left_alone(why: &str, by_hand: &str) -> HostError {
    let sentence = format!(
        "{why}; drivelab leaves it as it is. If that drive is to have it back: `{by_hand}`"
    );
    HostError::new(ErrorKind::Exists, sentence)
}

/// A drive that is gone took its setting with it, as far as drives forget it without power.
fn say_gone(boot: Boot, by_hand: &str, log: &mut dyn FnMut(&str)) {
    if boot == Boot::Later {
        log(&format!("# no such drive is here; some keep the setting, then: {by_hand}"));
    }
}

/// The command that sets a setting of the kernel's queue.
fn setting(device: &str, attribute: Attribute, value: &str) -> String {
    format!("echo '{value}' > /sys/block/{device}/queue/{attribute}")
}

/// Removes what was made at a path without links; one that leads through a link now is another.
fn remove(
    path: &Path,
    command: &str,
    log: &mut dyn FnMut(&str),
    by: impl FnOnce(&Directory, &OsStr) -> io::Result<()>,
) -> Result<(), HostError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let parent = match Directory::open_canonical(parent) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    match by(&parent, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(HostError::io("remove", path, error)),
        Ok(()) => {
            log(&format!("{command} {}", path.display()));
            Ok(())
        }
    }
}

/// The command that takes a loop device away.
pub(super) fn detaching(device: &Path) -> Program {
    Program::new(["losetup", "--detach", &device.display().to_string()])
}

fn detach(file: &Path, roots: &Roots, log: &mut dyn FnMut(&str)) -> Result<(), HostError> {
    // Somebody may be ahead of us: the kernel, or a child that a killed program left.
    let mut failed = None;
    for device in loops_over(file, roots) {
        let program = detaching(&device);
        log(&program.to_string());
        failed = program.run().err().or(failed);
    }
    // The kernel lets go of it when the last opener has closed it.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let Some(device) = loops_over(file, roots).into_iter().next() else { return Ok(()) };
        if Instant::now() >= deadline {
            return Err(failed.unwrap_or_else(|| in_use(&device)));
        }
        thread::sleep(PAUSE);
    }
}

/// The loop devices over `file`.
pub(super) fn loops_over(file: &Path, roots: &Roots) -> Vec<PathBuf> {
    let is_over = |disk: &BlockDevice| {
        disk.backing_file().is_some_and(|backing| {
            let backing = backing.as_os_str().as_bytes();
            backing.strip_suffix(b" (deleted)").unwrap_or(backing) == file.as_os_str().as_bytes()
        })
    };
    disks(roots).into_iter().filter(is_over).map(|disk| roots.dev.join(disk.name)).collect()
}

/// Unmounts, and waits for those who let go of it a moment ago: a thread that has ended still has
/// its open files for a while.
pub(super) fn unmount(
    source: &str,
    at: &Path,
    fs: &str,
    roots: &Roots,
    log: &mut dyn FnMut(&str),
) -> Result<(), HostError> {
    let deadline = Instant::now() + PATIENCE;
    let program = Program::new(["umount", &at.display().to_string()]);
    let mut is_told = false;
    while let Some(mount) = mounted_at(at, roots)? {
        if !fs.starts_with("fuse") && mount.source != source {
            let sentence =
                format!("{} is mounted at {} now: drivelab leaves it", mount.source, at.display());
            return Err(HostError::new(ErrorKind::Exists, sentence));
        }
        if !is_told {
            log(&program.to_string());
            is_told = true;
        }
        if let Err(error) = program.run()
            && mounted_at(at, roots)?.is_some()
        {
            if Instant::now() >= deadline {
                let sentence = format!("{error}; end what uses {}", at.display());
                return Err(HostError::new(ErrorKind::Io, sentence));
            }
            thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// What is on top of the mounts at `at`.
fn mounted_at(at: &Path, roots: &Roots) -> Result<Option<Mount>, HostError> {
    let path = roots.proc.join("self/mountinfo");
    let text = fs::read(&path).map_err(|error| HostError::io("read", &path, error))?;
    let mounts = parse_mountinfo(&String::from_utf8_lossy(&text));
    Ok(mounts.into_iter().rfind(|mount| Path::new(&mount.mount_point) == at))
}

/// Asks the drive first, and last. `kernel` is what the kernel believed before; the two may have
/// been driven apart, as by a reset of the drive.
fn write_cache(
    device: &Path,
    switch: Switch,
    was: WriteCache,
    kernel: Option<&str>,
    roots: &Roots,
    log: &mut dyn FnMut(&str),
) -> Result<(), HostError> {
    let is_believed = || kernel.is_none() || kernel_cache(device, roots).as_deref() == kernel;
    let found = switch.read(device, roots)?;
    if found == was && is_believed() {
        log(&format!("# {}: as before, nothing to do", said(device, was, roots)));
        return Ok(());
    }
    log(&switch.telling(device, was, roots));
    switch.write(device, was, roots)?;
    if let (Some(kernel), false, Some(drive)) = (kernel, is_believed(), drive_at(device, roots)) {
        log(&setting(&drive.name, Attribute::WriteCache, kernel));
        Attribute::WriteCache.write(&drive.name, kernel, roots)?;
    }
    log(&format!("# {}", said(device, was, roots)));
    Ok(())
}

/// What the kernel believes of the write cache of the drive at `device`.
pub(super) fn kernel_cache(device: &Path, roots: &Roots) -> Option<String> {
    let drive = drive_at(device, roots)?;
    Attribute::WriteCache.read(&drive.name, roots).ok()
}

fn queue(
    device: &str,
    attribute: Attribute,
    was: &str,
    now: &str,
    roots: &Roots,
    log: &mut dyn FnMut(&str),
) -> Result<(), HostError> {
    let found = attribute.read(device, roots)?;
    if found == was {
        return Ok(());
    }
    if found != now {
        let sentence = format!(
            "{attribute} of {device} was set to {found} by somebody else since; it was {was} before"
        );
        return Err(HostError::new(ErrorKind::Exists, sentence));
    }
    log(&setting(device, attribute, was));
    attribute.write(device, was, roots)
}

fn end_process(
    program: &str,
    mark: &str,
    roots: &Roots,
    log: &mut dyn FnMut(&str),
) -> Result<(), HostError> {
    let deadline = Instant::now() + PATIENCE;
    let mut told = Vec::new();
    loop {
        let living = processes(program, mark, roots);
        let Some(&first) = living.first() else { return Ok(()) };
        let is_late = Instant::now() >= deadline;
        for &pid in &living {
            if is_late {
                let _ = kill_process(pid, Signal::KILL);
            } else if !told.contains(&pid) {
                log(&format!("kill {}", pid.as_raw_nonzero()));
                let _ = kill_process(pid, Signal::TERM);
                told.push(pid);
            }
        }
        if Instant::now() >= deadline + PATIENCE {
            let sentence =
                format!("{program}, process {}, cannot be killed", first.as_raw_nonzero());
            return Err(HostError::new(ErrorKind::Io, sentence));
        }
        thread::sleep(PAUSE);
    }
}

/// Living processes of `program` that have `mark` among their arguments; those that only wait for
/// their parent to notice have no arguments left.
fn processes(program: &str, mark: &str, roots: &Roots) -> Vec<Pid> {
    let is_it = |name: &String| {
        let words = fs::read(roots.proc.join(name).join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|&byte| byte == 0).collect();
        runs(program, &words) && words[1..].contains(&mark.as_bytes())
    };
    let own = std::process::id().to_string();
    let names = names_in(&roots.proc).into_iter();
    names
        .filter(|name| name.bytes().all(|digit| digit.is_ascii_digit()) && **name != own)
        .filter(is_it)
        .filter_map(|name| Pid::from_raw(name.parse().ok()?))
        .collect()
}

/// Whether a process with these words is one of `program`. A script is called by its interpreter,
/// which has at most one argument of its own before the script's path (execve(2)).
fn runs(program: &str, words: &[&[u8]]) -> bool {
    let is_named =
        |word: &&[u8]| word.rsplit(|&byte| byte == b'/').next() == Some(program.as_bytes());
    words.iter().take(3).any(is_named)
}

pub(super) fn in_use(path: &Path) -> HostError {
    let sentence = format!("{} is in use: end what uses it", path.display());
    HostError::new(ErrorKind::Io, sentence)
}

#[cfg(test)]
mod tests {
    use super::runs;

    fn words(line: &str) -> bool {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        runs("mine", &words)
    }

    /// A script that a killed `power-cut` had left was `/bin/sh ./mine run DIR`: restore looked for
    /// a process called `mine`, found none, and said that the mount was in use.
    #[test]
    fn a_script_is_found_behind_its_interpreter() {
        for line in [
            "mine run at",
            "/opt/mine run at",
            "/bin/sh ./mine run at",
            "/usr/bin/perl -w ./mine at",
        ] {
            assert!(words(line), "{line}");
        }
        for line in ["", "miner run at", "/bin/sh -e other.sh mine at", "tail -f log of mine"] {
            assert!(!words(line), "{line}");
        }
    }
}
