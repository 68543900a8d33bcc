//! The command line of `drivelab power-cut`, and of the process that is a built-in case.

use crate::{key_value::key_value, matrix::words::in_words, values::flushes};
use anyhow::{Context, Result, bail};
use block::{names::did_you_mean, parse_bytes};
use clap::{Args, ValueEnum};
use lab::duration::parse_seconds;
use matrix::{Axes, Axis, Configuration};
use powercut::{
    PowerCutError, PowerCutOrder, Program, cases,
    replay::{Place, Places, ReplayOrder, Share},
};
use std::{
    ffi::OsString,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};
use target::{TargetText, serve::Flushes, write_log::Survey};

/// What `power-cut --help` opens with.
pub const ABOUT: &str = "\
Cut the power of modelled drives under a program, round after round, and count the promises that \
it broke: rows that were committed, files that were synced. STACK is served and attached as a \
block device, a file system is made on it, the program works, drives and program lose their \
power at a moment that the seed draws; then the file system is mounted again and the program \
checks what it had promised.

Real file systems and databases run on drives that are not here; no disk of this machine is \
written. It needs root, nbdfuse (Debian: libnbd-bin) and the file system's programs. Everything \
is put back, after Ctrl-C too. The rounds are kept as a run: `history`, `show`, `compare` and \
`report` have it, and `--resume` goes on with one that was interrupted.";

/// What `power-cut --help` ends with.
const HELP: &str = "\
Examples:
  drivelab power-cut hdd-7200-cmr
  drivelab power-cut hdd-7200-cmr --set synchronous=off
  drivelab power-cut hdd-7200-cmr --kernel-flush off --rounds 40
  drivelab power-cut hdd-7200-cmr --flushes ignored     a drive that lies
  drivelab power-cut 3xhdd-7200-cmr/raid5 --fs xfs --case files
  drivelab power-cut 3xhdd-7200-cmr/raid5 --lose-member 0    its write hole
  drivelab power-cut nvme-tlc --case postgresql --set fsync=off
  drivelab power-cut hdd-7200-cmr -- ./mine --threads 4
  drivelab power-cut hdd-7200-cmr --fs raw -- ./virtual-machine.sh
  drivelab power-cut hdd-7200-cmr --matrix --fs ext4,xfs --set synchronous=full,off
  drivelab power-cut --resume last                      after Ctrl-C or a crash
  drivelab power-cut hdd-7200-cmr --within 5s --record-writes sqlite.log
  drivelab power-cut hdd-7200-cmr --replay sqlite.log   cut after every flush
  drivelab power-cut hdd-7200-cmr/flash --replay sqlite.log --cuts 10000

A program of yours is called with `run DIR` and prints a line `ack ID` when it
has promised something; then with `check DIR`, the promised IDs on stdin, and
prints `lost ID` or `torn ID` for each that is not kept, or `broken WHY`. With
`--fs raw` it gets the drives' NBD URI for DIR, and no root is needed: a virtual
machine, a container. See docs/reference/power-cut.md.

Exit codes: 0 every promise was kept, 1 one was broken, 2 could not run, 130
interrupted.";

/// What is ordered already where a run goes on.
const ORDERED: [&str; 20] = [
    "matrix",
    "record_writes",
    "replay",
    "lose_member",
    "stack",
    "command",
    "case",
    "set",
    "rounds",
    "round",
    "seed",
    "fs",
    "size",
    "mount",
    "mkfs",
    "kernel_flush",
    "flushes",
    "within",
    "patience",
    "label",
];

/// Cuts of a replay that are drawn where nobody says how many.
const DRAWN: Places = Places::Drawn(100);

/// What a log of writes says by itself.
const RECORDED: [&str; 15] = [
    "matrix",
    "record_writes",
    "command",
    "case",
    "set",
    "rounds",
    "round",
    "fs",
    "size",
    "mount",
    "mkfs",
    "kernel_flush",
    "within",
    "label",
    "store",
];

