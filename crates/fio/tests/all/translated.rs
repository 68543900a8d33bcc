//! What becomes of a job: cells, streams, places.

use crate::common::{Around, method, translated};
use lab::{
    method::{CellBound, FinalFlush, SpanRule},
    workload::{EngineChoice, Op, Pattern, Reach},
};

#[test]
fn groups_between_stonewalls_are_cells_and_their_jobs_streams() {
    let method = method(
        "[global]\nioengine=libaio\ndirect=1\nbs=4k\nsize=64m\nruntime=5\ntime_based\n\
         [a]\nrw=randread\niodepth=8\nnumjobs=2\n[b]\nrw=write\n[c]\nstonewall\nrw=randrw\n\
         rwmixread=70\nnorandommap\n",
    );
    assert_eq!(method.cells.len(), 2);
    let [together, alone] = &method.cells[..] else { panic!("two cells") };
    let names: Vec<&str> = together.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let a = &together.streams[0];
    assert_eq!((a.op, a.pattern, a.threads, a.queue_depth), (Op::Read, Pattern::Permutation, 2, 8));
    assert_eq!(together.streams[1].pattern, Pattern::Sequential);
    assert_eq!(together.seconds, Some(5.0));
    let c = &alone.streams[0];
    assert_eq!((c.op, c.pattern), (Op::Mixed { read_percent: 70.0 }, Pattern::Random));
    // Two threads of `a` have a file each, `b` has its own behind them.
    assert_eq!(method.span, SpanRule::Bytes(3 * (64 << 20)));
    let place = together.streams[1].place.expect("it has a place");
    assert_eq!(place.start, Reach { share: 0.0, bytes: 128 << 20 });
    assert_eq!(place.length, Reach { share: 0.0, bytes: 64 << 20 });
}

/// `[global]` holds for the jobs after it alone, as fio has it; a second one adds to the first.
#[test]
fn globals_hold_for_later_jobs() {
    let method = method(
        "[global]\nbs=8k\nsize=1m\n[a]\nstonewall\n[global]\niodepth=4\nioengine=libaio\n[b]\n\
         stonewall\nbs=16k\n",
    );
    let of = |at: usize| &method.cells[at].streams[0];
    assert_eq!((of(0).block_bytes, of(0).queue_depth), (8192, 1));
    assert_eq!((of(1).block_bytes, of(1).queue_depth), (16_384, 4));
}

#[test]
fn shares_are_of_all_that_the_target_offers() {
    let method = method("[a]\nfilename=/dev/sdz\nsize=50%\noffset=25%\n[b]\nfilename=/dev/sdz\n");
    assert_eq!(method.span, SpanRule::Capacity(1.0));
    let places: Vec<_> = method.cells[0].streams.iter().filter_map(|stream| stream.place).collect();
    assert_eq!((places[0].start.share, places[0].length.share), (0.25, 0.5));
    assert_eq!((places[1].start.share, places[1].length.share), (0.0, 1.0));
}

/// With `filesize` and `offset` a job went on beyond the end of its file; fio's ends there.
#[test]
fn a_job_ends_where_a_file_of_a_given_size_ends() {
    for (more, bytes) in [("", 512 << 10), ("size=1m\n", 512 << 10), ("size=256k\n", 256 << 10)] {
        let method = method(&format!("[a]\nfilesize=1m\noffset=512k\n{more}"));
        let place = method.cells[0].streams[0].place.expect("it has a place");
        assert_eq!((place.start.bytes, place.length.bytes), (512 << 10, bytes), "{more}");
        assert_eq!(method.span, SpanRule::Bytes(1 << 20), "{more}");
    }
}

/// fio moves `size` bytes a thread, whatever they share; ours counts operations where the area
/// walked once is not that.
#[test]
fn a_job_without_a_time_moves_as_much_as_fio_s_does() {
    let bound = |text: &str| method(text).cells[0].bound;
    assert_eq!(bound("[a]\nsize=1m\n"), CellBound::Once);
    assert_eq!(bound("[a]\nsize=1m\nnumjobs=3\n"), CellBound::Once);
    assert_eq!(bound("[a]\nsize=1m\nnumjobs=3\nfilename=x\n"), CellBound::Operations(256));
    assert_eq!(bound("[a]\nsize=1m\nloops=4\n"), CellBound::Operations(1024));
    assert_eq!(bound("[a]\nsize=1m\nio_size=64k\n"), CellBound::Operations(16));
    assert_eq!(bound("[a]\nsize=1m\nnumber_ios=7\n"), CellBound::Operations(7));
    assert_eq!(bound("[a]\nsize=1m\n[b]\nsize=2m\n"), CellBound::Once);
    // fio's jobs would end one after the other here.
    assert_eq!(bound("[a]\nsize=1m\nloops=3\n[b]\nsize=2m\n"), CellBound::Time);
}

