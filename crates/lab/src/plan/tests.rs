//! Plans for targets that offer more and less.

use super::*;

pub(super) fn offer() -> Offer {
    Offer { memory_bytes: 4 << 30, ..Offer::everything(8 << 30) }
}

fn quick() -> Method {
    Method::built_in("quick", &[]).expect("quick is built in")
}

#[test]
fn every_cell_runs_once_a_pass_on_every_target_and_targets_alternate() {
    let plan = Plan::new(quick(), &Options::default(), &[offer(), offer()]).expect("a plan");
    assert_eq!(plan.passes, 4);
    assert_eq!(plan.steps.len(), plan.cells.len() * 4 * 2);
    for pair in plan.steps.chunks(2) {
        assert_eq!((pair[0].pass, pair[0].cell), (pair[1].pass, pair[1].cell));
        assert_ne!(pair[0].target, pair[1].target);
    }
    let first_is_a = plan.steps.chunks(2).filter(|pair| pair[0].target == 0).count();
    assert_eq!(first_is_a, plan.steps.len() / 4);
}

#[test]
fn the_order_differs_between_passes_and_replays_with_the_seed() {
    let plan = |seed| {
        let options = Options { seed, passes: Some(2), ..Options::default() };
        Plan::new(quick(), &options, &[offer()]).expect("a plan").steps
    };
    assert_eq!(plan(1), plan(1));
    assert_ne!(plan(1), plan(2));
    let steps = plan(1);
    let half = steps.len() / 2;
    assert!(steps[..half].iter().zip(&steps[half..]).any(|(a, b)| a.cell != b.cell));
}

#[test]
fn a_target_that_may_not_be_written_keeps_its_read_cells() {
    let offer = Offer { access: Access::ReadOnly("it exists".to_owned()), ..offer() };
    let plan = Plan::new(quick(), &Options::default(), &[offer]).expect("a plan");
    assert!(plan.cells.iter().all(|cell| !cell.writes()) && plan.cells.len() == 3);
    assert_eq!((plan.left_out.len(), plan.written_bytes_max, plan.fill), (4, 0, 0));
}

#[test]
fn an_area_that_does_not_fit_is_refused_with_a_size_that_does() {
    let small = Offer { capacity_bytes: 40 << 20, ..offer() };
    let refusal = Plan::new(quick(), &Options::default(), &[small]).expect_err("too small");
    assert!(refusal.0.contains("1 GiB") && refusal.0.contains("32MiB"), "{refusal}");
}

#[test]
fn without_io_uring_depth_becomes_threads_and_the_plan_says_so() {
    let offer = Offer { uring: Err("ENOSYS".to_owned()), ..offer() };
    let plan = Plan::new(quick(), &Options::default(), &[offer]).expect("a plan");
    assert!(plan.cells.iter().flat_map(|cell| &cell.streams).all(|s| s.queue_depth == 1));
    assert!(plan.cells.iter().any(|cell| cell.streams[0].threads == 32));
    assert!(plan.notes[0].contains("ENOSYS"));
}

/// What a drive takes of 1 MiB in usual pages and in huge ones differs by a factor of three, and
/// nothing could be asked in huge ones. Where there are none, usual ones are not taken silently.
#[test]
fn a_cell_in_huge_pages_is_left_out_where_there_are_none() {
    let method = |io: &str| {
        let text = format!(
            "name = 'own'\ntitle = 't'\nabout = 'a'\nspan = '1GiB'\n[[cell]]\nop = 'read'\n\
             pattern = 'seq'\nblock = '1MiB'\nio = '{io}'"
        );
        Method::parse("own.toml", &text, &[])
    };
    let huge =
        |offer| Plan::new(method("direct,hugepages").unwrap(), &Options::default(), &[offer]);
    let plan = huge(offer()).expect("a plan");
    assert_eq!(plan.cells[0].streams[0].io.to_string(), "direct,hugepages");
    let without = Offer { huge_pages: Err("they are turned off".to_owned()), ..offer() };
    assert!(huge(without).expect_err("left out").0.contains("they are turned off"));
    let refusal = method("buffered,hugepages").expect_err("the drive sees none of that memory");
    assert!(refusal.to_string().contains("direct,hugepages"), "{refusal}");
}

