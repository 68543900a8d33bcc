//! What every report must be in a browser, whatever it reports.

use super::{Browser, Scheme};
use crate::common::Bench;
use serde_json::json;
use std::{env, fs, path::Path};

/// Both ends of what people read reports on: a telephone, and a window on a large screen.
const WIDTHS: [u32; 2] = [390, 1400];
/// The bound for one report.
const PAGE_BYTES_MAX: u64 = 3_000_000;
/// From asking to loaded, on a machine that is busy with other things. The goal, 2 s, is printed
/// and looked at.
const OPEN_MS_MAX: f64 = 20_000.0;

/// What is wrong with the charts as they stand in the window: each is drawn, inside its frame, with
/// a mark for every value of its table.
const CHARTS: &str = "(() => {
  const wrong = [];
  for (const figure of document.querySelectorAll('figure')) {
    const plot = figure.querySelector('.plot:not([hidden])'), svg = plot && plot.querySelector('svg');
    const say = text => wrong.push(figure.id + ': ' + text);
    if (!svg) { say('no drawing'); continue; }
    const box = svg.getBoundingClientRect();
    if (box.width < 200 || box.height < 40) say('drawn on ' + box.width + ' x ' + box.height);
    const marks = [...svg.querySelectorAll('.m')].length;
    const points = [...svg.querySelectorAll('path[data-x]')];
    const onPaths = points.reduce((sum, path) => sum + (path.getAttribute('d').match(/[ML]/g) || []).length, 0);
    const listed = points.reduce((sum, path) => sum + path.dataset.x.split('|').length, 0);
    if (marks + onPaths !== Number(figure.dataset.values)) say((marks + onPaths) + ' marks of ' + figure.dataset.values + ' values');
    if (listed !== onPaths) say(listed + ' labels of ' + onPaths + ' points');
  }
  return wrong;
})()";

/// Scrolls to the first value of the chart `plot`; where it is in the window. Of a line it is its
/// beginning, which in a narrow window may lie in what is scrolled away when the drawing's middle
/// is in sight: a distribution of latencies began there, and no value was shown.
const FIRST_VALUE: &str = "plot => {
  const svg = plot.querySelector('svg'), mark = svg.querySelector('.m');
  (mark || svg).scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  if (mark) {
    const box = mark.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }
  const start = svg.querySelector('path[data-x]').getPointAtLength(0);
  const point = () => new DOMPoint(start.x, start.y).matrixTransform(svg.getScreenCTM());
  const box = plot.getBoundingClientRect();
  plot.scrollLeft += point().x - (box.x + box.width / 2);
  return [point().x, point().y];
}";

/// What is shown beside the mouse or the chosen value, when it is a value of the chart's table: all
/// numbers of a row, or of a grid one of them.
const SHOWN: &str = "plot => {
  const tip = document.getElementById('tip');
  if (tip.hidden) return 'nothing is shown';
  const isGrid = plot.dataset.v === 'heat-map' || plot.dataset.v === 'surface';
  const isThere = cell => tip.textContent.includes(cell.textContent);
  const rows = [...plot.closest('figure').querySelector('tbody').rows];
  const found = rows.some(row => {
    const cells = [...row.querySelectorAll('[data-v]')];
    return cells.length && (isGrid ? cells.some(isThere) : cells.every(isThere));
  });
  return found ? '' : 'not in the table: ' + tip.textContent;
}";

/// What a reader who does not see the page misses: names of drawings, tables, buttons and regions,
/// the order of headings.
const UNNAMED: &str = "(() => {
  const wrong = [], name = element => element.getAttribute('aria-label') || element.textContent.trim();
  let level = 0;
  for (const heading of document.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) wrong.push('h' + own + ' after h' + level + ': ' + heading.textContent);
    level = own;
  }
  if (document.querySelectorAll('h1').length !== 1) wrong.push('more or less than one h1');
  for (const svg of document.querySelectorAll('svg:not([aria-hidden=true])')) {
    const desc = svg.querySelector('desc');
    if (svg.getAttribute('role') !== 'img' || !svg.getAttribute('aria-label') || !desc || !desc.textContent) wrong.push('a drawing without role, name or description');
  }
  for (const table of document.querySelectorAll('table')) {
    const of = table.caption && table.caption.textContent;
    if (!of) wrong.push('a table without a caption');
    if ([...table.tHead.rows[0].cells].some(cell => cell.tagName !== 'TH' || cell.scope !== 'col')) wrong.push('a head without scope: ' + of);
    if ([...table.tBodies[0].rows].some(row => row.cells[0].tagName !== 'TH' || row.cells[0].scope !== 'row')) wrong.push('a row without a head: ' + of);
  }
  for (const element of document.querySelectorAll('button,a,[role=region],[role=group],summary')) if (!name(element)) wrong.push('without a name: ' + element.outerHTML);
  for (const region of document.querySelectorAll('.scroll,.plot,pre')) if (region.tabIndex !== 0) wrong.push('cannot be scrolled by keys: ' + region.className);
  const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
  if (new Set(ids).size !== ids.length) wrong.push('two elements with one id');
  if (!document.documentElement.lang || !document.title) wrong.push('no language or no title');
  return wrong;
})()";

