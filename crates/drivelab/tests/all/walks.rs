//! The walks in docs/ do what they say: every command is run as its reader would paste it, one
//! after the other, in one place, and what it prints is what stands there.

use crate::common;

use common::Bench;
use std::{env, fs, path::Path, process::Command};

fn binary_folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_drivelab")).parent().expect("a file stands in a folder")
}

/// What a shell prints, both streams, in the reader's order.
fn pasted(bench: &Bench, command: &str) -> String {
    let path = format!("{}:{}", binary_folder().display(), env::var("PATH").expect("a PATH"));
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(bench.path("."))
        .env("PATH", path)
        .env("XDG_DATA_HOME", bench.path("data"))
        .env("XDG_CONFIG_HOME", bench.path("config"))
        .env("XDG_STATE_HOME", bench.path("state"))
        .env("TMPDIR", bench.path("."))
        .envs([("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8")])
        .output()
        .expect("a shell");
    String::from_utf8(output.stdout).expect("text")
}

/// Whether `seen` is `shown`, where `...` stands for anything; on a last line alone, for any lines
/// or none: CI failed where each of two cuts found something to lose, and no line said otherwise.
fn is_as_shown(seen: &str, shown: &str) -> bool {
    if shown.strip_suffix("\n...").is_some_and(|shown| is_as_shown(seen, shown)) {
        return true;
    }
    let mut parts = shown.split("...");
    let first = parts.next().expect("a split has a first part");
    let Some(mut rest) = seen.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    rest.is_empty() || last == Some("")
}

/// Runs the walk `name`: blocks marked `console` hold commands after `$ ` and what they print; the
/// block after `<!-- file: NAME -->` is what the reader saves under that name.
fn walk(name: &str) {
    let text = fs::read_to_string(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide")).join(name),
    )
    .expect("a walk");
    let bench = Bench::new();
    let mut commands = 0;
    let mut lines = text.lines();
    let mut file = None;
    while let Some(line) = lines.next() {
        if let Some(named) = line.strip_prefix("<!-- file: ") {
            file = named.strip_suffix(" -->");
        } else if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if let Some(file) = file.take() {
                bench.file(file, block.join("\n") + "\n");
            } else if language == "console" {
                commands += run(&bench, name, &block);
            }
        }
    }
    assert!(commands >= 5, "{name} shows {commands} commands");
}

/// Runs the commands of one block; how many there were.
fn run(bench: &Bench, name: &str, block: &[&str]) -> usize {
    let text = block.join("\n");
    let text = text.strip_prefix("$ ").expect("a block begins with a command");
    let steps: Vec<&str> = text.split("\n$ ").collect();
    for step in &steps {
        let mut command = String::new();
        let mut lines = step.lines();
        for line in lines.by_ref() {
            command += line;
            command += "\n";
            if !line.ends_with('\\') {
                break;
            }
        }
        let shown = lines.collect::<Vec<_>>().join("\n");
        let seen = pasted(bench, &command);
        assert!(is_as_shown(seen.trim_end(), &shown), "{name}: $ {command}{seen}");
    }
    steps.len()
}

#[test]
fn two_drives_are_compared_for_a_home_server() {
    walk("walk-home-server.md");
}

#[test]
fn a_file_system_and_settings_are_chosen_for_a_database() {
    walk("walk-database.md");
}

#[test]
fn a_data_sheet_is_checked_by_its_maker() {
    walk("walk-data-sheet.md");
}

#[test]
fn a_database_survives_a_power_cut_or_not() {
    need_power_cuts!();
    walk("walk-power-cut.md");
}

#[test]
fn dots_stand_for_anything_and_nothing_else_does() {
    assert!(is_as_shown("run 12ab, day", "run ..., day") && is_as_shown("a\nb\nc", "a\n...\nc"));
    assert!(is_as_shown("a b", "a ...") && is_as_shown("same", "same"));
    assert!(is_as_shown("a", "a\n...") && !is_as_shown("a b", "a\n..."));
    assert!(!is_as_shown("run 12ab, day!", "run ..., day") && !is_as_shown("same", "sam"));
    assert!(!is_as_shown("a", "a ... b") && !is_as_shown("x a", "a"));
}
