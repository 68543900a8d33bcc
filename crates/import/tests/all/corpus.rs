//! Every figure right: those below were read from the files by hand or by another program.

use crate::{NOW, content, import, names};
use import::{DriveFile, ImportError, Kind};
use record::{Cell, Record};

fn cell<'a>(record: &'a Record, name: &str) -> &'a Cell {
    let names: Vec<&str> = record.cells.iter().map(|cell| cell.name.as_str()).collect();
    let found = record.cells.iter().find(|cell| cell.name == name);
    found.unwrap_or_else(|| panic!("{name} is none of {names:?}"))
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} for {expected}");
}

fn p99(cell: &Cell) -> Option<u64> {
    cell.latency.as_ref()?.percentile(99.0)
}

#[test]
fn what_is_made_is_a_record_by_its_schema_and_says_where_it_is_from() {
    let schema = include_str!("../../../../docs/reference/record.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for name in names() {
        let record = import(&name);
        let value = serde_json::to_value(&record).expect("plain data");
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{error} {}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        assert!(record.warnings[0].text.starts_with(&format!("imported from {name}")), "{name}");
        assert_eq!(record.id, import(&name).id, "the same file is the same run");
        let contradicts =
            |cell: &Cell| cell.warnings.iter().any(|warning| warning.text.contains("contradicts"));
        assert!(!record.cells.iter().any(contradicts), "{name}: {:?}", record.cells[0].warnings);
    }
}

#[test]
fn fio_json() {
    let record = import("fio-3.33.json");
    assert_eq!((record.tool.name.as_str(), record.tool.version.as_str()), ("fio", "3.33"));
    assert_eq!(record.cells.len(), 1);
    let one = &record.cells[0];
    assert_eq!((one.op.as_str(), one.pattern.as_str(), one.block_bytes), ("write", "seq", 131_072));
    near(one.iops, 19_358.641_359);
    near(one.bytes_per_s, 2_537_375_840.0);
    assert_eq!(p99(one), Some(128_512));
    let latency = one.latency.as_ref().expect("it is there");
    assert_eq!(latency.n, 19_378);
    // 99.9 % of 19,378 leaves 19 above, 99.99 % leaves 2.
    assert!(latency.percentile(99.9).is_some() && latency.percentile(99.99).is_none());
}

#[test]
fn fio_json_plus_with_other_text_around_it() {
    let record = import("fio-3.33-json-plus-with-text.txt");
    let one = cell(&record, "rr");
    near(one.iops, 37_715.284_715);
    near(one.bytes_per_s, 154_481_806.0);
    assert_eq!(p99(one), Some(158_720));
    let histogram = &one.latency.as_ref().expect("it is there").histogram;
    assert_eq!(histogram.iter().map(|[_, count]| count).sum::<u64>(), 37_753);
    // fio names a bucket by its middle, we by its start.
    assert!(histogram.windows(2).all(|pair| pair[0][0] < pair[1][0]));
    assert_eq!(record.left_out[0].name, "mix");
    assert!(record.left_out[0].reason.contains("error 22"), "{:?}", record.left_out);
    let said = |warning: &record::Warning| warning.text.contains("total_file_size");
    assert!(record.warnings.iter().any(said), "{:?}", record.warnings);
}

#[test]
fn fio_counts_the_directions_of_a_mix_and_its_flushes_apart() {
    let record = import("fio-3.33-mix-fsync.json");
    let (read, write) = (cell(&record, "m-read"), cell(&record, "m-write"));
    near(read.iops, 5_025.896_414);
    near(write.bytes_per_s, 18_538_071.0);
    assert_eq!((p99(read), p99(write)), (Some(2_277_376), Some(30_848)));
    assert_eq!((read.group.as_str(), write.group.as_str()), ("m", "m"));
    assert_eq!((read.threads, read.queue_depth, read.block_bytes), (2, 2, 8192));
    assert!(read.flush_latency.is_none());
    assert_eq!(write.flush_latency.as_ref().map(|latency| latency.n), Some(853));
}

