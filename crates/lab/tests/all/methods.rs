//! The methods that come with drivelab: what they are made of, against the tools' own rules; what a
//! wrong method is told; and the page that explains them all.

use crate::scripted::{Kind, Lab, Logged, Scripted, flags};
use lab::{
    method::{BUILT_IN, CellBound, CellSpec, FileState, FinalFlush, Method},
    plan::{Options, Outline, Plan},
    target::Offer,
};
use std::collections::BTreeSet;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const METHODOLOGY: &str = include_str!("../../../../docs/reference/methodology.md");

fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn built_in(name: &str, pairs: &[(&str, &str)]) -> Method {
    Method::built_in(name, &settings(pairs)).unwrap_or_else(|error| panic!("{error}"))
}

/// A drive of 16 TiB on a machine with 32 GiB of memory.
fn big() -> Offer {
    Offer { memory_bytes: 32 * GIB, ..Offer::everything(16 * TIB) }
}

fn plan(method: Method) -> Plan {
    Plan::new(method, &Options::default(), &[big()]).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    Method::parse("mine.toml", text, &[]).expect_err("a wrong method").to_string()
}

fn doubling(from: u64, to: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(from), |size| Some(size * 2)).take_while(move |size| *size <= to)
}

fn pairs(method: &Method) -> BTreeSet<(u64, u64)> {
    let pair = |cell: &CellSpec| {
        let file_bytes = cell.file_bytes.expect("IOzone names its files");
        (file_bytes, u64::from(cell.streams[0].block_bytes))
    };
    method.cells.iter().map(pair).collect()
}

/// Bytes that one pass over the method moves, each cell's file once.
fn moved_bytes(method: &Method) -> u64 {
    method.cells.iter().filter_map(|cell| cell.file_bytes).sum()
}

#[test]
fn every_method_has_a_plan_whose_cells_have_names_of_their_own() {
    for (name, _) in BUILT_IN {
        let plan = plan(built_in(name, &[]));
        assert_eq!(plan.method.file.name, *name);
        assert!(plan.left_out.is_empty(), "{name}: {:?}", plan.left_out);
        let names: BTreeSet<&str> = plan.cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names.len(), plan.cells.len(), "{name}");
        assert!(names.iter().all(|name| !name.contains('#')), "{name} needs numbers: {names:?}");
        assert!(plan.seconds.0 > 0.0 && plan.seconds.0 <= plan.seconds.1, "{name}");
    }
}

#[test]
fn bm_flash_has_fourteen_sizes_two_operations_three_thread_counts_and_two_linear_cells() {
    let plan = plan(built_in("bm-flash", &[]));
    assert_eq!(plan.cells.len(), 14 * 2 * 3 + 2);
    let (linear, random): (Vec<_>, Vec<_>) =
        plan.cells.iter().partition(|cell| cell.streams[0].pattern.name() == "seq");
    assert_eq!((linear.len(), random.len()), (2, 84));
    let coordinates: BTreeSet<_> = random
        .iter()
        .map(|cell| &cell.streams[0])
        .map(|stream| (stream.op.name(), stream.threads, u64::from(stream.block_bytes)))
        .collect();
    for op in ["read", "write"] {
        for threads in [1, 10, 40] {
            assert!(doubling(512, 4 * MIB).all(|b| coordinates.contains(&(op, threads, b))));
        }
    }
    assert!(plan.cells.iter().flat_map(|cell| &cell.streams).all(|s| s.queue_depth == 1));
    assert_eq!((plan.fill, plan.must_ask()), (1, false));
    assert!(plan.seconds.1 < 600.0, "{:?}", plan.seconds);
}

