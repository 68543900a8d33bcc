//! Charts drawn: plain data in, SVG text out. The same drawing stands alone in a file and inside a
//! page; colours are classes, so that a page can change them for the dark.

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

use crate::chart::{Chart, Figure, Scale};
use canvas::Canvas;
use mark::Key;

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
        Chart::Bars(_) | Chart::Lines(_) => match (figure.scale(), all_are_positive(figure)) {
            (_, false) => vec![View::Linear],
            (Scale::Linear, true) => vec![View::Linear, View::Log],
            (_, true) => vec![View::Log, View::Linear],
        },
    }
}

/// Whether a logarithmic axis would show everything.
fn all_are_positive(figure: &Figure) -> bool {
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

/// The drawing as an `<svg>` element for a page that has [`CSS`]. A surface is left to the page's
/// script, which turns it.
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

/// The drawings of a figure as files, by their names: the best one, and the surface of a grid.
/// Linear or logarithmic is a matter of taste; a surface shows something else.
pub fn files(figure: &Figure) -> Vec<(String, String)> {
    let views = views(figure);
    let first = views.first().copied();
    let shown = views.into_iter().filter(|view| Some(*view) == first || *view == View::Surface);
    shown
        .map(|view| {
            let name = match view {
                View::Surface => format!("{}-surface.svg", figure.id),
                _ => format!("{}.svg", figure.id),
            };
            (name, file(figure, view))
        })
        .collect()
}

/// An entry of a legend outside the drawing.
#[derive(Clone, PartialEq, Debug)]
pub struct LegendEntry {
    /// The `data-s` of the marks that it stands for; none for what is said of all series.
    pub series: Option<usize>,
    /// In words.
    pub name: String,
    /// How it is drawn, as an `<svg>` element.
    pub swatch: String,
}

/// A figure's series, and its sources where there are two. Empty where there is nothing to tell
/// apart.
pub fn legend(figure: &Figure) -> Vec<LegendEntry> {
    let entry = |key: Key| LegendEntry {
        series: key.series,
        swatch: mark::swatch_element(&key),
        name: key.name,
    };
    mark::keys(&figure.chart).into_iter().map(entry).collect()
}

fn canvas(figure: &Figure, view: View, legend: Legend) -> Canvas {
    let keys = match legend {
        Legend::Inside => mark::keys(&figure.chart),
        Legend::Outside => Vec::new(),
    };
    match &figure.chart {
        Chart::Bars(bars) => bars::draw(bars, keys, view),
        Chart::Lines(lines) => lines::draw(lines, keys, view),
        Chart::Grid(grid) if view == View::Surface => surface::draw(grid),
        Chart::Grid(grid) => heat::draw(grid),
    }
}
