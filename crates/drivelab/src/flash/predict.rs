//! `drivelab flash predict`: where the layer helps a drive, and where it harms.
//!
//! ```text
//!   STACK | RUN -> advice::volume: Rates -> Forecast, measured beside it on request
//!   trace -> advice::Traced: write share, blocks, fill, skew -> what it comes to for it
//!     `-> advice::forecast_page: a table, a chart
//! ```

use super::arguments::PredictArguments;
use crate::{
    output,
    report::save::{Format, Outputs},
    traced,
};
use advice::{
    AdviceError, Fit, Traced,
    forecast_page::{self, Seen},
    volume::{self, Blocks, Forecast, Measured, Rates},
};
use anyhow::{Context, Error, Result, anyhow, bail};
use lab::workload::Pattern;
use report::svg;
use std::{io::IsTerminal, process::ExitCode};
use target::{TargetText, stack::Stack};

/// Prints what the layer would do.
pub fn predict(arguments: &PredictArguments) -> Result<ExitCode> {
    let drive = &*arguments.drive.to_string_lossy();
    let trace = traced::read(arguments.trace.as_deref(), arguments.volume.as_deref())?;
    let (rates, stack) = rates(arguments, trace.as_ref())?;
    let forecast = match &stack {
        Some(stack) => Forecast::of_stack(&rates, stack)?,
        None => Forecast::of_drive(&rates)?,
    };
    let fit = trace.as_ref().map(|trace| trace.fit(&rates, &forecast));
    let asked = Asked::new(arguments, trace.as_ref(), fit.as_ref());
    let measured = match (&stack, arguments.measure) {
        (Some(stack), true) => measured(stack, &rates, &asked)?,
        (None, true) => bail!(
            "--measure is for models: a real drive is measured with `drivelab flash create` and `drivelab run flash:PATH`"
        ),
        (_, false) => Vec::new(),
    };
    let seen = Seen { points: &measured, skew: asked.skew };
    let share = asked.write_share;
    let mut text = forecast_page::text(drive, &rates, &forecast, &seen, share, &output::style());
    let mut sentences = forecast.verdict(&rates);
    if let (Some(trace), Some(fit)) = (&trace, &fit) {
        let skew = if arguments.measure { asked.skew } else { Pattern::Random };
        let on_drive = trace.on_drive(fit);
        text += &forecast_page::trace_text(&on_drive, &trace.in_forecast(stack.is_none(), skew));
        sentences.extend(on_drive);
    }
    let figure = forecast_page::figure(drive, &rates, &forecast, &measured);
    let mut outputs = Outputs::new(arguments.force);
    if let Some(path) = &arguments.svg {
        let picture = svg::file(&figure, svg::View::Linear);
        outputs.add(path, Format::Svg, picture.into_bytes())?;
    }
    if let Some(path) = &arguments.html {
        let page = forecast_page::document(drive, sentences, text.clone(), figure);
        outputs.add(path, Format::Html, report::html::page(&page).into_bytes())?;
    }
    let lines = outputs.write()?;
    output::print(&text)?;
    lines.iter().for_each(|line| output::talk!("{line}"));
    Ok(ExitCode::SUCCESS)
}

/// Those of the model, asked with the trace's blocks where there is one, or those of the run.
fn rates(arguments: &PredictArguments, trace: Option<&Traced>) -> Result<(Rates, Option<Stack>)> {
    let drive = &*arguments.drive.to_string_lossy();
    match TargetText::of_word(&arguments.drive) {
        Ok(TargetText::Model(stack)) => {
            let blocks = trace.map_or(Blocks::USUAL, Traced::blocks);
            Ok((volume::of_model(&stack, blocks)?, Some(stack)))
        }
        Ok(TargetText::Path(path)) => {
            let store = crate::store::open(arguments.store.as_deref())?;
            let record = store.resolve(&path).with_context(|| {
                let near = target::did_you_mean(&path);
                format!(
                    "`{drive}` is neither `model:STACK` nor a RUN of the store.{near} A drive is \
                     measured first, with `drivelab run`"
                )
            })?;
            Ok((volume::of_record(&record).map_err(in_words)?, None))
        }
        Ok(_) => {
            bail!("`{drive}` has no rates of its own to predict from: name `model:STACK` or a RUN")
        }
        Err(bad) => bail!("{bad}"),
    }
}

/// What is asked of the layer: as it was said, else as the trace says.
struct Asked {
    write_share: f64,
    /// Fills to measure at, in thousandths.
    fills: Vec<u32>,
    skew: Pattern,
}

impl Asked {
    fn new(arguments: &PredictArguments, trace: Option<&Traced>, fit: Option<&Fit>) -> Self {
        let said = f64::from(arguments.write_share) / 1000.0;
        let mut fills = arguments.fill.clone();
        if let Some(fit) = fit.filter(|fit| fills.is_empty() && fit.has_room()) {
            fills.push(((fit.fill * 1000.0).round() as u32).max(1));
        }
        Self {
            write_share: trace.map_or(said, Traced::write_share),
            fills,
            skew: arguments.skew.or(trace.map(|trace| trace.skew)).unwrap_or(Pattern::Random),
        }
    }
}

/// On the model; a terminal hears how far it is.
fn measured(stack: &Stack, rates: &Rates, asked: &Asked) -> Result<Vec<Measured>> {
    let talks = std::io::stderr().is_terminal();
    let progress = |live: f64| {
        if talks {
            output::draw!("\rmeasuring at {:.0} % ...", live * 100.0);
        }
    };
    let found = volume::measure(stack, rates, &asked.fills, asked.skew, &progress)?;
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
