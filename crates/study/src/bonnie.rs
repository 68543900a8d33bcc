//! Bonnie++ on a modelled file system: files created, looked at and deleted in one directory, and
//! seeks in a file of twice the memory.
//!
//! As in version 1.03, of the article's time, nothing is flushed at the end of a phase unless it is
//! told to (`-b`; its `bon_file.cpp`, `CFileOp::close`): what is still in memory then has cost the
//! program no time. Left out: what the five processes need to hand each other the turns.

use crate::pass::{TrialError, cell_of, pass};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, IoError, Payload,
    Request, Tag,
};
use lab::{
    method::{CacheState, CellSpec, FileState, FinalFlush},
    workload::{Area, Counted, Length, Op, Pattern, Stream, once},
};
use model::fs::{Act, FileSystemParams, LOG_BUFFERS, Memory, Through, Traffic, Tree};
use std::collections::VecDeque;
use target::stack::{Opened, Top};

/// Files of the directory: Bonnie++'s `-n 16`.
const FILES: u64 = 16 << 10;
/// Seeks: the method's five seekers do 1,638 each, Bonnie++'s 8,192 together.
const SEEKS: u64 = 8192;

/// A phase of Bonnie++'s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BonniePhase {
    /// Files.
    Files(Act),
    /// Seeks.
    Seeks(Seeking),
}

/// What else there is to seeks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Seeking {
    /// As they come: memory answers what it has, and is left with what was written.
    Plain,
    /// What was written is flushed within their time, as with `-b`, and always in later versions.
    Flushed,
    /// Nothing of the file is in memory at first.
    Cold,
}

impl BonniePhase {
    /// From the operation of a cell.
    pub(crate) fn named(op: &str) -> Option<Self> {
        Some(match op {
            "create" => Self::Files(Act::Create),
            "stat" => Self::Files(Act::Stat),
            "delete" => Self::Files(Act::Delete),
            "seeks" => Self::Seeks(Seeking::Plain),
            "seeks-flushed" => Self::Seeks(Seeking::Flushed),
            "seeks-cold" => Self::Seeks(Seeking::Cold),
            _ => return None,
        })
    }
}

/// Does a phase, after those that it needs; operations a second, and a hash of when each ended.
pub(crate) fn run(opened: &mut Opened, phase: BonniePhase) -> Result<(f64, u64), TrialError> {
    match phase {
        BonniePhase::Seeks(seeking) => {
            let rate = seeks(opened, seeking)?;
            Ok((rate, opened.engine.hash()))
        }
        BonniePhase::Files(act) => {
            let Top::Files(stack) = &mut opened.engine.engine else {
                unreachable!("the study's stacks have a file system")
            };
            let params = stack.machine.params().clone();
            Ok(files(&mut stack.engine, &params, act)?)
        }
    }
}

/// All files, one after the other.
fn files(
    below: &mut dyn Engine,
    params: &FileSystemParams,
    act: Act,
) -> Result<(f64, u64), IoError> {
    let capacity_bytes = below.geometry(Drive(0)).capacity_bytes;
    let mut bench = TreeBench {
        tree: Tree::new(params, capacity_bytes, FILES),
        below,
        commit_interval_ns: params.commit_interval_ns,
        began: None,
        queue: VecDeque::new(),
        commits: VecDeque::new(),
        asked: 0,
        is_busy: false,
        done: Vec::new(),
        hash: 0,
    };
    if act != Act::Create {
        bench.all(Act::Create)?;
        bench.rest()?;
    }
    let ns = bench.all(act)?;
    Ok((FILES as f64 * 1e9 / ns as f64, bench.hash))
}

/// A program on a directory, and the journal's thread beside it.
struct TreeBench<'e> {
    tree: Tree,
    below: &'e mut dyn Engine,
    commit_interval_ns: u64,
    /// When the running transaction began.
    began: Option<Instant>,
    /// What the journal's thread has to ask of the drive, one at a time.
    queue: VecDeque<Traffic>,
    /// Where commits end, as numbers of what was asked for.
    commits: VecDeque<u64>,
    asked: u64,
    is_busy: bool,
    done: Vec<Completion>,
    hash: u64,
}

