//! What a study says it runs is what it runs: a trial and the method of its name, by the runner on
//! the same stack with the same seed, give one number.

use lab::{
    method::{CellSpec, FileState, Method},
    order::{Opening, Order},
    plan::{Options, Plan},
    runner::run,
    target::{Target, Time},
    workload::{Op, Pattern},
};
use record::{Calibration, Environment, State, Tool};
use std::collections::BTreeMap;
use study::{Effort, Group, SEED, Trial, cases};
use target::{
    ModelTarget,
    catalog::{Catalog, DriveKind},
    stack::Stack,
};

/// Operations a second of one pass over the first cell of `method` that fits.
fn by_method(
    stack: &str,
    method: &str,
    settings: &[(&str, String)],
    span_bytes: Option<u64>,
    fits: impl Fn(&CellSpec) -> bool,
) -> f64 {
    let settings: Vec<_> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let mut method = Method::built_in(method, &settings).expect("a method");
    let cell = method.cells.iter().find(|cell| fits(cell)).expect("a cell that fits").clone();
    // A pass draws by the number of its cell.
    method.cells = vec![cell];
    let model = ModelTarget::new(&stack.parse().expect("a stack"), SEED).expect("a model");
    let options = Options { seed: SEED, passes: Some(1), span_bytes, ..Options::default() };
    let plan = Plan::new(method.clone(), &options, &[model.offer()]).expect("a plan");
    let (words, labels) = (BTreeMap::new(), BTreeMap::new());
    let order = Order { method, options, words, labels };
    let opening = Opening {
        id: "00000001".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        time: Time::Virtual,
        targets: vec![model.info().clone()],
        environment: Environment::default(),
        calibration: Calibration::of_virtual_time(),
        command_line: Vec::new(),
        tool: Tool { name: "drivelab".to_owned(), version: "0".to_owned() },
    };
    let mut record = order.record(&plan, opening);
    let mut targets: Vec<Box<dyn Target>> = vec![Box::new(model)];
    run(&plan, &mut targets, &mut record, &mut ()).expect("a run");
    assert_eq!(record.state, State::Complete);
    record.cells[0].passes[0].iops
}

/// Every operation of a trial counts.
const ALL: Effort = Effort { operations: u64::MAX >> 8, file_bytes_max: u64::MAX >> 8 };

fn assert_equal(what: &str, trial: f64, method: f64, share: f64) {
    println!("{what}: trial {trial}, method {method}");
    assert!((trial / method - 1.0).abs() <= share, "{what}: trial {trial}, method {method}");
}

