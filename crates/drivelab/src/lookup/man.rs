//! `drivelab man`: pages of the manual, from what `--help` says.
//!
//! ```text
//!   cli::Cli -> a command a verb -> MARK, sections by clap_mangen, the help's end as it is
//!     -> stdout | DIR/drivelab.1, DIR/drivelab-run.1, DIR/drivelab-flash-create.1 ...
//! ```

use super::help::find;
use crate::{
    cli::{Cli, ManArguments},
    output,
};
use anyhow::{Context, Error, Result, anyhow};
use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man;
use host::outputs::{Foreign, OutputError, Outputs};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    process::ExitCode,
};

/// The first line of a page that drivelab made, and so may overwrite.
const MARK: &str = ".\\\" Made by `drivelab man`.\n";

/// Prints a page, or writes all.
pub fn man(arguments: &ManArguments) -> Result<ExitCode> {
    let mut command = Cli::command();
    command.build();
    match &arguments.to {
        None => output::print_bytes(&page(&find(command, &arguments.verbs)?)?)?,
        Some(directory) => write_all(&command, directory)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// All pages, after it is known that each may be written.
fn write_all(command: &Command, directory: &Path) -> Result<()> {
    let mut pages = Vec::new();
    pages_below(command, &mut pages)?;
    let mut outputs = Outputs::new(Foreign::Kept);
    outputs.directory(directory).map_err(in_words).context("--to")?;
    let count = pages.len();
    for (name, page) in pages {
        outputs.add(&directory.join(name), page, &is_ours).map_err(in_words).context("--to")?;
    }
    for (path, page) in outputs.ready().context("--to")? {
        output::write_whole(&path, &page)?;
    }
    output::talk!("wrote {count} pages to {}", directory.display());
    Ok(())
}

fn pages_below(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    pages.push((format!("{}.1", page_name(command)), page(command)?));
    // What another verb starts is nobody's to type.
    let mut shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    shown.try_for_each(|below| pages_below(below, pages))
}

fn page_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// A page in roff's language.
fn page(command: &Command) -> Result<Vec<u8>> {
    let ending = command.get_after_long_help().or_else(|| command.get_after_help());
    let ending = ending.map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.clone().mut_args(with_other_names));
    // clap_mangen leaves an empty date out, and what follows takes its place.
    let version = env!("CARGO_PKG_VERSION");
    let title = format!(".TH \"{}\" 1 \"\" \"drivelab {version}\"\n", page_name(command));
    let mut page = (MARK.to_owned() + &title).into_bytes();
    let mut sections = || -> io::Result<()> {
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if command.has_subcommands() {
            man.render_subcommands_section(&mut page)?;
        }
        page.extend_from_slice(as_it_is(&ending).as_bytes());
        Ok(())
    };
    sections().context("a page of the manual")?;
    Ok(page)
}

/// An option with its other names, which clap_mangen leaves out.
fn with_other_names(argument: Arg) -> Arg {
    let names: Vec<&str> = argument.get_visible_aliases().unwrap_or_default();
    let (Some(help), false) = (argument.get_help().cloned(), names.is_empty()) else {
        return argument;
    };
    let names: Vec<String> = names.iter().map(|name| format!("--{name}")).collect();
    argument.help(format!("{help}; also {}", names.join(", ")))
}

/// Lines as they are, under a heading; those that end in a colon and begin a paragraph are
/// headings of their own. clap_mangen would fill them, and all examples would be one paragraph.
fn as_it_is(text: &str) -> String {
    let mut roff = String::new();
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        let (heading, lines) = match first.strip_suffix(':') {
            Some(heading) if !heading.starts_with(' ') && !rest.is_empty() => (heading, rest),
            _ => ("", paragraph),
        };
        match heading {
            "" if roff.is_empty() => roff += ".SH NOTES\n",
            "" => roff += ".PP\n",
            heading => roff += &format!(".SH \"{}\"\n", escaped(&heading.to_uppercase())),
        }
        roff += ".nf\n";
        for line in lines.lines() {
            roff += &format!("{}\n", escaped(line));
        }
        roff += ".fi\n";
    }
    roff
}

/// A line that roff prints as it is.
fn escaped(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq");
    let text = text.replace('\'', "\\(aq").replace('`', "\\(ga").replace('~', "\\(ti");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

/// Whether a page is one that drivelab made.
fn is_ours(mut file: File) -> io::Result<bool> {
    let mut start = Vec::new();
    file.by_ref().take(MARK.len() as u64).read_to_end(&mut start)?;
    Ok(start == MARK.as_bytes())
}

fn in_words(error: OutputError) -> Error {
    match error {
        OutputError::Foreign(path) => anyhow!(
            "{} exists and is no page of drivelab's: name another directory, or move it away",
            path.display()
        ),
        OutputError::Place(error) => Error::new(error),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_an_example_stays_a_line_and_roff_takes_nothing_in_it_for_its_own() {
        let roff = as_it_is("Examples:\n  run . --until 'p99<1ms'\n.TH x\n\nmore\\n");
        assert_eq!(
            roff,
            ".SH \"EXAMPLES\"\n.nf\n  run . \\-\\-until \\(aqp99<1ms\\(aq\n\\&.TH x\n.fi\n.PP\n\
             .nf\nmore\\en\n.fi\n"
        );
        assert_eq!(as_it_is(""), "");
    }
}
