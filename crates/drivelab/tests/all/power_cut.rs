//! The power of modelled drives that are served is cut from outside: what a flush covered is there
//! afterwards, and of the rest what the drives' write caches leave.

use crate::common;
use crate::nbd_client;

use common::{
    Bench,
    serving::{Serving, has},
};
use nbd_client::{Client, FLUSH, READ, Replies, WRITE};
use record::ServerEvent;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

const PIECE_BYTES: u32 = 64 << 10;
/// Pieces that a flush covers, and as many that none does.
const PIECES: u64 = 32;

/// What is written to a piece in a round.
fn contents(round: u8, piece: u64) -> Vec<u8> {
    vec![round * 64 + piece as u8 + 1; PIECE_BYTES as usize]
}

fn write(client: &mut Client, round: u8, pieces: std::ops::Range<u64>) {
    for piece in pieces {
        let at = piece * u64::from(PIECE_BYTES);
        let cookie = client.send(0, WRITE, at, PIECE_BYTES, &contents(round, piece));
        client.reply_to(cookie);
    }
}

/// How many of these pieces hold what was written to them last.
fn intact(client: &mut Client, round: u8, pieces: std::ops::Range<u64>) -> u64 {
    let holds = |piece: &u64| {
        let at = piece * u64::from(PIECE_BYTES);
        let cookie = client.send(0, READ, at, PIECE_BYTES, &[]);
        client.reply_to(cookie).data[&at] == contents(round, *piece)
    };
    pieces.filter(holds).count() as u64
}

/// Writes and flushes, writes and does not, cuts the power; how much of either is there, of several
/// rounds.
fn rounds(server: &Serving) -> (u64, u64) {
    let (mut flushed, mut unflushed) = (0, 0);
    for round in [1, 2] {
        let mut client = Client::connect(&server.socket, Replies::Simple);
        write(&mut client, round, 0..PIECES);
        let cookie = client.send(0, FLUSH, 0, 0, &[]);
        client.reply_to(cookie);
        write(&mut client, round, PIECES..2 * PIECES);
        server.signal("USR1");
        let gone = client.stream.read(&mut [0; 16]).unwrap_or(0);
        assert_eq!(gone, 0, "nobody is answered any more");
        let mut client = Client::connect(&server.socket, Replies::Simple);
        flushed += intact(&mut client, round, 0..PIECES);
        unflushed += intact(&mut client, round, PIECES..2 * PIECES);
        client.leave();
    }
    (flushed, unflushed)
}

#[test]
fn a_power_cut_takes_what_no_flush_covered_and_nothing_else() {
    let bench = Bench::new();
    for stack in [
        "intel-x25e-32:capacity=256M",
        "hdd-7200-cmr",
        "2xintel-x25e-32:capacity=256M/raid0",
        "intel-x25e-32:capacity=256M/flash",
    ] {
        let server = Serving::start(&bench, &[&format!("model:{stack}"), "--power-cut", "7"]);
        let (flushed, unflushed) = rounds(&server);
        assert_eq!(flushed, 2 * PIECES, "{stack}");
        assert!(unflushed < 2 * PIECES, "{stack}: {unflushed} are there");
        let said = server.stop().stdout;
        assert_eq!(said.matches("the power was cut: ").count(), 2, "{said}");
    }
}

#[test]
fn a_drive_without_a_volatile_cache_loses_nothing() {
    let bench = Bench::new();
    for stack in ["intel-x25e-32:capacity=256M,write-cache=off", "nvme-plp"] {
        let server = Serving::start(&bench, &[&format!("model:{stack}"), "--power-cut", "7"]);
        assert_eq!(rounds(&server), (2 * PIECES, 2 * PIECES), "{stack}");
        let said = server.stop().stdout;
        assert!(said.contains("cut: 0 sectors were in the write caches"), "{said}");
    }
}

