//! Prices: as the user gives them, as the record keeps them, or as the catalog prints them for
//! modelled drives.

use super::{Named, places};
use advice::prices::printed;
use anyhow::{Context, Result, bail, ensure};
use record::{Money, TargetInfo, TargetKind};
use target::catalog::Catalog;

/// For each record the price of each target, where there is one. `given` are `129EUR` or
/// `NAME=129EUR`, NAME a run as on the command line, its id, or a target.
pub fn of(named: &[Named<'_>], given: &[String]) -> Result<Vec<Vec<Option<Money>>>> {
    let is_model =
        |run: &Named<'_>| run.targets.iter().any(|target| target.kind == TargetKind::Model);
    let catalog = named.iter().any(is_model).then(Catalog::load).transpose()?;
    let kept =
        |target: &TargetInfo| target.price.clone().or_else(|| printed(target, catalog.as_ref()?));
    let mut prices: Vec<Vec<Option<Money>>> =
        named.iter().map(|run| run.targets.iter().map(kept).collect()).collect();
    for (run, target, money) in self::given(named, given)? {
        prices[run][target] = Some(money);
    }
    Ok(prices)
}

/// Run and target of each price that the user gives.
pub fn given(named: &[Named<'_>], given: &[String]) -> Result<Vec<(usize, usize, Money)>> {
    let one = |text: &String| {
        let (name, money) = parsed(text)?;
        let places = places(named, name, &format!("--price {text}"))?;
        let [(run, target)] = places[..] else {
            bail!(
                "--price {text} fits {} targets: write a price for each, such as {}={}{}",
                places.len(),
                named[places[0].0].targets[places[0].1].text,
                money.amount,
                money.currency
            );
        };
        Ok((run, target, money))
    };
    given.iter().map(one).collect()
}

/// `129EUR`, `last=129EUR`, `last~1=1,299.50 USD`.
fn parsed(text: &str) -> Result<(Option<&str>, Money)> {
    let (name, amount) = match text.rsplit_once('=') {
        Some((name, amount)) => (Some(name), amount),
        None => (None, text),
    };
    Ok((name, money(&format!("--price {text}"), amount)?))
}

/// `129EUR`, `1,299.50 USD`; `whole` is the option with its value, for sentences.
pub fn money(whole: &str, amount: &str) -> Result<Money> {
    let letters = amount.find(|letter: char| letter.is_ascii_alphabetic());
    let Some(at) = letters else {
        bail!(
            "{whole} has no currency: write its three letters behind the amount, such as {amount}EUR"
        );
    };
    let (number, currency) = amount.split_at(at);
    let value: Option<f64> = number.trim().replace(['_', ','], "").parse().ok();
    let value = value.filter(|value| value.is_finite() && *value > 0.0);
    let currency = currency.trim().to_ascii_uppercase();
    ensure!(
        currency.len() == 3 && currency.bytes().all(|letter| letter.is_ascii_uppercase()),
        "`{currency}` in {whole} is no currency: write its three letters, such as EUR or USD"
    );
    let amount = value.with_context(|| {
        format!("`{number}` in {whole} is no amount: write a number above zero, as 129EUR")
    })?;
    Ok(Money { amount, currency, date: None })
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
        ] {
            let error = parsed(text).expect_err("refused").to_string();
            assert!(error.contains(cure), "{error}");
        }
    }
}