/// As `strace -f bonnie++ -s 64 -r 32` of Bonnie++ 2.00a shows its calls: write(2) and read(2) of
/// one byte, then of 8 KiB in order; read, lseek back, write; five threads that read at random
/// multiples of 8 KiB and write one block in ten where they read it; fsync(2) after each phase that
/// writes, before its time is taken.
#[test]
fn bonnie_makes_the_calls_that_bonnie_was_seen_to_make() {
    const BYTES: u64 = 4096;
    const BLOCK: u64 = 8 * KIB;
    const BLOCKS: u64 = 64 * MIB / BLOCK;
    let text = include_str!("../../../../methods/bonnie.toml");
    assert_eq!(text.matches("bound = 3145728").count(), 2, "3 MiB a byte at a time, as there");
    let (blocks, _) = text.split_once("[[cell]]\nname = \"sequential-create\"").expect("trees");
    let drive = Scripted::new(|_| 20_000);
    let mut lab = Lab::new(&drive, "").with(|options| options.span_bytes = Some(64 * MIB));
    lab.method = blocks.replace("3145728", &BYTES.to_string());
    let record = lab.run();
    let log = drive.life.borrow().log.clone();
    let of = |cell: u64| -> Vec<Logged> {
        let first = log[0].pass;
        log.iter().filter(|at| at.pass == first + cell).copied().collect()
    };
    let in_order = |cell: u64, kind: Kind, bytes: u64, count: u64, flushed: bool| {
        let mut seen = of(cell);
        assert_eq!(seen.pop_if(|at| at.kind == Kind::Flush).is_some(), flushed, "{cell}");
        assert_eq!(seen.len() as u64, count, "{cell}");
        for (number, at) in (0..).zip(seen) {
            let expected = (kind, number * bytes, bytes as u32);
            assert_eq!((at.kind, at.offset, at.bytes), expected, "{cell}");
        }
    };
    in_order(0, Kind::Write, 1, BYTES, true);
    in_order(1, Kind::Write, BLOCK, BLOCKS, true);
    let mut rewrite = of(2);
    assert_eq!(rewrite.pop().map(|at| at.kind), Some(Kind::Flush));
    assert_eq!(rewrite.len() as u64, 2 * BLOCKS);
    for (number, pair) in (0..).zip(rewrite.chunks(2)) {
        assert_eq!([pair[0].kind, pair[1].kind], [Kind::Read, Kind::Write]);
        assert!(pair.iter().all(|at| at.offset == number * BLOCK && at.bytes == 8192));
    }
    in_order(3, Kind::Read, 1, BYTES, false);
    in_order(4, Kind::Read, BLOCK, BLOCKS, false);
    let seeks = of(5);
    assert_eq!(seeks.last().map(|at| at.kind), Some(Kind::Flush));
    let mut written = 0;
    for seeker in 0..5 {
        let own: Vec<Logged> =
            seeks.iter().filter(|at| at.actor == seeker && at.bytes > 0).copied().collect();
        let reads: Vec<_> = own.iter().filter(|at| at.kind == Kind::Read).collect();
        assert_eq!(reads.len(), 1638, "{seeker}");
        assert!(reads.iter().all(|at| at.offset % BLOCK == 0 && at.bytes == 8192));
        for pair in own.windows(2).filter(|pair| pair[1].kind == Kind::Write) {
            assert_eq!((pair[0].kind, pair[0].offset), (Kind::Read, pair[1].offset));
            written += 1;
        }
    }
    // Five standard errors of 8,190 throws at one in ten: 136.
    assert!((683..=955).contains(&written), "{written} written back");
    let timed = |name: &str| record.cells.iter().find(|cell| cell.name == name);
    for name in ["put-byte", "put-block", "rewrite", "seeks"] {
        let cell = timed(name).expect("it ran");
        assert!(cell.passes[0].flush_s.is_some_and(|seconds| seconds > 0.0), "{name}");
    }
}

#[test]
fn iozone_tests_the_pairs_that_iozone_a_tests() {
    let method = built_in("iozone", &[]);
    let mut expected = BTreeSet::new();
    for file in doubling(64 * KIB, 512 * MIB) {
        for record in doubling(4 * KIB, 16 * MIB) {
            let is_small_in_large = file > 16 * MIB && record < 64 * KIB;
            if record <= file && !is_small_in_large {
                expected.insert((file, record));
            }
        }
    }
    assert_eq!((pairs(&method), expected.len()), (expected, 126));
    assert_eq!(method.cells.len(), 126 * 18);
    let new_files = method.cells.iter().filter(|cell| cell.file == FileState::New).count();
    assert_eq!(new_files, 126 * 2, "write and pwrite make a file each");
    for group in method.cells.chunks(18) {
        assert!(group[0].file == FileState::New && group[0].name.starts_with("write-seq-"));
        assert!(group.iter().all(|cell| cell.bound == CellBound::Once));
        assert_eq!(pairs(&Method { cells: group.to_vec(), ..method.clone() }).len(), 1);
    }
}

