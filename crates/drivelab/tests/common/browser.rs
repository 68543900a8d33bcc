//! A page opened in a browser, as its reader would.

use super::Bench;
use std::{fs, path::Path, process::Command};

/// What a reader's browser does: every chart answers to the keyboard and to the mouse, and nothing complains.
const READER: &str = "<script>
const out = [];
addEventListener('error', event => out.push('error: ' + event.message));
const tip = document.getElementById('tip');
for (const plot of document.querySelectorAll('.plot:not([hidden])')) {
  plot.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
  if (tip.hidden) out.push('error: no value by keyboard: ' + plot.closest('figure').id);
  plot.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
  const box = plot.querySelector('svg').getBoundingClientRect();
  let found = false;
  for (let x = 0; x < 1; x += .02) for (let y = 0; y < 1; y += .02) {
    const place = { clientX: box.left + box.width * x, clientY: box.top + box.height * y, bubbles: true };
    plot.dispatchEvent(new PointerEvent('pointermove', place));
    found = found || !tip.hidden;
  }
  if (!found) out.push('error: no value by pointing: ' + plot.closest('figure').id);
}
if (document.documentElement.scrollWidth > innerWidth) out.push('error: wider than the window');
out.push('charts: ' + document.querySelectorAll('figure').length);
document.title = out.join('; ');
</script></body>";

/// Opens the page `name` on a narrow and on a wide window: every chart answers, nothing complains.
pub fn reads(bench: &Bench, name: &str) {
    let is_there = Command::new("chromium").arg("--version").output().is_ok();
    if !is_there {
        return super::skip("chromium");
    }
    let page = fs::read_to_string(bench.path(name)).expect("a page");
    let figures = page.matches("<figure").count();
    assert!(figures > 0, "{name} has no chart");
    bench.file("read.html", page.replace("</body>", READER));
    for width in ["500", "1400"] {
        let (title, complaints) = opened(&bench.path("read.html"), width, &bench.path("profile"));
        assert_eq!(title, format!("charts: {figures}"), "{complaints}");
        assert!(!complaints.contains("CONSOLE"), "{complaints}");
    }
}

/// The page's title after its scripts have run, and what the browser said meanwhile.
fn opened(page: &Path, width: &str, profile: &Path) -> (String, String) {
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .args(["--virtual-time-budget=3000".to_owned(), format!("--window-size={width},900")])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let title = text.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let title = title.map_or_else(String::new, |(title, _)| title.to_owned());
    (title, String::from_utf8_lossy(&output.stderr).into_owned())
}
