//! `run --resume` goes on with the run that was begun, or says why it cannot.

use crate::common;

use common::{Bench, LoopDevice, MIB, Outcome, ROOT, assert_one_sentence, cell_names, many_reads};
use serde_json::Value;
use std::{fs, path::Path, thread, time::Duration};

/// Starts six read cells on `target`, and stops when two of them are kept; the run's id.
fn interrupted(bench: &Bench, target: &str, more: &[&str]) -> String {
    let method = bench.file("many.toml", many_reads(6));
    let run = bench.drivelab(["run", target, "--max-time", "3s", "--method"]).and([method]);
    let mut living = run.and(more).start();
    living.wait_until("two cells are kept", || {
        let shown = bench.drivelab(["show", "last", "--json"]).done();
        shown.code == Some(0) && cell_names(&shown.json()).len() >= 2
    });
    living.signal("INT");
    assert_eq!(living.wait().code, Some(130));
    bench.history()[0]["id"].as_str().expect("an id").to_owned()
}

fn resumed(bench: &Bench, id: &str) -> Outcome {
    bench.drivelab(["run", "--resume", id]).done()
}

/// Refused in a sentence, and the record is as it was.
fn cannot_go_on(bench: &Bench, id: &str, words: &[&str]) {
    let before = bench.record(id);
    let outcome = resumed(bench, id);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_one_sentence(&outcome.stderr, &[&["cannot go on", "--resume"], words].concat());
    assert_eq!(bench.record(id), before);
}

/// A volume's run went on in the file that the volume is in: its second half were rates of the raw
/// bytes.
#[test]
fn a_volumes_run_goes_on_in_the_volume() {
    let bench = Bench::new();
    let create = ["flash", "create", "v.img", "--drive-size", "64M"];
    bench.drivelab_without_store(create).done().succeeded();
    let id = interrupted(&bench, "flash:v.img", &[]);
    // From another directory: the path is kept whole.
    bench.drivelab(["run", "--resume", &id]).within(Path::new("/")).done().succeeded();
    let record = bench.record(&id);
    assert_eq!(
        (&record["state"], &record["targets"][0]["kind"]),
        (&"complete".into(), &"flash".into())
    );
    assert!(record["targets"][0]["managed_flash"].is_object(), "{}", record["targets"][0]);
    let volume = record["targets"][0]["identity"]["volume"].as_str().expect("an id");
    assert_eq!(volume.len(), 32);
    let of_volume = |cell: &Value| cell["passes"][0]["managed_flash"].is_object();
    assert!(record["cells"].as_array().expect("cells").iter().all(of_volume));
}

#[test]
fn another_volume_of_the_name_is_refused() {
    let bench = Bench::new();
    let create = |name: &str| {
        let words = ["flash", "create", name, "--drive-size", "64M"];
        bench.drivelab_without_store(words).done().succeeded();
    };
    create("v.img");
    let id = interrupted(&bench, "flash:v.img", &[]);
    create("other.img");
    fs::rename(bench.path("other.img"), bench.path("v.img")).expect("it is put in its place");
    cannot_go_on(&bench, &id, &["its volume was"]);
}

/// A disk was exchanged between two halves of a run: the record was `complete`, and of two drives.
#[test]
fn another_disk_of_the_name_is_refused() {
    let bench = Bench::new();
    let mut device = need!(LoopDevice::attach(|image| image.set_len(16 * MIB), &[]), ROOT);
    common::fill(&device.path, 16 * MIB);
    let id = interrupted(&bench, device.text(), &["--reads-only"]);
    // Another file behind the same name; loop devices have no serial.
    let text = device.text().to_owned();
    need!(common::system("losetup", &["--detach", &text]), ROOT);
    let other = bench.path("other");
    fs::copy(&device.image, &other).expect("a copy");
    let other_text = other.to_str().expect("plain names");
    // Another test may have taken the name for a while.
    let attach = || {
        let free = (0..120).find_map(|_| {
            thread::sleep(Duration::from_millis(500));
            common::system("losetup", &[&text, other_text])
        });
        need!(free, "a free name of a loop device");
    };
    attach();
    cannot_go_on(&bench, &id, &["diskseq"]);
    // Of another size, on any kernel.
    need!(common::system("losetup", &["--detach", &text]), ROOT);
    fs::File::options()
        .write(true)
        .open(&other)
        .and_then(|file| file.set_len(32 * MIB))
        .expect("room");
    attach();
    cannot_go_on(&bench, &id, &["size"]);
    device.image = other;
}

#[test]
fn another_directory_machine_or_method_is_refused() {
    let bench = Bench::new();
    let id = interrupted(&bench, "area", &[]);
    fs::rename(bench.path("area"), bench.path("away")).expect("it is moved");
    fs::create_dir(bench.path("area")).expect("another of the name");
    cannot_go_on(&bench, &id, &["inode", "put that one back"]);
    fs::remove_dir(bench.path("area")).expect("it is empty");
    fs::rename(bench.path("away"), bench.path("area")).expect("it is put back");
    // The record as another machine would have left it.
    let forge = |change: &dyn Fn(&mut Value)| {
        let mut record = bench.record(&id);
        change(&mut record);
        let other = Bench::new();
        let path = other.file("forged.json", record.to_string());
        other.drivelab(["run", "--resume"]).and([path]).done()
    };
    for (word, change) in [
        (
            "machine",
            (&|record: &mut Value| {
                record["environment"]["host"]["name"] = "elsewhere".into();
            }) as &dyn Fn(&mut Value),
        ),
        ("tested area", &|record| record["method"]["span_bytes"] = (1u64 << 60).into()),
        ("passes", &|record| record["method"]["passes"] = 7.into()),
        ("drivelab 0.0.1", &|record| record["tool"]["version"] = "0.0.1".into()),
        ("none of the plan", &|record| record["cells"][0]["group"] = "gone".into()),
        ("part of a matrix", &|record| record["command_line"][1] = "matrix".into()),
    ] {
        let outcome = forge(change);
        assert_eq!(outcome.code, Some(2), "{word}: {outcome:?}");
        assert!(
            outcome.stderr.contains(word) || word == "tested area",
            "{word}: {}",
            outcome.stderr
        );
    }
    resumed(&bench, &id).succeeded();
    assert_eq!(bench.record(&id)["state"], "complete");
}