/// `--engine uring` where io_uring is forbidden ran on threads, with a note behind the table.
#[test]
fn io_uring_by_name_is_refused_where_there_is_none() {
    let offer = Offer { uring: Err("it is forbidden".to_owned()), ..offer() };
    let settings = [("engine".to_owned(), "uring".to_owned())];
    let method = Method::built_in("quick", &settings).expect("a method");
    let refusal = Plan::new(method, &Options::default(), &[offer]).expect_err("by name").0;
    for part in ["asks for engine `uring`", "it is forbidden", "--engine auto"] {
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[test]
fn a_block_that_splits_the_drives_block_is_left_out_with_the_cure() {
    let offer = Offer { block_bytes: 4096, ..offer() };
    let settings = [("block".to_owned(), "512".to_owned())];
    let method = Method::built_in("quick", &settings).expect("a method");
    let refusal = Plan::new(method, &Options::default(), &[offer]).expect_err("nothing fits");
    assert!(refusal.0.contains("multiple") && refusal.0.contains("--io buffered"), "{refusal}");
}

#[test]
fn a_limit_on_writes_is_a_limit_of_the_plan() {
    let options = Options { written_bytes_max: Some(3 << 30), ..Options::default() };
    let plan = Plan::new(quick(), &options, &[offer()]).expect("a plan");
    assert_eq!(plan.written_bytes_max, 3 << 30);
    let options = Options { written_bytes_max: Some(1 << 20), ..Options::default() };
    assert!(Plan::new(quick(), &options, &[offer()]).is_err());
}

#[test]
fn a_smaller_area_than_the_methods_own_is_no_reason_to_ask() {
    let asks = |name: &str, span_bytes| {
        let options = Options { span_bytes, ..Options::default() };
        let method = Method::built_in(name, &[]).expect("built in");
        Plan::new(method, &options, &[offer()]).expect("a plan").must_ask()
    };
    for name in ["quick", "bm-flash", "oltp"] {
        assert!(!asks(name, None) && !asks(name, Some(64 << 20)), "{name}");
    }
    assert!(asks("saturation", None) && asks("saturation", Some(64 << 20)));
}

#[test]
fn shifted_offsets_start_later_and_stay_inside() {
    let settings = [("shift".to_owned(), "512".to_owned())];
    let method = Method::built_in("quick", &settings).expect("a method");
    let plan = Plan::new(method.clone(), &Options::default(), &[offer()]).expect("a plan");
    let cell = &plan.cells[0];
    assert!(cell.name.ends_with("-s512B"), "{}", cell.name);
    let area = plan.area(cell, &cell.streams[0]);
    assert_eq!((area.offset, area.offset + area.bytes), (512, plan.span_bytes));
    let coarse = Offer { block_bytes: 4096, ..offer() };
    let refusal = Plan::new(method, &Options::default(), &[coarse]).expect_err("misaligned");
    assert!(refusal.0.contains("shift = 512 B") && refusal.0.contains("4096"), "{refusal}");
}

#[test]
fn a_target_without_stdio_leaves_such_cells_out() {
    let without = Offer { stdio: Err("it has none".to_owned()), ..offer() };
    let settings = [("file".to_owned(), "1M".to_owned()), ("block".to_owned(), "64K".to_owned())];
    let method = Method::built_in("iozone", &settings).expect("a method");
    let plan = Plan::new(method, &Options::default(), &[without]).expect("a plan");
    assert_eq!(plan.left_out.len(), 4, "fwrite, re-fwrite, fread, re-fread");
}

const GIB: u64 = 1 << 30;

/// What all passes of all cells of a plan may write, fills apart.
fn cells_bytes(plan: &Plan) -> u64 {
    let passes = u64::from(plan.passes);
    plan.cells.iter().map(|cell| plan.pass_written_max(cell) * passes).sum()
}

/// `run .` wrote 27 GiB in its first 76 s, and only `--dry-run` said "at most 37 GiB".
#[test]
fn a_quick_run_writes_eight_gibibytes_and_its_fill_whatever_it_compares() {
    let of =
        |options: Options, offers: &[Offer]| Plan::new(quick(), &options, offers).expect("a plan");
    for offers in [&[offer()][..], &[offer(), offer()]] {
        let plan = of(Options::default(), offers);
        assert_eq!((plan.written_bytes_max, plan.fill), (9 * GIB, 1));
        let cells = cells_bytes(&plan);
        assert!(cells <= 8 * GIB && cells > 8 * GIB - 4096, "{cells}");
        assert!(plan.unbounded_bytes >= 37 * GIB && !plan.must_ask());
    }
    let passes = Options { passes: Some(5), span_bytes: Some(64 << 20), ..Options::default() };
    let plan = of(passes, &[offer()]);
    assert!(cells_bytes(&plan) <= 8 * GIB && plan.written_bytes_max == 8 * GIB + (64 << 20));
}

/// Each cell has what a fast drive would write under it in the same time: at depth 1 a tenth of
/// what it writes in order, so that no share lies idle while another is too small.
#[test]
fn a_bound_is_shared_out_by_what_each_cell_can_use() {
    let plan = Plan::new(quick(), &Options::default(), &[offer()]).expect("a plan");
    let share = |end: &str| {
        let cell = plan.cells.iter().find(|cell| cell.name.ends_with(end)).expect(end);
        plan.pass_written_max(cell) as f64 / GIB as f64
    };
    let order: Vec<f64> = plan
        .cells
        .iter()
        .filter(|cell| cell.writes())
        .map(|cell| plan.pass_written_max(cell) as f64 / GIB as f64)
        .collect();
    // Sequential, depth 1, depth 32, durable.
    assert!((order[0] - 4.1).abs() < 0.1 && (order[2] - 3.1).abs() < 0.1, "{order:?}");
    assert!((0.3..0.5).contains(&order[1]) && order[1] == share("sync-write-4K"), "{order:?}");
    // A cell that has all it could write leaves the rest to the others.
    let more = Options { written_bytes_max: Some(12 * GIB), ..Options::default() };
    let plan = Plan::new(quick(), &more, &[offer()]).expect("a plan");
    let capped = plan.cells.iter().filter(|cell| plan.pass_written_max(cell) == 4 * GIB).count();
    assert_eq!(capped, 1, "random writes at depth 32 have their most");
    assert!(cells_bytes(&plan).abs_diff(11 * GIB) < 4096);
}

#[test]
fn who_asks_for_more_or_wears_nothing_has_what_the_cells_could_use() {
    let written = |options: Options, offer: Offer| {
        let plan = Plan::new(quick(), &options, &[offer]).expect("a plan");
        (plan.written_bytes_max, plan.must_ask())
    };
    let unworn = Offer { wears: false, ..offer() };
    assert_eq!(written(Options::default(), unworn).0, 37 * GIB);
    let more = Options { written_bytes_max: Some(20 * GIB), ..Options::default() };
    assert_eq!(written(more, offer()), (20 * GIB, false));
    let most = Options { written_bytes_max: Some(1 << 50), ..Options::default() };
    assert_eq!(written(most, offer()).0, 37 * GIB);
    // A higher grade keeps what it needs, and asks.
    let normal = Options { grade: Some(Grade::Normal), ..Options::default() };
    let (bytes, asks) = written(normal, offer());
    assert!(bytes > 100 * GIB && asks, "{bytes}");
    // So much was asked for by the cell itself.
    let bound = Method::built_in("quick", &[("bound".to_owned(), "once".to_owned())]);
    let size = Options { span_bytes: Some(4 * GIB), ..Options::default() };
    let plan = Plan::new(bound.expect("a method"), &size, &[offer()]).expect("a plan");
    assert_eq!(plan.written_bytes_max, 20 * GIB);
}
