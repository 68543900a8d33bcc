//! A tree of files on a modelled file system: what the laboratory asks of names becomes what the
//! model does to numbers.

use crate::{shared::Shared, stack::Opened};
use block::{Actor, Command, Completion, Engine, Instant, IoError, Request, Tag};
use lab::workload::tree::{Act, SharedTree, TreeEnd, TreeLayout, TreeOp, TreeSync};
use model::fs::{Durable, FileAct, FileOp, TREE};

/// The tree of a stack, for a pass.
pub(crate) struct ModelTree {
    opened: Shared<Opened>,
    layout: TreeLayout,
    /// Bytes that each worker's operation moves, if all goes well.
    moving: Vec<u64>,
    done: Vec<Completion>,
}

impl ModelTree {
    /// For so many workers.
    pub fn new(opened: Shared<Opened>, layout: TreeLayout, workers: u16) -> Self {
        Self { opened, layout, moving: vec![0; workers.into()], done: Vec::new() }
    }

    fn submit(&mut self, worker: u16, act: FileAct) {
        let opened = &mut self.opened.borrow_mut().engine;
        let files = opened.file_system().expect("only a file system has a tree");
        files.set_act(Actor(worker), act);
        let (tag, actor) = (Tag(worker.into()), Actor(worker));
        opened.submit(Request { tag, actor, drive: TREE, command: Command::Flush });
    }

    fn wait_for(&mut self, until: Instant) {
        self.opened.borrow_mut().engine.wait(until, &mut self.done);
    }
}

impl SharedTree for ModelTree {
    fn now(&mut self) -> Instant {
        self.wait_for(Instant(0));
        assert!(self.done.is_empty(), "an operation came back to nobody");
        self.reached()
    }

    fn reached(&self) -> Instant {
        self.opened.borrow().engine.now()
    }

    fn begin(&mut self, worker: u16, act: &Act<'_>) {
        let op = match act.op {
            TreeOp::Create => FileOp::Create,
            TreeOp::WriteFile => FileOp::Overwrite,
            TreeOp::ReadFile => FileOp::Read,
            TreeOp::Stat => FileOp::Stat,
            TreeOp::Readdir => FileOp::List,
            TreeOp::Rename => FileOp::Rename,
            TreeOp::Link => FileOp::Link,
            TreeOp::Unlink => FileOp::Unlink,
            TreeOp::Mkdir => FileOp::Mkdir,
            TreeOp::Rmdir => FileOp::Rmdir,
        };
        let (file, directory) = match op {
            FileOp::List => (0, act.number as u32),
            _ => (act.number as u32, self.layout.leaf_of(act.number)),
        };
        let durable = match act.sync {
            TreeSync::None => Durable::Nothing,
            TreeSync::File => Durable::File,
            TreeSync::Directory => Durable::Directory,
            TreeSync::Both => Durable::Both,
        };
        self.moving[usize::from(worker)] = act.bytes;
        self.submit(worker, FileAct { op, file, directory, bytes: act.bytes, durable });
    }

    fn wait(&mut self, until: Instant, ended: &mut Vec<TreeEnd>) {
        self.wait_for(until);
        ended.extend(self.done.drain(..).map(|done| {
            let worker = done.tag.0 as u16;
            let moved = self.moving[usize::from(worker)];
            TreeEnd { worker, finished: done.finished, result: done.result.map(|()| moved) }
        }));
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        let (op, durable) = (FileOp::SyncAll, Durable::Nothing);
        self.submit(0, FileAct { op, file: 0, directory: 0, bytes: 0, durable });
        while self.done.is_empty() {
            self.wait_for(Instant::NEVER);
        }
        let done = self.done.pop().expect("one was under way");
        assert!(self.done.is_empty() && done.issued.0 <= done.finished.0, "the sync alone");
        done.result.map(|()| done.finished)
    }
}

/// What a layout asks of a model.
pub(crate) fn size_of(layout: &TreeLayout) -> model::fs::TreeSize {
    let files = u32::try_from(layout.files).expect("a tree has at most 4 Mi files");
    model::fs::TreeSize { files, directories: layout.directories }
}
