//! Verbs and options as other programs call them, and what to type here instead.

use lab::method::{SET_KEYS, settings_of};

/// Words for what a verb does, and that verb.
const VERBS: &[(&[&str], &str)] = &[
    (
        &["measure", "bench", "benchmark", "test", "fio", "perf", "start"],
        "`drivelab run TARGET` measures",
    ),
    (
        &["model", "simulate"],
        "`drivelab run model:NAME` measures a modelled drive, `drivelab drives` lists them",
    ),
    (&["manage", "volume", "ftl"], "`drivelab flash` makes and checks managed volumes"),
    (
        &["decide", "buy", "choose", "recommend", "price", "cost"],
        "`drivelab advise` says what to buy",
    ),
    (&["cache", "tier", "bcache"], "`drivelab hybrid` compares caches and tiers"),
    (
        &["raid", "array", "stack"],
        "`drivelab run model:4xNAME/raid5` models one, `drivelab drives --help` has the words",
    ),
    (
        &["list", "ls"],
        "`drivelab history` lists runs, `drivelab devices` this machine's block devices, \
         `drivelab drives` models",
    ),
    (&["disk", "disks", "lsblk", "info", "smart"], "`drivelab devices` lists block devices"),
    (&["nbd", "mount", "ublk"], "`drivelab serve` serves a target as a block device"),
    (&["cluster", "slurm", "batch", "jobs"], "`drivelab campaign` measures on many machines"),
    (&["filesystem", "fs", "tune"], "`drivelab matrix` compares file systems and settings"),
    (&["database", "db", "upload"], "`drivelab push` puts runs into a database"),
    (&["gui", "ui", "browse", "dashboard", "http"], "`drivelab web` shows the history"),
    (&["diff"], "`drivelab compare` compares runs"),
    (&["blktrace", "iotrace"], "`drivelab trace` reads block traces"),
    (&["crash", "powerfail", "power"], "`drivelab power-cut` cuts the power"),
    (&["plan"], "`drivelab run --dry-run` prints the plan"),
    (&["undo", "cleanup"], "`drivelab restore` puts settings back"),
    (&["version"], "`drivelab --version` prints it"),
];

/// Words for an option; the option here, without which the row does not count; and what to type.
const OPTIONS: &[(&[&str], &str, &str)] = &[
    (&["runtime", "duration", "time"], "max-time", "`--max-time 30s`"),
    (&["direct", "odirect"], "io", "`--io direct`"),
    (&["buffered"], "io", "`--io buffered`"),
    (&["sync"], "io", "`--io direct,sync`"),
    (&["ioengine"], "engine", "`--engine uring`"),
    (&["filesize"], "size", "`--size 1GiB`"),
    (&["loops", "iterations", "repeat"], "passes", "`--passes 3`"),
    (&["latency-target", "max-latency"], "until", "`--until 'p99<1ms'`"),
    (&["job", "jobfile", "workload", "profile"], "method", "`--method FILE`"),
    (&["force", "f"], "destroy", "`--destroy SERIAL`, which says what may be overwritten"),
    (&["output", "o", "output-format"], "json", "`--json FILE`"),
    (&["port", "listen", "socket", "address"], "nbd", "`--nbd unix:PATH` or `--nbd tcp:HOST:PORT`"),
    (&["csv", "markdown", "openmetrics"], "reads-only", "`drivelab export` afterwards"),
    (&["html", "svg"], "reads-only", "`drivelab report` afterwards"),
    (&["format", "output-format", "csv", "markdown", "fio"], "as", "`--as FORMAT`"),
    (&["format"], "explain", "`drivelab export --as FORMAT`"),
    (&["output", "o"], "xlsx", "`--html FILE`, `--xlsx FILE` or `--csv FILE`"),
    (&["n", "number", "count"], "limit", "`--limit N`"),
    (&["verbose", "v"], "reads-only", "`drivelab show last --explain` afterwards"),
    (
        &["filename", "file", "device", "disk", "directory", "target", "path"],
        "reads-only",
        "the TARGET, without an option before it",
    ),
];

