//! `drivelab web` in a reader's browser.

use crate::{
    common::{
        Bench,
        browser::{Browser, Scheme},
        many_reads,
    },
    web::{Web, keep},
};
use std::path::Path;

/// The page's own complaints, and requests to anywhere but the server.
fn assert_content(browser: &mut Browser, web: &Web) {
    let complaints = browser.complaints().to_vec();
    assert!(complaints.is_empty(), "{complaints:?}");
    let own = format!("\"http://{}/", web.address);
    let others: Vec<String> =
        browser.requests().iter().filter(|url| !url.starts_with(&own)).cloned().collect();
    assert!(others.iter().all(|url| url.starts_with("\"data:")), "{others:?}");
    let (wide, room) =
        (browser.number("document.documentElement.scrollWidth"), browser.number("innerWidth"));
    assert!(wide <= room, "{wide} pixels in a window of {room}");
}

/// Text outside drawings whose contrast is under 4.5 to 1 (WCAG 2.2, 1.4.3); what is disabled does
/// not count.
const FAINT: &str = "(() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const linear = part => (part /= 255) <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4;
  const luminance = color => .2126 * linear(color[0]) + .7152 * linear(color[1]) + .0722 * linear(color[2]);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = parts(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const has_text = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  const faint = [];
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('svg, script, :disabled, [hidden]') || !has_text(element) || !element.getClientRects().length) continue;
    const [one, other] = [parts(getComputedStyle(element).color), behind(element)].map(luminance).sort((a, b) => b - a);
    const ratio = (one + .05) / (other + .05);
    if (ratio < 4.5) faint.push(element.tagName + ' ' + element.className + ': ' + element.textContent.slice(0, 30) + ' ' + ratio);
  }
  return faint.slice(0, 5);
})()";

/// Fields and tables that a screen reader has no name for, ids that are given twice, headings that
/// leave one out.
const NAMELESS: &str = "(() => {
  const wrong = [];
  for (const field of document.querySelectorAll('input, select, button, a')) {
    const named = field.ariaLabel || field.labels && field.labels.length || field.textContent.trim();
    if (!named) wrong.push(field.outerHTML.slice(0, 80));
  }
  const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
  wrong.push(...ids.filter((id, at) => ids.indexOf(id) !== at));
  for (const table of document.querySelectorAll('table')) if (!table.caption) wrong.push('a table without a caption');
  let last = 0;
  for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) wrong.push(heading.outerHTML);
    last = level;
  }
  return wrong;
})()";

/// Widths and colours of readers; `DRIVELAB_PICTURES=DIR` keeps what they see.
fn in_every_window(browser: &mut Browser, web: &Web, name: &str) {
    for (width, scheme, word) in [
        (390, Scheme::Dark, "dark"),
        (1400, Scheme::Dark, "dark"),
        (390, Scheme::Light, "light"),
        (1400, Scheme::Light, "light"),
    ] {
        browser.window(width, 900);
        browser.scheme(scheme);
        assert_content(browser, web);
        let faint = browser.value(FAINT);
        assert_eq!(faint, serde_json::json!([]), "{name}, {width} px, {word}: under 4.5 to 1");
        let nameless = browser.value(NAMELESS);
        assert_eq!(nameless, serde_json::json!([]), "{name}: fields without a name");
        if let Some(directory) = std::env::var_os("DRIVELAB_PICTURES") {
            browser.picture(&Path::new(&directory).join(format!("web-{name}-{width}-{word}.png")));
        }
    }
}

/// A thousand runs, of which a few have labels and names as nobody would choose them.
fn keep_a_thousand(bench: &Bench) {
    keep(bench, 1000, |number, record| {
        if number % 3 == 0 {
            record.labels.insert("kernel".to_owned(), "6.1".to_owned());
        }
        if number == 999 {
            record.labels.insert("long".to_owned(), "x".repeat(400));
            record.targets[0].text = format!("/{}", "y".repeat(300));
            record.method.name = "z".repeat(80);
        }
        if number == 640 {
            record
                .labels
                .insert("label".to_owned(), "<script>document.title='owned'</script>".to_owned());
        }
    });
}

/// By the keyboard alone: into the search, a word, Enter; then the one run found is chosen.
fn search_and_choose(browser: &mut Browser, word: &str, id: u32) {
    browser.value("document.getElementById('q').focus()");
    browser.value("document.getElementById('q').select()");
    browser.write(word);
    browser.value("void (window.here = true)");
    browser.press("Enter");
    // A key that came before the page's script was ready chose nothing.
    browser.wait_until("!window.here && document.readyState === 'complete'");
    let found = browser
        .value("[...document.querySelectorAll('#runs .labels')].map(list => list.textContent)");
    assert!(found.as_array().is_some_and(|found| !found.is_empty()), "{word}");
    assert_eq!(
        browser.number("document.querySelectorAll('#runs tbody tr').length"),
        1.0,
        "{found}"
    );
    browser.value("document.querySelector('#runs input').focus()");
    browser.press(" ");
    let is_chosen = format!("document.getElementById('chosen').textContent.includes('{id:08x}')");
    browser.wait_until(&is_chosen);
}

