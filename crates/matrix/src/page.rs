//! What a matrix found: every configuration, pivots, effects, the best of each class.
//!
//! ```text
//!   records -> Across (a cell over all configurations) -> sections -> text, for a terminal
//!                                                                  -> document, for a browser
//! ```

mod browser;
mod power_cuts;

use crate::{
    Axes, Axis, Best, Configuration, Cut, Effect, Floor, Goal, Machine, Outcome, Refusal,
    RefusalKind, best, effects, ignores_direct_io, pivot,
};
use record::{Cell, Flag, Record};
use report::{
    chart::{Column, Entry, Table, Unit},
    document::{Block, Section},
    number::{self, counted},
    terminal::{Page, Style, put_table},
};

const EFFECT_HEADS: [&str; 8] =
    ["setting", "level", "against", "effect", "95 % from", "to", "least", "most"];

/// All that the page is made of.
pub struct Matrix<'a> {
    /// Where it took place.
    pub ground: String,
    /// What was varied.
    pub axes: &'a Axes,
    /// In the table's order; a cell's target is an index into it.
    pub configurations: &'a [Configuration],
    /// One a method.
    pub records: &'a [Record],
    /// The path's own speed, where there is such a path.
    pub floors: &'a [Floor],
    /// What is known of the drive, one a configuration.
    pub machines: Vec<Machine>,
    /// What a power cut left, one a configuration.
    pub cuts: &'a [Option<Cut>],
    /// What the drive said of its write cache.
    pub caches: Vec<String>,
    /// What a study printed of the same drive, where one did.
    pub printed: Printed<'a>,
    /// Which tables of two axes.
    pub pivots: &'a [(Axis, Axis)],
    /// Where the order came from.
    pub seed: u64,
}

/// What a study printed of the drive.
pub struct Printed<'a> {
    /// Of a configuration and a block size: a rate with its unit.
    pub rate: &'a dyn Fn(&Configuration, u64) -> Option<String>,
    /// Which study, in a sentence for below the table.
    pub source: String,
}

/// The pivots that were asked for; else one of the first two settings that vary.
///
/// # Errors
/// A text that is not two different axes of this matrix; the refusal begins with it.
pub fn pivots(given: &[String], axes: &Axes) -> Result<Vec<(Axis, Axis)>, Refusal> {
    let varied = axes.varied();
    if given.is_empty() {
        return Ok(match varied[..] {
            [rows, columns, ..] => vec![(rows, columns)],
            _ => Vec::new(),
        });
    }
    let axis = |text: &str| Axis::ALL.into_iter().find(|axis| axis.name() == text.trim());
    let mut found = Vec::new();
    for text in given {
        let both =
            text.split_once(',').and_then(|(rows, columns)| Some((axis(rows)?, axis(columns)?)));
        let known = |axis: &Axis| axes.iter().any(|(known, _)| known == *axis);
        match both.filter(|(rows, columns)| rows != columns && known(rows) && known(columns)) {
            Some(both) => found.push(both),
            None => {
                let names: Vec<&str> = axes.iter().map(|(axis, _)| axis.name()).collect();
                let text = format!(
                    "{text}: write two different settings of this matrix with a comma between, \
                     of {}",
                    names.join(", ")
                );
                return Err(Refusal::new(RefusalKind::Pivot, text));
            }
        }
    }
    Ok(found)
}

/// One cell of a method over all configurations.
struct Across<'a> {
    goal: Goal,
    method: &'a str,
    name: String,
    cells: Vec<(&'a Configuration, &'a Cell)>,
    outcomes: Vec<Outcome>,
}

