//! Stacks of all the names there are: each is built or refused in a sentence, and what is built
//! serves whatever its contract allows.

mod memory;

use block::{
    Actor, Command, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng, Tag,
};
use model::fs::{Caching, Syncing};
use proptest::{prelude::*, sample::select};
use std::sync::OnceLock;
use target::{
    catalog::Catalog,
    stack::{Opened, Stack, open},
};

fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::built_in().expect("the built-in catalog"))
}

fn build(text: &str, seed: u64) -> Opened {
    let stack: Stack = text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"));
    open(&stack, catalog(), seed).unwrap_or_else(|bad| panic!("{text}: {bad}"))
}

/// Asks for `count` things that the contract allows, up to `depth` at a time, and waits for all of
/// them.
fn exercise(opened: &mut Opened, count: u64, depth: u64, seed: u64) {
    let contract = opened.contract();
    let block = u64::from(contract.block_bytes.max(512));
    let longest = u64::from(contract.transfer_bytes_max).min(4 << 20) / block;
    let mut rng = Rng::new(seed, 0);
    let (mut issued, mut done) = (0, Vec::new());
    let mut completed = 0;
    while completed < count {
        while issued < count && issued - completed < depth {
            let bytes = (1 + rng.below(longest)) * block;
            let bytes = if rng.below(2) == 0 { bytes.min(64 * block) } else { bytes };
            let offset = rng.below((contract.capacity_bytes - bytes) / block + 1) * block;
            let at = Extent { offset, bytes: bytes as u32 };
            let command = match rng.below(10) {
                0..4 => Command::Read { at, into: Payload::None },
                4..7 => Command::Write { at, from: Payload::None, durability: Durability::Cached },
                7 => Command::Write { at, from: Payload::None, durability: Durability::Fua },
                8 => Command::Flush,
                _ => Command::Discard { offset, len: bytes },
            };
            let (tag, actor) = (Tag(issued), Actor((issued % 8) as u16));
            opened.submit(Request { tag, actor, drive: Drive(0), command });
            issued += 1;
        }
        opened.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            assert_eq!(completion.result, Ok(()));
            assert!(completion.finished > completion.issued, "an answer in no time");
            completed += 1;
        }
    }
    assert_eq!(opened.engine.count(), count);
}

fn a_drive() -> impl Strategy<Value = String> {
    let names: Vec<String> = catalog().drive_names().map(str::to_owned).collect();
    let settings = select(vec![
        "",
        "",
        "",
        ":port=onboard",
        ":port=none",
        ":port=scsi160,seed=4",
        ":write-cache=off",
        ":write-cache=on",
        ":command-queue=1",
        ":command-queue=256",
        ":state=fresh",
        ":capacity=3G",
    ]);
    (select(names), settings).prop_map(|(name, settings)| format!("{name}{settings}"))
}

