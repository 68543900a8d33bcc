//! What the study latency2016 printed of a configuration: it is a matrix, of five drives by file
//! system, write cache and TRIM.

use crate::Study;
use matrix::{Axis, Configuration};

/// The study whose figures these are.
pub const STUDY: &str = "latency2016";

/// Block of the study's small writes, bytes.
const SMALL_BYTES: u64 = 512;

/// A printed figure as a rate, and its text.
#[derive(Clone, PartialEq, Debug)]
pub struct PrintedRate {
    /// Operations a second.
    pub iops: f64,
    /// With its unit.
    pub text: String,
}

/// What the study printed of `drive` (its name in the catalog) in this configuration, for durable
/// writes of `block_bytes` in order; `None` where it printed nothing.
pub fn printed(
    drive: &str,
    configuration: &Configuration,
    block_bytes: u64,
) -> Option<PrintedRate> {
    let cache = configuration.level(Axis::WriteCache)?;
    let fs = configuration.fs();
    // Settings that the study did not vary make it another configuration.
    let others = [
        Axis::Fill,
        Axis::Mkfs,
        Axis::Mount,
        Axis::Journal,
        Axis::Scheduler,
        Axis::ReadAhead,
        Axis::KernelFlush,
    ];
    if others.iter().any(|axis| {
        configuration.level(*axis).is_some_and(|level| !level.is_empty() && level != "0")
    }) {
        return None;
    }
    let small = block_bytes == SMALL_BYTES;
    let trim = match configuration.level(Axis::Discard) {
        Some("on") => ",trim=yes",
        Some(_) => ",trim=no",
        None if fs == "raw" && small => ",trim=-",
        None => "",
    };
    let (table, op) = match (small, trim) {
        (true, "") => ("pivot", "sync-write-latency"),
        (true, _) => ("raw", "sync-write-latency"),
        (false, _) => ("write cache effects", "sync-bandwidth"),
    };
    let config = match small {
        true => format!("fs={fs},wc={cache}{trim}"),
        false => format!("fs={fs},wc={cache}"),
    };
    let figures = Study::Latency2016.figures();
    let figure = figures.iter().find(|figure| {
        figure.table == table
            && figure.device == drive
            && figure.config == config
            && figure.op == op
            && figure.block_bytes == Some(block_bytes)
    })?;
    let value = figure.value;
    Some(match small {
        true => PrintedRate { iops: 1000.0 / value, text: format!("{} ms", figure.value_text) },
        false => PrintedRate {
            iops: value * 1e6 / block_bytes as f64,
            text: format!("{} MB/s", figure.value_text),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix::Axes;

    fn configurations(words: &[(Axis, &str)]) -> Vec<Configuration> {
        let mut axes = Axes::default();
        for (axis, text) in words {
            axes.add(*axis, text).expect("levels");
        }
        axes.configurations()
    }

    #[test]
    fn the_printed_pivot_stands_beside_its_configurations() {
        let words = [(Axis::Fs, "raw,ext4,xfs"), (Axis::WriteCache, "on,off")];
        let texts: Vec<_> = configurations(&words)
            .iter()
            .map(|one| printed("intel-520-120", one, 512).expect("it is printed").text)
            .collect();
        assert_eq!(texts, ["0.44 ms", "0.048 ms", "0.96 ms", "0.25 ms", "0.88 ms", "0.13 ms"]);
        let large =
            printed("intel-520-120", &configurations(&words)[1], 128 << 20).expect("it is printed");
        assert!(
            (large.iops * f64::from(128 << 20) - 257e6).abs() < 1.0 && large.text == "257 MB/s"
        );
    }

    #[test]
    fn what_the_study_did_not_measure_has_no_figure() {
        let trim = [(Axis::Fs, "ext4"), (Axis::WriteCache, "off"), (Axis::Discard, "on")];
        assert_eq!(
            printed("intel-520-120", &configurations(&trim)[0], 512).expect("printed").text,
            "0.25 ms"
        );
        let mounted = [(Axis::Fs, "ext4"), (Axis::WriteCache, "off"), (Axis::Mount, "noatime")];
        assert_eq!(printed("intel-520-120", &configurations(&mounted)[0], 512), None);
        let btrfs = [(Axis::Fs, "btrfs"), (Axis::WriteCache, "off")];
        assert_eq!(printed("intel-520-120", &configurations(&btrfs)[0], 512), None);
        assert_eq!(printed("hdd-smr", &configurations(&trim)[0], 512), None);
    }
}
