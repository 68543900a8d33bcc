//! The charts of a study: what it printed, and what the models say, side by side.
//!
//! ```text
//!   [[figure]] without series ---> one chart: printed | modelled, a bar or a line each
//!   [[figure]] with series ------> one chart: each series as printed, and modelled over it
//! ```

use crate::{
    Basis, Beside, Dossier, FigureFile, FigureKind, FigureScale, Follows, Models, Printed,
};
use report::chart::{
    Axis, BarSeries, Bars, Chart, Figure, Line, Lines, Point, Scale, Stroke, Unit, Value,
};

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Printed; in a table that drivelab adds, computed from what is printed.
    Theirs,
    /// Modelled.
    Ours,
}

/// The chart that one figure of the file stands for, where it has values.
pub fn chart(dossier: &Dossier, models: &Models, number: usize) -> Option<Figure> {
    let file = &dossier.file.figures[number];
    let drawing = Drawing { dossier, models, file, cells: &dossier.figures[number] };
    drawing.figure()
}

/// One line of a chart, as places over which it has values.
struct Series {
    name: String,
    /// Of what source, where the chart has the same series of two.
    source: &'static str,
    values: Vec<Option<Value>>,
}

struct Drawing<'d> {
    dossier: &'d Dossier,
    models: &'d Models,
    file: &'d FigureFile,
    cells: &'d [usize],
}

type Keys = Vec<Option<String>>;