/// Whoever cut the power took the second number of an English sentence for what was lost.
#[test]
fn a_program_is_told_what_happened_in_json() {
    let bench = Bench::new();
    let words = ["model:intel-x25e-32:capacity=256M", "--power-cut", "7", "--json"];
    let server = Serving::start(&bench, &words);
    let uri = server.uri.clone();
    rounds(&server);
    let said = server.stop().stdout;
    let events: Vec<ServerEvent> =
        said.lines().map(|line| ServerEvent::of_line(line).expect(line)).collect();
    let [ready, cuts @ .., ServerEvent::Stopped { requests, failures }] = &events[..] else {
        panic!("{said}")
    };
    assert_eq!(*ready, ServerEvent::Ready { address: uri });
    assert!(*requests > 4 * PIECES && *failures == 0, "{said}");
    assert_eq!(cuts.len(), 2, "{said}");
    for cut in cuts {
        let ServerEvent::PowerCut { sectors_at_risk, sectors_changed } = cut else {
            panic!("{said}")
        };
        assert!(0 < *sectors_changed && sectors_changed <= sectors_at_risk, "{said}");
    }
}

#[test]
fn the_power_of_what_is_no_model_cannot_be_cut() {
    let bench = Bench::new();
    let nbd = format!("unix:{}", bench.path("s").display());
    let words = ["serve", "memory:1M", "--nbd", &nbd, "--power-cut", "1"];
    bench.drivelab_without_store(words).done().refused(&["model:STACK", "--volatile-cache"]);
}

/// A harness that cuts by itself: its connection to the control, and what it is answered.
struct Power {
    lines: BufReader<UnixStream>,
}

impl Power {
    fn new(path: &Path) -> Self {
        Self { lines: BufReader::new(UnixStream::connect(path).expect("it listens")) }
    }

    fn ask(&mut self, line: &str) -> Value {
        writeln!(self.lines.get_mut(), "{line}").expect("it listens");
        let mut answer = String::new();
        self.lines.read_line(&mut answer).expect("an answer");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{answer:?}: {error}"))
    }
}

fn controlled(bench: &Bench, stack: &str) -> (Serving, PathBuf) {
    let at = bench.path("power.sock");
    let word = format!("unix:{}", at.display());
    let target = format!("model:{stack}");
    (Serving::start(bench, &[&target, "--power-cut", "7", "--control", &word]), at)
}

#[test]
fn a_harness_cuts_at_its_own_moment_and_knows_what_is_at_risk() {
    let bench = Bench::new();
    for stack in ["intel-x25e-32:capacity=256M", "intel-x25e-32:capacity=256M/flash"] {
        let (server, at) = controlled(&bench, stack);
        let mut power = Power::new(&at);
        assert_eq!(power.ask("status")["sectors_at_risk"], 0);
        let mut client = Client::connect(&server.socket, Replies::Simple);
        write(&mut client, 1, 0..PIECES);
        let cookie = client.send(0, FLUSH, 0, 0, &[]);
        client.reply_to(cookie);
        write(&mut client, 1, PIECES..2 * PIECES);
        let status = power.ask("status");
        assert_eq!((&status["clients"], &status["cuts"]), (&1.into(), &0.into()));
        assert!(status["sectors_at_risk"].as_u64() > Some(0), "{stack}: {status}");
        assert!(power.ask("cutt")["error"].as_str().expect("a sentence").contains("`cut`"));
        let cut = power.ask("cut");
        assert_eq!(cut["event"], "power_cut");
        // A managed volume goes on by itself; of what it gathers in memory no drive knows.
        if !stack.contains("flash") {
            assert_eq!(cut["sectors_at_risk"], status["sectors_at_risk"], "nothing written since");
        }
        assert_eq!(client.stream.read(&mut [0; 16]).unwrap_or(0), 0, "nobody is answered");
        let mut client = Client::connect(&server.socket, Replies::Simple);
        assert_eq!(intact(&mut client, 1, 0..PIECES), PIECES, "{stack}");
        assert!(intact(&mut client, 1, PIECES..2 * PIECES) < PIECES, "{stack}");
        client.leave();
        // A signal cuts as before, and counts.
        server.signal("USR1");
        let deadline = Instant::now() + Duration::from_secs(20);
        while power.ask("status")["cuts"] != 2 {
            assert!(Instant::now() < deadline, "the signal cuts");
        }
        // Another harness has its turn when this one goes, and a long line is no end.
        drop(power);
        let mut power = Power::new(&at);
        assert!(power.ask(&"x".repeat(1000))["error"].is_string());
        assert_eq!(power.ask("status")["cuts"], 2);
        let said = server.stop().stdout;
        assert_eq!(said.matches("the power was cut: ").count(), 2, "{said}");
        assert!(!at.exists(), "its socket goes with it");
    }
}

