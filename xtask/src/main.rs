//! `cargo xtask`: the front door for developers. Needs nothing installed but Rust; what a benchmark
//! compares with (fio) is used when it is there.

mod accuracy;
mod bench;
mod check;
mod dist;
mod fit;
mod flash;
mod fuzz;
mod guest;
mod kernel;
mod lines;
mod picture;
mod soak;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The front door for developers.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", arg_required_else_help = true)]
struct Words {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Everything a change must pass: format, who sees whom, where `unsafe` may stand, how long a
    /// file may be, clippy, tests, documentation. The first step that fails is named at the end.
    Check(check::Options),
    /// Measures drivelab beside other programs. It prints and asserts nothing.
    /// docs/results/benchmark.md says how to read it.
    Bench(bench::Options),
    /// How far the models are from what four studies printed: fitted and predicted cells apart,
    /// reads and writes apart, the cells that resist with their causes, and how far each drive is
    /// off at block sizes that its fit had not seen. Ends with a hash of everything that completed,
    /// the same on any number of threads. docs/results/accuracy.md has it all.
    Accuracy(accuracy::Options),
    /// Finds the catalog's fitted numbers again from the printed figures, prints each drive's
    /// cells, and writes catalog/*.toml. Some minutes for all of them.
    Fit(fit::Options),
    /// Builds the fuzz targets with the pinned toolchain and runs them, from fuzz/corpus and the
    /// repository's own files. A finding is shown, kept below target/fuzz/artifacts, and ends it
    /// with an error when all have run. fuzz/README.md has more.
    Fuzz(fuzz::Options),
    /// Crashes managed flash volumes of all shapes on simulated drives, in as many ways as the time
    /// allows, one seed after the other. Prints how many distinct crash points were tried, where
    /// they lay, and every violation with the command that replays it; ends with an error if there
    /// was one. Ctrl-C ends it with what was found so far.
    Soak(soak::Options),
    /// A managed flash volume on modelled drives, in tables. It asserts nothing; all of them take
    /// some ten minutes.
    Flash(flash::Options),
    /// Runs drivelab in virtual machines with a real kernel and drives of every kind, through a
    /// table of scenarios: what is refused, measured, served (ublk's disks too), and what a failing
    /// drive leads to. Needs QEMU; says why and ends well where something is missing (an error with
    /// DRIVELAB_NO_SKIP=1). docs/reference/guest.md.
    Guest(guest::Options),
    /// The kernel's own arrays (md) in a virtual machine, on modelled drives whose time is slowed,
    /// beside the modelled layer: random reads and writes by size and threads. Some minutes a
    /// level; needs what `guest` needs. docs/results/kernel.md.
    Kernel(kernel::Options),
    /// Holds docs/results/five-documents.md to what the binary says of every line of
    /// studies/*/lines.toml. Some minutes: every study runs on its models.
    Lines(lines::Options),
    /// Makes packages that people install, of one static program: .deb, .rpm, an OCI image, a
    /// Python wheel, crates, the program alone; with their sums. `--check` installs, runs and
    /// removes each but the crates. docs/guide/install.md.
    Dist(dist::Options),
    /// Draws the README's picture, docs/picture.svg, from the run in
    /// docs/reference/example-run.json.
    Picture,
}

fn main() -> ExitCode {
    match carry_out(Words::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(verb: Verb) -> Result<()> {
    match verb {
        Verb::Check(options) => check::run(&options),
        Verb::Bench(options) => bench::run(&options),
        Verb::Accuracy(options) => accuracy::run(&options),
        Verb::Fit(options) => fit::run(&options),
        Verb::Fuzz(options) => fuzz::run(&options),
        Verb::Soak(options) => soak::run(&options),
        Verb::Flash(options) => flash::run(&options),
        Verb::Guest(options) => guest::run(&options),
        Verb::Kernel(options) => kernel::run(&options),
        Verb::Lines(options) => lines::run(&options),
        Verb::Dist(options) => dist::run(&options),
        Verb::Picture => picture::run(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn is_known(words: &str) -> bool {
        Words::try_parse_from(format!("xtask {words}").split_whitespace()).is_ok()
    }

    #[test]
    fn the_verbs_and_options_fit_together() {
        Words::command().debug_assert();
    }

    #[test]
    fn a_wrong_word_is_refused_before_anything_is_built_or_written() {
        for words in [
            "chek",
            "check ratchet",
            "bench e",
            "bench --second 1",
            "bench --seconds",
            "bench a --seconds x",
            "bench a --rounds 0",
            "bench paced --seconds 0",
            "bench paced --second 3",
            "bench model --rounds 0",
            "bench serve file",
            "bench serve --rounds",
            "bench directory --kib 5",
            "bench directory --seconds 0",
            "bench bonnie --size-mib 0",
            "accuracy --threads 0",
            "accuracy nobody",
            "accuracy --leave-one-out",
            "fit --kinds --dry-run",
            "fit nobody",
            "soak",
            "soak ten",
            "flash drives",
            "flash --write --quick",
            "guest --kernel 6.2",
            "guest --guests 9",
            "kernel --level 4",
            "kernel --slower 0",
            "lines --writes",
            "dist debs",
            "dist --to",
            "fuzz --seconds 0",
            "fuzz --seconds",
            "fuzz --build-only --minimise",
        ] {
            assert!(!is_known(words), "{words}");
        }
        for words in [
            "check rooms sources",
            "bench",
            "bench b agreement --seconds 3 --rounds 4",
            "bench directory . --kib 1024",
            "bench serve memory --short",
            "accuracy --quick cmu",
            "accuracy --kinds --leave-one-out",
            "fit --kinds",
            "fit --dry-run",
            "soak 10 --seed 3",
            "soak --replay 7",
            "soak --sequences 4",
            "flash --write drive",
            "guest --quick --write",
            "guest -- uname -a",
            "kernel --level 5 --slower 20",
            "dist deb rpm --to out --check",
            "lines --write",
            "fuzz words --seconds 60 --jobs 2",
        ] {
            assert!(is_known(words), "{words}");
        }
    }
}