/// Opens the file `name` of the bench and reads it; the page stays open.
pub fn reads_file(browser: &mut Browser, bench: &Bench, name: &str) {
    let page = bench.path(name);
    let bytes = fs::metadata(&page).expect("a page").len();
    println!("{name}: {bytes} bytes");
    assert!(bytes < PAGE_BYTES_MAX, "{name} has {bytes} bytes");
    reads(browser, &format!("file://{}", page.display()));
}

/// Bars, points and fields in the charts whose title begins with one of `titles`, as they are
/// drawn.
pub fn marks(browser: &mut Browser, titles: &[&str]) -> usize {
    let counted = browser.number(&format!(
        "[...document.querySelectorAll('figure')]
          .filter(figure => {}.some(title => figure.querySelector('h3').textContent.startsWith(title)))
          .map(figure => figure.querySelector('.plot:not([hidden]) svg'))
          .reduce((sum, svg) => sum + svg.querySelectorAll('.m').length
            + [...svg.querySelectorAll('path[data-x]')].reduce((sum, path) => sum + path.getAttribute('d').match(/[ML]/g).length, 0), 0)",
        json!(titles)
    ));
    counted as usize
}

/// What reaches beyond the window on its right, and does not scroll by itself, each with the
/// beginning of its text.
const WIDEST: &str = "[...document.querySelectorAll('body *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1)
  .filter(one => { for (let above = one.parentElement; above; above = above.parentElement) {
    if (getComputedStyle(above).overflowX != 'visible') return false; } return true; })
  .map(one => `${one.tagName}.${one.getAttribute('class')} ${one.textContent.slice(0, 40)}`)
  .slice(0, 12)";

/// Opens a report and reads it, light and dark, on narrow and wide windows: every chart is drawn
/// and answers to mouse and keys, nothing is wider than the window, nothing complains, nothing is
/// asked of anybody.
pub fn reads(browser: &mut Browser, url: &str) {
    for width in WIDTHS {
        for scheme in [Scheme::Light, Scheme::Dark] {
            browser.window(width, 900);
            browser.scheme(scheme);
            browser.open(url);
            let case = format!("{url} {width} {scheme:?}");
            let took = browser.number("performance.getEntriesByType('navigation')[0].loadEventEnd");
            println!("{case}: {took:.0} ms");
            assert!(took < OPEN_MS_MAX, "{case}: {took} ms");
            keep_picture(browser, width, scheme);
            assert_eq!(browser.value(CHARTS).to_string(), "[]", "{case}");
            assert_eq!(browser.value(UNNAMED).to_string(), "[]", "{case}");
            let over = browser.number("document.documentElement.scrollWidth - innerWidth");
            let widest = browser.value(WIDEST);
            assert!(over <= 0.0, "{case}: {over} pixels wider than the window: {widest}");
            every_chart_answers(browser, &case);
            assert_eq!(browser.complaints(), [""; 0], "{case}");
            assert_eq!(browser.requests(), [""; 0], "{case}");
        }
    }
}

fn every_chart_answers(browser: &mut Browser, case: &str) {
    let plots = browser.number("document.querySelectorAll('.plot:not([hidden])').length");
    assert!(plots > 0.0, "{case}: no chart");
    for plot in 0..plots as usize {
        let on = format!("document.querySelectorAll('.plot:not([hidden])')[{plot}]");
        browser.value(&format!("{on}.focus()"));
        browser.press("End");
        let by_key = browser.text(&format!("({SHOWN})({on})"));
        assert_eq!(by_key, "", "{case}: chart {plot} by keyboard");
        browser.press("Escape");
        let place = browser.value(&format!("({FIRST_VALUE})({on})"));
        let [x, y] = [0, 1].map(|at| place[at].as_f64().expect("a place"));
        browser.point_at(x, y);
        let by_mouse = browser.text(&format!("({SHOWN})({on})"));
        assert_eq!(by_mouse, "", "{case}: chart {plot} by pointing at {x}, {y}");
        browser.point_at(0.0, 0.0);
    }
}

/// For eyes: the whole page as a PNG in `DRIVELAB_PICTURES`.
fn keep_picture(browser: &mut Browser, width: u32, scheme: Scheme) {
    let Some(directory) = env::var_os("DRIVELAB_PICTURES") else { return };
    let name = browser.text("location.pathname.split('/').pop()");
    let scheme = format!("{scheme:?}").to_lowercase();
    browser.picture(&Path::new(&directory).join(format!("{name}-{width}-{scheme}.png")));
}