/// Most cuts at a moment of the clock found the drives' caches empty: a flush had just emptied
/// them.
#[test]
fn a_cut_in_a_flush_comes_before_the_flush_is_answered() {
    let bench = Bench::new();
    let (server, at) = controlled(&bench, "hdd-7200-cmr");
    let ask = |at: &PathBuf| {
        let mut power = Power::new(at);
        thread::spawn(move || power.ask("cut-in-flush"))
    };
    let mut client = Client::connect(&server.socket, Replies::Simple);
    let asked = ask(&at);
    write(&mut client, 1, 0..PIECES);
    client.send(0, FLUSH, 0, 0, &[]);
    assert_eq!(client.stream.read(&mut [0; 16]).unwrap_or(0), 0, "no flush is answered");
    let cut = asked.join().expect("an answer");
    assert!(cut["sectors_at_risk"].as_u64() > Some(0), "{cut}");
    assert!(cut["sectors_changed"].as_u64() > Some(0), "{cut}");
    // One that never comes is not waited for; what nobody flushed goes all the same.
    let since = Instant::now();
    let asked = ask(&at);
    let mut client = Client::connect(&server.socket, Replies::Simple);
    write(&mut client, 2, 0..PIECES);
    let cut = asked.join().expect("an answer");
    assert!(cut["sectors_at_risk"].is_u64(), "{cut}");
    let waited = since.elapsed();
    assert!(waited > Duration::from_millis(900), "{waited:?}");
    assert_eq!(client.stream.read(&mut [0; 16]).unwrap_or(0), 0, "the power went");
    server.stop();
}

/// The examples of docs/reference/power-cut.md, as a reader saves them.
#[test]
fn the_documents_harnesses_cut() {
    let page = include_str!("../../../../docs/reference/power-cut.md");
    let example = |name: &str| {
        let (_, from) = page.split_once(&format!("<!-- file: {name} -->\n")).expect("an example");
        let (_, text) = from.split_once('\n').expect("a fence");
        text.split_once("\n```").expect("a fence").0.to_owned() + "\n"
    };
    let bench = Bench::new();
    let (server, at) = controlled(&bench, "intel-x25e-32:capacity=256M");
    for (program, needs, name) in
        [("sh", "socat", "cut.sh"), ("python3", "python3", "cut.py"), ("go", "go", "cut.go")]
    {
        if !has(&[needs]) {
            // Go is large, and no test machine has to have it.
            if needs != "go" {
                common::skip(needs);
            }
            continue;
        }
        let path = bench.file(name, example(name));
        let mut client = Client::connect(&server.socket, Replies::Simple);
        write(&mut client, 1, 0..PIECES);
        let mut words = vec![path.into_os_string(), at.clone().into_os_string()];
        if program == "go" {
            words.insert(0, "run".into());
        }
        let done = Command::new(program).args(&words).output().expect("it is there");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{name}: {said}{}", String::from_utf8_lossy(&done.stderr));
        assert!(said.contains("sectors"), "{name}: {said}");
    }
}

#[test]
fn a_control_is_refused_where_it_cannot_be() {
    let bench = Bench::new();
    let nbd = format!("unix:{}", bench.path("s").display());
    let refused = |words: &[&str], said: &[&str]| {
        let head = ["serve", "model:nvme-plp", "--nbd", &nbd];
        let all = head.iter().chain(words).copied();
        bench.drivelab_without_store(all).done().refused(said);
    };
    refused(&["--control", "unix:x"], &["--power-cut"]);
    refused(&["--power-cut", "1", "--control", "tcp:127.0.0.1:1"], &["--control", "unix:PATH"]);
    refused(&["--power-cut", "1", "--control", "x"], &["--control", "unix:PATH"]);
    bench.file("taken", "");
    let taken = format!("unix:{}", bench.path("taken").display());
    refused(&["--power-cut", "1", "--control", &taken], &["--control", "no socket"]);
    assert!(!bench.path("s").exists());
}
