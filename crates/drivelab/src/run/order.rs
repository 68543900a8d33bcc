//! The command line of `run` becomes an order.

use super::{arguments::RunArguments, in_words};
use anyhow::{Error, Result, bail};
use host::Consent;
use lab::{
    method::parse_grade,
    order::{Order, labels},
    plan::Options,
};
use run::{Purge, RunOrder, Wear};
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
            grade: typed(&self.grade, parse_grade)?,
            span_bytes: self.size,
            written_bytes_max: self.max_written,
            seconds_max: self.max_time,
            seed: self.seed.unwrap_or_else(host::chosen_seed),
            reads_only: self.reads_only,
            passes: self.passes,
            on_error: typed(&self.on_error, str::parse)?,
            until: typed(&self.until, str::parse)?,
            slower: self.slower,
        };
        let (name, text) = run::method_text(&self.method).map_err(in_words)?;
        let mut method = Order::new(&name, &text, &settings, &options, labels(&self.label))?;
        if self.purge {
            method.words.insert("purge".to_owned(), "true".to_owned());
        }
        let targets = self.targets.iter().map(|word| TargetText::of_word(word));
        let targets: Vec<TargetText> = targets.collect::<Result<_, _>>()?;
        let has_its_own_time = |target: &TargetText| !matches!(target, TargetText::Path(_));
        if self.slower.is_some() && targets.iter().any(has_its_own_time) {
            bail!(
                "--slower is for a device, a directory or a file whose drives `drivelab serve \
                 model:STACK --slower N` serves; other targets have their own time: leave --slower \
                 out"
            );
        }
        Ok(RunOrder {
            targets,
            method,
            consent: Consent::typed(&self.destroy),
            purge: if self.purge { Purge::WholeDevices } else { Purge::Nothing },
            wear: if self.yes { Wear::AgreedTo } else { Wear::Unasked },
        })
    }
}

/// A word of the command line, if there is one, as what it means.
pub fn typed<T>(
    word: &Option<String>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>> {
    word.as_deref().map(parse).transpose().map_err(Error::msg)
}
