//! What the engines' tests share: a file that vanishes, and requests to it.

use block::{Actor, Buf, Payload, Request, Tag};
use block::{Command, Completion, Data, Drive, Durability, Engine, Extent, Geometry};
use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

pub const BLOCK_BYTES: u32 = 4096;

/// A path of its own, whose file is removed at the end of the test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn path(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("drivelab-{name}-{}-{number}", std::process::id());
        Self(env::temp_dir().join(name))
    }

    pub fn file(name: &str, contents: &[u8]) -> Self {
        let scratch = Self::path(name);
        fs::write(&scratch.0, contents).expect("the temporary directory takes files");
        scratch
    }
}

impl std::ops::Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub fn geometry(capacity_bytes: u64, queue_depth: u32) -> Geometry {
    let (block_bytes, transfer_bytes_max) = (BLOCK_BYTES, 1 << 20);
    Geometry { capacity_bytes, block_bytes, transfer_bytes_max, queue_depth, data: Data::Stored }
}

pub fn request(tag: u64, command: Command) -> Request {
    Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command }
}

pub fn read(offset: u64, bytes: u32, into: Buf) -> Command {
    Command::Read { at: Extent { offset, bytes }, into: Payload::Bytes(into) }
}

pub fn write(offset: u64, bytes: u32, from: Buf, durability: Durability) -> Command {
    Command::Write { at: Extent { offset, bytes }, from: Payload::Bytes(from), durability }
}

/// Submits one request and waits for its answer.
pub fn ask<E: Engine>(engine: &mut E, command: Command) -> Completion {
    let before = engine.now();
    let completion = block::submit_and_wait(engine, command);
    assert!(before <= completion.issued && completion.issued <= completion.finished);
    assert_eq!(completion.finished, engine.now());
    completion
}

/// The memory a completion brings back.
pub fn buffer(payload: Payload) -> Buf {
    match payload {
        Payload::Bytes(buffer) => buffer,
        other => panic!("the payload is lost: {other:?}"),
    }
}
