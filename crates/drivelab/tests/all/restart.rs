//! A server that is killed and started anew on the same socket, under clients that reconnect: they
//! see no error, and nothing is lost that was answered, flushed or not.

use crate::common;
use crate::nbd_client;

use block::Rng;
use common::{Bench, MIB, serving::Serving};
use nbd_client::{Client, READ, Replies, WRITE, request};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(60);
const BLOCK: u64 = 4096;
/// Blocks of 4 KiB that are written.
const BLOCKS: u64 = 2048;

/// What is served, and with which words; its size is 16 MiB at least.
fn targets(bench: &Bench) -> [Vec<&'static str>; 2] {
    let words = ["flash", "create", "vol.img", "--drive-size", "64M"];
    bench.drivelab_without_store(words).done().succeeded();
    fs::File::create(bench.path("disk.img"))
        .and_then(|file| file.set_len(64 * MIB))
        .expect("a file");
    [vec!["flash:vol.img", "--restartable"], vec!["disk.img", "--destroy", "disk.img"]]
}

/// Rounds of a client: each writes 2 MiB, half of it in requests that are under way together, and
/// reads it again.
const ROUNDS: u64 = 40;

/// Of which there are so many places.
const PLACES: u64 = 8;

/// Lines of qemu-io's that each round ends with: one for each write and the read.
const ANSWERS_A_ROUND: usize = 18;

/// What qemu-io is to do.
fn commands() -> Vec<String> {
    let mut commands = Vec::new();
    for round in 0..ROUNDS {
        let (pattern, at) = (round + 1, round % PLACES * 2 * MIB);
        commands.push(format!("write -P {pattern} {at} 1M"));
        for part in 0..16 {
            let at = at + MIB + part * 65_536;
            commands.push(format!("aio_write -P {pattern} {at} 64k"));
        }
        commands.push("aio_flush".to_owned());
        commands.push(format!("read -P {pattern} {at} 2M"));
    }
    commands.push("flush".to_owned());
    for place in 0..PLACES {
        let pattern = ROUNDS - PLACES + place + 1;
        commands.push(format!("read -P {pattern} {} 2M", place * 2 * MIB));
    }
    commands
}

/// qemu-io, which reconnects, and tells what it has done.
struct QemuIo {
    child: Child,
    said: Receiver<String>,
}