fn a_layer() -> impl Strategy<Value = &'static str> {
    select(vec![
        "/raid0",
        "/raid0:chunk=4K",
        "/raid1",
        "/raid1:driver=lsi",
        "/raid5",
        "/raid5:chunk=4K,driver=highpoint",
        "/raid5:chunk=1M,degraded=0",
        "/raid5:degraded=1,rebuild=on",
        "/raid6",
        "/raid6:chunk=4K",
        "/raid10",
        "/raid10:chunk=4K",
        "/raid10:degraded=1,rebuild=1GB",
        "/raid0:driver=generic-bbu,cache=16M",
        "/raid5:driver=generic-bbu,chunk=4K,cache=16M",
        "/raid6:driver=generic-bbu,cache=64M,degraded=1",
        "/raid10:driver=generic-bbu",
        "/ext2:ram=16M",
        "/ext3:ram=64M",
        "/ext3:ram=16M,data=writeback,read-ahead=0",
        "/ext4:ram=32M,discard=on,elevator=noop",
        "/xfs:ram=16M,barrier=off,lazy-count=0",
        "/xfs:ram=2G,read-ahead=16M,kernel=2.6.18",
        "/xfs:ram=16M,log-on=nvme-tlc",
        "/ext4:ram=16M,journal-on=hdd-7200-cmr",
        "/ext3:ram=16M,metadata-on=nvme-tlc",
        "/ext4:ram=16M,metadata-on=nvme-tlc,small-files-on=nvme-tlc,small=16K",
        "/xfs:ram=16M,small-files-on=sata-tlc",
        "/xfs:ram=16M,log-on=sata-tlc,small-files-on=sata-tlc",
        "/flash",
        "/noop",
        "/deadline:fifo_batch=1,read_expire=1ms",
        "/cfq:slice_idle=0ms,nr_requests=4",
        "/cfq",
        "/anticipatory:antic_expire=2ms,max_sectors_kb=4",
        "/cache:ssd=nvme-tlc,size=64M",
        "/cache:ssd=intel-x25e-32,size=300M,mode=writeback,policy=arc,block=4K,dirty=1%",
        "/cache:ssd=mtron-pro-32,size=1G,mode=writearound,policy=s3fifo,bypass-seq=0",
        "/bcache:ssd=sata-tlc,size=8M,mode=writeback,map=memory,block=16K,policy=lirs",
        "/dm-writecache:ssd=intel-x25e-32,size=8M,dirty=5%",
        "/dm-cache:ssd=samsung-980-1000,size=2G,block=1M,policy=tinylfu",
        "/cache:ssd=intel-x25e-32,size=64M,mode=writeback,home=flash,spare=50%",
        "/pin:ssd=nvme-tlc,range=0-10%",
        "/pin:ssd=mtron-pro-32,range=64M-1G",
        "/tier:ssd=sata-tlc,size=1G",
        "/tier:ssd=intel-x25e-32,size=100M,epoch=100ms,block=64K",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn whatever_is_written_is_built_and_serves_or_is_refused_in_a_line(
        members in prop::collection::vec((1..5u16, a_drive()), 1..3),
        layers in prop::collection::vec(a_layer(), 0..3),
        seed in 0..4u64,
    ) {
        let members: Vec<_> = members.iter().map(|(count, drive)| format!("{count}x{drive}")).collect();
        let text = members.join("+") + &layers.concat();
        let stack: Stack = text.parse().expect("the grammar");
        match open(&stack, catalog(), seed) {
            Ok(mut opened) => exercise(&mut opened, 60, 12, seed),
            Err(bad) => prop_assert!(!bad.to_string().contains('\n'), "{text}: {bad}"),
        }
    }
}

#[test]
fn a_stack_takes_as_many_requests_as_it_says() {
    for text in [
        "mtron-pro-32",
        "8xmtron-pro-32/raid5:chunk=64K",
        "4xintel-x25e-32/raid10:chunk=16K",
        "6xhdd-7200-cmr/raid6:chunk=512K",
        "hdd-7200-cmr/xfs:ram=64M",
        "4xhdd-7200-cmr/raid5:driver=generic-bbu,cache=16M",
        "4xhdd-7200-cmr/raid5/deadline/cache:ssd=nvme-tlc,size=1G,mode=writeback",
    ] {
        let mut opened = build(text, 1);
        let depth = opened.contract().queue_depth;
        assert!(depth >= 1024, "{text}: {depth}");
        exercise(&mut opened, u64::from(depth) + 100, u64::from(depth), 1);
    }
}

#[test]
fn elevators_that_cannot_be_are_refused_with_the_cure() {
    for (layers, word) in [
        ("/deadlin", "Did you mean `deadline`?"),
        ("/deadline:read_expir=5s", "Did you mean `read_expire`?"),
        ("/deadline:read_expire=5", "a whole number with ns, us, ms or s"),
        ("/deadline:read_expire=99999999999s", "from 0s to 3600s"),
        ("/deadline:slice_idle=8ms", "no setting `slice_idle`"),
        ("/deadline:fifo_batch=0", "from 1 to 10000"),
        ("/cfq:max_sectors_kb=6", "splits a page"),
        ("/noop:nr_requests=2", "from 4 to 480"),
        ("/noop/deadline", "one elevator is enough"),
        ("/ext4/deadline", "write `/deadline/ext4`"),
        ("/flash/cfq", "write `/cfq/flash`"),
        ("/noop/ext4:elevator=cfq", "one elevator is enough"),
    ] {
        let stack: Stack = format!("hdd-7200-cmr{layers}").parse().expect("the grammar");
        let refusal = open(&stack, catalog(), 1).err().expect(layers).to_string();
        assert!(refusal.contains(word), "{layers}: {refusal}");
    }
    let below_array: Stack = "2xhdd-7200-cmr/cfq/raid0".parse().expect("the grammar");
    assert!(open(&below_array, catalog(), 1).is_err());
}

#[test]
fn caches_that_cannot_be_are_refused_with_the_cure() {
    for (layers, word) in [
        ("/cache", "names no flash drive"),
        ("/cach:ssd=nvme-tlc", "Did you mean `cache`"),
        ("/cache:ssd=nvme-tl", "Did you mean `nvme-tlc`"),
        ("/cache:ssd=hdd-smr", "is a disk"),
        ("/cache:ssd=nvme-tlc,policy=lur", "Did you mean `lru`?"),
        ("/cache:ssd=nvme-tlc,mode=back", "is not among its words"),
        ("/cache:ssd=nvme-tlc,size=4T", "out of range"),
        ("/cache:ssd=nvme-tlc,size=1G,block=12K", "no power of two"),
        ("/cache:ssd=nvme-tlc,size=4M,block=1M", "64 are the fewest"),
        ("/cache:ssd=nvme-tlc,size=200G,block=4K", "write more"),
        ("/cache:ssd=nvme-tlc,size=1G,dirty=110%", "0% to 100%"),
        ("/dm-writecache:ssd=nvme-tlc,size=1G,mode=writethrough", "it holds writes alone"),
        ("/dm-writecache:ssd=nvme-tlc,size=1G,fill=block", "has no setting `fill`"),
        ("/cache:ssd=nvme-tlc,size=1G,fill=blok", "Did you mean `block`?"),
        ("/cache:ssd=nvme-tlc,size=1G,home=flsh", "Did you mean `flash`?"),
        ("/cache:ssd=nvme-tlc,size=1G,spare=28%", "write `home=flash`"),
        ("/cache:ssd=sata-tlc,size=450G,home=flash", "the managed volume on `sata-tlc` has"),
        ("/cache:ssd=nvme-tlc,size=1G/cache:ssd=nvme-tlc,size=1G", "one cache is enough"),
        ("/ext4/cache:ssd=nvme-tlc,size=1G", "write `/cache` before `/ext4`"),
        ("/cache:ssd=nvme-tlc,size=1G/deadline", "write `/deadline` before `/cache`"),
    ] {
        let stack: Stack = format!("hdd-7200-cmr{layers}").parse().expect("the grammar");
        let refusal = open(&stack, catalog(), 1).err().expect(layers).to_string();
        assert!(refusal.contains(word), "{layers}: {refusal}");
    }
    let small: Stack = "wd-raptor-740gd/cache:ssd=nvme-tlc,size=80G".parse().expect("one");
    let refusal = open(&small, catalog(), 1).err().expect("flash as large as the disk").to_string();
    assert!(refusal.contains("needs no disks"), "{refusal}");
}

#[test]
fn places_that_cannot_be_are_refused_with_the_cure() {
    for (layers, word) in [
        ("/pin", "names no flash drive"),
        ("/pin:ssd=nvme-tlc", "names no range"),
        ("/pni:ssd=nvme-tlc,range=0-10%", "Did you mean `pin`"),
        ("/pin:ssd=nvme-tl,range=0-10%", "Did you mean `nvme-tlc`"),
        ("/pin:ssd=nvme-tlc,rang=0-10%", "Did you mean `range`"),
        ("/pin:ssd=hdd-smr,range=0-10%", "is a disk"),
        ("/pin:ssd=nvme-tlc,range=10-0%", "write the smaller one first"),
        ("/pin:ssd=nvme-tlc,range=5-5%", "is empty"),
        ("/pin:ssd=nvme-tlc,range=0-110%", "0% to 100%"),
        ("/pin:ssd=nvme-tlc,range=10%", "is no range"),
        ("/pin:ssd=nvme-tlc,range=1K-2G", "whole 4 KiB"),
        ("/pin:ssd=nvme-tlc,range=0-100T", "goes beyond"),
        ("/pin:ssd=nvme-tlc,range=0-100%", "needs no disks"),
        ("/pin:ssd=mtron-pro-32,range=0-90%", "a smaller range, or a larger drive"),
        ("/tier", "names no flash drive"),
        ("/teir:ssd=nvme-tlc", "Did you mean `tier`"),
        ("/ext4:journal-on=nvme-tcl", "Did you mean `nvme-tlc`"),
        ("/ext4:log-on=nvme-tlc", "journal-on"),
        ("/xfs:journal-on=nvme-tlc", "log-on"),
        ("/ext2:journal-on=nvme-tlc", "journal-on"),
        ("/flash/ext4:journal-on=nvme-tlc", "leave one of them out"),
        ("/cache:ssd=nvme-tlc,size=1G/xfs:log-on=nvme-tlc", "beside a drive or an array alone"),
        ("/ext4:metadata-on=nvme-tcl", "Did you mean `nvme-tlc`"),
        ("/ext4:meta-data-on=nvme-tlc", "Did you mean `metadata-on`"),
        ("/ext2:metadata-on=nvme-tlc", "no setting `metadata-on`"),
        ("/flash/ext4:metadata-on=nvme-tlc", "metadata on a second drive stands beside"),
        ("/cache:ssd=nvme-tlc,size=1G/ext4:metadata-on=nvme-tlc", "leave one of them out"),
        ("/tier:ssd=nvme-tlc,size=1G/xfs:metadata-on=nvme-tlc", "leave one of them out"),
        ("/pin:ssd=nvme-tlc,range=0-1%/ext3:small-files-on=nvme-tlc", "small files on a second"),
        ("/ext4:metadata-on=nvme-tlc,journal-on=nvme-tlc", "leave `journal-on=` out"),
        ("/xfs:log-on=nvme-tlc,metadata-on=nvme-tlc", "leave `log-on=` out"),
        ("/ext4:metadata-on=nvme-tlc,small-files-on=sata-tlc", "name the same drive in both"),
        ("/ext4:small=64K", "write `small-files-on=`"),
        ("/ext4:metadata-on=nvme-tlc,small=64K", "write `small-files-on=`"),
        ("/ext4:small-files-on=nvme-tlc,small=many", "cannot be"),
        ("/ext4:small-files-on=nvme-tlc,small=2G", "out of range"),
        ("/tier:ssd=nvme-tlc,siez=1G", "Did you mean `size`"),
        ("/tier:ssd=nvme-tlc,size=0", "out of range"),
        ("/tier:ssd=nvme-tlc,size=1M", "are the fewest"),
        ("/tier:ssd=nvme-tlc,size=1G,epoch=1ms", "from 100ms"),
        ("/tier:ssd=nvme-tlc,size=1G,block=96K", "no power of two"),
        ("/tier:ssd=nvme-tlc,size=200G,block=64K", "write a larger `block=`"),
        ("/pin:ssd=nvme-tlc,range=0-1%/pin:ssd=nvme-tlc,range=0-1%", "one pinned range is enough"),
        ("/cache:ssd=nvme-tlc,size=1G/tier:ssd=nvme-tlc,size=1G", "one flash drive beside"),
        ("/ext4/tier:ssd=nvme-tlc,size=1G", "write `/tier` before `/ext4`"),
        ("/tier:ssd=nvme-tlc,size=1G/deadline", "write `/deadline` before `/tier`"),
    ] {
        let stack: Stack = format!("hdd-7200-cmr{layers}").parse().expect("the grammar");
        let refusal = open(&stack, catalog(), 1).err().expect(layers).to_string();
        assert!(refusal.contains(word), "{layers}: {refusal}");
        assert!(!refusal.contains('\n'), "{refusal}");
    }
}

/// Mean time of a random read of 4 KiB, ns, one after the other, within the first `span` bytes.
fn read_ns(text: &str, span: u64, count: u64) -> f64 {
    let mut opened = build(text, 1);
    let (mut rng, mut done, mut ns) = (Rng::new(2, 2), Vec::new(), 0);
    for number in 0..count {
        let at = Extent { offset: rng.below(span / 4096) * 4096, bytes: 4096 };
        let command = Command::Read { at, into: Payload::None };
        let (tag, actor) = (Tag(number), Actor(0));
        opened.submit(Request { tag, actor, drive: Drive(0), command });
        while done.is_empty() {
            opened.wait(Instant::NEVER, &mut done);
        }
        let completion = done.pop().expect("one completed");
        // The first half fills the cache.
        ns += if number >= count / 2 { completion.finished.since(completion.issued) } else { 0 };
    }
    ns as f64 / (count - count / 2) as f64
}

/// A pinned range answers as flash does, what lies beside it as the disk; and what is asked for
/// over and over moves to a tier's flash, though it began on the disk.
#[test]
fn what_is_pinned_or_hot_answers_as_flash_does() {
    const SPAN: u64 = 128 << 20;
    let disk = read_ns("hdd-7200-cmr", SPAN, 400);
    let pinned = read_ns("hdd-7200-cmr/pin:ssd=nvme-tlc,range=0-1G", SPAN, 400);
    let beside = read_ns("hdd-7200-cmr/pin:ssd=nvme-tlc,range=1G-2G", SPAN, 400);
    assert!(pinned < disk / 20.0, "{pinned} ns of {disk}");
    assert!((beside / disk - 1.0).abs() < 0.05, "{beside} ns of {disk}");
    let hot = read_ns("hdd-7200-cmr/tier:ssd=nvme-tlc,size=1G,epoch=30s", SPAN, 40_000);
    assert!(hot < disk / 20.0, "{hot} ns of {disk}");
}

/// What the drives were written by `count` synchronous overwrites of 4 KiB each: all, and what the
/// second drive was written of it; and how long they took, ns.
fn written_in_sync(text: &str, count: u64) -> (u64, Option<u64>, u64) {
    let mut opened = build(text, 1);
    let files = opened.file_system().expect("a file system on top");
    files.set_open(Actor(0), Caching::Direct, Syncing::Sync);
    let (began, mut done) = (opened.now(), Vec::new());
    for number in 0..count {
        // Times move with the kernel's tick, and a write in the same one changes nothing more.
        let at = Extent { offset: number * 4096, bytes: 4096 };
        let command = Command::Write { at, from: Payload::None, durability: Durability::Cached };
        opened.submit(Request { tag: Tag(number), actor: Actor(0), drive: Drive(0), command });
        while done.is_empty() {
            opened.wait(Instant::NEVER, &mut done);
        }
        assert_eq!(done.pop().expect("one completed").result, Ok(()));
    }
    let took = opened.now().since(began);
    (opened.traffic.written_bytes(), opened.traffic.beside_written_bytes(), took)
}

/// The disk is written the data and nothing else, the second drive the commits; and a disk that
/// need not seek to its middle and back for each of them is done sooner.
#[test]
fn a_journal_on_a_second_drive_leaves_the_data_alone_on_the_first() {
    const WRITES: u64 = 200;
    for (inside, outside) in [
        ("hdd-7200-cmr/ext4", "hdd-7200-cmr/ext4:journal-on=nvme-tlc"),
        ("hdd-7200-cmr/xfs", "hdd-7200-cmr/xfs:log-on=nvme-tlc"),
        ("4xhdd-7200-cmr/raid0/deadline/xfs", "4xhdd-7200-cmr/raid0/deadline/xfs:log-on=nvme-tlc"),
    ] {
        assert_eq!(outside.parse::<Stack>().expect("the grammar").to_string(), outside);
        let (all, none, seeking_ns) = written_in_sync(inside, WRITES);
        let (both, second, took_ns) = written_in_sync(outside, WRITES);
        assert_eq!(none, None, "{inside}");
        let journal = second.expect("a second drive");
        assert_eq!(both - journal, WRITES * 4096, "{outside}: the first drive has the data");
        assert!(journal > 0 && all > WRITES * 4096, "{outside}: {journal} B of commits");
        assert!(took_ns < seeking_ns, "{outside}: {took_ns} ns, inside {seeking_ns}");
        let layers = build(outside, 1).layers;
        let layer = layers.iter().find(|layer| layer.kind == "journal").expect("a layer");
        assert!(layer.text.ends_with("-on=nvme-tlc"), "{}", layer.text);
    }
}

/// A sync of the one file finds its journal with the metadata, and its data on the first drive;
/// `small-files-on=` alone moves neither.
#[test]
fn metadata_on_a_second_drive_take_the_journal_along() {
    const WRITES: u64 = 200;
    for (inside, outside) in [
        ("hdd-7200-cmr/ext4", "hdd-7200-cmr/ext4:metadata-on=nvme-tlc"),
        ("hdd-7200-cmr/xfs", "hdd-7200-cmr/xfs:metadata-on=nvme-tlc,small-files-on=nvme-tlc"),
    ] {
        let (both, second, _) = written_in_sync(outside, WRITES);
        let journal = second.expect("a second drive");
        assert_eq!(both - journal, WRITES * 4096, "{outside}: the first drive has the data");
        // XFS' records are rounded to the sectors of their drive, of 4 KiB on the disk.
        let all = written_in_sync(inside, WRITES).0;
        assert!(all == both || (inside.ends_with("xfs") && all > both), "{outside}: {all}, {both}");
        let layers = build(outside, 1).layers;
        let layer = layers.iter().find(|layer| layer.kind == "metadata").expect("a layer");
        assert!(layer.text.starts_with("metadata-on=nvme-tlc"), "{}", layer.text);
    }
    let small = "hdd-7200-cmr/ext4:small-files-on=nvme-tlc,small=4K";
    let (_, second, _) = written_in_sync(small, WRITES);
    assert_eq!(second, Some(0), "{small}: a file of blocks is not small");
    let opened = build(small, 1);
    assert!(opened.notes.iter().any(|note| note.contains("concerns file trees")));
}

/// Every block of 4 MiB is read some 20 times before it counts: hits are the flash drive's own
/// reads behind its own port. Where all are misses, the time is the disk's.
#[test]
fn what_a_cache_holds_comes_as_fast_as_from_its_flash_drive() {
    const SPAN: u64 = 16 << 20;
    let (disk, flash) =
        (read_ns("hdd-7200-cmr", SPAN, 2000), read_ns("nvme-tlc:state=steady", SPAN, 2000));
    let cached = "hdd-7200-cmr/cache:ssd=nvme-tlc,size=64M,block=4K";
    let all_hits = read_ns(cached, SPAN / 4, 40_000);
    assert!(flash * 10.0 < disk, "{flash} and {disk} ns");
    assert!((all_hits / flash - 1.0).abs() < 0.1, "{all_hits} ns, alone {flash}");
    // Hardly anything of 100 GiB comes twice: then the disk's time is what counts.
    const FAR: u64 = 100 << 30;
    let (alone, found) = (read_ns("hdd-7200-cmr", FAR, 2000), read_ns(cached, FAR, 2000));
    assert!((found / alone - 1.0).abs() < 0.02, "{found} ns, the disk alone {alone}");
}

#[test]
fn seeds_make_the_hash_and_nothing_else_does() {
    let hash = |seed| {
        let mut opened = build("4xintel-520-120/raid5:degraded=2/ext4:ram=64M", seed);
        exercise(&mut opened, 400, 16, 5);
        opened.engine.hash()
    };
    assert_eq!(hash(1), hash(1));
}

/// EasyCo 2007: 8 drives, 4 KiB, 40 threads, 54,100 with md, 37,000 with the card's own driver.
/// Fitted cells, so the stack that is built must give them, whatever the other numbers are.
#[test]
fn the_serial_time_of_an_arrays_driver_is_its_limit() {
    for (driver, published) in [("md", 54_100.0), ("highpoint", 37_000.0)] {
        let text = format!("4xmtron-pro-32+4xmtron-mobi-32/raid5:chunk=64K,driver={driver}");
        let mut opened = build(&text, 1);
        let mut rng = Rng::new(1, 1);
        let mut ask = |opened: &mut Opened, tag: u64| {
            let at = Extent { offset: rng.below(1 << 22) * 4096, bytes: 4096 };
            let (actor, command) = (Actor(tag as u16), Command::Read { at, into: Payload::None });
            opened.submit(Request { tag: Tag(tag), actor, drive: Drive(0), command });
        };
        (0..40).for_each(|tag| ask(&mut opened, tag));
        let (mut done, mut completed) = (Vec::new(), 0u64);
        while completed < 20_000 {
            opened.wait(Instant::NEVER, &mut done);
            for completion in done.drain(..) {
                completed += 1;
                ask(&mut opened, completion.tag.0);
            }
        }
        let iops = completed as f64 / (opened.now().0 as f64 / 1e9);
        assert!((iops / published - 1.0).abs() < 0.03, "{driver}: {iops:.0} of {published}");
    }
}