impl Drawing<'_> {
    /// Printed and modelled in one chart. Where the file names no series the sources are those.
    fn figure(&self) -> Option<Figure> {
        let file = self.file;
        let mut series: Vec<Series> = Vec::new();
        for source in [Source::Theirs, Source::Ours] {
            for keys in self.distinct(&file.series) {
                let values = self.along(source, &keys);
                let (name, source) = (self.named(&keys, &file.series), self.name(source));
                series.push(match file.series.is_empty() {
                    true => Series { name: source.to_owned(), source: "", values },
                    false => Series { name, source, values },
                });
            }
        }
        series.retain(|series| series.values.iter().any(Option::is_some));
        let mut what: Vec<&str> = Vec::new();
        for one in &series {
            let word = if one.source.is_empty() { &one.name } else { one.source };
            if !what.contains(&word) {
                what.push(word);
            }
        }
        let printed = file.printed.as_ref().map_or(String::new(), |name| format!("{name}. "));
        let title = format!("{printed}{}: {}", file.title, what.join(" and "));
        if series.is_empty() {
            return None;
        }
        let chart = match file.kind {
            FigureKind::Bars => Chart::Bars(self.bars(series)),
            FigureKind::Lines => Chart::Lines(self.lines(series)),
        };
        Some(Figure { id: file.id.clone(), title, note: file.note.clone(), chart })
    }

    /// A place without any value takes no room: makers leave some rates out.
    fn bars(&self, mut series: Vec<Series>) -> Bars {
        let groups = self.distinct(&self.file.over);
        let has_value = |at: usize| series.iter().any(|series| series.values[at].is_some());
        let kept: Vec<usize> = (0..groups.len()).filter(|at| has_value(*at)).collect();
        for series in &mut series {
            series.values = kept.iter().map(|at| series.values[*at].clone()).collect();
        }
        Bars {
            group_title: self.file.over.join(", "),
            groups: kept.iter().map(|at| self.named(&groups[*at], &self.file.over)).collect(),
            value: self.axis(),
            series: series
                .into_iter()
                .map(|series| BarSeries {
                    name: series.name,
                    source: series.source.to_owned(),
                    values: series.values,
                })
                .collect(),
        }
    }

    fn lines(&self, series: Vec<Series>) -> Lines {
        let key = &self.file.over[0];
        let x = match key.as_str() {
            "block" => Axis::sizes("block size"),
            "load" => Axis::new("writes asked for a second", Unit::Number, Scale::Log),
            word => Axis::new(word, Unit::Number, Scale::Binary),
        };
        let places: Vec<f64> = self.distinct(&self.file.over).iter().map(place).collect();
        let line = |series: Series| Line {
            name: series.name,
            source: series.source.to_owned(),
            points: places
                .iter()
                .zip(series.values)
                .filter_map(|(&x, value)| Some(Point { x, y: value? }))
                .collect(),
            stroke: Stroke::Marked,
        };
        Lines {
            x,
            y: self.axis(),
            series: series.into_iter().map(line).collect(),
            bands: Vec::new(),
        }
    }

    fn axis(&self) -> Axis {
        let first = &self.dossier.cells[self.cells[0]];
        let metric = first.coordinate("metric").unwrap_or_default();
        let unit = match (&self.file.unit, metric) {
            (Some(text), _) => Unit::Other(text.clone()),
            (None, "iops") => Unit::Iops,
            (None, "percent") => Unit::Percent,
            (None, metric) => Unit::Other(self.dossier.word("metric", metric)),
        };
        let title = match (&self.file.measure, &unit) {
            (Some(text), _) => text.clone(),
            (None, Unit::Iops) => "rate".to_owned(),
            (None, unit) => unit.name().to_owned(),
        };
        match self.file.scale {
            FigureScale::Linear => Axis::linear(&title, unit),
            FigureScale::Log => Axis::log(&title, unit),
        }
    }

    /// What a source is called here.
    fn name(&self, source: Source) -> &'static str {
        let table = self.dossier.cells[self.cells[0]].coordinate("table");
        let table = table.and_then(|id| self.dossier.file.table(id));
        let (beside, follows) = (table.map(|table| table.beside), table.map(|table| table.follows));
        let is_added =
            || self.cells.iter().all(|at| self.dossier.cells[*at].printed == Printed::Added);
        match (source, beside) {
            (Source::Theirs, _) if is_added() => follows.map_or("computed", Follows::name),
            (Source::Theirs, _) => "published",
            (Source::Ours, Some(Beside::Ours)) => "ours",
            (Source::Ours, _) => self.basis(),
        }
    }

    /// Whether its models were fitted on what is printed, predict it, or some the one and some the
    /// other.
    fn basis(&self) -> &'static str {
        let modelled = self.cells.iter().filter(|at| self.value(**at, Source::Ours).is_some());
        let is_fitted = |at: &usize| matches!(self.models.bases[*at], Some(Basis::Fitted(_)));
        let (fitted, predicted): (Vec<usize>, Vec<usize>) = modelled.copied().partition(is_fitted);
        match (fitted.is_empty(), predicted.is_empty()) {
            (false, true) => "fitted",
            (true, false) => "predicted",
            _ => "modelled",
        }
    }

    /// The values of a source over all places, of the series with these keys.
    fn along(&self, source: Source, series: &[Option<String>]) -> Vec<Option<Value>> {
        let of_series: Vec<usize> = self
            .cells
            .iter()
            .copied()
            .filter(|at| self.keys(*at, &self.file.series) == series)
            .collect();
        let value = |over: &Keys| {
            let at = of_series.iter().find(|at| self.keys(**at, &self.file.over) == *over)?;
            self.value(*at, source)
        };
        self.distinct(&self.file.over).iter().map(value).collect()
    }

    fn value(&self, at: usize, source: Source) -> Option<Value> {
        let dossier = self.dossier;
        let value = match (source, &dossier.cells[at].printed) {
            (Source::Theirs, Printed::Figure(number, _)) => *number,
            (Source::Theirs, Printed::Added) => dossier.computed[at]?,
            (Source::Theirs, _) => return None,
            (Source::Ours, _) => {
                let value = *self.models.values[at].as_ref()?.as_ref().ok()?;
                // Nothing in it was modelled then.
                let is_derived = self.models.bases[at].is_none();
                if is_derived && dossier.computed[at] == Some(value) {
                    return None;
                }
                value
            }
        };
        let notes = dossier.notes[at].iter().filter(|_| source == Source::Theirs);
        let notes: Vec<&str> = notes.map(|note| dossier.file.notes[*note].text.as_str()).collect();
        Some(Value { value, ci95: None, note: notes.join(" ") })
    }

    fn keys(&self, at: usize, of: &[String]) -> Keys {
        of.iter().map(|key| self.dossier.cells[at].at.get(key).cloned()).collect()
    }

    /// The values of these coordinates, by the first of them, then the next: sizes and counts
    /// ascending, others in the order in which they first come.
    fn distinct(&self, of: &[String]) -> Vec<Keys> {
        let mut seen: Vec<Keys> = Vec::new();
        for at in self.cells {
            let keys = self.keys(*at, of);
            if !seen.contains(&keys) {
                seen.push(keys);
            }
        }
        let came = seen.clone();
        let rank = |keys: &Keys| {
            let one = |(at, (value, key)): (usize, (&Option<String>, &String))| {
                let counted = ["block", "threads"].contains(&key.as_str());
                let number = value.as_ref().and_then(|text| text.parse().ok());
                let first = came.iter().position(|other| other[at] == *value);
                number.filter(|_| counted).or(first)
            };
            keys.iter().zip(of).enumerate().map(one).collect::<Vec<Option<usize>>>()
        };
        seen.sort_by_key(rank);
        seen
    }

    fn named(&self, keys: &Keys, of: &[String]) -> String {
        let one = |(value, key): (&Option<String>, &String)| {
            let word = self.dossier.word(key, value.as_ref()?);
            Some(match (key.as_str(), word.as_str()) {
                ("threads", "1") => "1 thread".to_owned(),
                ("threads", _) => format!("{word} threads"),
                _ => word,
            })
        };
        keys.iter().zip(of).filter_map(one).collect::<Vec<_>>().join(", ")
    }
}

/// A size or a count as a number.
fn place(keys: &Keys) -> f64 {
    let number = keys.iter().flatten().next().and_then(|text| text.parse().ok());
    number.expect("sizes and counts are numbers: the study's file was checked")
}
