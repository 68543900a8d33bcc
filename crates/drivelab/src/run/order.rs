//! The command line of `run` becomes an order.

use crate::{cli::RunArguments, known::read_file};
use anyhow::{Error, Result, bail};
use host::Consent;
use lab::{
    method::{BUILT_IN, Method, parse_grade},
    order::{Order, labels},
    plan::Options,
};
use run::{Purge, RunOrder, Wear};
use std::{ffi::OsStr, path::Path};
use target::TargetText;

impl RunArguments {
    /// What is ordered.
    ///
    /// # Errors
    /// A target, a method or an option that is none.
    pub fn to_order(&self) -> Result<RunOrder> {
        if self.targets.len() > 2 {
            bail!(
                "run measures one TARGET or compares two, and {} were named: leave some out",
                self.targets.len()
            );
        }
        let sugar = [("engine", &self.engine), ("io", &self.io), ("data", &self.data)];
        let sugar = sugar.into_iter().filter_map(|(key, value)| Some((key, value.clone()?)));
        let sugar = sugar.map(|(key, value)| (key.to_owned(), value));
        let settings: Vec<_> = sugar.chain(self.set.iter().cloned()).collect();
        let options = Options {
            grade: self.grade.as_deref().map(parse_grade).transpose().map_err(Error::msg)?,
            span_bytes: self.size,
            written_bytes_max: self.max_written,
            seconds_max: self.max_time,
            seed: self.seed.unwrap_or_else(host::chosen_seed),
            reads_only: self.reads_only,
            passes: self.passes,
            on_error: self.on_error.as_deref().map(str::parse).transpose().map_err(Error::msg)?,
        };
        let (name, text) = method_text(&self.method)?;
        let mut method = Order::new(&name, &text, &settings, &options, labels(&self.label))?;
        if self.purge {
            method.words.insert("purge".to_owned(), "true".to_owned());
        }
        let targets = self.targets.iter().map(|word| TargetText::of_word(word));
        Ok(RunOrder {
            targets: targets.collect::<Result<_, _>>()?,
            method,
            consent: Consent::typed(&self.destroy),
            purge: if self.purge { Purge::WholeDevices } else { Purge::Nothing },
            wear: if self.yes { Wear::AgreedTo } else { Wear::Unasked },
        })
    }
}

/// A built-in method's text, or a file's: a word with a dot or a slash is a file.
pub fn method_text(named: &OsStr) -> Result<(String, String)> {
    let path = Path::new(named);
    let Some(named) = named.to_str() else {
        let text = read_file("--method", "method file", path)?;
        return Ok((path.display().to_string(), text));
    };
    if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == named) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    if named.contains(['.', '/']) || path.is_file() {
        let text = read_file("--method", "method file", path)?;
        return Ok((named.to_owned(), text));
    }
    // The error names the nearest.
    let method = Method::built_in(named, &[])?;
    Ok((named.to_owned(), method.text))
}