#[test]
fn fio_2_counts_in_kib_and_us() {
    let text = r#"{"fio version": "fio-2.16", "timestamp": 1500000000, "jobs": [{
        "jobname": "old", "error": 0, "job options": {"rw": "randread", "bs": "4k", "direct": "1"},
        "read": {"io_bytes": 40000, "bw": 4000, "iops": 1000.0, "runtime": 10000,
          "total_ios": 10000, "clat": {"min": 100, "max": 900, "mean": 250.0,
          "percentile": {"50.000000": 240, "99.000000": 700}}}}]}"#;
    let record = import::import("old.json", text.as_bytes(), NOW).expect("it is fio's");
    let one = &record.cells[0];
    assert_eq!(one.total.bytes, 40_000 * 1024);
    near(one.bytes_per_s, 4000.0 * 1024.0);
    assert_eq!(one.latency.as_ref().map(|latency| latency.mean_ns), Some(250_000.0));
    assert!(one.warnings.is_empty(), "{:?}", one.warnings);
    assert_eq!(record.started, "2017-07-14T02:40:00Z");
}

#[test]
fn fio_terse_of_both_lengths() {
    let record = import("fio-3.33-terse3.txt");
    let read = cell(&record, "t-read");
    near(read.iops, 2399.0);
    near(read.bytes_per_s, 9598.0 * 1024.0);
    assert_eq!((read.block_bytes, read.threads, read.queue_depth), (4096, 0, 0));
    assert_eq!(read.pattern, "");
    let record = import("fio-3.33-terse5.txt");
    assert_eq!(record.cells.len(), 1);
    near(cell(&record, "t-read").iops, 2718.0);
    assert_eq!(cell(&record, "t-read").block_bytes, 16_384);
}

#[test]
fn iozone_says_the_same_in_its_table_and_in_its_workbook() {
    let (table, book) = (import("iozone-excel.txt"), import("iozone.xls"));
    assert_eq!((table.cells.len(), book.cells.len()), (96, 96));
    for one in &table.cells {
        near(cell(&book, &one.name).bytes_per_s, one.bytes_per_s);
    }
    near(cell(&table, "read-f1048576-1048576").bytes_per_s, 24_292_018.0 * 1024.0);
    near(cell(&table, "re-write-f524288-8192").bytes_per_s, 6_174_377.0 * 1024.0);
    assert_eq!(table.started, "2026-11-25T04:00:36Z");
    assert_eq!(table.tool.version, "3.489");
    assert_eq!(table.targets[0].text, "t");
}

#[test]
fn iozone_in_other_units_and_with_blank_columns() {
    let direct = import("iozone-direct.txt");
    assert_eq!(direct.cells.len(), 8);
    let write = cell(&direct, "random-write-f524288-16384");
    near(write.bytes_per_s, 279_481.0 * 1024.0);
    assert_eq!((write.io.as_str(), write.pattern.as_str()), ("direct", "permutation"));
    assert_eq!(write.coordinates["flush"], "timed");
    let operations = import("iozone-ops.txt");
    near(cell(&operations, "write-f262144-4096").iops, 407_457.0);
    let threads = import("iozone-throughput.txt");
    let readers = cell(&threads, "random-read-t2");
    near(readers.bytes_per_s, 14_986_567.0 * 1024.0);
    assert_eq!((readers.threads, readers.block_bytes), (2, 65_536));
}

/// A figure of ten digits touches the column before it: taking it apart would be a guess.
#[test]
fn iozones_columns_that_run_into_each_other_are_refused() {
    let text = String::from_utf8(content("iozone-excel.txt")).expect("text");
    let wide = text.replacen(" 1817419  3717869", " 181741999 3717869", 1);
    let refusal = import::import("wide.txt", wide.as_bytes(), NOW).expect_err("it is ambiguous");
    assert!(refusal.to_string().starts_with("line 30: "), "{refusal}");
}

