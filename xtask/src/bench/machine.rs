//! What the numbers depend on, printed above them.

use super::contender::Bench;
use anyhow::Result;
use std::{fs, process::Command, thread::available_parallelism};

/// Machine, kernel, versions, and where the files lie.
pub fn print(bench: &Bench) -> Result<()> {
    let version = said(Command::new(&bench.drivelab).arg("--version"));
    let commit = said(Command::new("git").args(["describe", "--always", "--dirty"]));
    let processors = available_parallelism().map_or(0, usize::from);
    println!("\nProcessor  {processors} x {}", cpu_model().unwrap_or("unknown".to_owned()));
    println!("Kernel     {}", line("/proc/sys/kernel/osrelease"));
    println!(
        "Clock      {}",
        line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    );
    println!("Load       {}", load());
    println!("Directory  {}", bench.scratch.path().display());
    if let Some(file_system) = said(
        Command::new("findmnt")
            .args(["--noheadings", "--output", "SOURCE,FSTYPE,OPTIONS", "--target"])
            .arg(bench.scratch.path()),
    ) {
        println!("           {file_system}");
    }
    println!("drivelab   {} {}", version.unwrap_or_default(), commit.unwrap_or_default());
    match &bench.fio {
        Some(version) => println!("fio        {version}"),
        None => println!("fio        not installed, so its column is missing: apt-get install fio"),
    }
    println!("Nothing is pinned to a processor; the contenders take turns.");
    Ok(())
}

/// fio's version; `None` if it is not installed.
pub fn fio_version() -> Option<String> {
    said(Command::new("fio").arg("--version"))
}

/// Mean number of running tasks over 1, 5 and 15 minutes.
pub fn load() -> String {
    line("/proc/loadavg")
}

/// Time that the hypervisor gave to others while this machine wanted to run, all processors
/// together, ms since the start; `None` where the kernel does not say. It counts in hundredths of a
/// second (USER_HZ in proc(5)).
pub fn stolen_ms() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let all = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: u64 = all.split_whitespace().nth(8)?.parse().ok()?;
    Some(ticks * 10)
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn line(path: &str) -> String {
    fs::read_to_string(path).map_or("unknown".to_owned(), |text| text.trim().to_owned())
}

fn cpu_model() -> Option<String> {
    let facts = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = facts.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