impl Matrix<'_> {
    /// The whole page.
    pub fn text(&self, style: &Style) -> String {
        let mut page = Page::new(style);
        page.hanging("matrix  ", &self.ground, report::terminal::Paint::Plain);
        for record in self.records {
            let id = &record.id;
            let (method, grade) = (&record.method.name, &record.method.grade);
            page.line(&format!(
                "run     {id}, method {method}, grade {grade}, {}",
                counted(record.method.passes, "round")
            ));
        }
        page.line(&format!("seed    {}", self.seed));
        for said in &self.caches {
            page.hanging("cache   ", said, report::terminal::Paint::Plain);
        }
        for section in self.sections(style) {
            put_blocks(&mut page, &section.blocks);
        }
        for record in self.records {
            report::terminal::left_out(&mut page, record);
            report::terminal::failed(&mut page, record);
        }
        page.finish()
    }

    /// Every table with the lines under it, in the order of a terminal.
    fn sections(&self, style: &Style) -> Vec<Section> {
        let all = self.across();
        let several = self.records.len() > 1;
        let mut sections = Vec::new();
        for record in self.records {
            let method = record.method.name.as_str();
            let of_method = all.iter().filter(|across| std::ptr::eq(across.method, method));
            let blocks: Vec<Block> =
                of_method.flat_map(|across| self.of_cell(across, style)).collect();
            let title = match several {
                true => format!("Configurations: {method}"),
                false => "Configurations".to_owned(),
            };
            sections.push(Section { title, sheet: "Configurations", blocks });
        }
        sections.push(Section {
            title: "What each setting does".to_owned(),
            sheet: "Effects",
            blocks: self.effects(&all),
        });
        let title = "The best of each class".to_owned();
        sections.push(Section { title, sheet: "Best", blocks: vec![self.best(&all)] });
        let title = "The path's own floor".to_owned();
        sections.push(Section { title, sheet: "Floor", blocks: self.floor(&all) });
        sections.push(Section {
            title: "After a power cut".to_owned(),
            sheet: "Cuts",
            blocks: power_cuts::blocks(self.configurations, &self.machines, self.cuts),
        });
        sections.retain(|section| !section.blocks.is_empty());
        sections
    }

    fn across(&self) -> Vec<Across<'_>> {
        let mut all: Vec<Across<'_>> = Vec::new();
        for record in self.records {
            let mut names: Vec<&str> = Vec::new();
            for cell in &record.cells {
                if !names.contains(&cell.name.as_str()) {
                    names.push(&cell.name);
                }
            }
            for name in names {
                let cells: Vec<(&Configuration, &Cell)> = record
                    .cells
                    .iter()
                    .filter(|cell| cell.name == name)
                    .map(|cell| (&self.configurations[cell.target], cell))
                    .collect();
                let outcomes = cells.iter().map(|(one, cell)| self.outcome(one, cell)).collect();
                let title = report::terminal::cell_title(cells[0].1);
                let (goal, method) = (goal(cells[0].1), record.method.name.as_str());
                all.push(Across { goal, method, name: title, cells, outcomes });
            }
        }
        all
    }

    fn outcome(&self, configuration: &Configuration, cell: &Cell) -> Outcome {
        let (machine, cut) = (self.machines[cell.target], self.cuts[cell.target].as_ref());
        Outcome {
            configuration: configuration.clone(),
            durability: Cut::class(cut, configuration, machine),
            rate: cell.iops,
            passes: cell.passes.iter().map(|pass| (pass.pass, pass.iops)).collect(),
        }
    }

    /// Every configuration of one cell, and its pivots.
    fn of_cell(&self, across: &Across<'_>, style: &Style) -> Vec<Block> {
        let value = |cell: &Cell| Entry::number(across.value(cell.iops, cell.block_bytes));
        let mut blocks = Vec::new();
        let mut columns: Vec<Column> =
            self.axes.iter().map(|(axis, _)| Column::text(axis.name())).collect();
        columns.push(Column::number(across.quantity(), across.unit()));
        columns.extend(["95 %", "printed", "after a power cut", "notes"].map(Column::text));
        let mut is_printed = false;
        let common = common_flags(across.cells.iter().map(|(_, cell)| *cell));
        let rows = across.cells.iter().zip(&across.outcomes).map(|((one, cell), outcome)| {
            let mut row: Vec<Entry> = one.levels().map(|(_, level)| Entry::text(level)).collect();
            let interval = report::terminal::cell_interval(cell, style);
            let own = cell.flags.iter().filter(|flag| !common.contains(flag));
            let mut notes: Vec<String> = cell.means.iter().cloned().collect();
            notes.extend(own.map(|flag| in_words(*flag)));
            if ignores_direct_io(one) && cell.io.starts_with("direct") {
                notes.push("O_DIRECT goes through the page cache".to_owned());
            }
            if self.floors.iter().any(|floor| floor.is_above(one, cell)) {
                notes.push("faster than the path by itself".to_owned());
            }
            let printed = (self.printed.rate)(one, cell.block_bytes);
            is_printed |= printed.is_some();
            row.extend([
                value(cell),
                Entry::text(&interval),
                Entry::text(&printed.unwrap_or_else(|| "-".to_owned())),
                Entry::text(&outcome.durability.to_string()),
                Entry::text(&notes.join(", ")),
            ]);
            row
        });
        let mut rows: Vec<Vec<Entry>> = rows.collect();
        if !is_printed {
            let at = self.axes.iter().count() + 2;
            columns.remove(at);
            rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
        blocks.extend(self.chart(across).map(Box::new).map(Block::Figure));
        blocks.push(Block::Table(Table { title: across.name.clone(), rows, columns }));
        if is_printed {
            blocks.push(Block::Text(self.printed.source.clone()));
        }
        if !common.is_empty() {
            let words: Vec<String> = common.iter().map(|flag| in_words(*flag)).collect();
            blocks.push(Block::Text(format!("All of them: {}.", words.join(", "))));
        }
        for (rows, columns) in self.pivots {
            let table = pivot(*rows, *columns, &across.outcomes);
            let block = across.cells[0].1.block_bytes;
            let mut heads = vec![Column::text(&format!("{rows} \\ {columns}"))];
            heads.extend(table.columns.iter().map(|level| Column::number(level, across.unit())));
            let lines = table.rows.iter().zip(&table.rates).map(|(level, rates)| {
                let mut row = vec![Entry::text(level)];
                let value = |rate: &Option<f64>| across.value((*rate)?, block);
                row.extend(rates.iter().map(|rate| Entry::number(value(rate))));
                row
            });
            let title = format!("{}: {rows} by {columns}", across.name);
            let rows = lines.collect();
            blocks.push(Block::Table(Table { title, rows, columns: heads }));
        }
        blocks
    }

    fn effects(&self, all: &[Across<'_>]) -> Vec<Block> {
        let varied = self.axes.varied();
        let mut blocks = Vec::new();
        if varied.is_empty() {
            return blocks;
        }
        blocks.extend(browser::effects_chart(&varied, all).map(Box::new).map(Block::Figure));
        for across in all {
            let found = effects(&varied, &across.outcomes);
            // Where all but one failed there is nothing to compare.
            if found.is_empty() {
                continue;
            }
            let rows = found.iter().map(|effect| effect_row(effect, across.goal)).collect();
            let title = format!("What each setting does to {}", across.name);
            let columns = EFFECT_HEADS.map(Column::text).into();
            blocks.push(Block::Table(Table { title, rows, columns }));
            blocks.extend(effects_by_fill(&varied, across).map(Block::Table));
        }
        if !blocks.is_empty() {
            blocks.push(Block::Text(
                "Everything else equal; the interval is that of the rounds, and below 1 it is the \
                 other way. Least and most: of the configurations that differ in this setting alone."
                    .to_owned(),
            ));
        }
        blocks
    }

    fn outcomes(&self, all: &[Across<'_>]) -> Vec<(Goal, Vec<Outcome>)> {
        all.iter().map(|across| (across.goal, across.outcomes.clone())).collect()
    }

    fn best(&self, all: &[Across<'_>]) -> Block {
        let row = |one: Best| {
            let goal = goal_name(one.goal);
            let ties = one.ties.map_or("one round cannot tell".to_owned(), |ties| {
                let names: Vec<String> = ties.iter().map(ToString::to_string).collect();
                if names.is_empty() { "-".to_owned() } else { names.join(" ") }
            });
            [one.durability.to_string(), goal.to_owned(), one.configuration.to_string(), ties]
                .map(|text| Entry::text(&text))
                .into()
        };
        let rows: Vec<Vec<Entry>> = best(&self.outcomes(all)).into_iter().map(row).collect();
        let heads = ["after a power cut", "best for", "configuration", "not told apart from it"];
        let columns = heads.map(Column::text).into();
        Block::Table(Table { title: "The best of each class".to_owned(), rows, columns })
    }

    fn floor(&self, all: &[Across<'_>]) -> Vec<Block> {
        if self.floors.is_empty() {
            return Vec::new();
        }
        let mut rows = Vec::new();
        for across in all {
            let cell = across.cells[0].1;
            for floor in self.floors.iter().filter(|floor| floor.cell == cell.name) {
                let value = across.value(floor.iops, cell.block_bytes);
                let value = value.map_or("-".to_owned(), |value| across.unit().text(value));
                let words = [&across.name, &floor.fs, &value];
                rows.push(words.map(|text| Entry::text(text)).into());
            }
        }
        let columns = ["cell", "fs", "floor"].map(Column::text).into();
        let title =
            "The path's own floor: memory that answers at once, by the same NBD, FUSE and loop"
                .to_owned();
        let line = "Nothing is subtracted; cells within five times of it, and beyond it, have the flag path_floor."
            .to_owned();
        vec![Block::Table(Table { title, rows, columns }), Block::Text(line)]
    }
}

impl Across<'_> {
    /// What is told of each configuration.
    fn quantity(&self) -> &'static str {
        match self.goal {
            Goal::Latency => "latency",
            Goal::Throughput | Goal::Both => "rate",
        }
    }

    fn unit(&self) -> Unit {
        match self.goal {
            Goal::Latency => Unit::Ns,
            Goal::Throughput | Goal::Both => Unit::BytesPerS,
        }
    }

    /// A rate as what the goal asks for: the time of one operation, or bytes a second. What did
    /// nothing has no time.
    fn value(&self, iops: f64, block_bytes: u64) -> Option<f64> {
        match self.goal {
            Goal::Latency => (iops > 0.0).then(|| 1e9 / iops),
            Goal::Throughput | Goal::Both => Some(iops * block_bytes as f64),
        }
    }
}

fn goal_name(goal: Goal) -> &'static str {
    match goal {
        Goal::Latency => "latency",
        Goal::Throughput => "throughput",
        Goal::Both => "both",
    }
}

/// Tables and lines on a terminal, which draws no charts.
pub fn put_blocks(page: &mut Page<'_>, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Table(table) => put_table(page, table),
            Block::Text(text) => page.line(text),
            Block::Figure(_) | Block::Verbatim { .. } => {}
        }
    }
}

