//! What is asked, and what is known of prices.

use crate::{
    rank::{Need, Purpose},
    steady::Workload,
    traced::Traced,
};
use record::Money;
use target::catalog::PriceDate;

/// The need, the workload, and the currency of all prices.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is needed.
    pub need: Need,
    /// What the mix is made of.
    pub workload: Workload,
    /// The trace that says so, where one does.
    pub trace: Option<Traced>,
    /// Three letters.
    pub currency: String,
    /// The day of the question.
    pub today: PriceDate,
    /// Prices older than this are no prices to buy at, months.
    pub price_age_months: u32,
    /// What the user says of prices, in this currency.
    pub given: Vec<(String, f64)>,
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
    ///
    /// # Errors
    /// The first of them.
    pub fn check_prices(&self, known: &[&str]) -> Result<(), UnknownPrice> {
        let unknown = self.given.iter().find(|(name, _)| !known.contains(&name.as_str()));
        unknown.map_or(Ok(()), |(name, amount)| {
            let near = block::names::did_you_mean(name, known.iter().copied());
            Err(UnknownPrice { name: name.clone(), amount: *amount, near })
        })
    }

    /// An amount with its currency.
    pub fn money(&self, amount: f64) -> String {
        money(amount, &self.currency)
    }
}

/// `810 USD`, `12.50 USD`.
pub fn money(amount: f64, currency: &str) -> String {
    if amount.fract() == 0.0 || amount >= 1000.0 {
        format!("{amount:.0} {currency}")
    } else {
        format!("{amount:.2} {currency}")
    }
}

/// A price of something that is not considered.
#[derive(Clone, PartialEq, Debug)]
pub struct UnknownPrice {
    /// Of what it is.
    pub name: String,
    /// How much.
    pub amount: f64,
    /// ` Did you mean ...?`, or nothing.
    pub near: String,
}
