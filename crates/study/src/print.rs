//! A study on its own drives, modelled, as text for a terminal.

use crate::{
    BadClaim, Dossier, Models, TableFile,
    page::{claims, tables, terminal},
};
use report::terminal::{Page, Style};

/// What of a study is printed.
#[derive(Clone, Copy)]
pub enum Shown<'d> {
    /// What it claims, each with a verdict.
    Claims,
    /// One table.
    Table(&'d TableFile),
    /// Everything but the claims.
    Tables,
}

impl<'d> Shown<'d> {
    /// The table with this id.
    ///
    /// # Errors
    /// There is none: the ids that there are.
    pub fn table(dossier: &'d Dossier, id: &str) -> Result<Self, Vec<&'d str>> {
        match tables::shown(dossier).find(|table| table.id == id) {
            Some(table) => Ok(Self::Table(table)),
            None => Err(tables::shown(dossier).map(|table| table.id.as_str()).collect()),
        }
    }

    /// Its tables.
    pub fn tables(self, dossier: &'d Dossier) -> Vec<&'d TableFile> {
        match self {
            Self::Claims => Vec::new(),
            Self::Table(table) => vec![table],
            Self::Tables => tables::shown(dossier).collect(),
        }
    }
}

/// A study as text. `judge` is the command that prints its claims.
///
/// # Errors
/// A claim's expression that is wrong.
pub fn print<'d>(
    dossier: &'d Dossier,
    models: &Models,
    shown: Shown<'d>,
    judge: &str,
    style: &Style,
) -> Result<String, BadClaim> {
    let mut page = Page::new(style);
    terminal::head(&mut page, dossier);
    for table in shown.tables(dossier) {
        tables::table(&mut page, dossier, models, table);
    }
    match shown {
        Shown::Claims => claims::claims(&mut page, dossier, models)?,
        Shown::Table(_) => {}
        Shown::Tables => {
            page.gap();
            tables::summary(dossier, models).iter().for_each(|text| page.line(text));
            terminal::foot(&mut page, dossier);
            page.gap();
            page.line(&format!(
                "The first line of a row is as printed. `{judge}` judges what the study says."
            ));
        }
    }
    Ok(page.finish())
}