/// What holds for every configuration is said once.
fn common_flags<'a>(mut cells: impl Iterator<Item = &'a Cell>) -> Vec<Flag> {
    let mut common = cells.next().map_or_else(Vec::new, |cell| cell.flags.clone());
    for cell in cells {
        common.retain(|flag| cell.flags.contains(flag));
    }
    common
}

/// `loop device`: a name that can be wrapped.
fn in_words(flag: Flag) -> String {
    flag.name().replace('_', " ")
}

/// Small operations one after another are a matter of latency, all others of throughput.
fn goal(cell: &Cell) -> Goal {
    let in_turn = cell.threads == 1 && cell.queue_depth == 1;
    match in_turn && cell.block_bytes <= 64 << 10 {
        true => Goal::Latency,
        false => Goal::Throughput,
    }
}

/// What the other settings do where the file system is so full: their average over all levels of
/// fill says it of none.
fn effects_by_fill(varied: &[Axis], across: &Across<'_>) -> Option<Table> {
    let others: Vec<Axis> = varied.iter().copied().filter(|axis| *axis != Axis::Fill).collect();
    if others.is_empty() || others.len() == varied.len() {
        return None;
    }
    let mut fills: Vec<&str> =
        across.outcomes.iter().filter_map(|one| one.configuration.level(Axis::Fill)).collect();
    fills.sort_by_key(|level| level.parse::<u32>().ok());
    fills.dedup();
    let mut rows = Vec::new();
    for fill in fills {
        let here = |one: &&Outcome| one.configuration.level(Axis::Fill) == Some(fill);
        let outcomes: Vec<Outcome> = across.outcomes.iter().filter(here).cloned().collect();
        for effect in effects(&others, &outcomes) {
            let mut row = vec![Entry::text(fill)];
            row.extend(effect_row(&effect, across.goal));
            rows.push(row);
        }
    }
    let mut columns = vec![Column::text("fill")];
    columns.extend(EFFECT_HEADS.map(Column::text));
    Some(Table { title: format!("The same, by fill: {}", across.name), rows, columns })
}

