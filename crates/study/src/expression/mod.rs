//! The small language in which derived tables and claims are computed;
//! `docs/reference/study-format.md` describes it.
//!
//! ```text
//!   "max(II[device=ssd] / II[device=disk])"  parse ->  Expression  evaluate (a Book) ->  Series
//! ```

mod evaluate;
mod functions;
mod parse;
mod series;

pub use evaluate::{Reading, Trouble};
pub(crate) use parse::filters;
pub use series::{Coordinates, Series, Value};

/// What can be computed.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A coordinate's name, as an argument.
    Word(String),
    /// Figures of some tables.
    Select(Selection),
    /// Two series, value by value.
    Pair(Operator, Box<Expression>, Box<Expression>),
    /// A function of series.
    Call(Function, Vec<Expression>),
}

/// Figures of some tables that pass all filters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// The ids of tables, or names of facts.
    pub tables: Vec<String>,
    /// All of them must pass.
    pub filters: Vec<Filter>,
}

/// The values that a coordinate may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Which coordinate.
    pub key: String,
    /// As written, parted at commas; `*` for any.
    pub values: Vec<String>,
}

impl Expression {
    /// The figures that it reads.
    pub(crate) fn selections(&self) -> Vec<&Selection> {
        match self {
            Self::Number(_) | Self::Word(_) => Vec::new(),
            Self::Select(selection) => vec![selection],
            Self::Pair(_, left, right) => [left.selections(), right.selections()].concat(),
            Self::Call(_, arguments) => arguments.iter().flat_map(Self::selections).collect(),
        }
    }
}

/// What is done with two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient.
    Divide,
    /// 1 if the left is smaller, else 0.
    Below,
    /// 1 if the left is not larger, else 0.
    AtMost,
    /// 1 if the left is larger, else 0.
    Above,
    /// 1 if the left is not smaller, else 0.
    AtLeast,
    /// 1 if both are the same to nine digits, else 0.
    Same,
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> f64 {
        let truth = |holds: bool| f64::from(u8::from(holds));
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::Below => truth(left < right),
            Self::AtMost => truth(left <= right),
            Self::Above => truth(left > right),
            Self::AtLeast => truth(left >= right),
            Self::Same => truth(same(left, right)),
        }
    }
}

/// Whether two numbers agree to nine digits: what printing and reading decimal fractions leaves
/// alone.
pub fn same(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

macro_rules! functions {
    ($($variant:ident $name:literal $least:literal $most:literal $meaning:literal)*) => {
        /// A function of series.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Function {
            $(#[doc = $meaning] $variant,)*
        }

        impl Function {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// How many arguments it takes, at least and at most.
            fn takes(self) -> (usize, usize) {
                match self { $(Self::$variant => ($least, $most)),* }
            }
        }
    };
}

functions! {
    Min "min" 1 1 "The smallest value."
    Max "max" 1 1 "The largest value."
    Mean "mean" 1 1 "The arithmetic mean."
    Sum "sum" 1 1 "The sum."
    Count "count" 1 1 "How many values there are."
    Range "range" 1 1 "The smallest and the largest value."
    All "all" 1 1 "1 if every comparison holds, else 0."
    Any "any" 1 1 "1 if one comparison holds at least, else 0."
    Share "share" 1 1 "How many of the comparisons hold, 0 to 1."
    Least "least" 2 2 "For each value of a coordinate the smallest value."
    Most "most" 2 2 "For each value of a coordinate the largest value."
    List "list" 1 99 "Series one after another."
    Mix "mix" 3 3 "Operations a second of a mix of reads and writes, one after the other."
    Intercept "intercept" 1 1 "Of the straight line through values over block sizes, the value at size 0."
}

#[cfg(test)]
mod tests;
