//! Errors as one line: what a user reads names the cure, and nothing twice.

use crate::{cli::Cli, no_verb::no_verb, other_words};
use block::names::did_you_mean;
use clap::{
    Command, CommandFactory,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// An error and what caused it. Many errors of libraries quote their cause themselves: it is not
/// said again.
pub fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.contains(cause.trim_end_matches('.')) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += &cause;
    }
    text
}

/// What is wrong with the command line: the parser's paragraphs, without the usage.
pub fn of_the_command_line(error: &clap::Error) -> String {
    let words: Vec<String> = words_typed();
    of_words(error, &words)
}

/// The command line, for people and for the record; U+FFFD stands for what of it is no text.
pub fn words_typed() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn of_words(error: &clap::Error, words: &[String]) -> String {
    let (path, command) = called(words);
    let said = below_zero(error, words)
        .or_else(|| unknown_option(error, &command))
        .or_else(|| unknown_verb(error, &path, &command))
        .or_else(|| one_too_many(error, &path))
        .unwrap_or_else(|| paragraphs(error));
    let said = of_numbers(said);
    let see = if said.ends_with('?') { " See" } else { "; see" };
    format!("{said}{see} `{path} --help`")
}

/// The verb that was called, as it is typed, and what the parser knows of it.
fn called(words: &[String]) -> (String, Command) {
    let (mut path, mut command) = ("drivelab".to_owned(), Cli::command());
    for word in words.iter().skip(1).filter(|word| !word.starts_with('-')) {
        let Some(verb) = command.find_subcommand(word) else { break };
        command = verb.clone();
        path = format!("{path} {word}");
    }
    (path, command)
}

/// The parser's own, in one line.
fn paragraphs(error: &clap::Error) -> String {
    let text = error.to_string();
    let is_said = |paragraph: &String| {
        let filler = ["Usage:", "For more information"];
        !paragraph.is_empty() && !filler.iter().any(|start| paragraph.starts_with(start))
    };
    let one_line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: Vec<String> = text.split("\n\n").map(one_line).filter(is_said).collect();
    let said = said.join("; ");
    said.strip_prefix("error: ").unwrap_or(&said).to_owned()
}

/// An option that is none. The parser finds no name of three letters near another one, and advises
/// to write `-- --ndb`, which makes a TARGET of it.
fn unknown_option(error: &clap::Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || !wrong.starts_with('-') {
        return None;
    }
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let known: Vec<&str> = shown.filter_map(clap::Arg::get_long).collect();
    if let Some(here) = other_words::option(wrong, &known) {
        return Some(format!("there is no option `{wrong}`: it is {here}"));
    }
    let near = did_you_mean(wrong.trim_start_matches('-'), known);
    let near = near.replace(" `", " `--");
    let stop = if near.is_empty() { "" } else { "." };
    Some(format!("there is no option `{wrong}`{stop}{near}"))
}

/// A verb that is none.
fn unknown_verb(error: &clap::Error, path: &str, command: &Command) -> Option<String> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(wrong)) => Some(no_verb(wrong, path, command)),
        _ => None,
    }
}

/// A word without an option before it, where the verb takes none, or no more.
fn one_too_many(error: &clap::Error, path: &str) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let none = format!("`{word}` is one word too many");
    let here = other_words::stray(word, path);
    Some(here.map_or(none.clone(), |here| format!("{none}: {here}")))
}

/// Words of the standard library for what is no number, in ours.
fn of_numbers(said: String) -> String {
    said.replace("invalid digit found in string", "write a whole number, such as 7")
        .replace("cannot parse integer from empty string", "write a whole number, such as 7")
        .replace("number too large to fit in target type", "write a smaller number")
}

