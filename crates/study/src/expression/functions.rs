//! What the functions give.

use super::{Coordinates, Function, Operator, Series, Value};
use std::collections::BTreeMap;

/// A function of one series.
pub(super) fn of_one(function: Function, series: &Series) -> Result<Series, String> {
    let values = &series.values;
    let holds = || values.iter().filter(|value| value.number != 0.0).count();
    let count = values.len() as f64;
    let everything = |number| Series::number(number, Vec::new());
    let sum = || values.iter().map(|value| value.number).sum::<f64>();
    Ok(match function {
        Function::Min => alone(extreme(values, Function::Min)?),
        Function::Max => alone(extreme(values, Function::Max)?),
        Function::Range => {
            let (low, high) = (extreme(values, Function::Min)?, extreme(values, Function::Max)?);
            let ends = [alone(low), alone(high)];
            Series {
                values: ends.into_iter().flat_map(|end| end.values).collect(),
                ..Series::default()
            }
        }
        Function::Mean => everything(sum() / count),
        Function::Sum => everything(sum()),
        Function::Count => everything(count),
        Function::All => {
            let wrong = values.iter().find(|value| value.number == 0.0);
            let from = wrong.map_or_else(Vec::new, |value| value.from.clone());
            Series::number(f64::from(u8::from(wrong.is_none())), from)
        }
        Function::Any => everything(f64::from(u8::from(holds() > 0))),
        Function::Share => everything(holds() as f64 / count),
        Function::Intercept => everything(intercept(values)?),
        Function::Least | Function::Most | Function::List | Function::Mix => {
            return Err(format!("`{}` takes more than one series", function.name()));
        }
    })
}

fn alone(value: &Value) -> Series {
    Series::number(value.number, value.from.clone())
}

/// The smallest or the largest; the first of equals.
fn extreme(values: &[Value], which: Function) -> Result<&Value, String> {
    let better = |a: &Value, b: &Value| match which {
        Function::Min | Function::Least => a.number < b.number,
        _ => a.number > b.number,
    };
    let best = values.iter().reduce(|best, value| if better(value, best) { value } else { best });
    best.ok_or_else(|| "there are no values".to_owned())
}

/// For each value of `key`, in the order in which they come first, the smallest or largest.
pub(super) fn by_key(function: Function, series: &Series, key: &str) -> Result<Series, String> {
    let mut groups: Vec<(String, Vec<Value>)> = Vec::new();
    for value in &series.values {
        let Some(name) = value.at.get(key) else {
            return Err(format!("there are values without `{key}`"));
        };
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value.clone()),
            None => groups.push((name.clone(), vec![value.clone()])),
        }
    }
    let mut values = Vec::new();
    for (name, group) in groups {
        let best = extreme(&group, function)?;
        let at = Coordinates::from([(key.to_owned(), name)]);
        values.push(Value { number: best.number, at, from: best.from.clone() });
    }
    let filter = series.filters.get(key).map(|text| (key.to_owned(), text.clone()));
    Ok(Series { values, filters: filter.into_iter().collect() })
}

/// Series one after another.
pub(super) fn list(all: Vec<Series>) -> Series {
    Series {
        values: all.into_iter().flat_map(|series| series.values).collect(),
        filters: BTreeMap::new(),
    }
}

/// `1 / (f/r + (1-f)/w)` for each share `f`: the time of a mean operation is the mean of the times,
/// if one waits for the other.
pub(super) fn mix(reads: &Series, writes: &Series, shares: &Series) -> Result<Series, String> {
    let number = |number| Series::number(number, Vec::new());
    let one = |value: &Value| {
        let share = value.number;
        let read_time = number(share).pair(reads, Operator::Divide)?;
        let write_time = number(1.0 - share).pair(writes, Operator::Divide)?;
        number(1.0).pair(&read_time.pair(&write_time, Operator::Add)?, Operator::Divide)
    };
    let all: Result<Vec<Series>, String> = shares.values.iter().map(one).collect();
    Ok(list(all?))
}

/// Least squares of the values over their block sizes.
fn intercept(values: &[Value]) -> Result<f64, String> {
    let point = |value: &Value| {
        let block = value.at.get("block").and_then(|text| text.parse::<f64>().ok());
        block.map(|block| [block, value.number, 1.0])
    };
    let points: Option<Vec<[f64; 3]>> = values.iter().map(point).collect();
    let line = points.and_then(|points| report::derive::fit(&points));
    let line = line.ok_or("a line needs two values with different block sizes at least")?;
    Ok(line.intercept)
}