#[test]
fn records_that_the_user_names_are_not_left_out_and_tests_can_be_chosen() {
    let chosen = [("file", "512K..1G"), ("block", "4K..64K"), ("test", "write;random read")];
    let method = built_in("iozone", &chosen);
    assert_eq!(method.cells.len(), 12 * 5 * 2);
    let wrong = settings(&[("test", "rewrite")]);
    let refusal = Method::built_in("iozone", &wrong).expect_err("no such test").to_string();
    assert!(refusal.contains("`re-write`") && refusal.contains("stride read"), "{refusal}");
    let wrong = settings(&[("test", "read")]);
    let refusal = Method::built_in("quick", &wrong).expect_err("no tests").to_string();
    assert!(refusal.contains("no tests"), "{refusal}");
}

#[test]
fn the_cmu_command_has_thirteen_records_in_six_columns_and_312_gib_of_io() {
    let printed = built_in("iozone-cmu", &[]);
    assert_eq!(printed.cells.len(), 5 * 6);
    let whole = built_in("iozone-cmu", &[("block", "4K..16M")]);
    assert_eq!((whole.cells.len(), moved_bytes(&whole)), (13 * 6, 312 * GIB));
    for cell in &whole.cells {
        assert!(
            cell.cache == lab::method::CacheState::Dropped(record::CacheDrop::File),
            "{} reads from the cache",
            cell.name
        );
        assert_eq!(cell.flush == FinalFlush::Timed, cell.writes(), "{}", cell.name);
    }
    let plan = plan(printed);
    assert_eq!((plan.passes, plan.must_ask()), (5, true));
}

#[test]
fn the_stfc_command_has_133_pairs_in_thirteen_tests_and_over_six_tebibytes_a_pass() {
    let method = built_in("iozone-stfc", &[]);
    assert_eq!((pairs(&method).len(), method.cells.len()), (133, 133 * 13));
    let moved = moved_bytes(&method) as f64 / TIB as f64;
    assert!((moved - 6.5).abs() < 0.05, "{moved} TiB");
    let plan = plan(method);
    assert!(plan.passes == 3 && plan.must_ask());
    // Six of the thirteen tests write.
    let written = plan.written_bytes_max as f64 / TIB as f64;
    assert!((written - 3.0 * 6.5 * 6.0 / 13.0).abs() < 0.2, "{written} TiB");
}

#[test]
fn the_dd_methods_send_dds_operations_and_zeros() {
    let latency = built_in("dd-latency", &[]);
    let bandwidth = built_in("dd-bandwidth", &[]);
    for (method, block, count) in [(&latency, 512, 1000), (&bandwidth, 128 * MIB, 10)] {
        let cell = &method.cells[0];
        assert_eq!((method.cells.len(), cell.file), (1, FileState::New));
        assert_eq!(u64::from(cell.streams[0].block_bytes), block);
        assert_eq!(cell.bound, CellBound::Operations(count));
        assert_eq!(cell.streams[0].io.to_string(), "direct,sync");
        // The blocks fit one after another, so that the file grows with every write, as dd's does.
        assert!(plan(method.clone()).span_bytes >= block * count);
    }
    let stream = plan(built_in("dd-stream", &[]));
    assert_eq!(stream.span_bytes, 64 * GIB, "twice the memory");
    let ends: Vec<_> = stream.cells.iter().map(|cell| (cell.name.as_str(), cell.flush)).collect();
    assert_eq!(ends, [("write", FinalFlush::Untimed), ("read", FinalFlush::None)]);
    for method in [latency, bandwidth, stream.method] {
        assert!(method.cells.iter().all(|cell| cell.streams[0].contents.to_string() == "zeros"));
        let random = built_in(&method.file.name, &[("data", "random")]);
        assert!(random.cells.iter().all(|cell| !cell.streams[0].contents.is_compressible()));
    }
}

