//! What cannot be answered, and what would change an answer, as sentences that name the option.

use advice::{
    Lacks, NothingFits, Question, UnknownPrice,
    page::Hints,
    reasons::{Cure, Reason},
    steady::Workload,
};
use anyhow::{Error, anyhow};
use report::number;

/// The options of `advise`, for a page that knows none.
pub struct Options<'q> {
    /// The budget's.
    pub currency: &'q str,
}

impl Hints for Options<'_> {
    fn sentence(&self, Reason { text, cure }: Reason) -> String {
        let currency = self.currency;
        match cure {
            None => text,
            Some(Cure::AnyPrice) => format!("{text}: give prices with --price NAME=129{currency}."),
            Some(Cure::NewPrices) => format!(
                "{text}: --price NAME=129{currency} gives today's, --price-age 100 ranks at old \
                 ones."
            ),
            Some(Cure::TodaysPrices) => {
                format!("{text} Ask today's, and give it with --price NAME=AMOUNT.")
            }
            Some(Cure::WritesPerDay) => {
                format!("{text}: --writes-per-day 200GB says how much is written.")
            }
        }
    }

    fn prints_all(&self, count: usize) -> String {
        format!("--limit {count} prints all")
    }

    fn ranks_unpriced(&self, currency: &str) -> String {
        format!("--price NAME=129{currency} ranks them")
    }
}

pub fn unknown_price(unknown: &UnknownPrice, question: &Question) -> Error {
    let UnknownPrice { name, amount, near } = unknown;
    anyhow!(
        "--price {name}={amount}{} is of nothing that is considered.{near} Name a drive or a RUN",
        question.currency
    )
}

pub fn nothing_fits(none: &NothingFits, question: &Question) -> Error {
    let cheapest = none.cheapest.as_ref().map_or_else(String::new, |(name, price)| {
        format!("; the cheapest of these, {name}, costs {}", question.money(*price))
    });
    anyhow!(
        "nothing fits: {} hold too little and {} cost more than {}{cheapest}: raise --budget, \
         lower --capacity, or name other drives",
        none.small,
        none.dear,
        question.money(question.need.budget)
    )
}

/// What the run has instead, and how to measure what it lacks.
pub fn lacks(lacks: &Lacks, workload: &Workload) -> Error {
    let Lacks { run, target, pattern, seen } = lacks;
    let (block, depth) = (workload.block_bytes, workload.depth);
    anyhow!(
        "run {run} has no direct {pattern} reads and writes of {} with {depth} in flight ({seen}): \
         measure them with `drivelab run {target} --method bm-flash --set pattern={pattern} --set \
         block={block} --set threads={depth}`, or ask for what it has",
        number::size(block.into()),
    )
}
