//! Whatever stands in a job file, it is a method or one sentence with file and line.

use crate::common::{Around, complaint, translated};
use fio_job::{JobError, is_job_file, method};
use lab::method::Method;
use proptest::prelude::*;

/// A job file with a wrong field says where it is and what helps; nothing is ignored.
#[test]
fn what_is_wrong_is_told_with_its_line_and_the_cure() {
    for (text, line, words) in [
        ("[a]\nrw=randread\nbsplit=4k/50\n", 3, "Did you mean `bssplit`"),
        ("[a]\nrw=randreed\n", 2, "Did you mean `randread`"),
        ("[a]\nbs=4x\n", 2, "`4x` is no size"),
        ("[a]\nruntime=soon\n", 2, "`soon` is no time"),
        ("[a]\niodepth=5000\n", 2, "not from 1 to 4096"),
        ("[a]\nioengine=rbd\n", 2, "no local file or device"),
        ("[a]\nioengine=mmap\n", 2, "cannot be had"),
        ("bs=4k\n[a]\n", 1, "put `[global]` above it"),
        ("[global]\nbs=4k\n", 2, "there is no job"),
        ("[a\nbs=4k\n", 1, "has no `]`"),
        ("[a]\nlatency_target=5ms\n", 2, "set `iodepth`"),
        ("[a]\nrw=rw\nbs=4k,8k\n", 3, "same block sizes"),
        ("[a]\nrw=randrw\nrate=1m,\n", 3, "both directions"),
        ("[a]\nrw=read:6k\n", 2, "multiple of the block"),
        ("[a]\ntime_based\n", 2, "set `runtime`"),
        ("[a]\nbs=${NOBODY}\n", 2, "`NOBODY=... drivelab run`"),
        ("[a]\nsize=0\n", 2, "nothing to work on"),
        ("[a]\nwait_for=b\n[b]\n", 1, "no job `b` above"),
        ("[a]\ninclude none.fio\n", 2, "cannot be included"),
        ("[a]\nzonemode=zbd\n", 2, "not supported"),
        ("[a]\nbssplit=4k/50:8k/40\n", 2, "add up to 90"),
        ("[a]\nbssplit=4k/50:6k/50\n", 2, "round them"),
        ("[a]\nrw=trimwrite\n", 2, "make two jobs"),
        ("[a]\nthinktime=2d\n", 2, "more than a day"),
        ("[a]\nkb_base=1001\n", 2, "neither 1024 nor 1000"),
    ] {
        let said = complaint(text);
        assert!(said.starts_with(&format!("job.fio, line {line}: ")), "{text:?}: {said}");
        assert!(said.contains(words), "{text:?}: {said}");
        assert!(!said.contains('\n'), "{said}");
    }
}

/// A job that starts at the end of its file became a method that none can run; so did one of less
/// than a byte.
#[test]
fn a_job_with_nothing_to_work_on_is_told() {
    let beyond = "filesize=1m\noffset=2m";
    for settings in ["offset=100%", "filesize=1m\noffset=100%", beyond, "filesize=10\nsize=1%"] {
        let said = complaint(&format!("[a]\n{settings}\n"));
        assert!(said.starts_with("job.fio, line 1: `a` has nothing to work on"), "{said}");
    }
}

/// A file that includes itself filled the stack.
#[test]
fn files_that_include_one_another_end() {
    let around = Around { files: [("job.fio", "include job.fio\n")].into(), ..Around::default() };
    let said = method("job.fio", "[a]\ninclude job.fio\n", &around).expect_err("it has no end");
    assert!(said.to_string().contains("take this line out"), "{said}");
}

#[test]
fn a_job_file_is_known_by_its_name_or_its_beginning() {
    assert!(is_job_file("a.fio", ""));
    assert!(is_job_file("workload", "# mine\n[global]\nrw=read\n"));
    assert!(!is_job_file("workload", "name = 'x'\n[defaults]\nio = 'direct'\n"));
    assert!(!is_job_file("a.toml", "[global]\nrw=read\n"));
    assert!(!is_job_file("workload", "[[cell]]\nop = 'read'\n"));
}

/// A job file in one of these lines, or none.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let keys = prop::sample::select(vec![
        "rw",
        "bs",
        "size",
        "offset",
        "io_size",
        "filesize",
        "nrfiles",
        "numjobs",
        "iodepth",
        "runtime",
        "loops",
        "number_ios",
        "rate",
        "rate_iops",
        "direct",
        "filename",
        "ioengine",
        "bssplit",
        "thinktime",
        "startdelay",
        "verify",
        "random_distribution",
        "stonewall",
        "offset_increment",
        "percentage_random",
        "zonemode",
        "fsync",
        "ramp_time",
    ]);
    let values = prop_oneof![
        prop::sample::select(vec![
            "4k",
            "1g",
            "80%",
            "randread",
            "randrw",
            "write",
            "trim",
            "read:8k",
            "1",
            "0",
            "8",
            "libaio",
            "psync",
            "4k,8k",
            "4k/50:8k/50",
            "18446744073709551615",
            "16383p",
            "zipf:1.1",
            "zoned:50/5:30/15:20/80",
            "1e300",
            "100%",
            "0%",
            "-1",
            "5s",
            "/dev/x",
            "crc32c",
        ])
        .prop_map(str::to_owned),
        "[0-9a-z:/,.%-]{0,8}",
    ];
    let setting = (keys, values).prop_map(|(key, value)| format!("{key}={value}"));
    let section = prop::sample::select(vec!["[global]", "[a]", "[b]", "["]).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![4 => setting, 1 => section, 1 => ".{0,20}"], 0..24)
}

fn checked(text: &str) -> Result<(), TestCaseError> {
    match translated(text) {
        Ok(toml) => {
            let method = Method::parse("job.fio", &toml, &[]);
            prop_assert!(method.is_ok(), "{}\n{toml}", method.expect_err("not ok"));
        }
        Err(JobError { place, reason }) => {
            prop_assert!(place.line >= 1 && !reason.contains('\n'), "{reason}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_lines_are_a_method_or_a_sentence(lines in lines()) {
        checked(&format!("[j]\n{}", lines.join("\n")))?;
    }

    #[test]
    fn any_text_is_a_method_or_a_sentence(text in "\\PC{0,200}") {
        checked(&text)?;
    }
}
