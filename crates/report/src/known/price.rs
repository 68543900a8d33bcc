//! Prices as people write them.

use super::{Named, NotHere, places};
use record::Money;

/// Signs of currencies, and the letters that their users mean most often.
const SIGNS: &[(char, &str)] = &[('€', "EUR"), ('$', "USD"), ('£', "GBP"), ('¥', "JPY")];

/// What is wrong with a price.
#[derive(Clone, PartialEq, Debug)]
pub enum BadPrice {
    /// An amount alone.
    NoCurrency {
        /// It.
        amount: String,
    },
    /// Not three letters.
    Currency(String),
    /// Not a number above zero.
    Amount(String),
    /// Of nothing.
    NotHere(NotHere),
    /// Of several targets at once.
    Several {
        /// So many.
        targets: usize,
        /// The first of them.
        first: String,
        /// What each would cost.
        money: Money,
    },
}

impl BadPrice {
    /// The sentence with its cure; `whole` is the option with its value.
    pub fn sentence(&self, whole: &str) -> String {
        match self {
            Self::NoCurrency { amount } => {
                let sign = SIGNS.iter().find(|(sign, _)| amount.contains(*sign));
                let letters = sign.map_or("EUR", |(_, letters)| letters);
                let is_sign = |letter| SIGNS.iter().any(|(sign, _)| *sign == letter);
                let amount = amount.replace(is_sign, "");
                format!(
                    "{whole} has no currency: write its three letters behind the amount, such as \
                     {}{letters}",
                    amount.trim()
                )
            }
            Self::Currency(currency) => format!(
                "`{currency}` in {whole} is no currency: write its three letters, such as EUR or \
                 USD"
            ),
            Self::Amount(number) => format!(
                "`{number}` in {whole} is no amount: write a number above zero, as 129EUR or \
                 1,299.50EUR: a comma parts thousands"
            ),
            Self::NotHere(not_here) => format!("{whole} {not_here}"),
            Self::Several { targets, first, money } => format!(
                "{whole} fits {targets} targets: write a price for each, such as {first}={}{}",
                money.amount, money.currency
            ),
        }
    }
}

/// Run, target and price of `129EUR` or `NAME=129EUR`, NAME a run as on the command line, its id,
/// or a target.
///
/// # Errors
/// No price; not of one target.
pub fn priced(named: &[Named<'_>], text: &str) -> Result<(usize, usize, Money), BadPrice> {
    let (name, money) = parsed(text)?;
    let places = places(named, name).map_err(BadPrice::NotHere)?;
    let [(run, target)] = places[..] else {
        let (run, target) = places[0];
        let first = named[run].targets[target].text.clone();
        return Err(BadPrice::Several { targets: places.len(), first, money });
    };
    Ok((run, target, money))
}

/// `129EUR`, `last=129EUR`, `last~1=1,299.50 USD`.
fn parsed(text: &str) -> Result<(Option<&str>, Money), BadPrice> {
    let (name, amount) = match text.rsplit_once('=') {
        Some((name, amount)) => (Some(name), amount),
        None => (None, text),
    };
    Ok((name, money(amount)?))
}

/// `129EUR`, `1,299.50 USD`.
///
/// # Errors
/// No amount above zero, or no currency.
pub fn money(amount: &str) -> Result<Money, BadPrice> {
    let letters = amount.find(|letter: char| letter.is_ascii_alphabetic());
    let Some(at) = letters else {
        return Err(BadPrice::NoCurrency { amount: amount.to_owned() });
    };
    let (number, currency) = amount.split_at(at);
    let value: Option<f64> = number.trim().replace(['_', ','], "").parse().ok();
    let value = value.filter(|value| value.is_finite() && *value > 0.0 && parts_thousands(number));
    let currency = currency.trim().to_ascii_uppercase();
    if currency.len() != 3 || !currency.bytes().all(|letter| letter.is_ascii_uppercase()) {
        return Err(BadPrice::Currency(currency));
    }
    let amount = value.ok_or_else(|| BadPrice::Amount(number.to_owned()))?;
    Ok(Money { amount, currency, date: None })
}

/// Whether three digits follow every comma, and none comes after the point: `129,50` is not 12,950.
fn parts_thousands(number: &str) -> bool {
    let (whole, decimals) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    whole.split(',').skip(1).all(|group| group.len() == 3) && !decimals.contains(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_an_amount_with_its_currency() {
        let money = |amount: f64, currency: &str| Money {
            amount,
            currency: currency.to_owned(),
            date: None,
        };
        let read = |text| parsed(text).expect("a price");
        assert_eq!(read("last=129EUR"), (Some("last"), money(129.0, "EUR")));
        assert_eq!(read("a=b=1,299.50 usd"), (Some("a=b"), money(1299.5, "USD")));
        assert_eq!(read("129EUR"), (None, money(129.0, "EUR")));
        for (text, cure) in [
            ("last=129", "has no currency"),
            ("129", "has no currency"),
            ("last=-5EUR", "no amount"),
            ("last=1EURO", "three letters"),
            ("last=EUR", "no amount"),
            // These were read as 12,950 and 1.2995 euros.
            ("129,50EUR", "a comma parts thousands"),
            ("1.299,50EUR", "a comma parts thousands"),
            // These were told to write $129EUR.
            ("$129", "such as 129USD"),
            ("129 €", "such as 129EUR"),
        ] {
            let sentence = parsed(text).expect_err("refused").sentence(text);
            assert!(sentence.contains(cure), "{sentence}");
        }
    }
}
