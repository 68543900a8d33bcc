//! What the words of the command line ask.

use super::arguments::AdviseArguments;
use crate::{known::prices, traced};
use advice::{
    Question, Traced,
    rank::Need,
    steady::{Order, Workload},
};
use anyhow::{Context, Result, bail, ensure};
use target::catalog::PriceDate;

/// Reads the words.
pub fn question(arguments: &AdviseArguments) -> Result<Question> {
    let budget = prices::money(&format!("--budget {}", arguments.budget), &arguments.budget)?;
    let given = arguments.price.iter().map(|text| given(text, &budget.currency));
    let trace = traced::read(arguments.trace.as_deref(), arguments.volume.as_deref())?;
    let workload = workload(arguments, trace.as_ref())?;
    let of_trace = |bytes: fn(&Traced) -> Option<f64>| trace.as_ref().and_then(bytes);
    let capacity_bytes = arguments.capacity.or(trace.as_ref().map(|trace| trace.room_bytes));
    let written = arguments.writes_per_day.map(|bytes| bytes as f64);
    if let Some(bytes) = capacity_bytes {
        ensure!(
            bytes >= u64::from(workload.largest()),
            "--capacity {bytes} is less than one block: write what must find room, such as 500GB"
        );
    }
    Ok(Question {
        need: Need {
            reads: workload.reads,
            budget: budget.amount,
            capacity_bytes,
            written_bytes_per_day: written.or(of_trace(|trace| trace.written_bytes_per_day)),
            years: arguments.years,
        },
        workload,
        trace,
        given: given.collect::<Result<_>>()?,
        currency: budget.currency,
        today: arguments.as_of.map_or_else(today, Ok)?,
        price_age_months: (arguments.price_age * 12.0).round() as u32,
        seed: arguments.seed,
    })
}

/// As it was said, or as the trace says.
fn workload(arguments: &AdviseArguments, trace: Option<&Traced>) -> Result<Workload> {
    let order = if arguments.pattern == "seq" { Order::Sequential } else { Order::Random };
    match (trace, arguments.read, arguments.block) {
        (Some(trace), ..) => Ok(trace.workload(arguments.depth)),
        (None, Some(read), Some(block)) => Ok(Workload::plain(read, block, arguments.depth, order)),
        _ => bail!("say the workload with --read and --block, or with --trace"),
    }
}

/// By this machine's clock, UTC.
fn today() -> Result<PriceDate> {
    let now = host::now();
    let day = now.get(..10).and_then(PriceDate::parse);
    day.with_context(|| format!("this machine's clock says {now:?}: say the day with --as-of"))
}

/// `NAME=129EUR`, in the budget's currency.
fn given(text: &str, currency: &str) -> Result<(String, f64)> {
    let Some((name, amount)) = text.rsplit_once('=') else {
        bail!("--price {text} does not say of what: write NAME={text}, NAME a drive or a RUN");
    };
    let money = prices::money(&format!("--price {text}"), amount)?;
    ensure!(
        money.currency == currency,
        "--price {text} is in {}, and the budget in {currency}: write both in one currency, for \
         nothing is converted",
        money.currency
    );
    Ok((name.to_owned(), money.amount))
}
