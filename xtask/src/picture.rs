//! The README's picture: a real run's table, drawn as a terminal shows it.

use crate::check::root;
use anyhow::{Context, Result, ensure};
use std::{env, fs, path::Path, process::Command};

const LINE_PX: usize = 18;
const CHARACTER_PX: f64 = 8.43;
const MARGIN_PX: usize = 16;
const COLUMNS: usize = 80;

/// Draws `docs/reference/example-run.json` into `docs/picture.svg`.
pub fn run() -> Result<()> {
    let root = root();
    let text = shown(&root)?;
    let path = root.join("docs/picture.svg");
    fs::write(&path, svg(&text)).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// What `drivelab show` prints of the example, as far as the end of its table.
fn shown(root: &Path) -> Result<String> {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .args([
            "run",
            "--quiet",
            "--package",
            "drivelab",
            "--",
            "show",
            "docs/reference/example-run.json",
        ])
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL")
        .current_dir(root)
        .output()
        .context("cargo could not be started")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "drivelab show: {complaint}");
    let text = String::from_utf8(output.stdout).context("the table is no text")?;
    Ok(text.trim_end().to_owned())
}

fn svg(text: &str) -> String {
    let lines: Vec<&str> = ["$ drivelab run .", ""].into_iter().chain(text.lines()).collect();
    let width = (COLUMNS as f64 * CHARACTER_PX) as usize + 2 * MARGIN_PX;
    let height = lines.len() * LINE_PX + 2 * MARGIN_PX;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#14181f\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"14\" fill=\"#d7dce4\">\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let y = MARGIN_PX + (number + 1) * LINE_PX - 4;
        let color = color(line);
        let line = escaped(line);
        // The length is set, so that the columns stand whatever font there is.
        let length = line_px(lines[number]);
        if length > 0.0 {
            picture += &format!(
                "<text x=\"{MARGIN_PX}\" y=\"{y}\"{color} textLength=\"{length:.1}\" \
                 lengthAdjust=\"spacingAndGlyphs\">{line}</text>\n"
            );
        }
    }
    picture + "</g>\n</svg>\n"
}

fn line_px(line: &str) -> f64 {
    line.chars().count() as f64 * CHARACTER_PX
}

/// What leads the eye: the command, the head of the table, the numbers; the rest is dimmer.
fn color(line: &str) -> &'static str {
    let is_cell = line.contains(" MB/s ") || line.contains(" IOPS ");
    match line {
        line if line.starts_with('$') => " fill=\"#8bd49c\"",
        line if line.starts_with("cell ") => " fill=\"#7fb4ff\"",
        _ if is_cell => " fill=\"#ffffff\"",
        _ => " fill=\"#9aa4b2\"",
    }
}

/// Plain spaces would be drawn as one.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}
