//! What drivelab tells about itself: methods, flags, pages, help, the manual, completions.

use crate::common;
use crate::help::{PAGES, flags_in, help, house};

use common::{Bench, Call, Outcome, names_in, system};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use testkit::has;

fn told(words: &[&str]) -> String {
    asked(words).succeeded().stdout
}

fn asked(words: &[&str]) -> Outcome {
    // Methods may be files: there is none here.
    Call::new(words, Path::new("/")).done()
}

/// Paths below `docs/` that a text names.
fn pages_in(text: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let starts = text.match_indices("docs/").map(|(at, _)| &text[at..]);
    let paths = starts.map(|rest| rest.split(|letter| !is_part(letter)).next().unwrap_or_default());
    paths.map(|path| path.trim_end_matches('.').to_owned()).collect()
}

#[test]
fn every_page_that_the_help_names_is_in_the_binary_as_it_is_in_the_house() {
    let mut named: Vec<String> = PAGES.iter().flat_map(|words| pages_in(&help(words))).collect();
    named.sort();
    named.dedup();
    assert!(named.len() > 5, "{named:?}");
    for path in named {
        let page = fs::read_to_string(house().join(&path)).expect(&path);
        assert_eq!(told(&["docs", &path]), page, "{path}");
    }
}

#[test]
fn the_list_of_pages_has_every_guide_and_reference() {
    let list = told(&["docs"]);
    let mut count = 0;
    for folder in ["docs/guide", "docs/reference"] {
        for name in names_in(&house().join(folder)) {
            let Some(name) = name.strip_suffix(".md") else { continue };
            let name = if name == "README" { "guide" } else { name };
            assert!(
                list.lines().any(|line| line.split_whitespace().next() == Some(name)),
                "{name}"
            );
            count += 1;
        }
    }
    assert!(count > 25, "{count} pages");
}

#[test]
fn help_of_a_verb_is_what_its_option_says() {
    for words in PAGES {
        let by_verb = Call::new(["help"], Path::new("/")).and(*words).variable("COLUMNS", "250");
        assert_eq!(by_verb.done().succeeded().stdout, help(words), "{words:?}");
    }
}

#[test]
fn what_is_asked_about_and_is_not_there_is_refused_with_the_nearest() {
    for (words, nearest) in [
        (&["help", "histroy"][..], "`history`"),
        (&["help", "flash", "chekc"], "`check`"),
        (&["help", "oltp"], "`drivelab methods oltp`"),
        (&["man", "reprot"], "`report`"),
        (&["docs", "metodology"], "`methodology`"),
        (&["explain", "burst", "not_convergd"], "`not_converged`"),
        (&["methods", "quik"], "`quick`"),
        (&["methods", "absent.toml"], "there is no such file"),
        (&["completions", "tcsh"], "bash, fish, zsh"),
        (&["methods", "--toml"], "NAME|FILE"),
    ] {
        asked(words).refused(&[nearest]);
    }
}

#[test]
fn the_list_of_methods_is_that_of_their_files() {
    let list = told(&["methods"]);
    let files = names_in(&house().join("methods"));
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let name = file.strip_suffix(".toml").expect("methods are TOML");
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}");
        let page = told(&["methods", name]);
        assert!(page.starts_with(&format!("{name}: ")), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        let text = fs::read_to_string(house().join("methods").join(&file)).expect("a method");
        assert_eq!(told(&["methods", name, "--toml"]), text);
    }
}

#[test]
fn a_method_that_was_printed_runs_from_a_file() {
    let bench = Bench::new();
    let text = told(&["methods", "oltp", "--toml"]);
    bench.file("mine.toml", text.into_bytes());
    let planned = |method: &str| {
        let call = bench.drivelab(["run", "null:", "--dry-run", "--method", method]);
        call.done().succeeded().stdout
    };
    assert_eq!(planned("mine.toml"), planned("oltp"));
    let page = bench.drivelab_without_store(["methods", "mine.toml"]).done().succeeded().stdout;
    assert!(page.contains("--method mine.toml"), "{page}");
}

