//! Reading a catalog file strictly: every key is asked for by name, and what nobody asked for is
//! refused, each with file, line and key.

use block::names::did_you_mean;
use std::{cell::RefCell, ops::Range};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A catalog that cannot be read: one sentence with file, line, key and cure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadCatalog(pub String);

/// A file's name and text, for whoever complains about a place in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    /// As the user knows it.
    pub name: &'t str,
    /// All of it.
    pub text: &'t str,
}

impl<'t> Source<'t> {
    /// `catalog/x.toml, line 7: ...`
    pub fn complain(self, at: usize, about: &str) -> BadCatalog {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        BadCatalog(format!("{}, line {line}: {about}", self.name))
    }

    /// The file's top table.
    pub fn parse(self) -> Result<Spanned<DeTable<'t>>, BadCatalog> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.complain(at, &error.message().replace('\n', ", "))
        })
    }
}

/// A table of which every key must be asked for.
pub(super) struct Section<'t> {
    source: Source<'t>,
    /// `[parameters]`, for sentences; empty for the top.
    name: String,
    at: usize,
    table: &'t DeTable<'t>,
    asked: RefCell<Vec<&'t str>>,
}

impl<'t> Section<'t> {
    /// The top table of a file.
    pub fn top(source: Source<'t>, table: &'t Spanned<DeTable<'t>>) -> Self {
        Self::new(source, String::new(), table.span().start, table.get_ref())
    }

    fn new(source: Source<'t>, name: String, at: usize, table: &'t DeTable<'t>) -> Self {
        Self { source, name, at, table, asked: RefCell::default() }
    }

    /// The value of `key` and where it stands, if it is there.
    pub fn ask(&self, key: &'t str) -> Option<(&'t DeValue<'t>, Range<usize>)> {
        self.asked.borrow_mut().push(key);
        self.table.get(key).map(|value| (value.get_ref(), value.span()))
    }

    /// A text that must be there.
    pub fn text(&self, key: &'t str) -> Result<(String, Range<usize>), BadCatalog> {
        self.text_if_there(key)?.ok_or_else(|| self.missing(key))
    }

    /// A text, if it is there.
    pub fn text_if_there(
        &self,
        key: &'t str,
    ) -> Result<Option<(String, Range<usize>)>, BadCatalog> {
        match self.ask(key) {
            None => Ok(None),
            Some((DeValue::String(text), span)) => Ok(Some((text.to_string(), span))),
            Some((_, span)) => Err(self.wrong(key, span.start, "wants a text in quotes")),
        }
    }

    /// A list of names, each once; empty where it is not there.
    pub fn names(&self, key: &'t str) -> Result<Vec<String>, BadCatalog> {
        let Some((value, span)) = self.ask(key) else { return Ok(Vec::new()) };
        let wrong = || self.wrong(key, span.start, "wants a list of names in quotes, each once");
        let DeValue::Array(items) = value else { return Err(wrong()) };
        let mut names: Vec<String> = Vec::new();
        for item in items.iter() {
            match item.get_ref() {
                DeValue::String(name) if !names.iter().any(|known| known == name.as_ref()) => {
                    names.push(name.to_string());
                }
                _ => return Err(wrong()),
            }
        }
        if names.is_empty() { Err(wrong()) } else { Ok(names) }
    }

    /// A table that must be there.
    pub fn section(&self, key: &'t str) -> Result<Self, BadCatalog> {
        self.section_if_there(key)?.ok_or_else(|| self.missing(key))
    }

    /// A table, if it is there.
    pub fn section_if_there(&self, key: &'t str) -> Result<Option<Self>, BadCatalog> {
        match self.ask(key) {
            None => Ok(None),
            Some((DeValue::Table(table), span)) => {
                Ok(Some(Self::new(self.source, self.path(key), span.start, table)))
            }
            Some((_, span)) => Err(self.wrong(key, span.start, "wants a table")),
        }
    }

    /// All keys, as they stand in the file.
    pub fn keys(&self) -> Vec<&'t str> {
        let mut keys: Vec<_> = self.table.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        keys.into_iter().map(|key| key.get_ref().as_ref()).collect()
    }

    /// Refuses the first key that nobody asked for.
    pub fn finish(&self) -> Result<(), BadCatalog> {
        let asked = self.asked.borrow();
        let mut unknown: Vec<_> =
            self.table.keys().filter(|key| !asked.contains(&key.get_ref().as_ref())).collect();
        unknown.sort_by_key(|key| key.span().start);
        let Some(key) = unknown.first() else { return Ok(()) };
        let wrong: &str = key.get_ref();
        let near = did_you_mean(wrong, asked.iter().copied());
        let about = format!(
            "there is no key `{}`.{near} Keys here: {}",
            self.path(wrong),
            asked.join(", ")
        );
        Err(self.source.complain(key.span().start, &about))
    }

    /// A sentence about the value of `key`.
    pub fn wrong(&self, key: &str, at: usize, what: &str) -> BadCatalog {
        self.source.complain(at, &format!("`{}` {what}", self.path(key)))
    }

    /// A sentence about a key that is not there.
    pub fn missing(&self, key: &str) -> BadCatalog {
        self.source.complain(self.at, &format!("the key `{}` is missing", self.path(key)))
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}
