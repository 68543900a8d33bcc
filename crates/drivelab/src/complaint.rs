//! Errors as one line: what a user reads names the cure, and nothing twice.

use clap::error::{ContextKind, ContextValue, ErrorKind};

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
    let text = error.to_string();
    if let Some(said) = below_zero(error, words) {
        return format!("{said}; see `drivelab{} --help`", verb(&text).unwrap_or_default());
    }
    let is_said = |paragraph: &String| {
        let filler = ["Usage:", "For more information"];
        !paragraph.is_empty() && !filler.iter().any(|start| paragraph.starts_with(start))
    };
    let one_line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: Vec<String> = text.split("\n\n").map(one_line).filter(is_said).collect();
    let said = said.join("; ");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    format!("{said}; see `drivelab{} --help`", verb(&text).unwrap_or_default())
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

/// The verb of the usage line, with a blank before it.
fn verb(text: &str) -> Option<String> {
    let usage = text.split_once("Usage: drivelab ")?.1;
    let word = usage.split_whitespace().next()?;
    word.bytes().all(|byte| byte.is_ascii_lowercase()).then(|| format!(" {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
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

    #[test]
    fn the_parsers_paragraphs_become_one_line_with_the_way_to_the_help() {
        let complain = |words: &[&str]| {
            let error = Cli::try_parse_from([&["drivelab"], words].concat()).expect_err("refused");
            of_the_command_line(&error)
        };
        assert_eq!(
            complain(&["run", "--metod", "quick"]),
            "unexpected argument '--metod' found; tip: a similar argument exists: '--method'; \
             see `drivelab run --help`"
        );
        // It was told to write `-- -5`, which makes a TARGET of it.
        let words = ["drivelab", "run", ".", "--size", "-5"].map(str::to_owned);
        let error = Cli::try_parse_from(&words).expect_err("refused");
        assert_eq!(
            of_words(&error, &words),
            "--size -5: `-5` is less than nothing: write it without the `-`; \
             see `drivelab run --help`"
        );
        let grade = complain(&["run", "--grade", "best"]);
        assert!(grade.contains("[possible values: quick, normal, publish]; see"), "{grade}");
        assert!(!grade.contains('\n'), "{grade}");
    }
}