/// `drivelab power-cut`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = HELP)]
#[command(override_usage = "drivelab power-cut [OPTIONS] <STACK> [-- <COMMAND>...]")]
pub struct PowerCutArguments {
    /// Modelled drives, and what is on them; `drivelab drives` has their names
    #[arg(value_name = "STACK", required_unless_present = "resume")]
    pub stack: Option<OsString>,

    /// A program of yours, with its arguments
    #[arg(value_name = "COMMAND", last = true, conflicts_with_all = ["case", "set"])]
    pub command: Vec<OsString>,

    /// What works and promises: sqlite, postgresql, files
    #[arg(long, value_name = "NAME", default_value = "sqlite")]
    pub case: String,

    /// Change a setting of that case, such as synchronous=off
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,

    /// Every combination, a run each: --fs, --kernel-flush and --set take levels with commas
    /// between, --mkfs and --mount with semicolons
    #[arg(long, conflicts_with_all = ["round", "json", "quiet"])]
    pub matrix: bool,

    /// How often the power is cut
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rounds: u32,

    /// This round alone, as an earlier call drew it
    #[arg(long, value_name = "N", conflicts_with = "rounds",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub round: Option<u32>,

    /// Where moments and what is lost are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// ext4, xfs, btrfs, ext2, ext3, f2fs; raw: none, a program of yours attaches the drives
    #[arg(long, value_name = "NAME", default_value = "ext4")]
    pub fs: String,

