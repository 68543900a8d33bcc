//! Text to expression, by recursive descent.

use super::{Expression, Filter, Function, Operator, Selection};
use block::names::did_you_mean;
use std::str::FromStr;

impl FromStr for Expression {
    type Err = String;

    /// # Errors
    /// What was expected, and where.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parser = Parser { text, rest: text };
        let expression = parser.comparison()?;
        match parser.peek() {
            None => Ok(expression),
            Some(_) => Err(parser.expected("an operator or the end")),
        }
    }
}

impl FromStr for Selection {
    type Err = String;

    /// # Errors
    /// When the text is an expression of another sort, or none.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse()? {
            Expression::Select(selection) => Ok(selection),
            _ => Err(format!("`{text}` selects no cells: write TABLE[key=value]")),
        }
    }
}

/// Reads `key=value,value key=value`.
pub(crate) fn filters(text: &str) -> Result<Vec<Filter>, String> {
    let filter = |word: &str| match word.split_once('=') {
        Some((key, values)) if !key.is_empty() && !values.is_empty() => {
            let values = values.split(',').map(str::to_owned).collect();
            Ok(Filter { key: key.to_owned(), values })
        }
        _ => Err(format!("`{word}` is no filter: write key=value")),
    };
    text.split_whitespace().map(filter).collect()
}

struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Takes `token` if it comes next.
    fn take(&mut self, token: &str) -> bool {
        self.peek();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expected(&self, what: &str) -> String {
        let before = &self.text[..self.text.len() - self.rest.len()];
        format!("expected {what} after `{before}`")
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        const OPERATORS: [(&str, Operator); 5] = [
            ("<=", Operator::AtMost),
            (">=", Operator::AtLeast),
            ("==", Operator::Same),
            ("<", Operator::Below),
            (">", Operator::Above),
        ];
        let left = self.sum()?;
        let found = OPERATORS.into_iter().find(|(token, _)| self.take(token));
        let Some((_, operator)) = found else { return Ok(left) };
        Ok(Expression::Pair(operator, Box::new(left), Box::new(self.sum()?)))
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.chain(&[("*", Operator::Multiply), ("/", Operator::Divide)], Self::atom)
    }

    /// Operators of one rank, from the left.
    fn chain(
        &mut self,
        operators: &[(&str, Operator)],
        operand: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = operand(self)?;
        while let Some((_, operator)) = operators.iter().find(|(token, _)| self.take(token)) {
            left = Expression::Pair(*operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Expression, String> {
        match self.peek() {
            Some('(') => {
                self.take("(");
                let inner = self.comparison()?;
                if self.take(")") { Ok(inner) } else { Err(self.expected("`)`")) }
            }
            Some(letter) if letter.is_ascii_digit() || letter == '.' => self.number(),
            Some(letter) if letter.is_ascii_alphabetic() => self.named(),
            _ => Err(self.expected("a number, a table or a function")),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let number = digits.parse().map_err(|_| self.expected("a number"))?;
        self.rest = rest;
        Ok(Expression::Number(number))
    }

    fn word(&mut self) -> Result<String, String> {
        self.peek();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.expected("a name"));
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(word.to_owned())
    }

    /// A call, a selection, or a coordinate's name.
    fn named(&mut self) -> Result<Expression, String> {
        let word = self.word()?;
        if self.take("(") {
            return self.call(&word);
        }
        let mut tables = vec![word];
        while self.take("|") {
            tables.push(self.word()?);
        }
        if self.take("[") {
            let Some((inner, rest)) = self.rest.split_once(']') else {
                return Err(self.expected("filters and `]`"));
            };
            self.rest = rest;
            return Ok(Expression::Select(Selection { tables, filters: filters(inner)? }));
        }
        match <[String; 1]>::try_from(tables) {
            Ok([word]) => Ok(Expression::Word(word)),
            Err(_) => Err(self.expected("`[`")),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expression, String> {
        let known = || Function::ALL.iter().copied();
        let Some(function) = known().find(|function| function.name() == name) else {
            let near = did_you_mean(name, known().map(Function::name));
            return Err(format!("there is no function `{name}`.{near}"));
        };
        let mut arguments = vec![self.comparison()?];
        while self.take(",") {
            arguments.push(self.comparison()?);
        }
        if !self.take(")") {
            return Err(self.expected("`,` or `)`"));
        }
        let (least, most) = function.takes();
        if !(least..=most).contains(&arguments.len()) {
            return Err(format!("`{name}` takes {least} arguments, not {}", arguments.len()));
        }
        Ok(Expression::Call(function, arguments))
    }
}
