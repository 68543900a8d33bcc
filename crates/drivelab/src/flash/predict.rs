//! `drivelab flash predict`: where the layer helps a drive, and where it harms.
//!
//! ```text
//!   STACK | RUN -> advice::volume: Rates -> Forecast, measured beside it on request
//!     `-> advice::forecast_page: a table, a chart
//! ```

use super::arguments::PredictArguments;
use crate::{
    output,
    report::save::{Format, Outputs},
};
use advice::{
    AdviceError,
    forecast_page::{self, Seen},
    volume::{self, Forecast, Measured, Rates},
};
use anyhow::{Context, Error, Result, anyhow, bail};
use report::svg;
use std::{io::IsTerminal, process::ExitCode};
use target::{TargetText, stack::Stack};

/// Prints what the layer would do.
pub fn predict(arguments: &PredictArguments) -> Result<ExitCode> {
    let drive = &*arguments.drive.to_string_lossy();
    let (rates, stack) = match TargetText::of_word(&arguments.drive) {
        Ok(TargetText::Model(stack)) => (volume::of_model(&stack)?, Some(stack)),
        Ok(TargetText::Path(path)) => {
            let store = output::open_store(arguments.store.as_deref())?;
            let record = store.resolve(&path).with_context(|| {
                let near = target::did_you_mean(&path);
                format!(
                    "`{drive}` is neither `model:STACK` nor a RUN of the store.{near} A drive is \
                     measured first, with `drivelab run`"
                )
            })?;
            (volume::of_record(&record).map_err(in_words)?, None)
        }
        Ok(_) => {
            bail!("`{drive}` has no rates of its own to predict from: name `model:STACK` or a RUN")
        }
        Err(bad) => bail!("{bad}"),
    };
    let forecast = match &stack {
        Some(stack) => Forecast::of_stack(&rates, stack)?,
        None => Forecast::of_drive(&rates)?,
    };
    let measured = match (&stack, arguments.measure) {
        (Some(stack), true) => measured(stack, &rates, arguments)?,
        (None, true) => bail!(
            "--measure is for models: a real drive is measured with `drivelab flash create` and `drivelab run flash:PATH`"
        ),
        (_, false) => Vec::new(),
    };
    let write_share = f64::from(arguments.write_share) / 1000.0;
    let seen = Seen { points: &measured, skew: arguments.skew };
    let text = forecast_page::text(drive, &rates, &forecast, &seen, write_share, &output::style());
    let figure = forecast_page::figure(drive, &rates, &forecast, &measured);
    let mut outputs = Outputs::new(arguments.force);
    if let Some(path) = &arguments.svg {
        let picture = svg::file(&figure, svg::View::Linear);
        outputs.add(path, Format::Svg, picture.into_bytes())?;
    }
    if let Some(path) = &arguments.html {
        let sentences = forecast.verdict(&rates);
        let page = forecast_page::document(drive, sentences, text.clone(), figure);
        outputs.add(path, Format::Html, report::html::page(&page).into_bytes())?;
    }
    let lines = outputs.write()?;
    output::print(&text)?;
    lines.iter().for_each(|line| output::talk!("{line}"));
    Ok(ExitCode::SUCCESS)
}

/// On the model; a terminal hears how far it is.
fn measured(stack: &Stack, rates: &Rates, arguments: &PredictArguments) -> Result<Vec<Measured>> {
    let talks = std::io::stderr().is_terminal();
    let progress = |live: f64| {
        if talks {
            output::draw!("\rmeasuring at {:.0} % ...", live * 100.0);
        }
    };
    let found = volume::measure(stack, rates, &arguments.fill, arguments.skew, &progress)?;
    if talks {
        output::draw!("\r\x1b[K");
    }
    Ok(found)
}

fn in_words(error: AdviceError) -> Error {
    match error {
        AdviceError::NoCell { .. } => {
            anyhow!("{error}: `drivelab run TARGET --method quick` measures all that is needed")
        }
        other => other.into(),
    }
}
