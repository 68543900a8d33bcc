//! `cargo xtask`: the front door for developers. Needs nothing installed but Rust; what a benchmark
//! compares with (fio) is used when it is there.

mod accuracy;
mod bench;
mod check;
mod fit;
mod flash;
mod fuzz;
mod guest;
mod lines;
mod picture;
mod soak;

use anyhow::{Result, bail};
use std::{env, process::ExitCode};

const HELP: &str = "\
cargo xtask check [STEP...]
    Everything a change must pass: format, clippy, tests, documentation, who sees whom, where
    `unsafe` may stand, and how long a file may be; or the steps that are named. The first one that
    fails is named at the end.

cargo xtask bench [a] [b] [c] [d] [agreement] [--seconds N] [--rounds N]
    drivelab beside a hand-written loop and fio. It prints and asserts nothing.
      a  no device: what one operation costs
      b  page cache, pread
      c  page cache, io_uring at depth 32
      d  O_DIRECT, depth 1 and 32: rate and processor time
      agreement  do drivelab and fio measure the same? Alternated pairs, read and write
    Without a name: a b c d. Takes N seconds (2; d and agreement 5) a measurement, N rounds (7;
    agreement 12). Needs 3 GiB free below the target directory and removes what it makes.
    docs/results/benchmark.md says how to read it.

cargo xtask bench model [--rounds N]
    Simulated reads and writes per second of a page-mapped drive, its set-up time and its memory, beside
    their limits; then the whole method bm-flash on an array of eight drives. It prints and asserts
    nothing; two minutes.

cargo xtask bench flash [--rounds N]
    Processor time of a managed flash volume in process, on a drive of RAM, beside the drive alone. It prints
    and asserts nothing; half a minute.

cargo xtask bench directory [DIRECTORY] [--seconds N] [--rounds N]
    Random 4 KiB writes to a managed volume in a file beside the same to a plain file in the same directory (below the
    target directory), by O_DIRECT, in N (9) alternated pairs of N seconds (1), each with its clean pool. It prints
    and asserts nothing; needs 6 GiB free and removes what it makes; a minute.

cargo xtask bench paced [--seconds N]
    By how much modelled drives on the real clock answer late, at depth 1 and 8. It prints and asserts
    nothing; takes N seconds (5) a measurement.

cargo xtask accuracy [--cells] [--quick] [--threads N] [GROUP...]
    How far the models are from what four studies printed: fitted and predicted cells apart, reads and
    writes apart, the cells that resist with their causes, and how far each drive is off at block sizes
    that its fit had not seen (minutes; --quick leaves that out). --cells prints every cell. Ends with a
    hash of everything that completed, the same on any number of threads. docs/results/accuracy.md
    has it all.

cargo xtask fit [--dry-run] [UNIT...]
    Finds the catalog's fitted numbers again from the printed figures, prints each drive's cells, and
    writes catalog/*.toml. Without a name all of them, which takes some minutes.

cargo xtask fuzz [TARGET...] [--seconds N] [--jobs N] [--build-only]
    Builds the fuzz targets with the pinned toolchain and runs each for N seconds (10), as many at a
    time as --jobs says (one for each processor), from fuzz/corpus and the repository's own files. A
    finding is shown, kept below target/fuzz/artifacts, and ends it with an error when all have run.
    fuzz/README.md has more.

cargo xtask fuzz [TARGET...] --minimise
    Keeps in fuzz/corpus the fewest small inputs that reach what all known ones reach.

cargo xtask soak MINUTES [--seed N] [--threads N]
    Crashes managed flash volumes of all shapes on simulated drives, in as many ways as the time allows: one seed
    after the other from N (1) on, on N (1) threads. Prints how many distinct crash points were tried, where
    they lay, and every violation with the command that replays it; ends with an error if there was one.
    Ctrl-C ends it with what was found so far.

cargo xtask soak --replay SEED
    One seed again, alone, until it panics where it did.

cargo xtask soak --sequences N [--threads N]
    All sequences of up to N operations (4 takes minutes), one by one and all in flight together, on a bare drive
    and with a synchronous ring, cut at every event in every way.

cargo xtask flash [--quick] [drive] [scan] [arrays] [sync] [amplification] [skew]
    A managed flash volume on modelled drives, in tables. It prints and asserts nothing; without a name all
    of them, which takes some ten minutes; --quick uses a part of each drive and takes one.
      drive   random writes of one drive: bursts, and what is sustained against the limit; reads
      scan    reading sequentially what was written at random: flash and disks
      arrays  bursts of RAID-5 of four and eight such drives
      sync    one flush for each 4 KiB write, with the synchronous ring and without
      amplification  uniform writes beside the closed form, by spare
      skew    the same under skew, by policy

cargo xtask flash --write [PART...]
    Puts them into docs/results/flash.md; what is not named stays as it is there.

cargo xtask guest [--kernel 6.1|6.12] [--quick | --only NAME...] [--list] [--guests N] [--write]
    [--verbose] [--program FILE] [--limit SECONDS]
    Runs drivelab in virtual machines with a real kernel and drives of every kind, through a table of
    scenarios: what is refused, measured, served (ublk's disks too), and what a failing drive leads
    to. Needs QEMU; says why and ends well where something is missing (an error with
    DRIVELAB_NO_SKIP=1). --quick: the small set of .ci/run; what is out of time is run once
    more. --write: into docs/results/guest-scenarios.md. docs/reference/guest.md.

cargo xtask guest [--kernel 6.1|6.12] --fetch
    Fetches that kernel from Debian's mirror, once; an error where it cannot be had.

cargo xtask guest [--kernel 6.1|6.12] -- COMMAND
    A command of your own in such a machine.

cargo xtask lines [--write]
    Holds docs/results/five-documents.md to what the binary says of every line of
    studies/*/lines.toml, or with --write makes it anew. Some minutes: every study runs on its models.

cargo xtask picture
    Draws the README's picture, docs/picture.svg, from the run in docs/reference/example-run.json.

cargo xtask help
    This text.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match carry_out(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((verb, rest)) if verb == "accuracy" => accuracy::run(rest),
        Some((verb, rest)) if verb == "bench" => bench::run(rest),
        Some((verb, rest)) if verb == "fit" => fit::run(rest),
        Some((verb, rest)) if verb == "flash" => flash::run(rest),
        Some((verb, rest)) if verb == "fuzz" => fuzz::run(rest),
        Some((verb, rest)) if verb == "guest" => guest::run(rest),
        Some((verb, rest)) if verb == "soak" => soak::run(rest),
        Some((verb, steps)) if verb == "check" => check::run(steps),
        Some((verb, rest)) if verb == "lines" => lines::run(rest),
        Some((verb, [])) if verb == "picture" => picture::run(),
        None => {
            println!("{HELP}");
            Ok(())
        }
        Some((verb, _)) if ["help", "--help", "-h"].contains(&verb.as_str()) => {
            println!("{HELP}");
            Ok(())
        }
        Some(_) => {
            bail!("`{}` is unknown; `cargo xtask help` lists what there is", arguments.join(" "))
        }
    }
}