#[test]
fn bonnie_leaves_out_what_was_too_short() {
    let record = import("bonnie-2.00.csv");
    assert_eq!(
        (record.tool.version.as_str(), record.environment.host.name.as_str()),
        ("2.00a", "vm")
    );
    near(cell(&record, "put-block").bytes_per_s, 955_048.0 * 1024.0);
    near(cell(&record, "put-byte").iops, 2558.0 * 1024.0);
    near(cell(&record, "rewrite").bytes_per_s, 1_265_906.0 * 1024.0);
    assert_eq!(cell(&record, "put-block").coordinates["latency_max_ns"], 60_075_000.0);
    assert_eq!(record.left_out.len(), 8);
    assert!(record.left_out[0].reason.contains("half a second"));
    // Nothing in it was long enough.
    let short = "1.98,2.00a,vm,1,1795583140,64M,,8192,5,,,+++++,+++,+++++,+++,,,+++++,+++,+++++,\
        +++,1,,,,,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,,5553us,4063us,,\
        4079us,110us,127us,27us,152us,4117us,5us,20us\n";
    let refusal = import::import("bonnie.csv", short.as_bytes(), NOW).expect_err("nothing in it");
    assert!(refusal.to_string().contains("measured nothing"), "{refusal}");
}

#[test]
fn bonnie_of_before_has_fewer_fields() {
    let text = "host1,300M,12000,90,45678,20,23000,10,13000,91,60000,9,210.5,2,16,400,30,+++++,+++,\
        500,20,410,31,900,9,450,22\n";
    let record = import::import("old.csv", text.as_bytes(), NOW).expect("Bonnie++ 1.03");
    near(cell(&record, "put-block").bytes_per_s, 45_678.0 * 1024.0);
    near(cell(&record, "seeks").iops, 210.5);
    near(cell(&record, "random-stat").iops, 900.0);
    let text = "1.97,1.97,host2,1,1421800799,7423M,,400,90,45678,20,23000,10,1300,91,60000,9,\
        5521.0,52,100,,,,,16543,70,+++++,+++,20000,60,17000,75,+++++,+++,21000,66,60us,44660us,\
        200ms,30us,44660us,200ms,3747us,1759us,1643us,33518us,192us,839us\n";
    let record = import::import("1.97.csv", text.as_bytes(), NOW).expect("Bonnie++ 1.97");
    near(cell(&record, "seeks").iops, 5521.0);
    near(cell(&record, "sequential-create").iops, 16_543.0);
    assert_eq!(cell(&record, "rewrite").coordinates["latency_max_ns"], 200_000_000.0);
}

#[test]
fn dd_is_computed_again_from_bytes_and_seconds() {
    let record = import("dd-gnu.txt");
    near(record.cells[0].bytes_per_s, 52_428_800.0 / 0.029_016_7);
    assert_eq!((record.cells[0].block_bytes, record.cells[0].op.as_str()), (1 << 20, "copy"));
    // 17,476 records and a part of one hold 52,428,800 bytes only where a record is of 3,000.
    assert_eq!(import("dd-gnu-partial.txt").cells[0].block_bytes, 3000);
    let record = import("dd-command.txt");
    assert_eq!(record.cells.len(), 1);
    let one = &record.cells[0];
    assert_eq!((one.op.as_str(), one.io.as_str(), one.passes.len()), ("write", "direct", 3));
    near(one.bytes_per_s, 67_108_864.0 / 0.066_596_2);
    assert!(one.bytes_per_s_ci95.is_some(), "three repetitions have an interval");
    assert_eq!(record.targets[0].text, "g");
}

#[test]
fn ioping_in_all_its_forms() {
    let record = import("ioping.txt");
    let one = &record.cells[0];
    near(one.iops, 4.0 / (223.0e-6 + 4450.0e-6 + 307.1e-6 + 162.6e-6));
    assert_eq!((one.op.as_str(), one.block_bytes, one.total.operations), ("read", 4096, 4));
    assert_eq!(one.latency.as_ref().map(|latency| latency.max_ns), Some(4_450_000));
    let rapid = import("ioping-rapid.txt");
    near(rapid.cells[0].iops, 11_200.0);
    assert_eq!(rapid.cells[0].block_bytes, 4096);
    let batch = import("ioping-batch.txt");
    near(batch.cells[0].iops, 1646.0);
    assert_eq!(batch.cells[0].latency.as_ref().map(|latency| latency.n), Some(19));
    let json = import("ioping.json");
    near(json.cells[0].iops, 1_775.329_277);
    near(json.cells[0].latency.as_ref().expect("it is there").mean_ns, 563_276.0);
}

