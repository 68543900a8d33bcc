//! Budgets of extreme numbers against 128-bit arithmetic.

use crate::{
    method::Method,
    plan::{Options, Plan, PlanError, tests},
    target::Offer,
};
use proptest::prelude::*;

/// A target whose size, files and memory have no bound.
fn offer() -> Offer {
    let endless = u64::MAX;
    Offer {
        capacity_bytes: endless,
        files_max: Ok(endless),
        memory_bytes: endless,
        ..tests::offer()
    }
}

fn plan(method: &str, options: &Options) -> Result<Plan, PlanError> {
    Plan::new(Method::parse("test", method, &[]).expect("a method"), options, &[offer()])
}

fn method(head: &str, cell: &str) -> String {
    format!("name = 't'\ntitle = 't'\nabout = 't'\n{head}\n[[cell]]\n{cell}\n")
}

/// `--max-written 1M` was given, and a cell of 2^48 operations by each of 16 workers with blocks of
/// 4 KiB ran until the drive was worn: the product is 2^64, which wrapped to 0, and 0 bytes are
/// within any limit. `--yes` was not asked for either.
#[test]
fn a_budget_that_wraps_is_refused_with_the_cell_and_the_cure() {
    let cell = |count: u64| {
        let cell = format!(
            "op = 'write'\npattern = 'random'\nblock = '4KiB'\nthreads = 16\nbound = '{count}'"
        );
        method("span = '1GiB'\npasses = 1", &cell)
    };
    let limited = Options { written_bytes_max: Some(1 << 20), ..Options::default() };
    for options in [Options::default(), limited.clone()] {
        let refusal = plan(&cell(1 << 48), &options).expect_err("2^64 bytes").0;
        assert!(refusal.contains("write") && refusal.contains("bound"), "{refusal}");
        assert!(refusal.contains("16 EiB"), "{refusal}");
    }
    // A byte less than wraps is counted, and asked about.
    let most = plan(&cell((1 << 48) / 2), &Options::default()).expect("2^63 bytes a pass");
    assert!(most.written_bytes_max >= 1 << 63 && most.must_ask());
    assert_eq!(plan(&cell(1 << 47), &limited).expect("limited").written_bytes_max, 1 << 20);
}

/// A read cell whose operations do not fit 64 bits writes nothing, and is no reason to refuse.
#[test]
fn reads_without_end_write_nothing() {
    let cell = format!("op = 'read'\npattern = 'random'\nblock = '4KiB'\nbound = '{}'", u64::MAX);
    let plan = plan(&method("span = '1GiB'", &cell), &Options::default()).expect("reads");
    assert_eq!((plan.written_bytes_max, plan.pass_written_max(&plan.cells[0])), (0, 0));
}

#[test]
fn fills_and_passes_without_end_are_refused() {
    let cell = "op = 'write'\npattern = 'seq'\nblock = '1MiB'";
    let filled = method(&format!("span = '8P'\nfill = {}", u32::MAX), cell);
    let refusal = plan(&filled, &Options::default()).expect_err("2^85 bytes").0;
    assert!(refusal.contains("fill") && refusal.contains("16 EiB"), "{refusal}");
    let limit = Options { written_bytes_max: Some(1 << 40), ..Options::default() };
    let refusal = plan(&filled, &limit).expect_err("2^85 bytes").0;
    assert!(refusal.contains("--max-written 1 TiB"), "{refusal}");
    let passes = method(&format!("span = '1GiB'\npasses = {}", u32::MAX), cell);
    assert!(plan(&passes, &Options::default()).expect_err("too many").0.contains("--passes"));
    let never_asks = method("span = '1GiB'\nask_above = nan", cell);
    assert!(Method::parse("test", &never_asks, &[]).is_err());
}

/// Numbers near every power of two, where products wrap.
fn extreme() -> impl Strategy<Value = u64> {
    (0u32..64, -2i64..=2).prop_map(|(shift, off)| (1u64 << shift).wrapping_add_signed(off).max(1))
}

