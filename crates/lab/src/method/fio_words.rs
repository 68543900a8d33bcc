//! What fio calls a setting or a value, and what it is in a method.

use block::names::did_you_mean;

/// Settings, each with a value.
type Settings = &'static [(&'static str, &'static str)];

/// fio's options, and the settings that they are here.
const KEYS: &[(&[&str], Settings)] = &[
    (&["bs", "blocksize", "block_size"], &[("block", "4K")]),
    (&["iodepth", "qd", "queue_depth"], &[("depth", "32")]),
    (&["numjobs", "jobs", "workers"], &[("threads", "4")]),
    (&["rw", "readwrite"], &[("op", "read"), ("pattern", "random")]),
    (&["rwmixread", "rwmixwrite"], &[("op", "mixed:70")]),
    (&["ioengine"], &[("engine", "uring")]),
    (&["buffered"], &[("io", "buffered")]),
    (&["fsync", "fdatasync"], &[("flush_every", "1")]),
    (&["thinktime"], &[("think_time_us", "100")]),
    (&["rate_iops"], &[("rate", "1000")]),
    (&["random_distribution"], &[("pattern", "zipf")]),
    (&["percentage_random"], &[("sequential_share", "0.3")]),
    (&["startdelay"], &[("start_after", "5")]),
    (&["zero_buffers"], &[("data", "zeros")]),
    (&["buffer_compress_percentage"], &[("data", "compressible:50")]),
];

/// fio's values of `rw`, and the operation and pattern that they are here.
const VALUES: &[(&str, &str, &str)] = &[
    ("randread", "read", "random"),
    ("randwrite", "write", "random"),
    ("randrw", "mixed:50", "random"),
    ("readwrite", "mixed:50", "seq"),
    ("rw", "mixed:50", "seq"),
    ("randtrim", "trim", "random"),
];

/// fio's engines, and those that do the same here.
const ENGINES: &[(&str, &str)] = &[
    ("io_uring", "uring"),
    ("libaio", "uring"),
    ("aio", "uring"),
    ("psync", "sync"),
    ("pvsync", "sync"),
    ("posixaio", "uring"),
];

/// The settings, each with a value that it takes, that an option of fio's is here.
pub fn settings_of(option: &str) -> Option<Settings> {
    let bare = option.replace('-', "_").to_ascii_lowercase();
    KEYS.iter().find(|(words, _)| words.contains(&bare.as_str())).map(|(_, settings)| *settings)
}

/// ` It is ... here.` for an option of fio's, or ` Did you mean ...?`, or nothing.
pub(super) fn key_here<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let Some(settings) = settings_of(wrong) else { return did_you_mean(wrong, known) };
    let keys: Vec<_> = settings.iter().map(|(key, _)| format!("`{key}`")).collect();
    let values: Vec<_> = settings.iter().map(|(_, value)| *value).collect();
    format!(" It is {} here, such as {}.", keys.join(" and "), values.join(" and "))
}

/// The same of a value.
pub(super) fn value_here(wrong: &str, known: &[&str]) -> String {
    if let Some((_, op, pattern)) = VALUES.iter().find(|(word, ..)| *word == wrong) {
        return format!(" It is two settings here: `op` is {op}, `pattern` is {pattern}.");
    }
    if let Some((_, engine)) = ENGINES.iter().find(|(word, _)| *word == wrong) {
        return format!(" Use {engine} here.");
    }
    did_you_mean(wrong, known.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{Axis, CellFile, Method, SET_KEYS};

    /// `--set bs=4k` was answered with seventeen keys, of which none was the word that was typed.
    #[test]
    fn whoever_writes_an_option_of_fios_is_told_what_it_is_here() {
        let error = CellFile::default().set("bs", Axis(vec!["4k".to_owned()])).expect_err("fio's");
        assert!(
            error.starts_with("`bs` cannot be set. It is `block` here, such as 4K."),
            "{error}"
        );
        assert_eq!(key_here("QUEUE-DEPTH", []), " It is `depth` here, such as 32.");
        assert_eq!(key_here("bluck", SET_KEYS.iter().copied()), " Did you mean `block`?");

        let quick = |key: &str, value: &str| {
            let settings = [(key.to_owned(), value.to_owned())];
            Method::built_in("quick", &settings).map(|_| ())
        };
        let error = quick("op", "randread").expect_err("fio's").to_string();
        assert!(error.contains("It is two settings here: `op` is read, `pattern` is random."));
        let error = quick("engine", "libaio").expect_err("fio's").to_string();
        assert!(error.contains("`libaio` is unknown. Use uring here."));
        // Three numbers with commas were no whole number, and 4kb, in fio's words 4096, no block.
        let error = quick("threads", "1,2,4").expect_err("commas").to_string();
        assert!(error.ends_with("or several with `;` between them: threads=1;2;4"), "{error}");
        let file = "name = 'x'\n[[cell]]\niodepth = 4\n";
        let error = Method::parse("x", file, &[]).expect_err("fio's").to_string();
        assert!(error.contains("line 3: there is no key `iodepth` here. It is `depth` here"));
    }

    /// What is advised is what a method takes.
    #[test]
    fn every_setting_that_is_named_takes_the_value_that_is_named() {
        for (words, settings) in KEYS {
            for setting in *settings {
                let settings = [("pattern", "random"), *setting];
                let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
                let read = Method::built_in("quick", &settings);
                assert!(read.is_ok(), "{words:?}: {setting:?}: {:?}", read.err());
            }
        }
    }
}
