//! `cargo xtask flash`: what a managed flash volume does on modelled drives, in tables;
//! docs/results/flash.md is made of them.

mod amplification;
mod arrays;
mod bed;
mod drive;
mod scan;
mod sync;

pub use bed::failed;

use anyhow::{Context, Result};
use std::{env, fs};
use target::catalog::Catalog;

const PAGE: &str = "docs/results/flash.md";
/// Beside this file, what stands around the tables, so that words can change without a build: its
/// head, one text for each part, and its end.
const TEXTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/flash/text");
const PARTS: [&str; 6] = ["drive", "scan", "arrays", "sync", "amplification", "skew"];

/// How much of a drive is used.
#[derive(Clone, Copy)]
struct Sizes {
    /// Of the one drive; all of it where there is none.
    drive_bytes: Option<u64>,
    /// Of an array's members, and of drives that are read sequentially.
    member_bytes: u64,
    /// Of the one that only counts, under skew: references hold for large volumes. Uniform writing
    /// needs no more than 512 MiB.
    counting_bytes: u64,
}

const FULL: Sizes = Sizes { drive_bytes: None, member_bytes: 8 << 30, counting_bytes: 4 << 30 };
const QUICK: Sizes =
    Sizes { drive_bytes: Some(2 << 30), member_bytes: 1 << 30, counting_bytes: 512 << 20 };

/// Which tables, and what is done with them.
#[derive(clap::Args)]
pub struct Options {
    /// Uses a part of each drive and takes a minute.
    #[arg(long)]
    quick: bool,
    /// Puts the tables into docs/results/flash.md; what is not named stays as it is there. The page
    /// has the full sizes.
    #[arg(long, conflicts_with = "quick")]
    write: bool,
    /// These tables alone. drive: random writes of one drive, bursts, and what is sustained against
    /// the limit; reads. scan: reading sequentially what was written at random, flash and disks.
    /// arrays: bursts of RAID-5 of four and eight such drives. sync: one flush for each 4 KiB
    /// write, with the synchronous ring and without. amplification: uniform writes beside the
    /// closed form, by spare. skew: the same under skew, by policy.
    #[arg(value_name = "PART", value_parser = PARTS)]
    parts: Vec<String>,
}

/// Prints the parts that are named, all of them without a name; with `--write` the page gets them,
/// and keeps what was not named.
pub fn run(options: &Options) -> Result<()> {
    let sizes = if options.quick { QUICK } else { FULL };
    let is_wanted =
        |name: &str| options.parts.is_empty() || options.parts.iter().any(|part| part == name);
    let catalog = Catalog::built_in()?;
    let mut sections = Vec::new();
    for name in PARTS.into_iter().filter(|name| is_wanted(name)) {
        let tables = tables(name, &catalog, sizes)?;
        let section = text(name)?.replace("{tables}", tables.trim_end());
        println!("{section}");
        sections.push(section);
    }
    if options.write {
        let path = env::current_dir()?.join(PAGE);
        let before = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        fs::write(&path, page(&before, &sections)?)?;
        println!("Written: {PAGE}");
    }
    Ok(())
}

/// The page of these sections, and of those of the page before that are not among them.
fn page(before: &str, sections: &[String]) -> Result<String> {
    let title = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let kept =
        before.split("\n\n## ").skip(1).map(|section| format!("## {}\n", section.trim_end()));
    let known: Vec<String> = sections.iter().cloned().chain(kept).collect();
    let mut page = text("head")?;
    for name in PARTS {
        let wanted = title(&text(name)?);
        if let Some(section) = known.iter().find(|section| title(section) == wanted) {
            page += "\n";
            page += section;
        }
    }
    Ok(page + "\n" + &text("curve")?)
}

fn text(name: &str) -> Result<String> {
    let path = format!("{TEXTS}/{name}.md");
    fs::read_to_string(&path).with_context(|| path)
}

fn tables(part: &str, catalog: &Catalog, sizes: Sizes) -> Result<String> {
    match part {
        "drive" => drive::run(catalog, sizes.drive_bytes),
        "scan" => scan::run(catalog, sizes.member_bytes),
        "arrays" => arrays::run(catalog, sizes.member_bytes),
        "sync" => sync::run(catalog),
        "amplification" => amplification::uniform(QUICK.counting_bytes),
        "skew" => amplification::skewed(sizes.counting_bytes),
        _ => unreachable!("the words were looked at"),
    }
}

/// A table that is also shown line by line as it grows.
struct Table {
    text: String,
}

impl Table {
    fn new(head: &str) -> Self {
        let columns = head.matches('|').count() - 1;
        eprintln!("{head}");
        Self { text: format!("{head}\n|{}\n", "---:|".repeat(columns)) }
    }

    fn line(&mut self, name: &str, cells: &[String]) {
        let line = format!("| {name} | {} |", cells.join(" | "));
        eprintln!("{line}");
        self.text += &line;
        self.text += "\n";
    }
}
