//! A campaign as a job array of Slurm's: each element is one `campaign run`.
//!
//! ```text
//!   tasks to do -> residues of their numbers -> sbatch --array=0-199 < slurm.sh
//!   element i: campaign run DIR --task i --every N
//! ```
//!
//! Slurm starts an element again when its node is lost (`--requeue`). Claims see to it that this
//! does nothing twice.

use super::words::in_words;
use crate::output;
use ::campaign::{Campaign, CampaignFile, Failed, Survey, Task, task};
use anyhow::{Context, Result, anyhow, bail, ensure};
use report::number::counted;
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::{ErrorKind, Write},
    path::Path,
    process::{Command, ExitCode, Stdio},
};

/// `MaxArraySize` where Slurm does not tell (slurm.conf(5)).
const ARRAY_SIZE_MAX: u32 = 1001;
/// The directory of a campaign that has what Slurm was told and what it said.
const DIRECTORY: &str = "slurm";

/// Whether sbatch is there, and all tasks that begin together can run at once: asked before
/// anything is made.
///
/// # Errors
/// It is not so, with the cure.
pub fn check(file: &CampaignFile, tasks: &[Task]) -> Result<()> {
    said("sbatch", Command::new("sbatch").arg("--version"))?;
    if !file.together {
        return Ok(());
    }
    let (together, on_a_host) =
        (task::repetition_max(tasks), task::repetition_max_on_a_host(tasks));
    let elements = elements(file, tasks.len() as u32) as usize;
    ensure!(
        together <= elements,
        "--on slurm: {together} tasks begin together and the array has {elements} elements, so \
         they would wait for each other for ever: let slurm.array be {together} or more, or leave \
         out `together`"
    );
    ensure!(
        on_a_host <= 1 || !tasks.iter().any(|task| is_real(&task)),
        "--on slurm: {on_a_host} tasks of a repetition are for one host, which has real drives to \
         itself, and with `together = true` each waits for all: name one target, method and \
         setting, or leave out `together`"
    );
    let shown = said("sinfo", Command::new("sinfo").args(["--noheader", "--format=%C"]));
    if let Some(processors) = shown.ok().and_then(|text| processors(&text)) {
        ensure!(
            together <= processors,
            "--on slurm: {together} tasks begin together and the cluster has {processors} \
             processors, so they would wait for each other for ever: have fewer targets, methods \
             and settings, or leave out `together`"
        );
    }
    Ok(())
}

/// All processors, of lines `allocated/idle/other/total`. A node in two partitions counts twice:
/// what is refused is never possible.
fn processors(text: &str) -> Option<usize> {
    let totals = text.lines().map(|line| line.trim().rsplit('/').next()?.parse::<usize>().ok());
    totals.sum::<Option<usize>>().filter(|&sum| sum > 0)
}

/// How tasks are started.
pub struct How<'a> {
    /// Whether those that failed are tried again.
    pub failed: Failed,
    /// When the first of them begins.
    pub start_at: Option<&'a str>,
    /// The history that an option named.
    pub store: Option<&'a Path>,
}

/// Hands what is to be done to Slurm.
pub fn submit(campaign: &Campaign, how: &How<'_>) -> Result<ExitCode> {
    let tasks = campaign.tasks().map_err(in_words)?;
    check(&campaign.file, &tasks)?;
    let survey = Survey::of(campaign).map_err(in_words)?;
    let to_do: BTreeSet<u32> = survey.to_do().collect();
    let mut by_host: BTreeMap<Option<&str>, Vec<&Task>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| to_do.contains(&task.task)) {
        by_host.entry(task.host.as_deref()).or_default().push(task);
    }
    if by_host.is_empty() {
        output::talk!("drivelab: every task is complete: nothing is submitted");
        return Ok(ExitCode::SUCCESS);
    }
    let elements = elements(&campaign.file, campaign.head.tasks);
    let script = script(campaign, elements, how)?;
    let directory = campaign.path(DIRECTORY);
    fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let path = directory.join("job.sh");
    fs::write(&path, &script).with_context(|| path.display().to_string())?;
    for (host, tasks) in by_host {
        let residues: BTreeSet<u32> = tasks.iter().map(|task| task.task % elements).collect();
        let job = sbatch(campaign, &script, host, &residues, tasks.iter().any(is_real))?;
        let path = directory.join(format!("{job}.job"));
        fs::write(&path, "").with_context(|| path.display().to_string())?;
        let on = host.map(|host| format!(" on {host}")).unwrap_or_default();
        output::talk!(
            "drivelab: job {job}{on}: {} in {}; `drivelab campaign status {}` says how far it is",
            counted(tasks.len() as u64, "task"),
            counted(residues.len() as u64, "array element"),
            record::quoted(campaign.place())
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn is_real(task: &&Task) -> bool {
    !task.is_modelled()
}

/// Cancels the jobs of a campaign that has any.
pub fn cancel(campaign: &Campaign) -> Result<()> {
    let Ok(entries) = fs::read_dir(campaign.path(DIRECTORY)) else { return Ok(()) };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let jobs: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".job")?.to_owned())).collect();
    if !jobs.is_empty() {
        // Those that have ended are no error of scancel's.
        said("scancel", Command::new("scancel").arg("--quiet").args(&jobs))?;
    }
    Ok(())
}

