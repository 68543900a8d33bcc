//! Prices: as the user gives them, as the record keeps them, or as the catalog prints them for
//! modelled drives.

use super::Named;
use advice::prices::printed;
use anyhow::{Result, anyhow};
use record::{Money, TargetInfo, TargetKind};
use report::known;
use target::catalog::Catalog;

/// For each record the price of each target, where there is one. `given` are `129EUR` or
/// `NAME=129EUR`.
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
        let priced = known::priced(named, text);
        priced.map_err(|bad| anyhow!(bad.sentence(&format!("--price {text}"))))
    };
    given.iter().map(one).collect()
}

/// `129EUR`, `1,299.50 USD`; `whole` is the option with its value, for sentences.
pub fn money(whole: &str, amount: &str) -> Result<Money> {
    known::money(amount).map_err(|bad| anyhow!(bad.sentence(whole)))
}