#[test]
fn hdparm_counts_in_mib() {
    let record = import("hdparm.txt");
    near(cell(&record, "buffered-disk-reads").bytes_per_s, 710.80 * 1_048_576.0);
    near(cell(&record, "cached-reads").bytes_per_s, 17_758.53 * 1_048_576.0);
    assert_eq!(record.targets[0].text, "/dev/loop1");
}

/// Composed after the forms of CrystalDiskMark 8 and 3 and of KDiskMark 3; none of them runs here.
#[test]
fn disk_marks_of_several_forms() {
    let text = "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n* KB = 1000 bytes\n\n[Read]\n  \
        SEQ    1MiB (Q=  8, T= 1):  1048.576 MB/s [   1000.0 IOPS] <  7990.00 us>\n  \
        RND    4KiB (Q= 32, T=16):   409.600 MB/s [ 100000.0 IOPS] <  5100.00 us>\n\n[Write]\n  \
        RND    4KiB (Q=  1, T= 1):    40.960 MB/s [  10000.0 IOPS] <    99.00 us>\n\n[Mix] Read \
        70%/Write 30%\n  RND    4KiB (Q= 32, T=16):    81.920 MB/s [  20000.0 IOPS] \
        <  1599.00 us>\n\n\
        Profile: Default\n   Test: 1 GiB (x5) [C: 45% (105/232GiB)]\n   \
        Date: 2021/08/12 20:26:04\n     OS: Windows 10\n";
    let record = import::import("cdm.txt", text.as_bytes(), NOW).expect("CrystalDiskMark");
    assert_eq!((record.cells.len(), record.tool.version.as_str()), (4, "8.0.4"));
    // The head of the mix names both directions: for that the file was refused.
    let mix = cell(&record, "random-mixed-4096-t16-q32");
    assert_eq!(mix.coordinates["mix"], "Read 70%/Write 30%");
    near(mix.iops, 20_000.0);
    let random = cell(&record, "random-read-4096-t16-q32");
    near(random.iops, 100_000.0);
    near(random.bytes_per_s, 409_600_000.0);
    assert!(random.warnings.is_empty(), "{:?}", random.warnings);
    assert_eq!(record.started, "2021-08-12T20:26:04Z");
    let wrong = text.replace("409.600 MB/s", "909.600 MB/s");
    let record = import::import("cdm.txt", wrong.as_bytes(), NOW).expect("CrystalDiskMark");
    let warned = &cell(&record, "random-read-4096-t16-q32").warnings;
    assert!(warned[0].text.contains("contradicts itself"), "{warned:?}");

    let text = "KDiskMark (3.2.0): https://example.org\n[Read]\nSequential   1 MiB (Q=  8, T= 1): \
        51.200 MB/s [     50.0 IOPS] < 158255.28 us>\nRandom       4 KiB (Q= 32, T= 1):     0.400 \
        MB/s [    100.0 IOPS] < 391023.88 us>\n";
    let record = import::import("kdm.txt", text.as_bytes(), NOW).expect("KDiskMark");
    near(cell(&record, "seq-read-1048576-t1-q8").bytes_per_s, 50.0 * 1_048_576.0);
    near(cell(&record, "random-read-4096-t1-q32").bytes_per_s, 409_600.0);

    let text = "CrystalDiskMark 3.0.1\n           Sequential Read :   502.300 MB/s\n    \
        Random Read 4KB (QD=32) :   271.859 MB/s [ 66371.8 IOPS]\n";
    let record = import::import("cdm3.txt", text.as_bytes(), NOW).expect("CrystalDiskMark 3");
    near(cell(&record, "seq-read-1048576-t1-q1").bytes_per_s, 502_300_000.0);
    near(cell(&record, "random-read-4096-t1-q32").iops, 66_371.8);
}

