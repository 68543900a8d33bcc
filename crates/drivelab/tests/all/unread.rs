//! Output that nobody reads: talk is dropped and the work goes on; a result that somebody wants and
//! that cannot be written is an error.

use crate::common;

use common::{Bench, Call, DRIVELAB, assert_one_sentence, can_make_file_systems, names_in};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    os::{
        fd::OwnedFd,
        unix::ffi::OsStringExt,
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// Longer than anything here takes; a hang fails the test.
const DEADLINE: Duration = Duration::from_secs(120);

/// The same call in a shell: `script` has it as `"$0" "$@"`.
fn in_shell(call: Call, script: &str) -> Call {
    call.through(&["sh", "-c", script], Path::new(DRIVELAB))
}

/// A shell that reads `lines` lines of both streams and goes away; the exit code stays in a file.
fn read_by_head(call: Call, lines: u32) -> Call {
    let script = format!(r#"{{ "$0" "$@" 2>&1; echo $? > code; }} | head -n {lines}"#);
    in_shell(call, &script)
}

fn code(bench: &Bench) -> String {
    fs::read_to_string(bench.path("code")).expect("the shell wrote it").trim().to_owned()
}

fn state(bench: &Bench) -> String {
    bench.history()[0]["state"].as_str().expect("a word").to_owned()
}

/// `run . 2>&1 | head -1` panicked at the second line (`failed printing to stderr: Broken pipe`):
/// exit code 101, the record "interrupted", for a line of progress.
#[test]
fn a_run_whose_reader_goes_away_is_measured_and_kept() {
    let bench = Bench::new();
    let outcome = read_by_head(bench.small_run(["area"]), 1).done();
    assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
    assert_eq!(code(&bench), "0");
    assert_eq!(state(&bench), "complete");
    assert!(bench.left_behind().is_empty());
}

/// Likewise `2>/dev/full`, where each write fails with "No space left on device".
#[test]
fn talk_on_a_full_disk_is_dropped() {
    let bench = Bench::new();
    let outcome = in_shell(bench.small_run(["area"]), r#"exec "$0" "$@" 2>/dev/full"#).done();
    assert!(outcome.succeeded().stdout.contains("read"), "the table is there");
    assert_eq!(state(&bench), "complete");
    // A refusal keeps its code, too.
    let refused = in_shell(bench.small_run(["/nope/nope"]), r#"exec "$0" "$@" 2>/dev/full"#);
    assert_eq!(refused.done().code, Some(2));
}

/// The result is what was asked for: where it cannot be written the exit code says so. The run is
/// kept all the same. `--help` ended with 0 there.
#[test]
fn a_result_on_a_full_disk_is_an_error() {
    let bench = Bench::new();
    let full = |call| in_shell(call, r#"exec "$0" "$@" >/dev/full"#).done();
    let run = full(bench.small_run(["area", "--quiet"]));
    assert_eq!(run.code, Some(2), "{run:?}");
    assert_one_sentence(&run.stderr, &["cannot write to stdout", "No space left"]);
    assert_eq!(state(&bench), "complete");
    for words in [&["--help"][..], &["run", "--help"], &["drives"], &["study"], &["--version"]] {
        let outcome = full(bench.drivelab_without_store(words));
        assert_eq!(outcome.code, Some(2), "{words:?}: {outcome:?}");
        assert_one_sentence(&outcome.stderr, &["cannot write to stdout", "No space left"]);
    }
}

/// What was found stands in the exit code, whoever reads the page: it was 0 behind a closed pipe,
/// and `--fail-on` found nothing.
#[test]
fn an_unread_result_changes_no_exit_code() {
    let bench = Bench::new();
    let closed = |call| in_shell(call, r#"{ sleep 0.2; "$0" "$@"; echo $? > code; } | true"#);
    closed(bench.drivelab_without_store(["drives"])).done();
    assert_eq!(code(&bench), "0");
    closed(bench.drivelab_without_store(["--help"])).done();
    assert_eq!(code(&bench), "0");
    closed(bench.small_run(["memory:64M", "--fail-on", "memory_backed"])).done();
    assert_eq!(code(&bench), "1");
    closed(bench.drivelab(["show", "nope"])).done();
    assert_eq!(code(&bench), "2");
}

/// `matrix --loop . 2>&1 | head -3` aborted (exit code 134): its scratch file, 600 MB in one case,
/// and a directory stayed behind.
#[test]
fn a_matrix_whose_reader_goes_away_is_measured_kept_and_cleaned_up() {
    if !can_make_file_systems() {
        return;
    }
    let bench = Bench::new();
    let ledger = bench.path("state");
    let words = ["matrix", "--loop", ".", "--loop-size", "600M", "--fs", "raw,ext4"];
    let call = bench.drivelab(words).and(["--size", "8M", "--passes", "1", "--method"]);
    let call = call.and(["small.toml", "--max-time", "2s"]);
    let call = call.variable("XDG_STATE_HOME", ledger.to_str().expect("plain"));
    let temporary = bench.path("temporary");
    fs::create_dir(&temporary).expect("a directory");
    let call = call.variable("TMPDIR", temporary.to_str().expect("plain"));
    let outcome = read_by_head(call, 3).done();
    assert_eq!(outcome.stdout.lines().count(), 3, "{outcome:?}");
    assert_eq!(code(&bench), "0");
    assert_eq!(state(&bench), "complete");
    let left = names_in(&bench.path("."));
    assert!(!left.iter().any(|name| name.starts_with(".drivelab")), "left behind: {left:?}");
    assert!(names_in(&temporary).is_empty(), "left behind: {:?}", names_in(&temporary));
    let list = bench.drivelab_without_store(["restore", "--list"]);
    let list = list.variable("XDG_STATE_HOME", ledger.to_str().expect("plain")).done().succeeded();
    assert!(list.stderr.contains("nothing to put back"), "{list:?}");
}

/// A terminal: what its user holds, and the path that programs open. `None` where there is none.
fn terminal() -> Option<(OwnedFd, PathBuf)> {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).ok()?;
    grantpt(&user).ok()?;
    unlockpt(&user).ok()?;
    let name = ptsname(&user, Vec::new()).ok()?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(name.into_bytes()));
    fs::metadata(&path).ok()?.file_type().is_char_device().then_some((user, path))
}

/// A run of some seconds on that terminal, started by these words before it.
fn run_on(terminal: &Path, bench: &Bench, before: &[&str], seconds: &str) -> Child {
    let open = || {
        let options =
            OpenOptions::new().read(true).write(true).custom_flags(O_NOCTTY).open(terminal);
        options.expect("the terminal opens")
    };
    let words = [before, &[DRIVELAB, "run", "area", "--method", "small.toml"]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["--max-time", seconds, "--store", "store.sqlite"]);
    command.current_dir(bench.path(".")).env("TERM", "xterm").env_remove("COLUMNS");
    command.stdin(open()).stdout(open()).stderr(open());
    command.spawn().expect("it starts")
}

/// `O_NOCTTY` of open(2), as <asm-generic/fcntl.h> has it.
const O_NOCTTY: i32 = 0o400;

/// Reads until the bar is there, then goes.
fn hang_up_when_it_talks(user: OwnedFd) {
    let mut user = File::from(user);
    let (mut seen, mut piece) = (Vec::new(), [0; 256]);
    while !String::from_utf8_lossy(&seen).contains("[1/") {
        let bytes = user.read(&mut piece).expect("the terminal is read");
        seen.extend_from_slice(&piece[..bytes]);
    }
}

fn end_of(mut child: Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            return status;
        }
        if start.elapsed() > DEADLINE {
            let _ = child.kill();
            panic!("it did not end");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// A terminal that hung up sends SIGHUP, which ends the run in order; the first word about that
/// panicked, and of the record was said that its process was killed.
#[test]
fn a_terminal_that_hangs_up_ends_the_run_in_order() {
    let bench = Bench::new();
    let (user, path) = need!(terminal(), "a pseudo-terminal");
    // Under `nohup cargo test` the hangup is ignored here, and would be there.
    let heard = ["env", "--default-signal=HUP", "setsid", "--ctty"];
    let child = run_on(&path, &bench, &heard, "100s");
    hang_up_when_it_talks(user);
    assert_eq!(end_of(child).code(), Some(130));
    assert_eq!(state(&bench), "interrupted");
    assert!(bench.left_behind().is_empty());
}

/// Where it sends no signal (another session's terminal), or `nohup` keeps the signal away, every
/// write fails with EIO: the run goes on, and is kept. Under `nohup` it ended at the hangup.
#[test]
fn a_run_that_outlives_its_terminal_is_measured_and_kept() {
    let ways: [&[&str]; 2] =
        [&["env"], &["sh", "-c", "trap '' HUP; exec setsid --ctty \"$0\" \"$@\""]];
    for before in ways {
        let bench = Bench::new();
        let (user, path) = need!(terminal(), "a pseudo-terminal");
        let child = run_on(&path, &bench, before, "2s");
        hang_up_when_it_talks(user);
        assert_eq!(end_of(child).code(), Some(0), "{before:?}");
        assert_eq!(state(&bench), "complete", "{before:?}");
        assert!(bench.left_behind().is_empty(), "{before:?}");
    }
}