/// A job whose memory came in huge pages was measured in pages of 4 KiB, as if that had no effect:
/// a virtual disk read 64 KiB at a time at a quarter of the rate.
#[test]
fn huge_pages_are_the_job_s_where_the_drive_sees_its_memory() {
    let method = method(
        "[global]\nsize=1m\n[a]\ndirect=1\niomem=mmaphuge\n\
         [b]\nstonewall\ndirect=1\nsync=dsync\nrw=write\nmem=shmhuge\n\
         [c]\nstonewall\nmem=mmaphuge:/tmp/huge\n[d]\nstonewall\ndirect=1\nmem=mmap\n",
    );
    let io: Vec<String> = method.cells.iter().map(|cell| cell.streams[0].io.to_string()).collect();
    assert_eq!(
        io,
        ["direct,hugepages", "direct,dsync,hugepages", "buffered", "direct"],
        "through the page cache the drive sees none of it"
    );
}

#[test]
fn durability_and_caching_are_the_job_s() {
    let method = method(
        "[a]\nrw=write\nsize=1m\nfdatasync=8\nend_fsync=1\n[b]\nstonewall\nrw=randwrite\nsize=1m\n\
         direct=1\nsync=dsync\nzero_buffers\n",
    );
    let [a, b] = &method.cells[..] else { panic!("two cells") };
    assert_eq!((a.streams[0].flush_every, a.flush), (8, FinalFlush::Timed));
    assert_eq!(a.streams[0].io.to_string(), "buffered");
    assert_eq!(b.streams[0].io.to_string(), "direct,dsync");
    assert_eq!(b.streams[0].contents.to_string(), "zeros");
    assert_eq!(method.fill(), 0, "nothing reads");
}

#[test]
fn walks_are_the_job_s() {
    let pattern = |rw: &str| {
        let method = method(&format!("[a]\nsize=1m\nbs=4k\nrw={rw}\n"));
        method.cells[0].streams[0].pattern.to_string()
    };
    assert_eq!(pattern("read"), "seq");
    assert_eq!(pattern("read:8k"), "strided:3");
    assert_eq!(pattern("read:-8k"), "backward");
    assert_eq!(pattern("randread"), "permutation");
    assert_eq!(pattern("randread\nrandom_distribution=zipf:0.5"), "zipf:0.5");
    assert_eq!(pattern("randread\nrandom_distribution=pareto:0.2"), "hot_cold:20/80");
}

/// fio's synchronous engines have one operation in flight, whatever `iodepth` says.
#[test]
fn engines_are_the_nearest_of_ours() {
    let of = |engine: &str| {
        let method = method(&format!("[a]\nsize=1m\niodepth=8\nioengine={engine}\n"));
        let stream = &method.cells[0].streams[0];
        (stream.engine, stream.queue_depth)
    };
    assert_eq!(of("psync"), (EngineChoice::Sync, 1));
    assert_eq!(of("libaio"), (EngineChoice::Auto, 8));
    assert_eq!(of("io_uring"), (EngineChoice::Uring, 8));
}

#[test]
fn rates_are_of_all_threads() {
    let method =
        method("[a]\nsize=1m\nnumjobs=4\nrate=1m\n[b]\nsize=1m\nrw=randrw\nrate_iops=30,10\n");
    let rates: Vec<String> =
        method.cells[0].streams.iter().map(|stream| format!("{:?}", stream.rate)).collect();
    assert!(rates[0].contains("1024") && rates[1].contains("40"), "{rates:?}");
    assert_eq!(method.cells[0].streams[1].op, Op::Mixed { read_percent: 75.0 });
}

#[test]
fn variables_includes_and_comments_are_fio_s() {
    let around = Around {
        variables: [("BS", "16k")].into(),
        files: [("more.fio", "[b]\nbs=32k ; its own\n")].into(),
    };
    let text = "# first\n[global]\nsize=1m\tbs=4k\n";
    assert!(fio_job::method("a.fio", text, &around).is_err(), "two options on a line");
    let text = "; first\n[global]\nsize=1m ; all\nbs=${BS}\n[a]\ninclude more.fio\n";
    let toml = fio_job::method("a.fio", text, &around).expect("a method");
    assert!(toml.contains("block = 16384") && toml.contains("block = 32768"), "{toml}");
}

/// What changes nothing here is said, and what a job names is replaced: nobody may wonder where
/// /dev/sdz went.
#[test]
fn what_has_no_effect_is_said_once() {
    let notes = method(
        "[global]\ngtod_reduce=1\nwrite_lat_log=x\nfilename=/dev/sdz\nsize=1m\n[a]\n[b]\nthread\n",
    );
    let notes = notes.file.notes;
    assert!(notes.contains(&"the target takes the place of /dev/sdz".to_owned()), "{notes:?}");
    let accepted = "accepted without effect: gtod_reduce, write_lat_log, thread".to_owned();
    assert!(notes.contains(&accepted), "{notes:?}");
}

/// The record of a run holds the job file itself.
#[test]
fn the_job_file_stands_in_the_method() {
    let toml = translated("[a]\nsize=1m # small\n").expect("a method");
    assert!(toml.ends_with("# [a]\n# size=1m # small\n"), "{toml}");
}
