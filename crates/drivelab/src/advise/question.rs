//! What the words of the command line ask.

use super::arguments::AdviseArguments;
use crate::known::prices;
use anyhow::{Context, Result, bail, ensure};
use record::Money;
use study::{
    advice::{Need, Purpose},
    steady::{Order, Workload},
};
use target::catalog::PriceDate;

/// The need, the workload, and the currency of all prices.
pub struct Question {
    /// What is needed.
    pub need: Need,
    /// What the mix is made of.
    pub workload: Workload,
    /// Three letters.
    pub currency: String,
    /// The day of the question.
    pub today: PriceDate,
    /// Prices older than this are no prices to buy at, months.
    pub price_age_months: u32,
    /// What the user says of prices, in this currency.
    given: Vec<(String, f64)>,
    /// Where all random choices come from.
    pub seed: u64,
}

/// When a price was asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Asked {
    /// Nobody says.
    Never,
    /// Then.
    On(PriceDate),
    /// With the question itself.
    Now,
}

impl Asked {
    /// `2026-01`, `now`: what fits into a column.
    pub fn brief(self) -> String {
        match self {
            Self::Never => "?".to_owned(),
            Self::On(date) => PriceDate { day: None, ..date }.to_string(),
            Self::Now => "now".to_owned(),
        }
    }
}

/// What is known of a price.
#[derive(Clone, PartialEq, Debug)]
pub enum Price {
    /// In the budget's currency.
    Known {
        /// How much.
        amount: f64,
        /// Who says so.
        source: String,
        /// When.
        asked: Asked,
    },
    /// In another: it is said, not converted.
    Foreign(Money),
    /// Not known, and what is said instead.
    Unknown(String),
}

impl Price {
    /// In the budget's currency.
    pub fn amount(&self) -> Option<f64> {
        match self {
            Self::Known { amount, .. } => Some(*amount),
            _ => None,
        }
    }

    /// When it was asked.
    pub fn asked(&self) -> Asked {
        match self {
            Self::Known { asked, .. } => *asked,
            _ => Asked::Never,
        }
    }
}

impl Question {
    /// Reads the words.
    pub fn new(arguments: &AdviseArguments) -> Result<Self> {
        let budget = prices::money(&format!("--budget {}", arguments.budget), &arguments.budget)?;
        let given = arguments.price.iter().map(|text| given(text, &budget.currency));
        let order = if arguments.pattern == "seq" { Order::Sequential } else { Order::Random };
        if let Some(bytes) = arguments.capacity {
            ensure!(
                bytes >= u64::from(arguments.block),
                "--capacity {bytes} is less than one block: write what must find room, such as 500GB"
            );
        }
        Ok(Self {
            need: Need {
                reads: arguments.read,
                budget: budget.amount,
                capacity_bytes: arguments.capacity,
                written_bytes_per_day: arguments.writes_per_day.map(|bytes| bytes as f64),
                years: arguments.years,
            },
            workload: Workload {
                reads: arguments.read,
                block_bytes: arguments.block,
                depth: arguments.depth,
                order,
            },
            given: given.collect::<Result<_>>()?,
            currency: budget.currency,
            today: arguments.as_of.map_or_else(today, Ok)?,
            price_age_months: (arguments.price_age * 12.0).round() as u32,
            seed: arguments.seed,
        })
    }

    /// Whether what costs so much may be bought at that price.
    pub fn purpose(&self, price: &Price) -> Purpose {
        match price {
            Price::Known { asked: Asked::Now, .. } => Purpose::Buy,
            Price::Known { asked: Asked::On(date), .. }
                if date.months_until(self.today) <= self.price_age_months =>
            {
                Purpose::Buy
            }
            _ => Purpose::Compare,
        }
    }

    /// The price that the user gives for this name.
    pub fn given(&self, name: &str) -> Option<f64> {
        self.given.iter().rev().find(|(known, _)| known == name).map(|(_, amount)| *amount)
    }

    /// Refuses a price of something that is not considered.
    pub fn check_prices(&self, known: &[&str]) -> Result<()> {
        for (name, amount) in &self.given {
            if !known.contains(&name.as_str()) {
                let near = block::names::did_you_mean(name, known.iter().copied());
                bail!(
                    "--price {name}={amount}{} is of nothing that is considered.{near} Name a drive or a RUN",
                    self.currency
                );
            }
        }
        Ok(())
    }

    /// An amount with its currency.
    pub fn money(&self, amount: f64) -> String {
        money(amount, &self.currency)
    }
}

/// By this machine's clock, UTC.
fn today() -> Result<PriceDate> {
    let now = host::now();
    let day = now.get(..10).and_then(PriceDate::parse);
    day.with_context(|| format!("this machine's clock says {now:?}: say the day with --as-of"))
}

/// `810 USD`, `12.50 USD`.
pub fn money(amount: f64, currency: &str) -> String {
    if amount.fract() == 0.0 || amount >= 1000.0 {
        format!("{amount:.0} {currency}")
    } else {
        format!("{amount:.2} {currency}")
    }
}

/// `NAME=129EUR`, in the budget's currency.
fn given(text: &str, currency: &str) -> Result<(String, f64)> {
    let Some((name, amount)) = text.rsplit_once('=') else {
        bail!("--price {text} does not say of what: write NAME={text}, NAME a drive or a RUN");
    };
    let money = prices::money(&format!("--price {text}"), amount)?;
    ensure!(
        money.currency == currency,
        "--price {text} is in {}, and the budget in {currency}: write both in one currency, for nothing is converted",
        money.currency
    );
    Ok((name.to_owned(), money.amount))
}
