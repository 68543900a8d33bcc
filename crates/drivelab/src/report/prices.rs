//! Prices: as the user gives them, or as the catalog prints them for modelled drives.

use anyhow::{Context, Result, bail, ensure};
use record::{Record, TargetInfo, TargetKind};
use report::runs::Money;
use target::catalog::Catalog;

/// For each record the price of each target, where there is one. `given` are `RUN=129EUR`, RUN written as on the command
/// line or as the run's id.
pub fn of(
    runs: &[String],
    records: &[Record],
    given: &[String],
) -> Result<Vec<Vec<Option<Money>>>> {
    let is_model = |record: &Record| record.targets.iter().any(|t| t.kind == TargetKind::Model);
    let catalog = records.iter().any(is_model).then(Catalog::load).transpose()?;
    let printed =
        |target: &TargetInfo| catalog.as_ref().and_then(|catalog| printed(target, catalog));
    let mut prices: Vec<Vec<Option<Money>>> =
        records.iter().map(|record| record.targets.iter().map(printed).collect()).collect();
    for text in given {
        let (run, money) = parsed(text)?;
        let at = (0..records.len()).find(|&at| runs[at] == run || records[at].id == run);
        let at = at.with_context(|| {
            format!(
                "--price {text} is for a run that the report does not have: write one of {}",
                runs.join(", ")
            )
        })?;
        ensure!(
            records[at].targets.len() == 1,
            "run {run} has {} targets: a price belongs to one, so report runs made apart",
            records[at].targets.len()
        );
        prices[at] = vec![Some(money)];
    }
    Ok(prices)
}

/// The sum over a model's drives, when the catalog has a price for each.
fn printed(target: &TargetInfo, catalog: &Catalog) -> Option<Money> {
    if target.kind != TargetKind::Model {
        return None;
    }
    let drives: Vec<&str> = target
        .stack
        .iter()
        .filter(|layer| layer.drive.is_some())
        .map(|layer| layer.name.as_str())
        .collect();
    let each = drives.iter().map(|name| catalog.drive(name)?.price.as_ref()?.usd);
    let amount: f64 = each.collect::<Option<Vec<f64>>>()?.iter().sum();
    (amount > 0.0).then(|| Money { amount, currency: "USD".to_owned() })
}

/// `last=129EUR`, `last~1=1,299.50 USD`.
fn parsed(text: &str) -> Result<(&str, Money)> {
    let (run, amount) = text
        .rsplit_once('=')
        .with_context(|| format!("--price {text} names no run: write RUN=129EUR"))?;
    let letters = amount.find(|letter: char| letter.is_ascii_alphabetic());
    let Some(at) = letters else {
        bail!(
            "--price {text} has no currency: write it behind the amount, such as {run}={amount}EUR"
        );
    };
    let (number, currency) = amount.split_at(at);
    let value: Option<f64> = number.trim().replace(['_', ','], "").parse().ok();
    let value = value.filter(|value| value.is_finite() && *value > 0.0);
    let currency = currency.trim().to_ascii_uppercase();
    ensure!(
        currency.len() == 3 && currency.bytes().all(|letter| letter.is_ascii_uppercase()),
        "`{currency}` in --price {text} is no currency: write its three letters, such as EUR or USD"
    );
    let Some(amount) = value else {
        bail!(
            "`{number}` in --price {text} is no amount: write a number above zero, such as 129EUR"
        );
    };
    Ok((run, Money { amount, currency }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_an_amount_with_its_currency() {
        let money = |amount: f64, currency: &str| Money { amount, currency: currency.to_owned() };
        assert_eq!(parsed("last=129EUR").expect("a price"), ("last", money(129.0, "EUR")));
        assert_eq!(parsed("a=b=1,299.50 usd").expect("a price"), ("a=b", money(1299.5, "USD")));
        for (text, cure) in [
            ("last=129", "has no currency"),
            ("129EUR", "names no run"),
            ("last=-5EUR", "no amount"),
            ("last=1EURO", "three letters"),
            ("last=EUR", "no amount"),
        ] {
            let error = parsed(text).expect_err("refused").to_string();
            assert!(error.contains(cure), "{error}");
        }
    }
}