#[test]
fn a_reader_lists_a_thousand_runs_searches_and_compares_two() {
    let mut browser = need!(Browser::start(), "chromium");
    let bench = Bench::new();
    keep_a_thousand(&bench);
    let web = Web::start(&bench);
    browser.open(&web.url("/?show=1000"));
    assert_eq!(browser.number("document.querySelectorAll('#runs tbody tr').length"), 1000.0);
    assert_content(&mut browser, &web);
    browser.open(&web.url("/"));
    assert_eq!(browser.number("document.querySelectorAll('#runs tbody tr').length"), 50.0);
    assert_eq!(
        browser.text("document.querySelector('.count').textContent"),
        "1 to 50 of 1,000 runs"
    );
    assert_eq!(browser.value("document.getElementById('compare').disabled"), true);
    in_every_window(&mut browser, &web, "list");
    browser.value("void (document.querySelector('.count').style.color = '#949494')"); // 3.03 to 1 on white
    assert_eq!(
        browser.value(FAINT).as_array().map(Vec::len),
        Some(1),
        "the check sees what is faint"
    );
    browser.follow(".pages a[rel=next]");
    assert_eq!(
        browser.text("document.querySelector('#runs tbody th').textContent"),
        format!("{:08x}", 949)
    );

    search_and_choose(&mut browser, "run-123", 123);
    search_and_choose(&mut browser, "run-777", 777);
    let chosen = browser.text("document.getElementById('chosen').textContent");
    assert_eq!(chosen, format!("{:08x}\u{d7}{:08x}\u{d7}", 123, 777), "a choice outlasts a search");
    in_every_window(&mut browser, &web, "found");
    browser.follow("#compare");
    let heading = browser.text("document.querySelector('h1').textContent");
    assert!(heading.contains("run-123") && heading.contains("run-777"), "{heading}");
    let verdicts = "[...document.querySelectorAll('#against-the-baseline tbody tr')].map(row => row.cells[row.cells.length - 1].textContent)";
    assert_eq!(browser.value(verdicts).as_array().map(Vec::len), Some(3), "a verdict a cell");
    let charts =
        "[...document.querySelectorAll('figure')].every(figure => figure.querySelector('svg'))";
    assert_eq!(browser.value(charts), true);
    assert!(
        browser.text("document.querySelector('.site').textContent").contains("Baseline: 0000007b")
    );
    in_every_window(&mut browser, &web, "compare");
    browser.follow(".site span a");
    assert!(
        browser.text("document.querySelector('.site').textContent").contains("Baseline: 00000309")
    );
    browser.open(&web.url("/?q=script"));
    assert_eq!(browser.number("document.querySelectorAll('#runs tbody tr').length"), 1.0);
    assert!(browser.text("document.title").starts_with("Runs"), "a label is no script");
    browser.follow("#runs tbody th a");
    assert_content(&mut browser, &web);
    web.stop();
}

#[test]
fn a_reader_watches_a_run_cell_by_cell() {
    let mut browser = need!(Browser::start(), "chromium");
    let bench = Bench::new();
    bench.file("many.toml", many_reads(6));
    let web = Web::start(&bench);
    browser.open(&web.url("/"));
    let mut run =
        bench.drivelab(["run", "null:", "--method", "many.toml", "--max-time", "15s"]).start();
    browser.wait_until("document.querySelector('#news a')");
    browser.follow("#news a");
    assert_eq!(browser.text("document.querySelector('.state').textContent"), "running");
    browser.follow("#runs tbody th a");
    browser.value("void (window.here = true)");
    let mut seen = Vec::new();
    run.wait_until("cells have come one by one", || {
        let rows = browser.number("document.querySelectorAll('#cells tbody tr').length");
        if seen.last() != Some(&rows) {
            seen.push(rows);
        }
        rows >= 4.0
    });
    assert!(seen.len() > 2, "they come one by one: {seen:?}");
    assert!(
        browser.text("document.querySelector('#cells tbody td').textContent").ends_with("IOPS")
    );
    assert!(browser.text("document.getElementById('state').textContent").starts_with("Running: "));
    in_every_window(&mut browser, &web, "watch");
    run.wait().succeeded();
    browser.wait_until("document.getElementById('state').textContent === 'Complete: 6 cells.'");
    assert_eq!(browser.number("document.querySelectorAll('#cells tbody tr').length"), 6.0);
    assert_eq!(browser.value("window.here"), true, "the page was not loaded again");
    assert_content(&mut browser, &web);
    browser.follow("#report");
    assert_eq!(browser.value("document.querySelectorAll('figure').length > 0"), true);
    in_every_window(&mut browser, &web, "report");
    browser.open(&web.url("/"));
    web.living.signal("TERM");
    web.living.wait().succeeded();
    browser.wait_until("document.getElementById('lost').textContent.startsWith('No answer')");
}
