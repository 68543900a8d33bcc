//! Expression to series, over the figures of a book.

use super::{Expression, Function, Selection, Series, functions};
use crate::Book;

/// Why an expression gave nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// All that it needs of a selection could not be modelled: the reason.
    Missing(String),
    /// The expression is wrong.
    Wrong(String),
}

impl From<String> for Trouble {
    fn from(complaint: String) -> Self {
        Self::Wrong(complaint)
    }
}

/// One evaluation: the book, and which of the selected figures were missing.
pub struct Reading<'b> {
    book: &'b Book,
    /// Reasons for figures that were selected and are missing, each once.
    pub missing: Vec<String>,
}

impl<'b> Reading<'b> {
    /// Reads from `book`.
    pub fn new(book: &'b Book) -> Self {
        Self { book, missing: Vec::new() }
    }

    /// The series that `expression` stands for; never empty.
    ///
    /// # Errors
    /// What is missing, or what is wrong with the expression.
    pub fn evaluate(&mut self, expression: &Expression) -> Result<Series, Trouble> {
        match expression {
            Expression::Number(number) => Ok(Series::number(*number, Vec::new())),
            Expression::Word(word) => {
                Err(Trouble::Wrong(format!("`{word}` alone is nothing: a table is `{word}[]`")))
            }
            Expression::Select(selection) => self.select(selection),
            Expression::Pair(operator, left, right) => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                Ok(left.pair(&right, *operator)?)
            }
            Expression::Call(function, arguments) => self.call(*function, arguments),
        }
    }

    fn call(&mut self, function: Function, arguments: &[Expression]) -> Result<Series, Trouble> {
        match (function, arguments) {
            (Function::Least | Function::Most, [series, Expression::Word(key)]) => {
                Ok(functions::by_key(function, &self.evaluate(series)?, key)?)
            }
            (Function::Least | Function::Most, _) => Err(Trouble::Wrong(format!(
                "`{}` takes a series and a coordinate's name",
                function.name()
            ))),
            (Function::List, all) => {
                let all: Result<Vec<_>, _> = all.iter().map(|one| self.evaluate(one)).collect();
                Ok(functions::list(all?))
            }
            (Function::Mix, [reads, writes, share]) => {
                let (reads, writes) = (self.evaluate(reads)?, self.evaluate(writes)?);
                Ok(functions::mix(&reads, &writes, &self.evaluate(share)?)?)
            }
            (_, [series]) => Ok(functions::of_one(function, &self.evaluate(series)?)?),
            _ => unreachable!("the parser counts arguments"),
        }
    }

    fn select(&mut self, selection: &Selection) -> Result<Series, Trouble> {
        let found = self.book.select(selection)?;
        for reason in &found.missing {
            if !self.missing.contains(reason) {
                self.missing.push(reason.clone());
            }
        }
        if !found.values.is_empty() {
            let filters = selection.filters.iter();
            let mut filters: std::collections::BTreeMap<_, _> =
                filters.map(|filter| (filter.key.clone(), filter.values.join(","))).collect();
            filters.insert("table".to_owned(), selection.tables.join("|"));
            return Ok(Series { values: found.values, filters });
        }
        match found.missing.first() {
            Some(reason) => Err(Trouble::Missing(reason.clone())),
            None => Err(Trouble::Wrong(format!("{} selects nothing", describe(selection)))),
        }
    }
}

fn describe(selection: &Selection) -> String {
    let filter = |filter: &super::Filter| format!("{}={}", filter.key, filter.values.join(","));
    let filters: Vec<String> = selection.filters.iter().map(filter).collect();
    format!("`{}[{}]`", selection.tables.join("|"), filters.join(" "))
}