#[test]
fn oltp_keeps_one_log_thread_whatever_the_data_threads_are() {
    for (pairs, threads) in [(&[][..], 8), (&[("threads", "32")][..], 32)] {
        let plan = plan(built_in("oltp", pairs));
        let [data, log] = plan.cells[0].streams.as_slice() else { panic!("two streams") };
        assert_eq!((data.name.as_str(), data.threads), ("data", threads));
        assert_eq!((log.name.as_str(), log.threads, log.op.name()), ("log", 1, "commit"));
        let (data, log) = (plan.area(&plan.cells[0], data), plan.area(&plan.cells[0], log));
        assert!(data.offset + data.bytes <= log.offset, "the log has a place of its own");
    }
    let several = built_in("oltp", &[("threads", "8;32")]);
    let names: Vec<_> = several.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["oltp-t8", "oltp-t32"]);
}

#[test]
fn snia_rounds_track_a_cell_that_exists_whatever_is_set() {
    for (name, cells) in [("snia-iops", 56), ("snia-throughput", 4), ("snia-latency", 9)] {
        let plan = plan(built_in(name, &[]));
        assert_eq!((plan.cells.len(), plan.passes, plan.fill), (cells, 25, 2), "{name}");
        assert_eq!((plan.rule.seconds_min, plan.rule.seconds_max), (60.0, 60.0), "{name}");
        assert!(plan.must_ask() && plan.span_bytes == 16 * TIB, "{name}");
        let fills = 2.0 * 16.0 * TIB as f64;
        let rounds = plan.seconds.0 - fills / lab::plan::FAST.bytes_per_s;
        assert!((rounds - 5.0 * 60.0 * cells as f64).abs() < 1.0, "{name}: {rounds} s");
    }
    let deeper = built_in("snia-iops", &[("threads", "4"), ("depth", "32")]);
    let tracked = &deeper.file.rounds.as_ref().expect("rounds").tracked;
    assert_eq!(tracked, "random-write-4K-t4-q32");
    let without = Method::built_in("snia-iops", &settings(&[("block", "8K")]));
    assert!(without.expect_err("nothing to track").to_string().contains("keep that cell"));
}

#[test]
fn saturation_always_asks_and_may_write_what_the_target_offers() {
    let plan = plan(built_in("saturation", &[]));
    assert_eq!(plan.cells[0].bound, CellBound::Exhaust);
    assert_eq!((plan.span_bytes, plan.written_bytes_max), (8 * TIB, 16 * TIB));
    assert!(plan.must_ask() && plan.passes == 1);
    assert_eq!(plan.seconds.1, 1800.0, "the time bounds it too");
}

/// A characterisation takes about a quarter of an hour, whatever the drive, and says its bytes.
#[test]
fn a_cells_own_time_and_bytes_bound_it_and_the_users_time_bounds_that() {
    let plan = plan(built_in("characterise", &[]));
    let of = |name: &str| plan.cells.iter().find(|cell| cell.name == name).expect("a cell");
    let (fill, burst) = (of("fill"), of("burst-20"));
    assert_eq!(plan.rule_of(fill).seconds_max, 300.0);
    assert_eq!(plan.rule_of(of("size-4K")).seconds_max, 4.0);
    assert_eq!(plan.written_max_of(fill), plan.span_bytes);
    assert_eq!(plan.written_max_of(burst), plan.span_bytes / 4);
    assert!(plan.must_ask() && plan.seconds.1 < 16.0 * 60.0, "{:?}", plan.seconds);
    let most = Options { seconds_max: Some(29.0), ..Options::default() };
    let short = Plan::new(built_in("characterise", &[]), &most, &[big()]).expect("a plan");
    assert_eq!(short.rule_of(fill).seconds_max, 1.0);
}