#[test]
fn durable_writes_of_a_trial_and_of_dd_give_one_number() {
    let catalog = Catalog::built_in().expect("a catalog");
    let mut seen = [0, 0];
    for case in cases() {
        let (method, number) = match case.trial {
            Trial::SyncWrites => ("dd-latency", 0),
            Trial::SyncBandwidth => ("dd-bandwidth", 1),
            _ => continue,
        };
        seen[number] += 1;
        let value = study::run(&case, &catalog, Effort::SEARCH).expect("a trial").value;
        let iops = by_method(&case.stack, method, &[], None, |_| true);
        let of_method = if number == 0 { 1e3 / iops } else { iops * f64::from(128 << 20) / 1e6 };
        assert_equal(&format!("{method} on {}", case.stack), value, of_method, 1e-9);
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// On flash, where every record of the file counts and each was written before.
#[test]
fn files_of_a_trial_and_of_iozone_cmu_give_one_number() {
    const BYTES: u64 = 64 << 20;
    const BLOCK_BYTES: u32 = 16 << 10;
    let catalog = Catalog::built_in().expect("a catalog");
    let mut seen = 0;
    for mut case in cases().into_iter().filter(|case| case.group == Group::CmuFiles) {
        let Trial::File { op, order, block_bytes, file_bytes, .. } = &mut case.trial else {
            continue;
        };
        let stack: Stack = case.stack.parse().expect("a stack");
        let drive = catalog.drive(&stack.members[0].drive.name).expect("a drive");
        if *block_bytes != BLOCK_BYTES || drive.kind != DriveKind::PageMapped {
            continue;
        }
        *file_bytes = BYTES;
        let op = match op {
            study::Op::Read => Op::Read,
            study::Op::Write => Op::Write,
        };
        let pattern = match order {
            study::Order::Sequential => Pattern::Sequential,
            study::Order::Random => Pattern::Permutation,
        };
        let value = study::run(&case, &catalog, ALL).expect("a trial").value;
        let settings = [("block", BLOCK_BYTES.to_string()), ("file", BYTES.to_string())];
        let iops = by_method(&case.stack, "iozone-cmu", &settings, None, |cell| {
            let stream = &cell.streams[0];
            stream.op == op && stream.pattern == pattern && cell.file == FileState::AsIs
        });
        let of_method = match case.figure.metric.as_str() {
            "iops" => iops,
            _ => iops * f64::from(BLOCK_BYTES) / 1_048_576.0,
        };
        let what = format!("{op} {pattern} on {}", case.stack);
        assert_equal(&what, value, of_method, 1e-9);
        seen += 1;
    }
    assert!(seen > 0, "no case");
}

/// Sequential reads of 64 MiB from a disk came to 56.95 MiB/s by the trial, which writes nothing
/// first, and to 50.53 by the method. What differs is the drive's write cache: ext3 without
/// barriers ends a write before the drive has, and the method reads at once what it has just
/// written. The study unmounts and mounts in between, and the drive is done by then. Where a flush
/// reaches the drive, both give one number.
#[test]
fn reads_of_a_disk_are_those_of_iozone_cmu_once_its_write_cache_is_empty() {
    const BYTES: u64 = 64 << 20;
    const BLOCK_BYTES: u32 = 16 << 10;
    let catalog = Catalog::built_in().expect("a catalog");
    let settings = [("block", BLOCK_BYTES.to_string()), ("file", BYTES.to_string())];
    let by_method = |stack: &str| {
        let iops = by_method(stack, "iozone-cmu", &settings, None, |cell| {
            (cell.streams[0].op, cell.streams[0].pattern) == (Op::Read, Pattern::Sequential)
        });
        iops * f64::from(BLOCK_BYTES) / 1_048_576.0
    };
    let mut seen = 0;
    for mut case in cases().into_iter().filter(|case| case.group == Group::CmuFiles) {
        let Trial::File { op: study::Op::Read, order, block_bytes, file_bytes, .. } =
            &mut case.trial
        else {
            continue;
        };
        let stack: Stack = case.stack.parse().expect("a stack");
        let drive = catalog.drive(&stack.members[0].drive.name).expect("a drive");
        let is_meant = *block_bytes == BLOCK_BYTES && *order == study::Order::Sequential;
        if !is_meant || drive.kind != DriveKind::Disk {
            continue;
        }
        *file_bytes = BYTES;
        let value = study::run(&case, &catalog, ALL).expect("a trial").value;
        let flushed = by_method(&format!("{},barrier=on", case.stack));
        assert_equal(&case.stack, value, flushed, 0.01);
        let at_once = by_method(&case.stack);
        // Either way: writes take their turns, and the file's end is read out of the cache.
        let difference = (at_once / value - 1.0).abs();
        assert!(difference > 0.03, "{}: {at_once} at once, {value}", case.stack);
        seen += 1;
    }
    assert!(seen > 0, "no case");
}

#[test]
fn random_reads_of_a_trial_and_of_bm_flash_give_one_number() {
    let catalog = Catalog::built_in().expect("a catalog");
    let mut seen = 0;
    for case in cases().into_iter().filter(|case| case.group == Group::EasycoDrives) {
        let Trial::Direct { op: study::Op::Read, block_bytes: 4096, threads } = case.trial else {
            continue;
        };
        let value = study::run(&case, &catalog, Effort::REPORT).expect("a trial").value;
        let settings = [("block", "4096".to_owned()), ("threads", threads.to_string())];
        let model = ModelTarget::new(&case.stack.parse().expect("a stack"), SEED).expect("a model");
        let span_bytes = Some(model.offer().capacity_bytes);
        let iops = by_method(&case.stack, "bm-flash", &settings, span_bytes, |cell| {
            (cell.streams[0].op, cell.streams[0].pattern) == (Op::Read, Pattern::Random)
        });
        // The trial ends after 8,000 operations, the method by the stop rule.
        assert_equal(&format!("{threads} on {}", case.stack), value, iops, 0.01);
        seen += 1;
    }
    assert!(seen > 0, "no case");
}
