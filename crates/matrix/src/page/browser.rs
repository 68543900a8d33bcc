//! The matrix as a document for a browser: the best at a glance, charts, flags, how it was made.

use super::{Across, Matrix, goal_name};
use crate::{Axis, Best, Configuration, Effect, Outcome, best, effects};
use record::{Cell, Flag};
use report::{
    chart::{Axis as ChartAxis, BarSeries, Bars, Chart, Figure, Unit, Value, slug},
    document::{Document, Highlight, Reading},
    number::counted,
    runs::{self, Run},
    terminal::{Characters, Style},
};

/// Configurations in one chart: the fastest.
const BARS_MAX: usize = 40;

impl Matrix<'_> {
    /// The same for a browser, with charts, flags and how it was made.
    pub fn document(&self) -> Document {
        let style = Style { characters: Characters::Unicode, ..Style::PLAIN };
        let runs: Vec<Run<'_>> =
            self.records.iter().map(|record| Run { record, prices: Vec::new() }).collect();
        let mut sections = self.sections(&style);
        sections.push(runs::environment(&runs));
        let methods: Vec<&str> = runs.iter().map(|run| run.record.method.name.as_str()).collect();
        Document {
            // What is behind a colon is a warning: the summary has it.
            title: format!(
                "Matrix on {}: {}",
                self.ground.split(':').next().unwrap_or_default(),
                methods.join(", ")
            ),
            origin: runs::origin(&runs),
            summary: self.summary(),
            highlights: self.highlights(),
            doubts: Some(runs::doubts(&runs)),
            sections,
        }
    }

    fn summary(&self) -> Vec<String> {
        let varied: Vec<&str> = self.axes.varied().iter().map(|axis| axis.name()).collect();
        let count = self.configurations.len();
        let rounds = self.records.iter().map(|record| record.method.passes).max().unwrap_or(0);
        let mut summary = vec![format!(
            "Measured on {}: {} of {}, each in {}, \
             in a new order each (seed {}).",
            self.ground,
            counted(count, "configuration"),
            if varied.is_empty() { "one level each".to_owned() } else { varied.join(", ") },
            counted(rounds, "round"),
            self.seed
        )];
        summary.extend(self.caches.iter().map(|said| format!("{said}.")));
        for record in self.records {
            for cell in &record.left_out {
                summary.push(format!("Left out: {}: {}.", cell.name, cell.reason));
            }
        }
        summary
    }

    /// The best of each class and goal, with the number of the first cell that speaks for the goal.
    fn highlights(&self) -> Vec<Highlight> {
        let all = self.across();
        let highlight = |one: Best| {
            let across = all.iter().find(|across| across.goal == one.goal)?;
            let is_best = |(known, _): &&(&Configuration, &Cell)| **known == one.configuration;
            let (_, cell) = across.cells.iter().find(is_best)?;
            let value = across.value(cell.iops, cell.block_bytes)?;
            let reading = Reading {
                of: one.configuration.to_string(),
                half_width: cell.half_width_relative,
                doubts: self.own_flags(across, cell).map(|flag| flag.name()).collect(),
                note: across.name.clone(),
                ..Reading::new(value, across.unit())
            };
            let goal = goal_name(one.goal);
            let name = format!("best for {goal}: {}", one.durability);
            Some(Highlight { name, readings: vec![reading] })
        };
        best(&self.outcomes(&all)).into_iter().filter_map(highlight).collect()
    }

    /// Flags of a cell that are not its whole configuration's.
    fn own_flags<'c>(
        &'c self,
        across: &Across<'_>,
        cell: &'c Cell,
    ) -> impl Iterator<Item = &'c Flag> {
        let record = self.records.iter().find(|one| one.method.name == across.method);
        let target = record.and_then(|record| record.targets.get(cell.target));
        let of_target = target.map_or(&[][..], |target| &target.flags);
        cell.flags.iter().filter(|flag| !of_target.contains(flag))
    }

    /// The configurations of one cell, the fastest first.
    pub(super) fn chart(&self, across: &Across<'_>) -> Option<Figure> {
        let mut cells: Vec<(&Configuration, &Cell, &Outcome)> = Vec::new();
        for ((one, cell), outcome) in across.cells.iter().zip(&across.outcomes) {
            if cell.iops > 0.0 {
                cells.push((one, cell, outcome));
            }
        }
        let of_all = cells.len();
        cells.sort_by(|one, other| other.1.iops.total_cmp(&one.1.iops));
        cells.truncate(BARS_MAX);
        let value = |(_, cell, outcome): &(&Configuration, &Cell, &Outcome)| {
            let ends = cell.iops_ci95.filter(|ends| ends.iter().all(|end| *end > 0.0));
            let ci95 = ends.and_then(|ends| {
                let [one, other] = ends.map(|end| across.value(end, cell.block_bytes));
                one.zip(other).map(|(one, other)| [one.min(other), one.max(other)])
            });
            let value = across.value(cell.iops, cell.block_bytes)?;
            Some(Value { value, ci95, note: outcome.durability.to_string() })
        };
        let mut note = "The fastest configuration first; the line is the 95 % interval. None is \
                        drawn where it is wider than the value."
            .to_owned();
        if of_all > cells.len() {
            note += &format!(" {} of {of_all} are drawn, the table has all.", cells.len());
        }
        let title = format!("{} by configuration", across.name);
        let chart = Chart::Bars(Bars {
            group_title: "configuration".to_owned(),
            groups: cells.iter().map(|(one, ..)| self.varied_levels(one)).collect(),
            value: ChartAxis::linear(across.quantity(), across.unit()),
            series: vec![BarSeries {
                values: cells.iter().map(value).collect(),
                ..BarSeries::default()
            }],
        });
        let id = slug(&format!("{} {title}", across.method));
        (cells.len() > 1).then_some(Figure { id, title, note, chart })
    }

    /// `ext4, off`: what tells a configuration from the others.
    fn varied_levels(&self, configuration: &Configuration) -> String {
        let varied = self.axes.varied();
        let levels = configuration.levels().filter(|(axis, _)| varied.contains(axis));
        let words = levels.map(|(axis, level)| match axis {
            Axis::Fs => level.to_owned(),
            _ if level.is_empty() => format!("{axis} default"),
            _ => format!("{axis} {level}"),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Every effect as a ratio of rates with its interval, a series a cell.
pub(super) fn effects_chart(varied: &[Axis], all: &[Across<'_>]) -> Option<Figure> {
    let found: Vec<Vec<Effect>> =
        all.iter().map(|across| effects(varied, &across.outcomes)).collect();
    let name = |effect: &Effect| {
        let level =
            |level: &str| if level.is_empty() { "default".to_owned() } else { level.to_owned() };
        format!("{} {} against {}", effect.axis, level(&effect.level), level(&effect.baseline))
    };
    let mut groups: Vec<String> = Vec::new();
    for effect in found.iter().flatten() {
        if !groups.contains(&name(effect)) {
            groups.push(name(effect));
        }
    }
    let series = all.iter().zip(&found).map(|(across, found)| {
        let value = |group: &String| {
            let effect = found.iter().find(|effect| name(effect) == *group)?;
            Some(Value { value: effect.ratio, ci95: effect.ci95, note: String::new() })
        };
        BarSeries {
            name: across.name.clone(),
            values: groups.iter().map(value).collect(),
            ..BarSeries::default()
        }
    });
    let chart = Chart::Bars(Bars {
        group_title: "setting".to_owned(),
        value: ChartAxis::log("rate over that with the first level", Unit::Ratio),
        series: series.collect(),
        groups: groups.clone(),
    });
    let note = "Right of 1 the setting makes it faster, everything else equal; an interval that \
                holds 1 does not tell.";
    let method = all.first().map_or("", |across| across.method);
    let (id, title) = (slug(&format!("effects {method}")), "What each setting does".to_owned());
    (!groups.is_empty()).then_some(Figure { id, title, note: note.to_owned(), chart })
}