#[test]
fn an_outline_tells_what_a_plan_costs_and_what_it_assumes() {
    let outline = |name| -> Outline { plan(built_in(name, &[])).outline() };
    let dd = outline("dd-stream");
    assert_eq!(dd.span, "64 GiB, 2 x memory");
    assert_eq!(dd.passes, "3 passes");
    let [write, read] = dd.cells.as_slice() else { panic!("two cells") };
    assert_eq!(write.title, "sequential write 64 KiB, buffered");
    assert_eq!(write.course, "a new file, the area once, flush shown apart");
    assert_eq!((write.written_bytes_max, read.written_bytes_max), (64 * GIB, 0));
    assert_eq!((write.written_share, read.written_share), (1.0, 0.0));
    // 64 GiB at 2 GB/s and at 100 MB/s.
    assert!((write.seconds.0 - 34.36).abs() < 0.01 && (write.seconds.1 - 687.2).abs() < 0.1);
    assert!((dd.seconds.1 - 3.0 * 2.0 * 687.2).abs() < 1.0, "{:?}", dd.seconds);
    assert!(dd.assumed.expect("bytes bound it").contains("a fast SSD: 2000 MB/s, 20 us"));
    let latency = outline("dd-latency");
    assert_eq!(latency.span, "1 MiB, the method's span");
    assert!((latency.cells[0].seconds.1 - 10.0).abs() < 0.1, "a thousand times 10 ms");
    let iozone = outline("iozone");
    assert_eq!(iozone.span, "512 MiB, the method's largest file");
    assert!((iozone.cells.iter().map(|cell| cell.written_share).sum::<f64>() - 1.0).abs() < 1e-9);
    let title = "stride read: strided:17 read 4 KiB, buffered, file of 64 KiB";
    assert!(iozone.cells.iter().any(|cell| cell.title == title));
    let oltp = outline("oltp");
    assert_eq!(
        oltp.cells[0].title,
        "data: random 70/30 read/write 8 KiB, 8 threads beside log: sequential commit 8 KiB"
    );
    assert!(outline("snia-latency").passes.contains("25 at most"));
    assert_eq!(outline("saturation").span, "8 TiB, 0.5 x what the target offers");
    let options = Options { span_bytes: Some(GIB), ..Options::default() };
    let sized = Plan::new(built_in("oltp", &[]), &options, &[big()]).expect("a plan");
    assert_eq!(sized.outline().span, "1 GiB, as asked for");
}

const HEAD: &str = "name = 'x'\ntitle = 't'\nabout = 'a'\nspan = '1GiB'\n";

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_nearest() {
    let cell = "[[cell]]\nop = 'read'\npattern = 'seq'\nblok = '4K'\n";
    let seen = refusal(&format!("{HEAD}{cell}"));
    assert!(seen.contains("mine.toml") && seen.contains("line 8"), "{seen}");
    assert!(seen.contains("`blok`") && seen.contains("Did you mean `block`?"), "{seen}");
    let right = cell.replace("blok", "block");
    let seen = refusal(&format!("spam = 1\n{HEAD}{right}"));
    assert!(seen.contains("line 1") && seen.contains("Did you mean `span`?"), "{seen}");
    let seen = refusal("name = ");
    assert!(seen.contains("line 1"), "{seen}");
}

#[test]
fn a_wrong_setting_is_refused_with_the_cell_and_the_cure() {
    let cases = [
        ("threads = 0", "from 1 to 1024"),
        ("threads = 1025", "from 1 to 1024"),
        ("depth = 4097", "from 1 to 4096"),
        ("depth = 8\nengine = 'sync'", "--engine uring"),
        ("block = '4x'", "64KiB"),
        ("block = '256MiB'", "128 MiB"),
        ("pattern = 'randm'", "Did you mean `random`?"),
        ("op = 'reed'", "Did you mean `read`?"),
        ("engine = 'urng'", "Did you mean `uring`?"),
        ("io = 'dirct'", "Did you mean `direct`?"),
        ("data = 'zero'", "Did you mean `zeros`?"),
        ("bound = 'twice'", "`once`"),
        ("flush = 'now'", "untimed"),
        ("before = ['trim']", "new_file"),
        ("part = [0.5, 0.5]", "start below an end"),
        ("rate = 0", "above 0"),
    ];
    for (line, cure) in cases {
        let key = line.split(' ').next().expect("a key");
        let mut cell = vec![line];
        let rest = ["op = 'read'", "pattern = 'seq'", "block = '4K'"];
        cell.extend(rest.iter().filter(|other| !other.starts_with(key)));
        let seen = refusal(&format!("{HEAD}[[cell]]\n{}\n", cell.join("\n")));
        assert!(seen.contains("cell 1 (line 5)"), "{line}: {seen}");
        assert!(seen.contains(cure), "{line}: {seen}");
    }
}