/// Composed after the columns that elbencho's documentation lists.
#[test]
fn elbencho_by_the_names_of_its_columns() {
    let text = "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,\
        direct IO,random,random aligned,IO depth,shared paths,truncate,operation,time ms [first],\
        time ms [last],entries/s [first],entries/s [last],IOPS [first],IOPS [last],MiB/s [first],\
        MiB/s [last],IO lat us [min],IO lat us [avg],IO lat us [max],version,command\n\
        2026-05-22T14:03:11+0000,,file,/mnt/a,1,4,,1,1073741824,4096,1,1,1,8,1,0,READ,9000,10000,\
        ,,21000,20000,82,78,30,1500,9000,3.0.1,\"elbencho -r -b 4k\"\n\
        2026-05-22T14:03:31+0000,,file,/mnt/a,1,4,,1,1073741824,4096,1,1,1,8,1,0,STAT,90,100,900,\
        800,,,,,,,,3.0.1,\"elbencho --stat\"\n";
    let record = import::import("e.csv", text.as_bytes(), NOW).expect("elbencho");
    let read = cell(&record, "read");
    near(read.iops, 20_000.0);
    near(read.bytes_per_s, 81_920_000.0);
    assert_eq!((read.pattern.as_str(), read.threads, read.queue_depth), ("random", 4, 8));
    assert_eq!(read.latency.as_ref().map(|latency| latency.max_ns), Some(9_000_000));
    near(cell(&record, "stat").iops, 800.0);
    let cut = &text[..text.len() - 40];
    let refusal = import::import("e.csv", cut.as_bytes(), NOW).expect_err("half a row");
    assert!(refusal.to_string().contains("line 3"), "{refusal}");
}

#[test]
fn a_drive_goes_to_the_results_that_were_of_it() {
    let smart = r#"{"smartctl": {"version": [7, 3]}, "device": {"name": "/dev/sda",
        "protocol": "ATA"}, "model_name": "EXAMPLE SSD", "serial_number": "S1",
        "firmware_version": "1.0", "user_capacity": {"blocks": 1, "bytes": 512000000000}}"#;
    assert_eq!(Kind::of(smart.as_bytes()), Some(Kind::Drive));
    let alone = import::import("s.json", smart.as_bytes(), NOW);
    assert_eq!(alone, Err(ImportError::DriveAlone));
    let [drive] = DriveFile::read(smart).try_into().expect("one drive");
    let mut other = import("hdparm.txt");
    assert!(!drive.enter(&mut other), "those were of /dev/loop1");
    let mut record = import("fio-3.33.json");
    assert!(drive.enter(&mut record));
    let layer = &record.targets[0].stack[0];
    assert_eq!(layer.drive.as_ref().and_then(|drive| drive.serial.as_deref()), Some("S1"));
    assert_eq!(record.targets[0].capacity_bytes, 512_000_000_000);
    let list = r#"{"Devices": [{"DevicePath": "/dev/nvme0n1", "ModelNumber": "X", "SerialNumber":
        "1", "Firmware": "2", "PhysicalSize": 1000}, {"DevicePath": "/dev/nvme1n1",
        "ModelNumber": "Y", "SerialNumber": "2", "Firmware": "2", "PhysicalSize": 1000}]}"#;
    assert_eq!(DriveFile::read(list).len(), 2);
    assert_eq!(DriveFile::read(r#"{"vid": 5197, "sn": "S", "mn": "M ", "fr": "F"}"#).len(), 1);
}

#[test]
fn what_is_of_no_program_is_refused() {
    for text in ["", "hello\n", "{}", "[1, 2]", "a,b,c\n", "\u{0}\u{1}", "{\"jobs\": []}"] {
        let refusal = import::import("x", text.as_bytes(), NOW).expect_err("no result");
        assert_eq!(refusal, ImportError::Unknown, "{text:?}");
    }
    let people = "  read: IOPS=3068, BW=11.0MiB/s\nRun status group 0 (all jobs):\n";
    assert_eq!(import::import("x", people.as_bytes(), NOW), Err(ImportError::FioText));
}
