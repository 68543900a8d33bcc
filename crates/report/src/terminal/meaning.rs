//! What a rate is the rate of, where the page cache lies in between: a word in a table's field, and
//! under the table the phrase that each word stands for.

use super::{page::Page, style::Paint, style::columns_of, words};
use crate::number;
use record::{CacheDrop, Cell};

/// `cache`, `drive`, `37 %`...; empty for a cell that passes the page cache by.
pub(super) fn word(cell: &Cell) -> String {
    parts(cell).into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(", ")
}

/// The same in one letter, or a percentage, for a grid.
pub(super) fn letter(cell: &Cell) -> String {
    let letters = parts(cell).into_iter().map(|(word, _)| abbreviated(&word));
    letters.collect::<Vec<_>>().join(",")
}

/// Whether there is anything to say of these cells.
pub(super) fn any(cells: &[&Cell]) -> bool {
    cells.iter().any(|cell| cell.meaning().is_some())
}

/// How a table shows meanings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// A column of words.
    Words,
    /// A letter behind each number.
    Letters,
    /// Not at all.
    Nowhere,
}

/// Each word that the table used, with its phrase; where it used none, each phrase with the cells
/// it is of.
pub(super) fn legend(page: &mut Page, cells: &[&Cell], shown: Shown) {
    let mut lines: Vec<(String, String)> = Vec::new();
    for cell in cells {
        for (word, phrase) in parts(cell) {
            let (label, phrase) = match word.strip_suffix('%') {
                Some(_) => ("N %".to_owned(), phrase.replace(&word, "N %")),
                None => (word, phrase),
            };
            let label = match shown {
                Shown::Words => label,
                Shown::Letters => abbreviated(&label),
                Shown::Nowhere => words::name(cell, page.style),
            };
            if !lines.contains(&(label.clone(), phrase.clone())) {
                lines.push((label, phrase));
            }
        }
    }
    if lines.is_empty() {
        return;
    }
    lines.sort();
    page.heading("What the rates are of");
    let width = lines.iter().map(|(label, _)| columns_of(label)).max().unwrap_or(0);
    for (label, phrase) in lines {
        match shown {
            Shown::Nowhere => page.hanging("  ", &format!("{label}: {phrase}"), Paint::Plain),
            _ => page.hanging(&format!("  {label:width$}  "), &phrase, Paint::Plain),
        }
    }
    dropped(page, cells);
}

/// By what means the file was put out of the cache before, and how much of it stayed.
fn dropped(page: &mut Page, cells: &[&Cell]) {
    for means in [CacheDrop::File, CacheDrop::Machine, CacheDrop::Remount] {
        let passes = cells.iter().flat_map(|cell| &cell.passes);
        let looks = passes.filter_map(|pass| pass.page_cache);
        let stayed = looks.filter(|look| look.dropped == Some(means));
        let Some(most) = stayed.map(|look| look.resident_before_bytes).max() else { continue };
        let how = match means {
            CacheDrop::File => "fsync and POSIX_FADV_DONTNEED of the file",
            CacheDrop::Machine => "sync and /proc/sys/vm/drop_caches",
            CacheDrop::Remount => "unmount and mount of the file system",
        };
        let stayed = number::size(most);
        page.hanging(
            "  ",
            &format!("Cache dropped before by {how}: {stayed} of it stayed at most."),
            Paint::Plain,
        );
    }
}

fn parts(cell: &Cell) -> Vec<(String, String)> {
    cell.meaning().map(|meaning| meaning.parts()).unwrap_or_default()
}

fn abbreviated(word: &str) -> String {
    match word.contains('%') {
        true => word.replace(' ', "").replace("to", "-"),
        false => word.chars().take(1).collect(),
    }
}