#[test]
fn every_flag_is_explained_with_what_to_do() {
    let list = told(&["explain"]);
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    for flag in record::Flag::ALL {
        let page = told(&["explain", flag.name()]);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&page).contains(&words(flag.meaning())), "{page}");
        assert!(words(&page).contains(&words(flag.cure())), "{page}");
        assert!(words(&list).contains(&words(flag.meaning())), "{flag}");
    }
    assert_eq!(told(&["explain", "write_cliff"]), told(&["explain", "burst"]));
    let two = told(&["explain", "burst", "steal"]);
    assert_eq!(two, format!("{}\n{}", told(&["explain", "burst"]), told(&["explain", "steal"])));
}

/// What `man` makes of a page, and what it complains about.
fn read_by_man(page: &Path) -> (String, String) {
    let output = Command::new("man")
        .args(["--warnings", "-E", "UTF-8", "-l"])
        .arg(page)
        .env("MANWIDTH", "100")
        .env("MAN_KEEP_FORMATTING", "")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("man starts");
    assert!(output.status.success(), "{}: {output:?}", page.display());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn man_reads_a_page_of_every_verb_that_names_all_its_options_and_shows_its_examples_line_by_line() {
    if !has("man") || !has("groff") {
        return testkit::skip("man-db and groff");
    }
    let bench = Bench::new();
    bench.drivelab_without_store(["man", "--to", "pages"]).done().succeeded();
    let names = names_in(&bench.path("pages"));
    let expected: Vec<String> =
        PAGES.iter().map(|words| [&["drivelab"], *words].concat().join("-") + ".1").collect();
    for name in &expected {
        assert!(names.contains(name), "{name} of {names:?}");
    }
    assert_eq!(names.len(), expected.len(), "{names:?}");
    for words in PAGES {
        let name = [&["drivelab"], *words].concat().join("-") + ".1";
        let path = bench.path("pages").join(&name);
        let (text, complaints) = read_by_man(&path);
        assert_eq!(complaints, "", "{name}");
        let help = help(words);
        let (shown, wanted) = (flags_in(&text), flags_in(&help));
        assert!(wanted.is_subset(&shown), "{name}: {:?}", wanted.difference(&shown));
        let examples = help.split_once("Examples:\n").map_or("", |(_, rest)| rest);
        for example in examples.lines().take_while(|line| line.starts_with("  ")) {
            let is_there = text.lines().any(|line| line.trim_start() == example.trim());
            assert!(is_there, "{name}: `{example}` is not a line of\n{text}");
        }
        let printed = Call::new(["man"], Path::new("/")).and(*words).done().succeeded().stdout;
        assert_eq!(printed, fs::read_to_string(&path).expect("a page"), "{name}");
    }
}

#[test]
fn pages_of_others_stay_and_then_none_is_written() {
    let bench = Bench::new();
    let write = || bench.drivelab_without_store(["man", "--to", "pages"]).done();
    write().succeeded();
    let old = bench.path("pages/drivelab-run.1");
    fs::write(&old, ".\\\" Made by `drivelab man`.\nan older one\n").expect("written");
    write().succeeded();
    assert!(fs::read_to_string(&old).expect("a page").contains("measure"), "it is replaced");
    let foreign = bench.path("pages/drivelab-web.1");
    fs::write(&foreign, "somebody's").expect("written");
    fs::remove_file(&old).expect("it was there");
    write().refused(&["drivelab-web.1", "no page of drivelab's", "another directory"]);
    assert_eq!(fs::read_to_string(&foreign).expect("it is there"), "somebody's");
    assert!(!old.exists(), "nothing was written");
    bench.drivelab_without_store(["man", "--to", "absent/pages"]).done().refused(&["mkdir -p"]);
    bench.drivelab_without_store(["man", "--to", "/proc/ghost"]).done().refused(&["kernel's"]);
}

/// The script of a shell as a file on a bench.
fn script(bench: &Bench, shell: &str, name: &str) -> PathBuf {
    let text = told(&["completions", shell]);
    bench.file(name, text.into_bytes())
}

#[test]
fn bash_completes_verbs_options_and_names() {
    if !has("bash") {
        return testkit::skip("bash");
    }
    let bench = Bench::new();
    let script = script(&bench, "bash", "drivelab.bash");
    let completed = |words: &[&str]| {
        let last = words.len() - 1;
        let program = format!(
            "set -eu; . '{}'; complete -p drivelab >/dev/null; COMP_WORDS=({}); COMP_CWORD={last}; \
             COMP_TYPE=9; compopt() {{ :; }}; _drivelab drivelab '{}' '{}'; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words[last],
            words[last - 1],
        );
        let text = system("bash", &["--norc", "-c", &program]).expect("bash completes");
        text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["drivelab", "histo"]), ["history"]);
    assert_eq!(completed(&["drivelab", "run", "--until"]), ["--until"]);
    assert_eq!(completed(&["drivelab", "flash", "resc"]), ["rescue"]);
    assert_eq!(completed(&["drivelab", "methods", "snia-l"]), ["snia-latency"]);
    assert_eq!(completed(&["drivelab", "explain", "lying"]), ["lying_flush"]);
    assert_eq!(completed(&["drivelab", "docs", "metho"]), ["methodology"]);
}

