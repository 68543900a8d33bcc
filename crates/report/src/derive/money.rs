//! What performance and room cost, in money and in watts.

use super::{Evidence, Figure, Lack, Rows, is_bandwidth, name, named, or_lack};
use crate::{
    chart::{Table, Unit},
    runs::price::asked,
    specification::{self, Metric},
};

/// Why a table of prices is empty.
const NO_PRICE: &str =
    "no price is known: add --price RUN=129EUR, or measure drives whose price the catalog has";

/// The currencies of all subjects, in their order. Amounts of two are never in one table.
fn currencies(evidence: &Evidence<'_>) -> Vec<String> {
    let mut currencies = Vec::new();
    for price in evidence.subjects.iter().filter_map(|subject| subject.price.as_ref()) {
        if price.amount > 0.0 && !currencies.contains(&price.currency) {
            currencies.push(price.currency.clone());
        }
    }
    currencies
}

/// Tables for each currency, of the subjects that are priced in it. `tables` gets the currency,
/// when its prices were asked, and who has one.
fn by_currency(
    evidence: &Evidence<'_>,
    tables: impl Fn(&str, &str, &[(usize, f64)]) -> Vec<Option<Table>>,
) -> Vec<Option<Table>> {
    let of_currency = |currency: &String| {
        let priced = evidence.subjects.iter().enumerate().filter_map(|(at, subject)| {
            let price = subject.price.as_ref()?;
            (price.currency == *currency && price.amount > 0.0).then_some((at, price.amount))
        });
        let priced: Vec<(usize, f64)> = priced.collect();
        let prices = priced.iter().filter_map(|(at, _)| evidence.subjects[*at].price.as_ref());
        tables(currency, &asked(prices), &priced)
    };
    currencies(evidence).iter().flat_map(of_currency).collect()
}

/// CMU 2008, Table VI: the price over each rate.
pub(super) fn price(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let tables = by_currency(evidence, |currency, asked, priced| {
        let rows = |per: &str| {
            let unit = Unit::Other(format!("{currency} per {per}"));
            let title = format!("Price per {per}, {currency}{asked}");
            Rows::new(&title, &["target", "cell"], "price", unit)
        };
        let (mut bandwidth, mut operations) = (rows("MB/s"), rows("IOPS"));
        for (at, amount) in priced {
            let subject = &evidence.subjects[*at];
            for (cell, cell_name) in named(subject).into_iter().filter(|(cell, _)| cell.iops > 0.0)
            {
                let labels = [name(evidence, subject), &cell_name];
                if is_bandwidth(cell) {
                    bandwidth.push(&labels, Figure::bandwidth(cell).times(1e-6).under(*amount));
                } else {
                    operations.push(&labels, Figure::iops(cell).under(*amount));
                }
            }
        }
        vec![bandwidth.table(), operations.table()]
    });
    or_lack(tables, NO_PRICE)
}

/// CMU 2008, Table VII: the price over what the data sheet says.
pub(super) fn advertised(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let tables = by_currency(evidence, |currency, asked, priced| {
        let rows = |per: &str| {
            let unit = Unit::Other(format!("{currency} per {per}"));
            let title = format!("Price per advertised {per}, {currency}{asked}");
            Rows::new(&title, &["target", "promised"], "price", unit)
        };
        let (mut bandwidth, mut operations) = (rows("MB/s"), rows("IOPS"));
        for (at, amount) in priced {
            let subject = &evidence.subjects[*at];
            for entry in evidence.sheets[*at].iter().flat_map(|sheet| &sheet.entries) {
                let promised = format!("{}: {}", specification::operation(entry), entry.printed);
                let labels = [name(evidence, subject), &promised];
                match entry.metric {
                    Metric::Bandwidth => {
                        bandwidth.push_exact(&labels, amount / (entry.value / 1e6));
                    }
                    Metric::Iops => {
                        operations.push_exact(&labels, amount / entry.value);
                    }
                    _ => {}
                }
            }
        }
        vec![bandwidth.table(), operations.table()]
    });
    let lack = "no target has both a price and a data sheet with rates: add --price and --spec";
    or_lack(tables, lack)
}

/// Price per GB (10^9 bytes) of the drive, or of the volume where there are several.
pub(super) fn capacity(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let tables = by_currency(evidence, |currency, asked, priced| {
        let unit = Unit::Other(format!("{currency} per GB"));
        let title = format!("Price per GB, {currency}{asked}");
        let mut rows = Rows::new(&title, &["target", "capacity"], "price", unit);
        for (at, amount) in priced {
            let subject = &evidence.subjects[*at];
            let target = subject.record.targets.get(subject.target);
            let Some(bytes) = target.and_then(specification::capacity) else { continue };
            let labels = [subject.name.as_str(), &Metric::Capacity.text(bytes)];
            rows.push_exact(&labels, amount / (bytes / 1e9));
        }
        vec![rows.table()]
    });
    let lack = "no target has both a price and a drive whose size is known: add --price RUN=129EUR";
    or_lack(tables, lack)
}

/// Operations per second for each watt that the data sheet names: for the cell's operation, else
/// for any.
pub(super) fn watts(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let unit = Unit::Other("IOPS per W".to_owned());
    let mut rows = Rows::new("IOPS per watt", &["target", "cell", "power"], "rate", unit);
    for (subject, sheet) in evidence.subjects.iter().zip(&evidence.sheets) {
        let entries = sheet.iter().flat_map(|sheet| &sheet.entries);
        let powers: Vec<_> = entries.filter(|entry| entry.metric == Metric::Power).collect();
        for (cell, cell_name) in named(subject) {
            let of_op = powers.iter().find(|entry| entry.op.as_ref() == Some(&cell.op));
            let power = of_op.or_else(|| powers.iter().find(|entry| entry.op.is_none()));
            let Some(power) = power.filter(|_| !is_bandwidth(cell)) else { continue };
            let labels = [name(evidence, subject), &cell_name, &power.printed];
            rows.push(&labels, Figure::iops(cell).times(1.0 / power.value));
        }
    }
    or_lack(
        [rows.table()],
        "no data sheet names a power: add an entry of metric power (docs/reference/spec-format.md)",
    )
}
