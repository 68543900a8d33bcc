//! Charts drawn: plain data in, SVG text out. The same drawing stands alone in a file and inside a page; colours are
//! classes, so that a page can change them for the dark.

mod bars;
mod canvas;
mod frame;
mod heat;
mod lines;
mod mark;
mod scale;
mod style;
mod surface;

pub use style::{CSS, CSS_DARK, PAGE_COLORS, SERIES_COLORS};

use crate::chart::{Bars, Chart, Figure, Lines, Scale};
use canvas::Canvas;
use mark::Swatch;

/// One way to draw a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// Values in equal steps.
    Linear,
    /// Values in equal ratios.
    Log,
    /// A field for each value, coloured.
    HeatMap,
    /// A landscape seen from the side.
    Surface,
}

impl View {
    /// In file names and attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log => "log",
            Self::HeatMap => "heat-map",
            Self::Surface => "surface",
        }
    }

    /// On a button.
    pub fn title(self) -> &'static str {
        match self {
            Self::Linear => "Linear",
            Self::Log => "Logarithmic",
            Self::HeatMap => "Heat map",
            Self::Surface => "3-D surface",
        }
    }
}

/// Where the names of the series stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Legend {
    /// In the drawing.
    Inside,
    /// Beside it, in the hands of whoever shows the drawing.
    Outside,
}

/// The ways in which a figure can be drawn; the best one first.
pub fn views(figure: &Figure) -> Vec<View> {
    match &figure.chart {
        Chart::Grid(grid) if grid.xs.len() > 1 && grid.ys.len() > 1 => {
            vec![View::HeatMap, View::Surface]
        }
        Chart::Grid(_) => vec![View::HeatMap],
        Chart::Bars(Bars { value, .. }) => by_scale(value.scale, bar_values_are_positive(figure)),
        Chart::Lines(Lines { y, .. }) => by_scale(y.scale, bar_values_are_positive(figure)),
    }
}

fn by_scale(preferred: Scale, is_positive: bool) -> Vec<View> {
    match (preferred, is_positive) {
        (_, false) => vec![View::Linear],
        (Scale::Linear, true) => vec![View::Linear, View::Log],
        (_, true) => vec![View::Log, View::Linear],
    }
}

/// Whether a logarithmic axis would show everything.
fn bar_values_are_positive(figure: &Figure) -> bool {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    match &figure.chart {
        Chart::Bars(bars) => bars
            .series
            .iter()
            .flat_map(|series| &series.values)
            .flatten()
            .all(|v| positive(v.value)),
        Chart::Lines(lines) => {
            lines.series.iter().flat_map(|line| &line.points).all(|point| positive(point.y.value))
        }
        Chart::Grid(_) => false,
    }
}

/// The drawing as an `<svg>` element for a page that has [`CSS`]. A surface is left to the page's script, which turns it.
pub fn element(figure: &Figure, view: View, legend: Legend) -> String {
    let canvas = match (&figure.chart, view) {
        (Chart::Grid(grid), View::Surface) => surface::stage(grid),
        _ => canvas(figure, view, legend),
    };
    canvas.element(figure, view)
}

/// The drawing as a file of its own: title, legend, colours for light and dark.
pub fn file(figure: &Figure, view: View) -> String {
    canvas(figure, view, Legend::Inside).file(figure)
}

/// The names of a figure's series, each with its swatch as an `<svg>` element: for a legend outside the drawing. Empty
/// where there is nothing to tell apart.
pub fn legend(figure: &Figure) -> Vec<(String, String)> {
    let entries: Vec<(&str, Swatch)> = match &figure.chart {
        Chart::Bars(bars) => {
            bars.series.iter().map(|series| (series.name.as_str(), Swatch::Letter)).collect()
        }
        Chart::Lines(lines) => lines
            .series
            .iter()
            .map(|line| (line.name.as_str(), Swatch::Line(line.stroke)))
            .collect(),
        Chart::Grid(_) => Vec::new(),
    };
    if entries.len() < 2 {
        return Vec::new();
    }
    let swatch = |(series, (name, swatch)): (usize, &(&str, Swatch))| {
        ((*name).to_owned(), mark::swatch_element(series, *swatch))
    };
    entries.iter().enumerate().map(swatch).collect()
}

fn canvas(figure: &Figure, view: View, legend: Legend) -> Canvas {
    match &figure.chart {
        Chart::Bars(bars) => bars::draw(bars, view, legend),
        Chart::Lines(lines) => lines::draw(lines, view, legend),
        Chart::Grid(grid) if view == View::Surface => surface::draw(grid),
        Chart::Grid(grid) => heat::draw(grid),
    }
}
