//! `drivelab methods`: the methods there are, and what one of them does.

use crate::{
    cli::MethodsArguments,
    output::{self, hanging},
};
use anyhow::Result;
use lab::{
    method::{BUILT_IN, Method, SpanRule},
    plan::cell_title,
};
use std::process::ExitCode;

/// Cells that are told one by one; of more the page says how to see them.
const CELLS_MAX: usize = 40;

/// Lists the methods, tells about one, or prints its file.
pub fn methods(arguments: &MethodsArguments) -> Result<ExitCode> {
    let Some(named) = &arguments.name else {
        output::print(&list()?)?;
        return Ok(ExitCode::SUCCESS);
    };
    let (name, text) = run::method_text(named)?;
    let method = Method::parse(&name, &text, &[])?;
    output::print(&if arguments.toml { text } else { page(&name, &method) })?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<String> {
    let mut text = String::new();
    for (name, toml) in BUILT_IN {
        let method = Method::parse(name, toml, &[])?;
        text += &hanging(&format!("{name:<19} "), &method.file.title);
    }
    Ok(text + "\n`drivelab methods NAME` tells what one does; --toml prints its file.\n")
}

/// What a method does, as far as that can be said before there is a target.
fn page(name: &str, method: &Method) -> String {
    let file = &method.file;
    let mut text = hanging("", &format!("{}: {}", file.name, file.title)) + "\n";
    for paragraph in file.about.split("\n\n") {
        text += &(hanging("", paragraph) + "\n");
    }
    let area = match method.span {
        SpanRule::Bytes(bytes) => block::display_bytes(bytes),
        rule => rule.to_string(),
    };
    text += &hanging("area    ", &area);
    text += &hanging("grade   ", method.grade.name());
    if let Some(passes) = file.passes {
        text += &hanging("passes  ", &passes.to_string());
    }
    for expect in &file.expect {
        text += &hanging("expects ", &format!("{} ({})", expect.limit, expect.source));
    }
    text += &format!("\nCells: {}\n", method.cells.len());
    for cell in method.cells.iter().take(CELLS_MAX) {
        text += &hanging("  ", &cell_title(cell));
    }
    if let Some(more) = method.cells.len().checked_sub(CELLS_MAX).filter(|more| *more > 0) {
        text += &format!("  and {more} more\n");
    }
    let plan = format!("`drivelab run TARGET --method {name} --dry-run` says what it would write.");
    text + "\n" + &hanging("", &plan)
}
