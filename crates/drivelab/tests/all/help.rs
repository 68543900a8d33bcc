//! The help says what there is: verbs, flags, methods, within a width that people read.

use crate::common;

use common::Call;
use std::{collections::BTreeSet, fs, path::Path};

/// Every verb there is; grow it with `cli::Verb`.
const VERBS: [&str; 28] = [
    "run",
    "study",
    "matrix",
    "power-cut",
    "campaign",
    "restore",
    "flash",
    "serve",
    "trace",
    "replay",
    "history",
    "push",
    "show",
    "compare",
    "advise",
    "hybrid",
    "report",
    "export",
    "import",
    "drives",
    "devices",
    "web",
    "methods",
    "explain",
    "docs",
    "help",
    "man",
    "completions",
];

/// Every page of the help.
pub const PAGES: &[&[&str]] = &[
    &[],
    &["run"],
    &["study"],
    &["matrix"],
    &["power-cut"],
    &["campaign"],
    &["campaign", "status"],
    &["campaign", "resume"],
    &["campaign", "cancel"],
    &["campaign", "result"],
    &["campaign", "push"],
    &["campaign", "run"],
    &["restore"],
    &["flash"],
    &["flash", "create"],
    &["flash", "status"],
    &["flash", "check"],
    &["flash", "rescue"],
    &["flash", "resize"],
    &["flash", "predict"],
    &["serve"],
    &["trace"],
    &["replay"],
    &["history"],
    &["push"],
    &["show"],
    &["compare"],
    &["advise"],
    &["hybrid"],
    &["report"],
    &["export"],
    &["import"],
    &["drives"],
    &["drives", "fit"],
    &["devices"],
    &["web"],
    &["methods"],
    &["explain"],
    &["docs"],
    &["help"],
    &["man"],
    &["completions"],
];

pub fn help(words: &[&str]) -> String {
    // A terminal wider than any text should be.
    let call = Call::new(words, Path::new("/")).and(["--help"]).variable("COLUMNS", "250");
    call.done().succeeded().stdout
}

pub fn house() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Words `--like-this` of a text.
pub fn flags_in(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter == '-' || letter.is_ascii_lowercase();
    let words = text.split(|letter: char| !is_part(letter));
    words.filter(|word| word.len() > 2 && word.starts_with("--")).map(str::to_owned).collect()
}

#[test]
fn the_help_lists_exactly_the_verbs_there_are() {
    let text = help(&[]);
    let (_, after) = text.split_once("Commands:\n").expect("a list of verbs");
    let listed: Vec<&str> =
        after.lines().map_while(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, VERBS);
    for verb in VERBS {
        assert!(help(&[verb]).contains(&format!("Usage: drivelab {verb}")), "{verb}");
    }
}

#[test]
fn no_help_is_wider_than_a_hundred_columns() {
    for words in PAGES {
        for line in help(words).lines() {
            assert!(line.chars().count() <= 100, "{words:?}: {line}");
        }
    }
}

#[test]
fn the_help_of_run_names_every_method() {
    let text = help(&["run"]);
    let files = fs::read_dir(house().join("methods")).expect("the methods").flatten();
    let mut count = 0;
    for file in files {
        let name = file.file_name().into_string().expect("a plain name");
        let name = name.strip_suffix(".toml").expect("methods are TOML");
        assert!(text.lines().any(|line| line.starts_with(&format!("  {name} "))), "{name}");
        count += 1;
    }
    assert!(count > 10, "{count} methods");
}

#[test]
fn every_flag_that_the_readme_names_exists() {
    let read = |name: &str| fs::read_to_string(house().join(name)).expect("a page");
    let readme = read("README.md") + &read("docs/guide/README.md");
    let is_ours = |text: &&str| text.starts_with("drivelab ") || text.starts_with("--");
    let blocks = readme.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).map(|line| line.split('#').next().unwrap_or_default());
    let outside: String = readme.split("```").step_by(2).collect();
    let spans = outside.split('`').skip(1).step_by(2);
    let named: BTreeSet<String> = lines.chain(spans).filter(is_ours).flat_map(flags_in).collect();
    let known: BTreeSet<String> = PAGES.iter().flat_map(|words| flags_in(&help(words))).collect();
    assert!(named.len() > 5, "the readme names flags: {named:?}");
    let unknown: Vec<_> = named.difference(&known).collect();
    assert!(unknown.is_empty(), "the readme names what does not exist: {unknown:?}");
}

#[test]
fn without_a_verb_the_help_is_shown_and_the_exit_code_says_that_nothing_ran() {
    let outcome = Call::new([""; 0], Path::new("/")).done();
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert!(outcome.stderr.contains("Usage: drivelab"), "{}", outcome.stderr);
}

#[test]
fn the_version_is_the_packages() {
    let outcome = Call::new(["--version"], Path::new("/")).done().succeeded();
    assert_eq!(outcome.stdout, concat!("drivelab ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// The verb with most options that are asked for in a hurry.
#[test]
fn the_short_help_of_serve_fits_a_terminal() {
    let call = Call::new(["serve", "-h"], Path::new("/")).variable("COLUMNS", "80");
    let text = call.done().succeeded().stdout;
    assert!(text.lines().count() <= 24, "{} lines:\n{text}", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