proptest! {
    #[test]
    fn a_budget_is_what_128_bits_say_or_refused(
        count in extreme(),
        threads in 1u32..=1024,
        block in prop::sample::select(vec![512u64, 4096, 1 << 20, 128 << 20]),
        passes in 1u32..=1000,
        fill in prop::sample::select(vec![0u32, 1, 2, 7]),
        limit in prop::option::of(extreme()),
        writes: bool,
    ) {
        let op = if writes { "write" } else { "read" };
        let cell = format!(
            "op = '{op}'\npattern = 'random'\nblock = '{block}'\nthreads = {threads}\n\
             bound = '{count}'\nio = 'buffered'"
        );
        let span = 1u64 << 30;
        let method = method(&format!("span = '1GiB'\ngrade = 'quick'\nfill = {fill}"), &cell);
        let options = Options {
            passes: Some(passes),
            written_bytes_max: limit,
            ..Options::default()
        };
        let filled = u128::from(fill) * u128::from(span);
        let pass = match writes {
            true => u128::from(count) * u128::from(threads) * u128::from(block),
            false => 0,
        };
        let all = filled + pass * u128::from(passes);
        let within = limit.is_none_or(|limit| filled <= u128::from(limit));
        match plan(&method, &options) {
            Ok(plan) => {
                prop_assert!(within && all <= u128::from(u64::MAX));
                let most = limit.map_or(all, |limit| all.min(u128::from(limit)));
                prop_assert_eq!(u128::from(plan.written_bytes_max), most);
                prop_assert_eq!(u128::from(plan.pass_written_max(&plan.cells[0])), pass);
                // 32 times 1 GiB, the method's default.
                prop_assert_eq!(plan.must_ask(), most > 32 << 30);
                let outline = plan.outline();
                prop_assert!(outline.seconds.0.is_finite() && outline.seconds.1.is_finite());
            }
            Err(error) => prop_assert!(!within || all > u128::from(u64::MAX), "{}", error),
        }
    }
}

/// CMU wrote every address of its drives several times before it measured a file on them: what is
/// filled is the target, not the area that is tested, and all of it is counted before the first
/// write.
#[test]
fn a_precondition_writes_the_whole_target_and_all_of_it_is_counted() {
    const GIB: u64 = 1 << 30;
    let text = method(
        "span = '1GiB'\npasses = 1\nfill = 1",
        "op = 'write'\npattern = 'seq'\nbound = 'once'\nblock = '1MiB'",
    );
    let plan = |words: &str, capacity_bytes, options: &Options| {
        let settings = [("precondition".to_owned(), words.to_owned())];
        let method = Method::parse("test", &text, &settings).map_err(|error| error.to_string())?;
        let offer = Offer { capacity_bytes, ..tests::offer() };
        Plan::new(method, options, &[offer]).map_err(|error| error.0)
    };
    let any = Options::default();
    let planned = plan("fill x 3", 20 * GIB + 5000, &any).expect("a plan");
    assert_eq!((planned.span_bytes, planned.fill_span_bytes, planned.fill), (GIB, 20 * GIB, 3));
    assert_eq!((planned.fill_bytes(), planned.outline().fill_bytes), (60 * GIB, 60 * GIB));
    let cells_and_probe = planned.written_bytes_max - 60 * GIB;
    assert!((GIB..2 * GIB).contains(&cells_and_probe), "{cells_and_probe}");
    assert!(planned.must_ask(), "60 GiB for an area of one");
    let limited = Options { written_bytes_max: Some(30 * GIB), ..Options::default() };
    let refusal = plan("fill x 3", 20 * GIB, &limited).expect_err("30 of 60");
    assert!(refusal.contains("the whole target") && refusal.contains("precondition"), "{refusal}");
    let refusal = plan("fill x 4294967295", u64::MAX, &any).expect_err("2^96 bytes");
    assert!(refusal.contains("16 EiB") && refusal.contains("precondition"), "{refusal}");
    for wrong in ["fill x 0", "fill", "3", "fill x -1", "trim"] {
        let refusal = plan(wrong, GIB, &any).expect_err(wrong);
        assert!(refusal.contains("fill x 3"), "{refusal}");
    }
    // A target that is only read is not written.
    let method = Method::parse("test", &text.replace("'write'", "'read'"), &[]).expect("reads");
    let offer = Offer { access: crate::target::Access::ReadOnly("kept".to_owned()), ..offer() };
    assert_eq!(Plan::new(method, &any, &[offer]).expect("reads").fill_bytes(), 0);
}