    /// How much of the drives the file system takes
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_bytes)]
    pub size: u64,

    /// Options of mount, such as data=writeback
    #[arg(long, value_name = "OPTIONS")]
    pub mount: Option<String>,

    /// Options of mkfs
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub mkfs: Option<String>,

    /// Whether the kernel flushes the drive: on, off
    #[arg(long, value_name = "ON,OFF")]
    pub kernel_flush: Option<String>,

    /// What the drives make of flushes and FUA: honoured, early (answered first, carried out at the
    /// next flush), ignored; the last two are faults
    #[arg(long, value_name = "HOW", default_value = "honoured", value_parser = flushes)]
    pub flushes: Flushes,

    /// After the cut the array starts without member N, the first being 0, as after a crash that
    /// takes a drive with it
    #[arg(long, value_name = "N")]
    pub lose_member: Option<u16>,

    /// The power goes within this time of the first promise
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_seconds)]
    pub within: f64,

    /// How long a promise or a check is waited for
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_seconds)]
    pub patience: f64,

    /// Go on with a run whose rounds have not all ended, as it was ordered
    #[arg(long, value_name = "RUN", conflicts_with_all = ORDERED)]
    pub resume: Option<OsString>,

    /// One round, at whose end FILE, which must not exist, has every write, discard and flush that
    /// the drives got, and every promise: for --replay
    #[arg(long, value_name = "FILE", conflicts_with_all = ["matrix", "rounds", "round"])]
    pub record_writes: Option<PathBuf>,

    /// Replay the log FILE on STACK in virtual time, and cut after every flush and at drawn places
    /// between; file system and program are those of the log. Nothing is served: no nbdfuse is
    /// needed
    #[arg(long, value_name = "FILE", conflicts_with_all = RECORDED)]
    pub replay: Option<PathBuf>,

    /// Of --replay: how many cuts are drawn beside those after flushes, 100 unless said; all: after
    /// every operation, and none is drawn
    #[arg(long, value_name = "N|all")]
    pub cuts: Option<Places>,

    /// Of --replay: this cut alone, as an earlier call named it
    #[arg(long, value_name = "OPERATION:DRAW", conflicts_with = "cuts")]
    pub cut: Option<Place>,

    /// Of --replay: so many processes mount and check side by side; 1 where commands are printed,
    /// else as many as keep the processors busy
    #[arg(long, value_name = "N", conflicts_with_all = ["cut", "verbose"],
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: Option<u32>,

    /// The cuts of one of several processes
    #[arg(long, hide = true, value_name = "K/N", requires = "replay")]
    pub share: Option<Share>,

    /// Write the record to FILE; `-` is stdout, with nothing else there
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// A note in the record; also a name for RUN
    #[arg(long, value_name = "KEY=VALUE|NAME")]
    pub label: Vec<String>,

    /// The history to keep the run in; a database gets it at the end, see `push`
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,

    /// Print every command as it is done
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,

    /// Only the verdict and errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl PowerCutArguments {
    /// What is ordered.
    pub fn to_order(&self) -> Result<PowerCutOrder> {
        let TargetText::Model(stack) = self.target()? else {
            return Err(PowerCutError::NotModelled.into());
        };
        Ok(PowerCutOrder {
            stack,
            flushes: self.flushes,
            lost_member: self.lose_member,
            configuration: self.configuration()?,
            bytes: self.size,
            program: self.program()?,
            seed: self.seed,
            record_writes: self.record_writes.clone(),
            within: Duration::from_secs_f64(self.within),
            patience: Duration::from_secs_f64(self.patience),
        })
    }

    /// Numbers of the rounds.
    pub fn rounds(&self) -> RangeInclusive<u32> {
        let rounds = if self.record_writes.is_some() { 1 } else { self.rounds };
        self.round.map_or(1..=rounds, |round| round..=round)
    }

    /// What is replayed, of a log that was recorded with the options of `recorded`.
    pub fn to_replay(&self, recorded: &Self, log: &Path, survey: Survey) -> Result<ReplayOrder> {
        let (stack, seed) = (self.stack.clone(), self.seed);
        let (flushes, lose_member) = (self.flushes, self.lose_member);
        let now =
            Self { stack, seed, flushes, lose_member, record_writes: None, ..recorded.clone() };
        Ok(ReplayOrder {
            order: now.to_order()?,
            log: log.to_owned(),
            survey,
            places: self.cut.map(Places::One).or(self.cuts).unwrap_or(DRAWN),
            share: self.share.unwrap_or(Share::WHOLE),
        })
    }

    /// A word without a scheme is a stack.
    fn target(&self) -> Result<TargetText> {
        let stack = self.stack.as_ref().expect("the parser asks for it");
        let text = stack.to_str().context("STACK is no text")?;
        let is_path = text.starts_with(['/', '.']);
        let word = match text.starts_with("model:") || is_path {
            true => text.to_owned(),
            false => format!("model:{text}"),
        };
        Ok(TargetText::of_word(word.as_ref())?)
    }

    /// An order for each combination of levels.
    pub fn each(&self) -> Result<Vec<Self>> {
        let mut sets = vec![Vec::new()];
        for (key, levels) in &self.set {
            let all: Vec<&str> = levels.split(',').map(str::trim).collect();
            if let Some(twice) = (1..all.len()).find(|&at| all[..at].contains(&all[at])) {
                bail!("--set {key}={levels}: `{}` stands there twice", all[twice]);
            }
            let with = |set: &Vec<(String, String)>, level: &str| {
                let mut set = set.clone();
                set.push((key.clone(), level.to_owned()));
                set
            };
            sets = sets.iter().flat_map(|set| all.iter().map(|level| with(set, level))).collect();
        }
        let level = |one: &Configuration, axis| one.level(axis).map(ToOwned::to_owned);
        let configurations = self.axes()?.configurations();
        let of = |one: &Configuration, set: &Vec<(String, String)>| Self {
            matrix: false,
            fs: one.fs().to_owned(),
            mkfs: level(one, Axis::Mkfs),
            mount: level(one, Axis::Mount),
            kernel_flush: level(one, Axis::KernelFlush),
            set: set.clone(),
            ..self.clone()
        };
        Ok(configurations.iter().flat_map(|one| sets.iter().map(|set| of(one, set))).collect())
    }

    /// The levels of one order, as they are typed.
    pub fn levels(&self) -> Vec<String> {
        let named = [
            ("--fs", Some(&self.fs)),
            ("--mkfs", self.mkfs.as_ref()),
            ("--mount", self.mount.as_ref()),
            ("--kernel-flush", self.kernel_flush.as_ref()),
        ];
        let named = named.into_iter().filter_map(|(option, level)| Some((option, level?.clone())));
        let set = self.set.iter().map(|(key, level)| ("--set", format!("{key}={level}")));
        named.chain(set).flat_map(|(option, level)| [option.to_owned(), level]).collect()
    }

    /// The same in a table.
    pub fn told(&self) -> Vec<String> {
        let words = self.levels();
        let pairs = words.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
        let told = pairs.map(|(option, level)| match option {
            "--fs" | "--set" => level.to_owned(),
            _ => format!("{}={level}", option.trim_start_matches('-')),
        });
        told.collect()
    }

    fn axes(&self) -> Result<Axes> {
        let words = [
            (Axis::Fs, Some(self.fs.as_str())),
            (Axis::Mkfs, self.mkfs.as_deref()),
            (Axis::Mount, self.mount.as_deref()),
            (Axis::KernelFlush, self.kernel_flush.as_deref()),
        ];
        let words = words.into_iter().filter_map(|(axis, text)| Some((axis, text?)));
        Axes::of(words).map_err(|bad| in_words(bad.into()))
    }

    fn configuration(&self) -> Result<Configuration> {
        let mut all = self.axes()?.configurations();
        if all.len() != 1 {
            bail!(
                "--fs, --mkfs, --mount and --kernel-flush have several levels: --matrix cuts for \
                 each combination"
            );
        }
        let one = all.remove(0);
        let of_file_systems = [&self.mkfs, &self.mount, &self.kernel_flush];
        if one.is_raw() && of_file_systems.iter().any(|level| level.is_some()) {
            bail!(
                "--fs raw has no file system, which --mkfs, --mount and --kernel-flush are for: \
                 leave them out"
            );
        }
        Ok(one)
    }

    fn program(&self) -> Result<Program> {
        if !self.command.is_empty() {
            let name = self.command[0].to_string_lossy().into_owned();
            let mut words = self.command.clone();
            // It is started in another directory.
            if words[0].as_encoded_bytes().contains(&b'/') {
                words[0] = std::path::absolute(&words[0])?.into();
            }
            return Ok(Program { name, words, is_built_in: false, checks_again: false });
        }
        let known = cases::CASES.iter().map(|(name, _)| *name);
        if !known.clone().any(|name| name == self.case) {
            let near = did_you_mean(&self.case, known.clone());
            let all = known.collect::<Vec<_>>().join(", ");
            bail!("--case {}: there is none of that name.{near} Cases: {all}", self.case);
        }
        let program = std::env::current_exe().context("drivelab does not know where it is")?;
        let mut words = vec![program.into(), "power-cut-case".into(), self.case.clone().into()];
        words.extend(["--of".into(), std::process::id().to_string().into()]);
        let mut name = self.case.clone();
        for (key, value) in &self.set {
            if let Some(known) = cases::refused(&self.case, key, value) {
                bail!("--set {key}={value}: {} has no such setting; it has {known}", self.case);
            }
            words.extend(["--set".into(), format!("{key}={value}").into()]);
            name += &format!(" {key}={value}");
        }
        let checks_again = cases::checks_again(&self.case);
        Ok(Program { name, words, is_built_in: true, checks_again })
    }
}

/// `drivelab power-cut-case`: what [`PowerCutArguments`] starts.
#[derive(Args, Debug)]
pub struct CaseArguments {
    /// Which
    pub case: String,
    /// KEY=VALUE
    #[arg(long, value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// The process that listens to it
    #[arg(long)]
    pub of: Option<u32>,
    /// What to do
    pub phase: Phase,
    /// Where
    pub directory: PathBuf,
}

/// What a case is to do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Phase {
    /// Work and promise.
    Run,
    /// Check.
    Check,
    /// Check as often as it is asked.
    Checks,
}