/// How many elements an array has: as many as tasks, asked for, or possible.
fn elements(file: &CampaignFile, tasks: u32) -> u32 {
    let shown = said("scontrol", Command::new("scontrol").args(["show", "config"]));
    let size = shown.ok().and_then(|text| array_size(&text)).unwrap_or(ARRAY_SIZE_MAX);
    let asked = file.slurm.array.unwrap_or(u32::MAX);
    tasks.min(asked).min(size).max(1)
}

/// Indices are less than this.
fn array_size(config: &str) -> Option<u32> {
    let line = config.lines().find_map(|line| line.strip_prefix("MaxArraySize"))?;
    line.trim_start_matches([' ', '=']).trim().parse().ok()
}

/// What every element runs. Seeds are tried by a program of their own.
fn script(campaign: &Campaign, elements: u32, how: &How<'_>) -> Result<String> {
    let mut words = match &campaign.file.soak {
        None => {
            let program = env::current_exe().context("where this program is")?;
            format!("{} campaign run {}", record::quoted(&program), directory(campaign))
        }
        Some(soak) => {
            let program = soak.program.as_ref().context(
                "--on slurm: the campaign's file needs soak.program, what tries its seeds, such as \
                 program = \"target/release/xtask\"",
            )?;
            let program = campaign.head.working_directory.join(program);
            format!("{} soak --campaign {}", record::quoted(&program), directory(campaign))
        }
    };
    words += &format!(" --task \"$SLURM_ARRAY_TASK_ID\" --every {elements}");
    if how.failed == Failed::Again {
        words += " --again";
    }
    // Seeds have nothing to begin together for.
    if let (Some(at), None) = (how.start_at, &campaign.file.soak) {
        words += &format!(" --start-at {at}");
    }
    if let (Some(store), None) = (how.store, &campaign.file.soak) {
        words += &format!(" --store {}", record::quoted(store));
    }
    Ok(format!("#!/bin/sh\nexec {words}\n"))
}

fn directory(campaign: &Campaign) -> String {
    record::quoted(campaign.place())
}

/// Submits an array; its job's number.
fn sbatch(
    campaign: &Campaign,
    script: &str,
    host: Option<&str>,
    residues: &BTreeSet<u32>,
    is_real: bool,
) -> Result<String> {
    let mut command = Command::new("sbatch");
    command.args(["--parsable", "--requeue", "--open-mode=append"]);
    command.arg(format!("--job-name={}", campaign.head.name));
    command.arg(format!("--array={}", ranges(residues)));
    command.arg(format!("--output={}", campaign.path(DIRECTORY).join("%A_%a.log").display()));
    command.arg(format!("--chdir={}", campaign.head.working_directory.display()));
    if let Some(host) = host {
        command.arg(format!("--nodelist={host}"));
    }
    if is_real {
        // What else runs on the node would be in the numbers.
        command.arg("--exclusive");
    }
    command.args(&campaign.file.slurm.options);
    let said = said_to("sbatch", &mut command, script)?;
    // `12` or `12;cluster`.
    let job = said.trim().split(';').next().unwrap_or_default().to_owned();
    let is_number = !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit());
    ensure!(is_number, "sbatch answered {said:?}, which is no job's number");
    Ok(job)
}

/// `0-2,5`: what `--array` takes.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

fn said(name: &str, command: &mut Command) -> Result<String> {
    said_to(name, command, "")
}

/// What a program of Slurm's answers to `input`.
fn said_to(name: &str, command: &mut Command, input: &str) -> Result<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "--on slurm: there is no `{name}` here: start it on a host of the cluster that has \
             Slurm's programs, or leave out --on"
        ),
        _ => anyhow!("--on slurm: {name} cannot be started: {error}"),
    })?;
    let mut stdin = child.stdin.take().expect("it is piped");
    // One that ends without reading says why.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().with_context(|| name.to_owned())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        bail!("--on slurm: {name} refused: {said}");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_written_as_ranges() {
        let text = |numbers: &[u32]| ranges(&numbers.iter().copied().collect());
        assert_eq!(text(&[0, 1, 2, 3]), "0-3");
        assert_eq!(text(&[7, 0, 2, 1, 9, 10]), "0-2,7,9-10");
        assert_eq!(text(&[4]), "4");
    }

    #[test]
    fn the_processors_of_a_cluster_are_added() {
        assert_eq!(processors("0/8/0/8\n"), Some(8));
        assert_eq!(processors("3/61/0/64\n1/1/126/128\n"), Some(192));
        assert_eq!(processors(""), None);
        assert_eq!(processors("CPUS(A/I/O/T)\n"), None);
    }

    #[test]
    fn the_largest_array_is_read_from_slurms_configuration() {
        let config = "MaxArraySize            = 1001\nMaxBatchRequeue         = 5\n";
        assert_eq!(array_size(config), Some(1001));
        assert_eq!(array_size("MaxJobCount = 10000"), None);
    }
}