#[test]
fn fish_completes_verbs_options_and_values() {
    if !has("fish") {
        return testkit::skip("fish");
    }
    let bench = Bench::new();
    let script = script(&bench, "fish", "drivelab.fish");
    let completed = |line: &str| {
        let program = format!("source '{}'; complete -C '{line}'", script.display());
        let text = system("fish", &["--no-config", "-c", &program]).expect("fish completes");
        text.lines()
            .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(completed("drivelab histo"), ["history"]);
    assert_eq!(completed("drivelab run --unti"), ["--until"]);
    assert_eq!(completed("drivelab flash resc"), ["rescue"]);
    assert_eq!(completed("drivelab run --grade norm"), ["normal"]);
}

/// zsh completes in a terminal alone: it is given one of its own, and what it makes of the Tab key
/// is read from the line.
#[test]
fn zsh_completes_verbs_options_and_names() {
    if !has("zsh") {
        return testkit::skip("zsh");
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("functions")).expect("a directory");
    script(&bench, "zsh", "functions/_drivelab");
    let completed = |line: &str| {
        let program = format!(
            "zmodload zsh/zpty; zpty shell zsh -f -i; \
             zpty -w shell \"PS1=; fpath=({} \\$fpath); autoload -U compinit; compinit -u -D; \
             bindkey '^X' kill-whole-line; show() {{ print -r -- \\\"<\\$BUFFER>\\\" }}; \
             zle -N show; bindkey '^O' show; print rea''dy\"; \
             zpty -r -m shell x '*ready*'; zpty -w -n shell \"{line}\"$'\\t\\x0f'; \
             zpty -r -m shell told '*<*>*'; print -r -- $told; zpty -d shell",
            bench.path("functions").display()
        );
        let text = system("timeout", &["60", "zsh", "-f", "-c", &program]).expect("zsh completes");
        let (_, buffer) = text.rsplit_once('<').expect("the line");
        buffer.split('>').next().unwrap_or_default().trim_end().to_owned()
    };
    assert_eq!(completed("drivelab histo"), "drivelab history");
    assert_eq!(completed("drivelab run --unti"), "drivelab run --until=");
    assert_eq!(completed("drivelab flash resc"), "drivelab flash rescue");
    assert_eq!(completed("drivelab explain lyin"), "drivelab explain lying_flush");
}

#[test]
fn what_it_tells_of_itself_on_a_full_disk_is_an_error() {
    for words in ["help run", "man", "completions zsh", "methods", "explain", "docs terms"] {
        let words: Vec<&str> = words.split(' ').collect();
        let call = Call::new(&words, Path::new("/"));
        let full = call
            .through(&["sh", "-c", r#"exec "$0" "$@" >/dev/full"#], Path::new(common::DRIVELAB));
        full.done().refused(&["cannot write to stdout", "No space left"]);
    }
}