impl QemuIo {
    fn start(socket: &Path) -> Self {
        let path = socket.display();
        let options = format!("driver=nbd,server.type=unix,server.path={path},reconnect-delay=80");
        // Into a pipe it would answer only when it ends.
        let mut command = Command::new("stdbuf");
        command.args(["-oL", "qemu-io", "-t", "writeback"]);
        for text in commands() {
            command.args(["-c", &text]);
        }
        command.args(["--image-opts", &options]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("it is installed");
        let (sender, said) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        thread::spawn(move || {
            for line in output.lines().map_while(std::io::Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, said }
    }

    /// Waits for so many answers, or all that are left; says how many there were. None may be an
    /// error.
    fn hear(&self, answers: usize) -> usize {
        let mut heard = 0;
        while heard < answers {
            let line = match self.said.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return heard,
                Err(RecvTimeoutError::Timeout) => panic!("{heard} of {answers} answers"),
            };
            let wrong = ["failed", "error", "mismatch"].iter().any(|word| line.contains(word));
            assert!(!wrong, "{line}");
            heard += usize::from(line.contains(" bytes at offset "));
        }
        heard
    }
}

impl Drop for QemuIo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that was killed meant an I/O error to every client, or a volume whose unflushed writes
/// were gone under clients that reconnected and were told nothing. What is right: qemu waits, goes
/// on, and finds every byte.
#[test]
fn qemu_goes_on_after_the_server_was_killed_and_finds_every_byte() {
    need_programs!("qemu-io", "stdbuf");
    let bench = Bench::new();
    for words in targets(&bench) {
        let mut server = Serving::start(&bench, &words);
        let mut client = QemuIo::start(&server.socket);
        let mut heard = 0;
        for kill in 0..4 {
            // At another place of a round each time.
            heard += client.hear(ANSWERS_A_ROUND * 5 + 5 * kill);
            server.kill();
            server = Serving::start(&bench, &words);
        }
        heard += client.hear(usize::MAX);
        assert_eq!(heard, ROUNDS as usize * ANSWERS_A_ROUND + PLACES as usize);
        assert!(client.child.wait().expect("it ends").success());
        server.stop();
    }
    let checked = bench.drivelab_without_store(["flash", "check", "vol.img"]).done().succeeded();
    assert!(checked.stdout.contains("healthy"), "{checked:?}");
}

/// Writes at many depths without a flush until the server is gone; what each block may hold: the
/// last value that was answered, and what was asked for after it.
fn write_until_it_dies(
    socket: &Path,
    seed: u64,
    held: &mut BTreeMap<u64, Vec<u64>>,
    answered: &AtomicU64,
) {
    let (mut rng, mut value) = (Rng::new(seed, 5), seed << 32 | 1);
    let mut client = Client::connect(socket, Replies::Simple);
    loop {
        let mut asked = BTreeMap::new();
        let mut messages = Vec::new();
        for _ in 0..1 + rng.below(12) {
            let block = rng.below(BLOCKS);
            if asked.values().any(|&(other, _)| other == block) {
                continue;
            }
            value += 1;
            let data: Vec<u8> = value.to_le_bytes().repeat(BLOCK as usize / 8);
            messages.extend(request(0, WRITE, value, block * BLOCK, BLOCK as u32, &data));
            asked.insert(value, (block, value));
            held.entry(block).or_insert_with(|| vec![0]).push(value);
        }
        if client.stream.write_all(&messages).is_err() {
            return;
        }
        while !asked.is_empty() {
            let mut reply = [0; 16];
            if client.stream.read_exact(&mut reply).is_err() {
                return;
            }
            assert_eq!(reply[4..8], [0; 4], "an error");
            let cookie = u64::from_be_bytes(reply[8..].try_into().expect("eight bytes"));
            let (block, value) = asked.remove(&cookie).expect("it was asked for");
            held.get_mut(&block).expect("it was written").retain(|&other| other >= value);
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A managed volume answers from memory: of 5,000 writes at depth 8, none flushed, 1 to 15 of those
/// answered were gone after kill -9, which a client that reconnects is not told. With
/// `--restartable` none is.
#[test]
fn what_was_answered_survives_the_server_without_a_flush() {
    let bench = Bench::new();
    for words in targets(&bench) {
        let mut held: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for seed in 0..6 {
            let server = Serving::start(&bench, &words);
            let socket = server.socket.clone();
            let answered = AtomicU64::new(0);
            thread::scope(|scope| {
                let (path, held, count) = (&socket, &mut held, &answered);
                let client = scope.spawn(move || write_until_it_dies(path, seed, held, count));
                let start = Instant::now();
                while answered.load(Ordering::Relaxed) < 400 + 137 * seed {
                    assert!(start.elapsed() < PATIENCE, "{answered:?} answers");
                    thread::sleep(Duration::from_millis(1));
                }
                server.kill();
                client.join().expect("no error while it served");
            });
            let server = Serving::start(&bench, &words);
            let mut client = Client::connect(&server.socket, Replies::Simple);
            for (block, values) in &mut held {
                let data = client.ask(0, READ, block * BLOCK, BLOCK as u32, &[]);
                assert_eq!(data.error, 0);
                let data = &data.data[&(block * BLOCK)];
                let value = u64::from_le_bytes(data[..8].try_into().expect("eight bytes"));
                assert!(
                    data.chunks(8).all(|word| word == &data[..8]),
                    "block {block} is a mixture"
                );
                assert!(
                    values.contains(&value),
                    "{words:?}: block {block}: {value:#x}, {values:x?}"
                );
                *values = vec![value];
            }
            client.leave();
            server.kill();
        }
    }
}

#[test]
fn what_goes_with_its_process_is_not_restartable() {
    let bench = Bench::new();
    let words = ["serve", "model:mtron-pro-32", "--nbd", "unix:s", "--restartable"];
    bench.drivelab_without_store(words).done().refused(&["--restartable", "gone with the process"]);
}