#[test]
fn an_unknown_method_gets_the_nearest_and_the_list() {
    let seen = Method::built_in("iozone-smu", &[]).expect_err("no such method").to_string();
    assert!(seen.contains("Did you mean `iozone-cmu`") && seen.contains("saturation"), "{seen}");
    let seen = Method::built_in("quick", &settings(&[("blok", "4K")])).expect_err("no such key");
    assert!(seen.to_string().contains("Did you mean `block`?"), "{seen}");
    let seen = Method::built_in("quick", &settings(&[("flush_every", "1.5")])).expect_err("half");
    assert!(seen.to_string().contains("whole number"), "{seen}");
}

#[test]
fn a_rule_for_the_span_or_the_writes_that_makes_no_sense_is_refused() {
    let cell = "[[cell]]\nop = 'read'\npattern = 'seq'\nblock = '4K'\n";
    let with =
        |line: &str| refusal(&format!("{line}\nname = 'x'\ntitle = 't'\nabout = 'a'\n{cell}"));
    assert!(with("span = '0x memory'").contains("a number above 0"));
    assert!(with("span = '2x capacity'").contains("no more than 1x"));
    assert!(with("span = '0'").contains("tests nothing"));
    assert!(with("span = '1GiB'\nwritten_max = 'x span'").contains("a number above 0"));
    assert!(with("span = '1GiB'\ngrade = 'best'").contains("publish"));
}

#[test]
fn buffers_that_memory_cannot_hold_are_refused() {
    let method = built_in("quick", &[("block", "16M"), ("depth", "64"), ("threads", "64")]);
    let refusal = Plan::new(method, &Options::default(), &[big()]).expect_err("64 GiB of buffers");
    assert!(refusal.to_string().contains("64 GiB of 32 GiB"), "{refusal}");
}

#[test]
fn a_cell_that_exhausts_goes_on_past_a_steady_rate_until_time_or_bytes_are_spent() {
    const CELL: &str = "[[cell]]\nop = 'write'\npattern = 'seq'\nblock = '1MiB'\nbound = ";
    let run = |bound: &str, head: &str| {
        let cell = format!("{CELL}'{bound}'\n");
        let record = Lab::new(&Scripted::calm(), &cell).head(head).once().run();
        let pass = record.cells[0].passes[0].clone();
        (pass.total.seconds, pass.total.bytes, record)
    };
    let (by_rule_s, by_rule_bytes, _) = run("time", "written_max = '999GiB'\nseconds_max = 40");
    assert!(by_rule_s < 20.0, "a calm drive is known after {by_rule_s} s");
    let (seconds, bytes, record) = run("exhaust", "written_max = '999GiB'\nseconds_max = 40");
    assert!((40.0..40.5).contains(&seconds), "{seconds} s");
    let cell = &record.cells[0];
    assert!((cell.bytes_per_s - bytes as f64 / seconds).abs() < 0.01 * cell.bytes_per_s);
    assert_eq!((flags(&record), cell.passes[0].warm_up_s), (vec![], 0.0));
    let limit = (by_rule_bytes / MIB + 100) * MIB;
    let (_, bytes, _) = run("exhaust", &format!("written_max = '{limit}'\nseconds_max = 40"));
    assert_eq!(bytes, limit.max(GIB / 4), "the bytes allowed, and not one block more");
}

/// The lines of the page's table whose first column is `name`.
fn rows<'a>(name: &str) -> Vec<&'a str> {
    let first = format!("| `{name}` |");
    METHODOLOGY.lines().filter(|line| line.starts_with(&first)).collect()
}

#[test]
fn the_page_explains_every_flag_in_the_words_of_the_record() {
    for flag in record::Flag::ALL {
        let row = format!("| `{}` | {} | {} |", flag.name(), flag.meaning(), flag.cure());
        assert_eq!(rows(flag.name()), [row], "docs/reference/methodology.md");
    }
}

#[test]
fn the_page_lists_every_method_with_its_number_of_cells() {
    for (name, _) in BUILT_IN {
        let plan = plan(built_in(name, &[]));
        let rows = rows(name);
        let cells = format!("| `{name}` | {} |", plan.cells.len());
        assert!(rows.len() == 1 && rows[0].starts_with(&cells), "{name}: {rows:?}, not {cells}");
        let asks = if plan.must_ask() { "| yes |" } else { "| no |" };
        assert!(rows[0].ends_with(asks), "{name} on a big drive: {asks}");
    }
}

