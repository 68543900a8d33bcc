//! `drivelab docs`: the pages that `--help` names, as they were when it was built.

use crate::{
    cli::DocsArguments,
    output::{self, hanging},
};
use anyhow::{Result, bail};
use block::names::did_you_mean;
use std::process::ExitCode;

/// Every page: its path below `docs/`, its text. `build.rs` makes the table.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Prints a page, or which there are.
pub fn docs(arguments: &DocsArguments) -> Result<ExitCode> {
    match &arguments.name {
        None => output::print(&list())?,
        Some(name) => output::print(page(name)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What a page is called: its file's name without its ending; the folder's where it stands for
/// that.
pub fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(path, _)| name(path))
}

fn name(path: &str) -> &str {
    let path = path.strip_suffix("/README.md").unwrap_or(path);
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    file.strip_suffix(".md").unwrap_or(file)
}

fn list() -> String {
    let mut text = String::new();
    for (path, page) in PAGES {
        text += &hanging(&format!("{:<20} ", name(path)), title(path, page));
    }
    text + "\n`drivelab docs NAME` prints one, as Markdown.\n"
}

/// The heading of a page; of a schema what it is.
fn title<'p>(path: &str, page: &'p str) -> &'p str {
    if path.ends_with(".json") {
        return "a JSON schema";
    }
    page.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

/// The text of the page that somebody names: `terms`, `reference/terms.md`,
/// `docs/reference/terms.md#flag`.
fn page(named: &str) -> Result<&'static str> {
    let path = named.split('#').next().unwrap_or_default();
    let path = path.trim_start_matches("./").trim_start_matches("docs/").trim_end_matches('/');
    let path = path.strip_suffix(".md").unwrap_or(path);
    let is_meant =
        |known: &str| known.strip_suffix(".md").unwrap_or(known) == path || name(known) == path;
    if let Some((_, text)) = PAGES.iter().find(|(known, _)| is_meant(known)) {
        return Ok(text);
    }
    bail!(
        "there is no page `{named}`.{} `drivelab docs` lists them",
        did_you_mean(name(path), names())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_pages_have_one_name_and_each_has_a_title() {
        let once: BTreeSet<&str> = names().collect();
        assert_eq!(once.len(), PAGES.len());
        assert!(PAGES.len() > 25, "{} pages", PAGES.len());
        for (path, text) in PAGES {
            assert!(!title(path, text).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_page_is_found_by_each_of_its_names() {
        let terms = page("terms").expect("a page");
        assert!(terms.starts_with("# Terms\n"));
        for named in [
            "terms.md",
            "reference/terms",
            "reference/terms.md",
            "docs/reference/terms.md",
            "./docs/reference/terms.md#flags",
        ] {
            assert_eq!(page(named).expect(named), terms, "{named}");
        }
        let guide = page("guide").expect("a page");
        assert_eq!(page("docs/guide/README.md").expect("the same"), guide);
        assert_eq!(page("docs/guide/").expect("the same"), guide);
        assert!(page("record.schema.json").expect("a schema").starts_with('{'));
    }

    #[test]
    fn a_page_that_is_none_is_refused_with_the_nearest() {
        let said = |named: &str| page(named).expect_err(named).to_string();
        assert!(
            said("metodology").contains("Did you mean `methodology`?"),
            "{}",
            said("metodology")
        );
        assert!(said("reference/tems.md").contains("Did you mean `terms`?"));
        for named in ["", "docs", "..", "#"] {
            assert!(said(named).ends_with("`drivelab docs` lists them"), "{named}");
        }
    }
}
