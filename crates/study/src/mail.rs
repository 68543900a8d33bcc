//! A mail server's deliveries on a modelled file system: the first cell of method maildir, by the
//! runner. Messages and their names are made durable, so that the parts of a file system show
//! which drive they are on.

use crate::pass::{SEED, TrialError};
use lab::{order::Order, plan::Options};
use record::{Calibration, Tool};
use run::{MeasuredBy, Prepared, Purge, RunOrder, Wear};
use std::{collections::BTreeMap, ffi::OsStr};
use target::{TargetText, stack::Stack};

/// The method, and its cell.
const METHOD: &str = "maildir";
const CELL: &str = "deliver";

/// Deliveries a second, and a hash of all that completed.
pub(crate) fn deliveries(stack: Stack) -> Result<(f64, u64), TrialError> {
    let failed = |error: &dyn std::fmt::Display| TrialError::Run(error.to_string());
    let options = Options { seed: SEED, passes: Some(1), ..Options::default() };
    let (name, text) = run::method_text(OsStr::new(METHOD)).map_err(|error| failed(&error))?;
    let method = Order::new(&name, &text, &[], &options, BTreeMap::new());
    let mut method = method.map_err(|error| failed(&error))?;
    method.method.cells.retain(|cell| cell.name == CELL);
    let order = RunOrder {
        targets: vec![TargetText::Model(stack)],
        method,
        consent: Default::default(),
        purge: Purge::Nothing,
        wear: Wear::AgreedTo,
    };
    let mut prepared = Prepared::new(order).map_err(|error| failed(&error))?;
    let tool = Tool { name: "drivelab".to_owned(), version: String::new() };
    let by = MeasuredBy { tool, command_line: Vec::new() };
    let calibration = Calibration::of_virtual_time();
    let mut record = prepared.record_as("trial".to_owned(), &by, calibration);
    prepared.carry_out(&mut record, &mut ()).map_err(|error| failed(&error))?;
    let cell = record.cells.first().ok_or_else(|| failed(&"nothing was delivered"))?;
    let completions = record.targets[0].completions.as_ref();
    let hash = completions.and_then(|seen| u64::from_str_radix(&seen.hash, 16).ok());
    Ok((cell.iops, hash.ok_or_else(|| failed(&"a model has a hash of what completed"))?))
}