/// The keys that serde names in its complaint about one that is none of them.
fn keys(text: &str) -> Vec<String> {
    let complaint = refusal(text);
    let (_, keys) = complaint.split_once("Keys: ").unwrap_or_else(|| panic!("{complaint}"));
    keys.trim_end_matches('.').split(", ").map(str::to_owned).collect()
}

#[test]
fn the_page_explains_every_key_of_a_method_file() {
    let head = "name = 'x'\ntitle = 't'\nabout = 'a'\nspan = '1GiB'";
    let of_method = keys(&format!("{head}\nzzzz = 1\n"));
    let of_cell = keys(&format!("{head}\n[[cell]]\nzzzz = 1\n"));
    let of_rounds = keys(&format!("{head}\n[rounds]\nzzzz = 1\n"));
    assert!(of_method.len() > 15 && of_cell.len() > 15 && of_rounds.len() == 3);
    for key in of_method.iter().chain(&of_cell).chain(&of_rounds) {
        assert_eq!(rows(key).len(), 1, "docs/reference/methodology.md: a row for the key `{key}`");
    }
}

#[test]
fn the_pages_example_is_a_method() {
    let (_, after) = METHODOLOGY.split_once("```toml\n").expect("an example");
    let (text, _) = after.split_once("```").expect("its end");
    let method = Method::parse("example.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<_> = method.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["scan", "lookups-t1", "lookups-t8", "ingest"]);
    let plan = plan(method);
    assert!(!plan.must_ask() && plan.left_out.is_empty());
}

#[test]
fn the_terms_are_in_alphabetical_order_and_explained() {
    let page = include_str!("../../../../docs/reference/terms.md").replace("\n  ", " ");
    let entries: Vec<(String, &str)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("- **")?.split_once("**: "))
        .map(|(term, meaning)| (term.to_lowercase(), meaning))
        .collect();
    assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
    assert!(entries.iter().all(|(_, meaning)| meaning.len() > 20 && meaning.ends_with(['.', ')'])));
    let words = "target method cell stream worker pass span area tick batch half-width headline grade flag \
                 verdict fill precondition record store run commit block_bytes";
    for word in words.split_whitespace() {
        assert!(
            entries.iter().any(|(term, _)| term == word),
            "docs/reference/terms.md lacks `{word}`"
        );
    }
}

/// `--method postgres`, `database` and `fsync` were answered with a list of 23 names.
#[test]
fn a_word_that_describes_methods_finds_them() {
    let answer = |word: &str| {
        let error = Method::built_in(word, &[]).expect_err("no method");
        error.to_string()
    };
    for (word, first) in
        [("database", "oltp"), ("Postgres", "wal"), ("fsync", "wal"), ("mail", "maildir")]
    {
        let said = answer(word);
        let names = said.split("Described with this word: ").nth(1).expect(&said);
        assert!(names.split('.').next().expect("names").contains(first), "{said}");
    }
    assert!(answer("oltpp").contains("Did you mean `oltp`?"));
    assert!(answer("zz").contains("there is none of this name. There are: "));
}

/// A file with a cell alone was refused for its title, then its description, then its area.
#[test]
fn a_name_and_a_cell_are_a_method() {
    let text = "name = 'mine'\n[[cell]]\nop = 'read'\npattern = 'random'\nblock = '4K'\n";
    let method = |text: &str| Method::parse("mine.toml", text, &[]).expect("a method");
    let reads = method(text);
    assert_eq!(reads.file.title, "a method of your own");
    assert_eq!(reads.cells.len(), 1);

    // It then read a scratch file that nobody had written.
    let fill = |text: &str| {
        let mut method = method(text);
        method.fill_what_is_new();
        method.fill()
    };
    assert_eq!((reads.fill(), fill(text)), (0, 1));
    assert_eq!(fill(&text.replace("'read'", "'write'")), 0);
    let both = text.replace("'read'", "['write', 'read']");
    assert_eq!(fill(&both), 1, "in random order");
    assert_eq!(fill(&format!("order = 'fixed'\n{both}")), 0);
    assert_eq!(fill(&format!("fill = 0\n{text}")), 0);
}