/// Verbs without a TARGET, or whatever else stands without an option before it, and what they take
/// it by.
const STRAYS: &[(&str, &str)] = &[
    ("drivelab hybrid", "write `--trace {}`"),
    ("drivelab web", "write `--store {}`"),
    ("drivelab history", "`drivelab show {}` shows one run"),
];

/// What to type for a word that a verb does not take.
pub fn stray(word: &str, path: &str) -> Option<String> {
    let row = STRAYS.iter().find(|(verb, _)| *verb == path);
    row.map(|(_, here)| here.replace("{}", word))
}

/// What does here what `word`, which is no verb, says.
pub fn verb(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    VERBS.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, here)| *here)
}

/// What to type for an option that a verb with the options `known` does not have.
pub fn option(wrong: &str, known: &[&str]) -> Option<String> {
    let bare = wrong.trim_start_matches('-').replace('_', "-");
    let row = OPTIONS
        .iter()
        .find(|(words, needs, _)| words.contains(&bare.as_str()) && known.contains(needs));
    let row = row.map(|(_, _, here)| (*here).to_owned());
    row.or_else(|| setting(&bare).filter(|_| known.contains(&"set")))
}

/// How to set what has a key in methods, or what is an option of fio's.
fn setting(word: &str) -> Option<String> {
    let key = word.replace('-', "_");
    if SET_KEYS.contains(&key.as_str()) {
        return Some(format!("`--set {key}=VALUE`"));
    }
    let settings = settings_of(&key)?.iter().map(|(key, value)| format!("--set {key}={value}"));
    Some(format!("`{}`", settings.collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    /// A word that becomes a verb or an option would never be looked for here, and a verb that is
    /// renamed would be advised for ever.
    #[test]
    fn no_word_is_ours_and_every_verb_and_option_that_is_named_is() {
        let cli = Cli::command();
        let is_verb = |word: &str| cli.find_subcommand(word).is_some();
        for (words, here) in VERBS {
            for word in *words {
                assert!(!is_verb(word), "{word}");
            }
            let named = here.split("`drivelab ").skip(1);
            for verb in named.filter_map(|rest| rest.split([' ', '`']).next()) {
                assert!(is_verb(verb) || verb.starts_with("--"), "{here}");
            }
        }
        for (path, here) in STRAYS {
            let verb = path.strip_prefix("drivelab ").and_then(|verb| cli.find_subcommand(verb));
            let verb = verb.expect("a verb");
            assert!(verb.get_positionals().next().is_none(), "{path}");
            for long in here.split("--").skip(1).filter_map(|rest| rest.split([' ', '`']).next()) {
                assert!(verb.get_arguments().any(|it| it.get_long() == Some(long)), "{here}");
            }
        }
        let longs = |verb: &clap::Command| -> Vec<String> {
            verb.get_arguments().filter_map(|it| Some(it.get_long()?.to_owned())).collect()
        };
        for (words, needs, here) in OPTIONS {
            let verbs = cli.get_subcommands().filter(|verb| {
                let known = longs(verb);
                known.iter().any(|it| it == needs)
                    && !words.iter().any(|it| known.contains(&(*it).to_owned()))
            });
            let verbs: Vec<_> = verbs.collect();
            assert!(!verbs.is_empty(), "no verb is asked for {words:?} and has --{needs}");
            let advised = here.split("`drivelab ").nth(1).and_then(|rest| rest.split(' ').next());
            let mut known: Vec<String> = verbs.iter().flat_map(|verb| longs(verb)).collect();
            known.extend(
                advised.and_then(|verb| cli.find_subcommand(verb)).iter().flat_map(|it| longs(it)),
            );
            for long in here.split("--").skip(1).filter_map(|rest| rest.split([' ', '`']).next()) {
                assert!(known.iter().any(|it| it == long), "{here}");
            }
        }
    }
}
