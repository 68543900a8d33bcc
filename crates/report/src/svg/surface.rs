//! Values over two quantities as a landscape: drawn here for a file; in a page the script draws the
//! same projection from the numbers in `data-surface`, and turns it.
//!
//! ```text
//!   index (i, j), height h  ->  centred cube  ->  turned by yaw  ->  tilted by pitch  ->  page
//! ```

use super::{
    canvas::{Anchor, Canvas, WIDTH},
    heat::{Shades, scale_of_colors},
    lines::value_words,
    style,
};
use crate::{
    chart::Grid,
    markup::{Escaped, Px},
};

const HEIGHT: f64 = 320.0;
/// The view that a page opens with, radians.
const YAW: f64 = -0.65;
const PITCH: f64 = 0.5;
/// Pixels a unit of the cube, whose sides are 2 and whose height is 1.1.
const SIZE: f64 = 135.0;
const RISE: f64 = 1.1;

/// The eye looks from above the near corner; far things are drawn first.
struct Projection {
    columns: usize,
    rows: usize,
}

impl Projection {
    /// From indexes and a height of 0 to 1 to the page, and the distance from the eye.
    fn place(&self, i: f64, j: f64, height: f64) -> (f64, f64, f64) {
        let centred = |at: f64, count: usize| at / (count.max(2) - 1) as f64 * 2.0 - 1.0;
        let (x, y) = (centred(i, self.columns), centred(j, self.rows));
        let (turned_x, turned_y) = (x * YAW.cos() - y * YAW.sin(), x * YAW.sin() + y * YAW.cos());
        let up = height * RISE - RISE / 2.0;
        let across = WIDTH / 2.0 + turned_x * SIZE;
        let down = HEIGHT / 2.0 + turned_y * PITCH.sin() * SIZE - up * PITCH.cos() * SIZE;
        (across, down, turned_y * PITCH.cos() + up * PITCH.sin())
    }
}

/// Where the script draws, and what.
pub(super) fn stage(grid: &Grid) -> Canvas {
    let shades = Shades::of(grid);
    let mut canvas = ground(grid, &shades);
    canvas.attributes = format!(" data-surface=\"{}\"", Escaped(numbers(grid, &shades)));
    canvas.open("turn");
    canvas.close();
    canvas
}

fn ground(grid: &Grid, shades: &Shades) -> Canvas {
    let mut canvas = Canvas::new(HEIGHT + 66.0);
    let place = (24.0, WIDTH - 24.0, HEIGHT + 28.0);
    scale_of_colors(&mut canvas, grid, shades, place, "; height and colours");
    canvas
}

pub(super) fn draw(grid: &Grid) -> Canvas {
    let shades = Shades::of(grid);
    let projection = Projection { columns: grid.xs.len(), rows: grid.ys.len() };
    let mut canvas = ground(grid, &shades);
    canvas.open("turn");
    floor(&mut canvas, grid, &projection);
    for (path, share) in faces(grid, &shades, &projection) {
        let color = style::hex(style::viridis(share));
        canvas.filled(&path, &color, " stroke=\"#0004\" stroke-width=\"0.7\"");
    }
    for (j, row) in grid.values.iter().enumerate() {
        for (i, value) in row.iter().enumerate() {
            let Some(value) = value.as_ref().filter(|value| value.value.is_finite()) else {
                continue;
            };
            let (x, y, _) = projection.place(i as f64, j as f64, shades.share(value.value));
            canvas.mark(&words(grid, i, j), |canvas| dot(canvas, x, y));
        }
    }
    canvas.close();
    canvas
}

fn dot(canvas: &mut Canvas, x: f64, y: f64) {
    let path = format!("M{} {}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0Z", Px(x - 2.5), Px(y));
    canvas.filled(&path, "#1c2330", " stroke=\"#fff\" stroke-width=\"0.8\"");
}

fn words(grid: &Grid, i: usize, j: usize) -> String {
    let value = grid.values[j][i]
        .as_ref()
        .map_or_else(String::new, |value| value_words(&grid.value, value));
    let [x, y] = [grid.x.unit.text(grid.xs[i]), grid.y.unit.text(grid.ys[j])];
    format!("{} {y}, {} {x}: {value}", grid.y.title, grid.x.title)
}