/// `write-cache | off | on | latency 2.9 x lower | 2.7 | 3.1 | ...`: all in the unit of the words,
/// so that below 1 it is the other way.
fn effect_row(effect: &Effect, goal: Goal) -> Vec<Entry> {
    let factor = |ratio: f64| if effect.ratio >= 1.0 { ratio } else { 1.0 / ratio };
    let factors = |[low, high]: [f64; 2]| -> [String; 2] {
        let (one, other) = (factor(low), factor(high));
        [one.min(other), one.max(other)].map(number::significant)
    };
    let (what, word) = match (goal, effect.ratio >= 1.0) {
        (Goal::Latency, true) => ("latency", "lower"),
        (Goal::Latency, false) => ("latency", "higher"),
        (_, true) => ("rate", "higher"),
        (_, false) => ("rate", "lower"),
    };
    let in_words = format!("{what} {} x {word}", number::significant(factor(effect.ratio)));
    let [low, high] = effect.ci95.map_or(["-".to_owned(), "-".to_owned()], factors);
    let [least, most] = factors(effect.range);
    let texts = [
        effect.axis.to_string(),
        effect.level.clone(),
        effect.baseline.clone(),
        in_words,
        low,
        high,
        least,
        most,
    ];
    texts.iter().map(|text| Entry::text(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effects_interval_is_in_the_unit_of_its_words() {
        let effect = |ratio, ci95| Effect {
            axis: Axis::WriteCache,
            level: "off".to_owned(),
            baseline: "on".to_owned(),
            ratio,
            ci95,
            range: [0.25, 2.0],
            pairs: 2,
        };
        let row = |effect, goal| -> Vec<String> {
            let texts = effect_row(&effect, goal).into_iter().map(|entry| match entry {
                Entry::Text(text) => text,
                other => panic!("{other:?} is no text"),
            });
            texts.skip(3).collect()
        };
        let slower = effect(0.5, Some([0.4, 0.8]));
        let words = ["latency 2.00 x higher", "1.25", "2.50", "0.500", "4.00"];
        assert_eq!(row(slower.clone(), Goal::Latency), words);
        assert_eq!(row(slower, Goal::Throughput)[0], "rate 2.00 x lower");
        let faster = row(effect(1.25, Some([0.8, 2.0])), Goal::Throughput);
        assert_eq!(faster, ["rate 1.25 x higher", "0.800", "2.00", "0.250", "2.00"]);
        assert_eq!(row(effect(2.0, None), Goal::Latency)[1..3], ["-", "-"]);
    }

    /// All configurations but one had failed, and the page had headings of comparisons with nothing
    /// below them.
    #[test]
    fn what_cannot_be_compared_has_no_heading() {
        let mut axes = Axes::default();
        axes.add(Axis::Fs, "raw,ext4").expect("levels");
        let page = Matrix {
            ground: String::new(),
            axes: &axes,
            configurations: &[],
            records: &[],
            floors: &[],
            machines: Vec::new(),
            cuts: &[],
            caches: Vec::new(),
            printed: Printed { rate: &|_, _| None, source: String::new() },
            pivots: &[],
            seed: 0,
        };
        let name = "random read 4 KiB".to_owned();
        let (cells, outcomes) = (Vec::new(), Vec::new());
        let across = Across { goal: Goal::Latency, method: "short", name, cells, outcomes };
        assert!(page.effects(&[across]).is_empty());
    }

    #[test]
    fn a_pivot_of_something_that_is_not_varied_is_refused() {
        let mut axes = Axes::default();
        axes.add(Axis::Fs, "raw,ext4").expect("levels");
        axes.add(Axis::Discard, "on,off").expect("levels");
        assert_eq!(pivots(&[], &axes).expect("a default"), [(Axis::Fs, Axis::Discard)]);
        let swapped = pivots(&["discard,fs".to_owned()], &axes).expect("both are there");
        assert_eq!(swapped, [(Axis::Discard, Axis::Fs)]);
        for wrong in ["fs", "fs,fs", "fs,scheduler", "fs,colour"] {
            let error = pivots(&[wrong.to_owned()], &axes).expect_err(wrong).to_string();
            assert!(error.contains("of fs, discard"), "{error}");
        }
    }
}
