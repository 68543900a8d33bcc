//! The answer on a terminal: the places, the fastest first, then what to do.

use super::{CellFound, Place, TreeAnswer, TreeFound};
use crate::{
    page::{More, set_up},
    verdict::{GAIN_LEAST, breaks_even, no_flash},
};
use report::{
    number,
    terminal::{Align, Page, Paint, Style, Table},
};

/// So many of the fastest places are printed, and the disks.
const PLACES: usize = 6;
/// A cell whose rate differs by less is as on the disks.
const CHANGE_LEAST: f64 = 0.05;

/// The answer.
pub fn page(answer: &TreeAnswer, more: &More, style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading(&title(answer));
    page.gap();
    places(&mut page, answer, more.details);
    page.gap();
    for sentence in answer.verdict() {
        page.hanging("- ", &sentence, Paint::Plain);
    }
    for (place, why) in &answer.left_out {
        let told = match place {
            Place::Disks => format!("left out: {why}"),
            place => format!("left out: {}: {why}", place.name()),
        };
        page.hanging("- ", &told, Paint::Plain);
    }
    if more.details {
        cells(&mut page, answer);
        left(&mut page, answer);
    }
    set_up(&mut page, &more.commands);
    page.finish()
}

/// `maildir, one pass on ext4 in virtual time; 4xhdd-7200-cmr/raid5`
pub(super) fn title(answer: &TreeAnswer) -> String {
    let question = &answer.question;
    format!(
        "{}, one pass on {} in virtual time; {}",
        question.method.0, question.file_system, question.disks
    )
}

fn places(page: &mut Page<'_>, answer: &TreeAnswer, all: bool) {
    let currency = answer.question.prices.currency.as_str();
    let per_iops = format!("{currency}/IOPS");
    let mut table = Table::new(&[
        ("on flash", Align::Left),
        ("IOPS", Align::Right),
        ("p99", Align::Right),
        (currency, Align::Right),
        (per_iops.as_str(), Align::Right),
        ("written to it", Align::Right),
    ]);
    let is_shown =
        |(at, found): &(usize, &TreeFound)| all || *at < PLACES || found.place == Place::Disks;
    let shown: Vec<_> = answer.found.iter().enumerate().filter(is_shown).collect();
    let others = answer.found.len() - shown.len();
    for (at, found) in shown {
        let paint = if at == 0 { Paint::Strong } else { Paint::Plain };
        let row = [
            page.style.clean(&found.place.name()),
            number::iops(found.iops),
            found.p99_ns().map_or_else(|| "-".to_owned(), |ns| number::duration_ns(ns as f64)),
            found.price.map_or_else(|| "?".to_owned(), |price| format!("{price:.0}")),
            found.price_per_iops().map_or_else(|| "?".to_owned(), number::three_digits),
            found.flash_bytes.map_or_else(|| "-".to_owned(), number::size),
        ];
        table.painted_row(row.into_iter().map(|field| (field, paint)).collect());
    }
    page.table(&table);
    match others {
        0 => {}
        1 => page.line("and one other place"),
        _ => page.line(&format!("and {others} other places")),
    }
}

/// Each cell at each place.
fn cells(page: &mut Page<'_>, answer: &TreeAnswer) {
    page.heading("Operations a second of each cell; in parentheses where memory answers");
    for found in &answer.found {
        let of = |cell: &CellFound| match cell.is_cached {
            true => format!("({} {})", cell.name, number::iops(cell.iops)),
            false => format!("{} {}", cell.name, number::iops(cell.iops)),
        };
        let all: Vec<String> = found.cells.iter().map(of).collect();
        page.hanging(&format!("{}: ", found.place.name()), &all.join(", "), Paint::Plain);
    }
}

/// What is left after a power cut and without the flash drive, a line for each sort of place.
fn left(page: &mut Page<'_>, answer: &TreeAnswer) {
    page.heading("What is left");
    let heads = [("on flash", Align::Left), ("after a power cut", Align::Left)];
    let mut table = Table::new(&[heads[0], heads[1], ("without the SSD", Align::Left)]);
    let mut told = Vec::new();
    for TreeFound { place, .. } in &answer.found {
        let row = [place.word(), place.after_power_cut(), place.without_ssd()];
        if !told.contains(&row[0]) {
            told.push(row[0]);
            table.row(row.map(str::to_owned).into());
        }
    }
    page.table(&table);
}

impl TreeAnswer {
    /// The answer first, then what it depends on.
    pub fn verdict(&self) -> Vec<String> {
        let best = &self.found[0];
        let gain = self.gain(best);
        if gain < GAIN_LEAST {
            return vec![no_flash(self.disks().iops, gain)];
        }
        let mut first = format!(
            "Fastest: {}, {} times the disks alone",
            best.place.name(),
            number::significant(gain)
        );
        let beside = self.best_beside();
        if let (None, Some(beside)) = (best.place.beside(), beside) {
            first += &format!(
                "; with the disks: {}, {} times",
                beside.place.name(),
                number::significant(self.gain(beside))
            );
        }
        first += ".";
        if let Place::Flash { ssd } = &best.place {
            first += &format!(
                " One {ssd} has {}, the disks {}.",
                number::capacity(best.capacity_bytes),
                number::capacity(self.disks().capacity_bytes)
            );
        }
        let mut sentences = vec![first];
        if let Some(beside) = beside.filter(|beside| self.gain(beside) >= GAIN_LEAST) {
            sentences.extend(self.by_cell(beside));
            sentences.extend(self.breaks_even(beside));
            sentences.push(format!(
                "{}: a power cut leaves {}; without the SSD {}.",
                beside.place.word(),
                beside.place.after_power_cut(),
                beside.place.without_ssd()
            ));
        }
        sentences
    }

    /// What gains or loses, and what memory answers on either.
    fn by_cell(&self, beside: &TreeFound) -> Option<String> {
        let pairs: Vec<_> = beside.cells.iter().zip(&self.disks().cells).collect();
        let gain = |(cell, disks): &(&CellFound, &CellFound)| cell.iops / disks.iops;
        let changed = |pair: &&(&CellFound, &CellFound)| {
            !pair.0.is_cached && (gain(pair) - 1.0).abs() >= CHANGE_LEAST
        };
        let changed: Vec<String> = pairs
            .iter()
            .filter(changed)
            .map(|pair| format!("{} {} times", pair.0.name, number::significant(gain(pair))))
            .collect();
        let cached = pairs.iter().filter(|(cell, _)| cell.is_cached);
        let cached: Vec<&str> = cached.map(|(cell, _)| cell.name.as_str()).collect();
        let same = pairs.len() - changed.len() - cached.len();
        let mut text = format!("Its cells: {}", changed.join(", "));
        match same {
            0 => {}
            1 => text += "; one other as on the disks",
            _ => text += &format!("; {same} others as on the disks"),
        }
        if !cached.is_empty() {
            text += &format!("; memory answers {}", cached.join(", "));
        }
        (!changed.is_empty()).then(|| text + ".")
    }

    /// Up to which price flash beside the disks is worth more than disks for the same operations.
    fn breaks_even(&self, beside: &TreeFound) -> Option<String> {
        let (ssd, way) = (beside.place.beside()?, beside.place.name());
        let currency = &self.question.prices.currency;
        breaks_even((ssd, &way), self.gain(beside), self.disks().price?, currency)
    }
}