/// What is wrong with `--size -5`, which the parser takes for an option.
fn below_zero(error: &clap::Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(_)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let is_number = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let (option, value) = words.iter().zip(words.get(1..)?).find(|(option, value)| {
        option.starts_with("--") && !option.contains('=') && is_number(value)
    })?;
    Some(format!("{option} {value}: `{value}` is less than nothing: write it without the `-`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use clap::Parser;

    /// `show nope.json` said "No such file or directory (os error 2)" twice.
    #[test]
    fn a_cause_that_is_quoted_already_is_not_said_again() {
        let missing = || std::io::Error::from_raw_os_error(2);
        let quoted = anyhow::Error::new(missing()).context(format!("cannot read x: {}", missing()));
        assert_eq!(sentence(&quoted), "cannot read x: No such file or directory (os error 2)");
        let plain = Err::<(), _>(missing()).context("cannot read x").expect_err("missing");
        assert_eq!(sentence(&plain), sentence(&quoted));
    }

    fn complain(words: &[&str]) -> String {
        let words = [&["drivelab"], words].concat();
        let error = Cli::try_parse_from(&words).expect_err("refused");
        of_words(&error, &words.into_iter().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_parsers_paragraphs_become_one_line_with_the_way_to_the_help() {
        // It was told to write `-- -5`, which makes a TARGET of it.
        assert_eq!(
            complain(&["run", ".", "--size", "-5"]),
            "--size -5: `-5` is less than nothing: write it without the `-`; \
             see `drivelab run --help`"
        );
        let grade = complain(&["run", "--grade", "best"]);
        assert!(grade.contains("[possible values: quick, normal, publish]; see"), "{grade}");
        assert!(!grade.contains('\n'), "{grade}");
    }

    /// `serve --ndb` was told how to pass it as a value, `flash create --stripe 1Q` to look at
    /// `drivelab --help`, and a seed of `x` was an "invalid digit found in string".
    #[test]
    fn a_misspelt_option_or_number_is_told_what_was_meant_and_whose_help_has_it() {
        for (words, said) in [
            (
                &["run", "--metod", "quick"][..],
                "there is no option `--metod`. Did you mean `--method`? See `drivelab run --help`",
            ),
            (
                &["serve", "flash:x", "--ndb", "unix:s"],
                "there is no option `--ndb`. Did you mean `--nbd`? See `drivelab serve --help`",
            ),
            (
                &["serve", "--zzzzzzzz"],
                "there is no option `--zzzzzzzz`; see `drivelab serve --help`",
            ),
            (
                &["flash", "create", "x", "--drive-sze=1G"],
                "there is no option `--drive-sze`. Did you mean `--drive-size`? See `drivelab \
                 flash create --help`",
            ),
        ] {
            assert_eq!(complain(words), said, "{words:?}");
        }
        let size = complain(&["flash", "create", "x", "--stripe", "1Q"]);
        assert!(size.ends_with("; see `drivelab flash create --help`"), "{size}");
        let seed = complain(&["serve", "x", "--nbd", "unix:s", "--volatile-cache", "x"]);
        assert!(
            seed.ends_with("<SEED>': write a whole number, such as 7; see `drivelab serve --help`"),
            "{seed}"
        );
        assert_eq!(
            complain(&["flash", "chek"]),
            "there is no verb `chek`. Did you mean `check`? See `drivelab flash --help`"
        );
    }

    /// `drivelab measure` was told that `restore` and `compare` are similar, `drivelab predict`
    /// nothing, and `run . --bs 4k` that there is no such option.
    #[test]
    fn another_programs_word_is_answered_with_ours() {
        for (words, said) in [
            (
                &["measure", "."][..],
                "there is no verb `measure`: `drivelab run TARGET` measures; see",
            ),
            (&["predict"], "there is no verb `predict`: `drivelab flash predict` is one; see"),
            (&["model:qlc"], "verb `model:qlc`: `drivelab run model:qlc` measures a target; see"),
            (&["."], "there is no verb `.`: `drivelab run .` measures a target; see"),
            (&["repotr"], "there is no verb `repotr`. Did you mean `report`"),
            (&["xyzzy"], "there is no verb `xyzzy`; see `drivelab --help`"),
            (&["run", ".", "--bs", "4k"], "no option `--bs`: it is `--set block=4K`; see"),
            (&["run", "--depth", "4"], "`--depth`: it is `--set depth=VALUE`; see"),
            (&["run", "--rw=read"], "it is `--set op=read --set pattern=random`; see"),
            (
                &["run", "-v"],
                "no option `-v`: it is `drivelab show last --explain` afterwards; see",
            ),
            (&["devices", "--bs", "4k"], "there is no option `--bs`; see"),
            (&["hybrid", "a.csv"], "`a.csv` is one word too many: write `--trace a.csv`; see"),
            (&["history", "last"], "many: `drivelab show last` shows one run; see"),
            (&["restore", "x"], "`x` is one word too many; see `drivelab restore --help`"),
        ] {
            let complaint = complain(words);
            assert!(complaint.contains(said), "{words:?}: {complaint}");
        }
    }

    /// `hybrid` without a word asked for `--trace`, `matrix` for a TARGET and `advise` for `--read`
    /// and `--block`, as if there were no other way.
    #[test]
    fn where_one_of_two_is_wanted_both_are_named() {
        for (words, wanted) in [
            (&["hybrid", "--ssd", "qlc"][..], "<--trace <FILE>|--method <NAME|FILE>>"),
            (&["matrix"], "<TARGET|--loop <DIR>>"),
            (&["advise", "--budget", "1USD"], "<--read <PERCENT>|--trace <FILE>>"),
            (&["advise", "--budget", "1USD", "--read", "70"], "--block <SIZE>"),
            (&["advise", "--budget", "1USD", "--trace", "a", "--block", "4K"], "cannot be used"),
            (&["serve", "model:qlc"], "<--nbd <ADDRESS>|--ublk[=<N>]|--ublk-remove <N>>"),
        ] {
            let said = complain(words);
            assert!(said.contains(wanted), "{words:?}: {said}");
        }
        for both in [
            &["hybrid", "--trace", "x", "--method", "oltp", "--disks", "qlc", "--ssd", "qlc"][..],
            &["matrix", "/dev/sdb", "--loop", "/srv"],
        ] {
            assert!(complain(both).contains("cannot be used with"), "{both:?}");
        }
    }

    /// One letter left out, doubled, or exchanged with the next, in every option of every verb: the
    /// right name is among those that are said.
    #[test]
    fn one_letter_wrong_in_any_option_is_told_the_right_one() {
        let mut cases = 0;
        each_verb(&Cli::command(), &mut vec!["drivelab".to_owned()], &mut |path, command| {
            let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
            let options: Vec<&str> = shown().filter_map(clap::Arg::get_long).collect();
            for option in options.iter().filter(|option| option.len() > 2) {
                let wrongs = misspellings(option).filter(|wrong| !options.contains(&&**wrong));
                for (at, wrong) in wrongs.enumerate() {
                    // The verb alone, and once for each option as it is typed: to build the
                    // parser of all verbs takes twenty times as long.
                    let alone = command.clone().no_binary_name(true);
                    let Err(error) = alone.try_get_matches_from([format!("--{wrong}")]) else {
                        continue;
                    };
                    if error.kind() != ErrorKind::UnknownArgument {
                        continue;
                    }
                    let said = unknown_option(&error, command).expect("an option that is not");
                    assert!(said.contains(&format!("`--{option}`")), "{path:?} {wrong}: {said}");
                    cases += 1;
                    if at == 0 {
                        let words = [path, &[format!("--{wrong}")]].concat();
                        let error = Cli::try_parse_from(&words).map(|_| ()).expect_err("it is not");
                        let said = of_words(&error, &words);
                        assert!(said.contains(&format!("`--{option}`")), "{words:?}: {said}");
                    }
                }
            }
        });
        assert!(cases > 1000, "{cases} misspellings");
    }

    fn each_verb(
        command: &Command,
        path: &mut Vec<String>,
        seen: &mut impl FnMut(&[String], &Command),
    ) {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            path.push(verb.get_name().to_owned());
            match verb.has_subcommands() {
                true => each_verb(verb, path, seen),
                false => seen(path, verb),
            }
            path.pop();
        }
    }

    fn misspellings(word: &str) -> impl Iterator<Item = String> {
        (0..word.len()).flat_map(move |at| {
            let (before, after) = word.split_at(at);
            let (letter, rest) = after.split_at(1);
            let swapped = rest.get(..1).filter(|next| *next != letter);
            let swapped = swapped.map(|next| format!("{before}{next}{letter}{}", &rest[1..]));
            [Some(format!("{before}{rest}")), Some(format!("{before}{letter}{after}")), swapped]
                .into_iter()
                .flatten()
        })
    }
}
