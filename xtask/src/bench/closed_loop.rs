//! A closed loop over any engine, in process and on one thread: so many requests are always under
//! way.

use anyhow::{Result, bail, ensure};
use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request,
    Rng, Tag,
};

/// Requests outstanding.
pub const DEPTH: usize = 32;

/// What is asked of a block.
#[derive(Clone, Copy)]
pub enum Kind {
    /// To be read.
    Read,
    /// To be written.
    Write(Durability),
}

/// A plain write.
pub const CACHED: Kind = Kind::Write(Durability::Cached);

/// Keeps its depth of requests outstanding.
pub struct ClosedLoop<E> {
    /// What serves them.
    pub engine: E,
    buffers: Vec<Buf>,
    /// Of each request, bytes.
    bytes: u32,
    depth: usize,
    done: Vec<Completion>,
}

impl<E: Engine> ClosedLoop<E> {
    /// A loop of [`DEPTH`] requests of so many `bytes`; its writes carry data that no drive
    /// compresses.
    pub fn new(engine: E, bytes: u32) -> Self {
        Self::of_depth(engine, bytes, DEPTH)
    }

    /// The same with another depth.
    pub fn of_depth(mut engine: E, bytes: u32, depth: usize) -> Self {
        let mut buffers = engine.pool(depth, bytes as usize);
        let mut rng = Rng::new(1, 1);
        buffers.iter_mut().for_each(|buffer| rng.fill(buffer.bytes_mut()));
        Self { engine, buffers, bytes, depth, done: Vec::with_capacity(depth) }
    }

    /// Has `count` requests answered; `next` says of which place, counted in their length, and
    /// what.
    pub fn run(&mut self, count: u64, next: impl FnMut() -> (u64, Kind)) -> Result<()> {
        self.run_while(|sent| sent < count, next).map(drop)
    }

    /// Goes on as long as `more` says of the number sent so far; how many were answered.
    pub fn run_while(
        &mut self,
        mut more: impl FnMut(u64) -> bool,
        mut next: impl FnMut() -> (u64, Kind),
    ) -> Result<u64> {
        let mut sent = 0;
        loop {
            while !self.buffers.is_empty() && more(sent) {
                let (place, kind) = next();
                let at = Extent { offset: place * u64::from(self.bytes), bytes: self.bytes };
                let payload = Payload::Bytes(self.buffers.pop().expect("there is one"));
                let command = match kind {
                    Kind::Read => Command::Read { at, into: payload },
                    Kind::Write(durability) => Command::Write { at, from: payload, durability },
                };
                sent += 1;
                self.submit(Tag(sent), command);
            }
            if self.buffers.len() == self.depth {
                return Ok(sent);
            }
            self.engine.wait(Instant::NEVER, &mut self.done);
            for completion in self.done.drain(..) {
                ensure!(completion.result.is_ok(), "a request failed: {:?}", completion.result);
                let Payload::Bytes(buffer) = completion.payload else {
                    bail!("memory comes back with its request")
                };
                self.buffers.push(buffer);
            }
        }
    }

    /// The length of each request.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Makes durable what was written.
    pub fn flush(&mut self) -> Result<()> {
        self.submit(Tag(0), Command::Flush);
        while self.done.is_empty() {
            self.engine.wait(Instant::NEVER, &mut self.done);
        }
        let result = self.done.pop().expect("it is there").result;
        ensure!(result.is_ok(), "a flush failed: {result:?}");
        Ok(())
    }

    fn submit(&mut self, tag: Tag, command: Command) {
        self.engine.submit(Request { tag, actor: Actor(0), drive: Drive(0), command });
    }
}
