//! The command line of `drivelab advise`.

use block::parse_bytes;
use clap::Args;
use std::{ffi::OsString, path::PathBuf};
use target::catalog::PriceDate;

/// What `advise --help` opens with.
pub const ABOUT: &str = "\
Say what to buy for a mix of reads and writes: drives, arrays of one to eight of each (RAID-0, 1, 5, 10), and managed \
volumes on both, ranked by what an operation a second costs, in the state that they will be in after a year. \
Without names, all drives of the catalog are considered.

Each is modelled in virtual time, full of what --capacity asks for and overwritten at random for long; what you have \
measured yourself, a RUN, is taken from its cells. Reads and writes are weighed as 1 / (f/R + (1-f)/W), and the first three \
are run as they stand. Prices older than --price-age are shown for comparison and not ranked. What breaks \
the budget, holds too little, or would be worn out too soon is left out, with the reason; what has no price stands apart, with the \
price at which it would come first.

The answer comes with its reasons: why the first is first, which price and which mix would change that, and what was \
assumed. docs/guide/advice.md has the formulas.";

/// What `advise --help` ends with.
pub const HELP: &str = "\
Examples:
  drivelab advise --read 70 --block 8K --budget 1000USD
  drivelab advise --read 70 --block 8K --budget 1000USD --capacity 60GB \\
    --writes-per-day 200GB
  drivelab advise --read 90 --block 4K --budget 500EUR --price nvme-tlc=75EUR \\
    --price sata-tlc=45EUR nvme-tlc sata-tlc
  drivelab advise --read 50 --block 16K --budget 3000USD intel-x25e-32 \\
    4xmtron-mobi-32/raid5/flash:spare=40%
  drivelab advise --read 70 --block 8K --budget 500EUR before after
  drivelab advise --trace web.csv --volume hm.1 --budget 1000USD

Prices are in one currency, the budget's; what is priced in another is said, not
converted. Exit codes: 0 answered, 2 could not answer.";

/// `drivelab advise`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP, group = clap::ArgGroup::new("workload").required(true))]
pub struct AdviseArguments {
    /// What to choose from: drives by name, STACKs, RUNs; the whole catalog if nothing is named
    #[arg(value_name = "WHAT")]
    pub names: Vec<OsString>,

    /// Share of the operations that read
    #[arg(long, value_name = "PERCENT", value_parser = share, group = "workload",
          requires = "block", help_heading = "The workload")]
    pub read: Option<f64>,

    /// Size of one operation
    #[arg(long, value_name = "SIZE", value_parser = block_size, requires = "read",
          conflicts_with = "trace", help_heading = "The workload")]
    pub block: Option<u32>,

    /// Where operations go: `random`, or `seq` for one place after the other
    #[arg(long, value_name = "PATTERN", value_parser = ["random", "seq"], default_value = "random",
          conflicts_with = "trace", hide_possible_values = true, help_heading = "The workload")]
    pub pattern: String,

    /// The workload of a block trace (docs/reference/traces.md) in place of these; --capacity and
    /// --writes-per-day are its own, too, unless they are said
    #[arg(long, value_name = "FILE", group = "workload", help_heading = "The workload")]
    pub trace: Option<PathBuf>,

    /// Which of the trace's volumes; `all` for all of them together
    #[arg(long, value_name = "NAME", requires = "trace", help_heading = "The workload")]
    pub volume: Option<String>,

    /// Operations in flight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), default_value_t = 32,
          help_heading = "The workload")]
    pub depth: u16,

    /// The most that may be spent, with its currency
    #[arg(long, value_name = "1000USD", help_heading = "The need")]
    pub budget: String,

    /// What must find room; without it every drive is taken as full
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "The need")]
    pub capacity: Option<u64>,

    /// What is written a day; without it no lifetime is judged
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "The need")]
    pub writes_per_day: Option<u64>,

    /// How long it must last
    #[arg(long, value_name = "N", value_parser = years, default_value = "5", help_heading = "The need")]
    pub years: f64,

    /// What one drive costs, or all drives of a RUN; the catalog's prices need not be said
    #[arg(long, value_name = "NAME=129EUR", help_heading = "What to know")]
    pub price: Vec<String>,

    /// Older prices are shown for comparison and not ranked
    #[arg(long, value_name = "YEARS", value_parser = years, default_value = "2", help_heading = "What to know")]
    pub price_age: f64,

    /// The day of the question, such as 2026-11-23, which prices are old or young by [default:
    /// today]
    #[arg(long, value_name = "DATE", value_parser = day, help_heading = "What to know")]
    pub as_of: Option<PriceDate>,

    /// How many of the ranked are printed
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "What to know")]
    pub limit: usize,

    /// One JSON document with everything instead (docs/guide/advice.md)
    #[arg(long, help_heading = "What to know")]
    pub json: bool,

    /// Where all random choices come from
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "What to know")]
    pub seed: u64,

    /// The history to read: a file, or postgresql://USER@HOST/NAME
    #[arg(long, value_name = "PATH", help_heading = "What to know")]
    pub store: Option<PathBuf>,

    /// No progress, only the answer and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// A percentage as a share, 0 to 1. Who writes `0.7` means 70 % more often than 0.7 %.
fn share(text: &str) -> Result<f64, String> {
    if text.parse::<f64>().is_ok_and(|share| share > 0.0 && share < 1.0) {
        return Err(format!("it is a percentage: write 70 for 70 %, or {text}% if that is meant"));
    }
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let number = number.filter(|percent| (0.0..=100.0).contains(percent));
    number.map(|percent| percent / 100.0).ok_or_else(|| {
        "it is the percentage of operations that read: write a number from 0 to 100, such as 70"
            .to_owned()
    })
}

/// A block that drives can be asked for.
fn block_size(text: &str) -> Result<u32, String> {
    const RANGE: std::ops::RangeInclusive<u64> = 512..=16 << 20;
    let bytes = parse_bytes(text).map_err(|bad| bad.to_string())?;
    if RANGE.contains(&bytes) && bytes.is_multiple_of(512) {
        return Ok(bytes as u32);
    }
    Err("a block is of whole sectors of 512 B, up to 16 MiB: write such as 8K".to_owned())
}

/// A day, a month or a year.
fn day(text: &str) -> Result<PriceDate, String> {
    PriceDate::parse(text).ok_or_else(|| "write a date such as 2026-11-23 or 2026-11".to_owned())
}

/// A time in years.
fn years(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|years| (0.0..=100.0).contains(years));
    number.ok_or_else(|| "write a number of years from 0 to 100, such as 5".to_owned())
}
