//! Values with coordinates, and how two series of them meet.

use super::Operator;
use std::collections::{BTreeMap, BTreeSet};

/// Where a value stands: `device`, `op`, `block`, ..., each with its value.
pub type Coordinates = BTreeMap<String, String>;

/// A number, where it stands, and the cells that it came from.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// The number.
    pub number: f64,
    /// Where it stands.
    pub at: Coordinates,
    /// The figures that it was made of.
    pub from: Vec<Coordinates>,
}

/// Some values, and the filters that chose them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// In the order of the figures.
    pub values: Vec<Value>,
    /// By coordinate, as written.
    pub(super) filters: BTreeMap<String, String>,
}

impl Series {
    /// One number that stands nowhere.
    pub(super) fn number(number: f64, from: Vec<Coordinates>) -> Self {
        let value = Value { number, at: Coordinates::new(), from };
        Self { values: vec![value], filters: BTreeMap::new() }
    }

    /// The numbers alone.
    pub fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|value| value.number).collect()
    }

    /// Value by value, where the coordinates that must be equal are.
    pub(super) fn pair(&self, other: &Self, operator: Operator) -> Result<Self, String> {
        let matched = self.matched(other);
        let meet = |left: &Value, right: &Value| {
            let same = |key: &String| match (left.at.get(key), right.at.get(key)) {
                (Some(left), Some(right)) => left == right,
                _ => true,
            };
            matched.iter().all(|key| same(key))
        };
        let mut values = Vec::new();
        for left in &self.values {
            for right in other.values.iter().filter(|right| meet(left, right)) {
                let mut at = right.at.clone();
                at.extend(left.at.clone());
                let from = left.from.iter().chain(&right.from).cloned().collect();
                values.push(Value { number: operator.apply(left.number, right.number), at, from });
            }
        }
        if values.is_empty() {
            return Err("no coordinates of both sides meet".to_owned());
        }
        let mut filters = other.filters.clone();
        filters.extend(self.filters.clone());
        Ok(Self { values, filters })
    }

    /// The coordinates that must be equal: those that both sides filter alike, unless each has only
    /// one value.
    fn matched<'s>(&'s self, other: &'s Self) -> BTreeSet<&'s String> {
        let values = self.values.iter().chain(&other.values);
        let mut keys: BTreeSet<_> = values.flat_map(|value| value.at.keys()).collect();
        keys.retain(|key| self.filters.get(*key) == other.filters.get(*key));
        keys.retain(|key| self.differs_in(key) || other.differs_in(key));
        keys
    }

    /// Whether a coordinate is not the same of all the values that have it.
    fn differs_in(&self, key: &str) -> bool {
        let mut seen = self.values.iter().filter_map(|value| value.at.get(key));
        let first = seen.next();
        seen.any(|place| Some(place) != first)
    }
}
