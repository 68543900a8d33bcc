//! What the README and the guide show is what the binary prints.

use crate::common;

use common::Call;
use std::{fs, path::PathBuf};

fn house() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(name: &str) -> String {
    fs::read_to_string(house().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn shown(words: &[&str]) -> String {
    let call = Call::new(words, &house()).variable("LANG", "C.UTF-8").variable("LC_ALL", "C.UTF-8");
    call.done().succeeded().stdout
}

/// `<!-- output: drivelab WORDS -->`, followed by a block of text: the output of that command.
#[test]
fn outputs_that_are_shown_are_what_the_commands_print() {
    let mut count = 0;
    let pages = read("README.md") + &read("docs/guide/README.md");
    for part in pages.split("<!-- output: drivelab ").skip(1) {
        let (command, rest) = part.split_once(" -->\n```text\n").expect("a command and a block");
        let (block, _) = rest.split_once("```").expect("the block's end");
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(shown(&words).trim_end(), block.trim_end(), "drivelab {command}");
        count += 1;
    }
    assert!(count >= 6, "the readme and the guide show {count} outputs");
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 200, "{lines} lines: what is longer belongs in docs/guide/README.md");
}

#[test]
fn the_picture_shows_the_example_run() {
    let picture = read("docs/picture.svg");
    let table = shown(&["show", "docs/reference/example-run.json"]);
    let escape = |line: &str| {
        line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
    };
    assert!(table.lines().count() > 12, "{table}");
    for line in table.lines().filter(|line| !line.is_empty()) {
        let drawn = format!(">{}</text>", escape(line));
        assert!(picture.contains(&drawn), "`cargo xtask picture` draws it anew: {line}");
    }
}

#[test]
fn the_table_of_methods_lists_every_method_with_its_title() {
    let guide = read("docs/guide/README.md");
    let rows: Vec<&str> = guide.lines().filter(|line| line.starts_with("| `")).collect();
    let mut expected = Vec::new();
    for (name, text) in lab::method::BUILT_IN {
        let method = lab::method::Method::parse(name, text, &[]).expect("built in");
        expected.push(format!("| `{name}` | {} |", method.file.title));
    }
    assert_eq!(rows, expected);
}
