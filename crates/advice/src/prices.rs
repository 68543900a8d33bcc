//! What the catalog prints of a model's drives.

use record::{Money, TargetInfo, TargetKind};
use target::catalog::{Catalog, PriceDate};

/// The sum over a model's drives, when the catalog has a price for each.
pub fn printed(target: &TargetInfo, catalog: &Catalog) -> Option<Money> {
    if target.kind != TargetKind::Model {
        return None;
    }
    let drives = report::runs::drives(target);
    let each = drives.iter().map(|drives| {
        let usd = catalog.drive(&drives.name)?.price.as_ref()?.usd?;
        Some(usd * drives.count as f64)
    });
    let amount: f64 = each.collect::<Option<Vec<f64>>>()?.iter().sum();
    let date = printed_in(target, catalog).map(|date| date.to_string());
    (amount > 0.0).then(|| Money { amount, currency: "USD".to_owned(), date })
}

/// When the oldest of those prices was asked; `None` where one has no date.
pub fn printed_in(target: &TargetInfo, catalog: &Catalog) -> Option<PriceDate> {
    let drives = report::runs::drives(target);
    let dates = drives.iter().map(|drives| catalog.drive(&drives.name)?.price.as_ref()?.date);
    dates.collect::<Option<Vec<_>>>()?.into_iter().min()
}
