//! What is printed of a trace.

use crate::{corpus, opened};
use report::terminal::Style;
use trace::{
    Analysis, Characterisation,
    page::{self, Subject},
};

fn seen(name: &str) -> (Characterisation, Subject) {
    let mut trace = opened(corpus(name)).expect(name);
    let mut analysis = Analysis::default();
    for access in trace.by_ref() {
        analysis.add(&access.expect(name));
    }
    let subject = Subject {
        name: name.to_owned(),
        format: trace.format(),
        volume: None,
        volumes: trace.volumes().by_count().len(),
        remarks: trace.remarks(),
    };
    (analysis.conclude(), subject)
}

/// The first screen of a terminal of 80 columns and 24 lines shows all.
#[test]
fn every_trace_fits_one_screen() {
    for name in
        ["v2.iolog", "v3.iolog", "le.blktrace", "msr.csv", "systor.csv", "tencent.csv", "v1.vscsi"]
    {
        let (seen, subject) = seen(name);
        let text = page::terminal(&seen, &subject, &Style::PLAIN);
        assert!(text.lines().count() <= 23, "{} lines:\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.starts_with(name), "{text}");
    }
}

#[test]
fn what_was_noted_is_said() {
    let (seen, subject) = seen("tencent.csv");
    let text = page::terminal(&seen, &subject, &Style::PLAIN);
    assert!(text.contains("spread evenly over it"), "{text}");
    let document = page::document(&seen, &subject, "today");
    assert!(document.summary.iter().any(|text| text.contains("spread evenly over it")));
    assert!(document.figures().count() >= 4, "{}", document.figures().count());
}

#[test]
fn programs_get_the_counts_as_they_are() {
    let (seen, subject) = seen("le.blktrace");
    let json = page::json(&seen, &subject);
    assert_eq!(json["operations"]["read"]["operations"], 2);
    assert_eq!(json["operations"]["flush"]["operations"], 2);
    assert_eq!(json["operations"]["write"]["bytes"], 65_536 + 4096);
    assert_eq!(json["trace"]["format"], "blktrace");
    assert_eq!(json["duration_ns"], 4_999_000);
}