impl TreeBench<'_> {
    /// Does `act` to every file; how long it took, ns.
    fn all(&mut self, act: Act) -> Result<u64, IoError> {
        let start = self.below.now();
        for file in 0..FILES {
            self.tree.apply(act, file);
            if self.tree.is_dirty() {
                self.began.get_or_insert(self.below.now());
            }
            let until = self.below.now().after(act.cpu_ns());
            while self.below.now() < until {
                self.step(until)?;
            }
            let due = self.began.map(|began| began.after(self.commit_interval_ns));
            if self.tree.is_full() || due.is_some_and(|due| due <= self.below.now()) {
                self.commit()?;
            }
            self.hash = (self.hash ^ self.below.now().0).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(self.below.now().since(start))
    }

    /// Hands the running transaction to the journal's thread, as soon as that has room.
    fn commit(&mut self) -> Result<(), IoError> {
        while self.commits.len() >= LOG_BUFFERS {
            self.step(Instant::NEVER)?;
        }
        let mut traffic = Vec::new();
        self.tree.commit(&mut traffic);
        self.began = None;
        self.queue.extend(traffic);
        self.commits.push_back(self.asked + self.queue.len() as u64);
        self.ask();
        Ok(())
    }

    /// Everything is committed, and the drive has it.
    fn rest(&mut self) -> Result<(), IoError> {
        if self.tree.is_dirty() {
            self.commit()?;
        }
        while self.is_busy {
            self.step(Instant::NEVER)?;
        }
        once(self.below, Command::Flush).map(|_| ())
    }

    /// Lets time pass, to `until` at most or to the next answer of the drive.
    fn step(&mut self, until: Instant) -> Result<(), IoError> {
        self.below.wait(until, &mut self.done);
        while let Some(completion) = self.done.pop() {
            completion.result?;
            self.is_busy = false;
            while self.commits.front().is_some_and(|last| *last <= self.asked) {
                self.commits.pop_front();
            }
        }
        self.ask();
        Ok(())
    }

    fn ask(&mut self) {
        if self.is_busy {
            return;
        }
        let Some(step) = self.queue.pop_front() else { return };
        let command = match step {
            Traffic::Write { offset, bytes } => write(offset, bytes),
            Traffic::Flush => Command::Flush,
        };
        let (tag, actor, drive) = (Tag(self.asked), Actor(0), Drive(0));
        self.below.submit(Request { tag, actor, drive, command });
        self.asked += 1;
        self.is_busy = true;
    }
}

/// Seeks at random in a file of twice the memory that was written, then read, front to back; a
/// second. They are the cell of the method `bonnie`, but that its five seekers end together, and
/// for the flush and the cache.
fn seeks(opened: &mut Opened, seeking: Seeking) -> Result<f64, TrialError> {
    let ram_bytes = opened.ram_bytes.expect("a file system has memory");
    let file_bytes = 2 * ram_bytes;
    let mut cell = cell_of("bonnie", &[], |cell| cell.name == "seeks");
    cell.file_bytes = Some(file_bytes);
    cell.flush = match seeking {
        Seeking::Flushed => FinalFlush::Timed,
        Seeking::Plain | Seeking::Cold => FinalFlush::None,
    };
    cell.cache = match seeking {
        Seeking::Cold => cell.cache,
        Seeking::Plain | Seeking::Flushed => CacheState::AsIs,
    };
    let files = opened.file_system().expect("the study's stacks have a file system");
    files.set_memory(Memory::AMD_X2, Through::Call);
    let new = CellSpec { file: FileState::New, cache: CacheState::AsIs, ..cell.clone() };
    opened.make_ready(&new)?;
    in_order(opened, file_bytes, Op::Write)?;
    once(opened, Command::Flush)?;
    in_order(opened, file_bytes, Op::Read)?;
    Ok(pass(opened, &cell, Length::of(SEEKS))?.iops())
}

/// The file once, front to back.
fn in_order(opened: &mut Opened, file_bytes: u64, op: Op) -> Result<(), TrialError> {
    const BYTES: u32 = 1 << 20;
    let stream = Stream::new(op, Pattern::Sequential, BYTES);
    let area = Area { offset: 0, bytes: file_bytes };
    let length = Length::of(file_bytes / u64::from(BYTES));
    let engine = opened.as_engine();
    Counted::new(engine, &stream, area, 0).run(engine, length)?;
    Ok(())
}

fn write(offset: u64, bytes: u32) -> Command {
    let at = Extent { offset, bytes };
    Command::Write { at, from: Payload::None, durability: Durability::Cached }
}