/// Every face between four values that are there, the farthest first.
fn faces(grid: &Grid, shades: &Shades, projection: &Projection) -> Vec<(String, f64)> {
    let share = |i: usize, j: usize| {
        let value = grid.values.get(j)?.get(i)?.as_ref()?.value;
        value.is_finite().then(|| shades.share(value))
    };
    let mut faces = Vec::new();
    for j in 0..grid.ys.len().saturating_sub(1) {
        for i in 0..grid.xs.len().saturating_sub(1) {
            let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
            let Some(shares) =
                corners.map(|(i, j)| share(i, j)).into_iter().collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let places: Vec<_> = corners
                .iter()
                .zip(&shares)
                .map(|((i, j), share)| projection.place(*i as f64, *j as f64, *share))
                .collect();
            let path: Vec<String> =
                places.iter().map(|(x, y, _)| format!("{} {}", Px(*x), Px(*y))).collect();
            let distance: f64 = places.iter().map(|(_, _, distance)| distance).sum();
            let mean = shares.iter().sum::<f64>() / 4.0;
            faces.push((distance, format!("M{}Z", path.join("L")), mean));
        }
    }
    faces.sort_by(|one, other| one.0.total_cmp(&other.0));
    faces.into_iter().map(|(_, path, share)| (path, share)).collect()
}

/// The ground with its edges, and labels along the two near ones, as the script places them.
fn floor(canvas: &mut Canvas, grid: &Grid, projection: &Projection) {
    let (last_i, last_j) = ((grid.xs.len().max(2) - 1) as f64, (grid.ys.len().max(2) - 1) as f64);
    let corner = |i: f64, j: f64, height: f64| {
        let (x, y, _) = projection.place(i, j, height);
        format!("{} {}", Px(x), Px(y))
    };
    let ground: Vec<String> = [(0.0, 0.0), (last_i, 0.0), (last_i, last_j), (0.0, last_j)]
        .map(|(i, j)| corner(i, j, 0.0))
        .into();
    canvas.path("x", &format!("M{}Z", ground.join("L")), "");
    // The edges nearest to the eye at this yaw are the last row's and the first column's.
    let mut label = |i: f64, j: f64, text: &str| {
        let (x, y, _) = projection.place(i, j, 0.0);
        canvas.text(x, y + 10.0, "k v", Anchor::Middle, text);
    };
    for (i, x) in grid.xs.iter().enumerate().step_by(grid.xs.len().div_ceil(8).max(1)) {
        label(i as f64, last_j * 1.14, &grid.x.unit.text(*x));
    }
    for (j, y) in grid.ys.iter().enumerate().step_by(grid.ys.len().div_ceil(8).max(1)) {
        label(-0.14 * last_i, j as f64, &grid.y.unit.text(*y));
    }
    label(last_i / 2.0, last_j * 1.38, &grid.x.title);
    label(-0.38 * last_i, last_j / 2.0, &grid.y.title);
}

/// What the script needs to draw it again from another side, as JSON.
fn numbers(grid: &Grid, shades: &Shades) -> String {
    let list = |values: &mut dyn Iterator<Item = String>| {
        format!("[{}]", values.collect::<Vec<_>>().join(","))
    };
    let quoted = |text: String| {
        format!("\"{}\"", text.replace(['\\', '"'], "'").replace(char::is_control, " "))
    };
    let shares = list(&mut grid.values.iter().map(|row| {
        list(&mut row.iter().map(|value| match value {
            Some(value) if value.value.is_finite() => format!("{:.4}", shades.share(value.value)),
            _ => "null".to_owned(),
        }))
    }));
    format!(
        "{{\"x\":{},\"y\":{},\"xt\":{},\"yt\":{},\"z\":{shares},\"yaw\":{YAW},\"pitch\":{PITCH},\"size\":{SIZE},\
         \"rise\":{RISE},\"w\":{WIDTH},\"h\":{HEIGHT}}}",
        list(&mut grid.xs.iter().map(|x| quoted(grid.x.unit.text(*x)))),
        list(&mut grid.ys.iter().map(|y| quoted(grid.y.unit.text(*y)))),
        quoted(grid.x.title.clone()),
        quoted(grid.y.title.clone()),
    )
}
