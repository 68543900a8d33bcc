//! FLUSH, FUA, the write cache's switch, and capacitors.

use super::*;

const US: u64 = 1_000;
/// Command, link, channel, program: until flash has a unit.
const PROGRAMMED: u64 = (6 + 10 + 10 + 200) * US;

#[test]
fn a_write_that_must_be_durable_waits_for_flash_and_one_that_need_not_does_not() {
    let on = small();
    let off = PageMappedParams { write_cache: WriteCaching::Off, ..small() };
    assert_eq!(OnTheBench::new(&on).one(write(0, 4096)), 16 * US);
    assert_eq!(OnTheBench::new(&on).one(write_fua(0, 4096)), PROGRAMMED);
    assert_eq!(OnTheBench::new(&off).one(write(0, 4096)), PROGRAMMED);
}

#[test]
fn a_controller_with_a_way_of_its_own_does_not_wait_for_the_program() {
    // The Intel 520 answers a durable write in 48 us with its cache off (latency study, 2016), less
    // than a program of its flash takes.
    let off = PageMappedParams { write_cache: WriteCaching::Off, ..small() };
    let own_way = PageMappedParams { write_through_ns: 30 * US, ..off };
    assert_eq!(OnTheBench::new(&own_way).one(write(0, 4096)), (16 + 30) * US);
}

#[test]
fn capacitors_make_the_buffer_durable() {
    let params = PageMappedParams { power_loss: PowerLoss::Protected, ..small() };
    let mut bench = OnTheBench::new(&params);
    assert_eq!(bench.one(write_fua(0, 4096)), 16 * US);
    assert_eq!(bench.one(Command::Flush), (6 + 100) * US);
}

#[test]
fn a_flush_empties_the_buffer_and_then_costs_its_own() {
    let mut bench = OnTheBench::new(&small());
    assert_eq!(bench.one(Command::Flush), (6 + 100) * US);
    let start = bench.sim.now();
    bench.many(1, 8, || write(0, 4096));
    bench.one(Command::Flush);
    // The second program of the fourth plane follows the first: its unit came with the fourth
    // write.
    let programmed = (4 * 16 + 10 + 2 * 200) * US;
    assert_eq!(bench.sim.now().since(start), programmed + 100 * US);
}

#[test]
fn a_flush_programs_a_page_that_is_not_full() {
    let params = PageMappedParams { nand_page_bytes: 16_384, ..small() };
    let mut bench = OnTheBench::new(&params);
    bench.one(write(0, 4096));
    assert_eq!(bench.one(Command::Flush), (6 + 4 * 10 + 200 + 100) * US);
    assert_eq!(bench.drive().counters().padded_units, 3);
    assert_eq!(bench.drive().counters().write_amplification(), 4.0);
    // Nothing is left to program.
    assert_eq!(bench.one(Command::Flush), (6 + 100) * US);
    // Capacitors need no padding.
    let params = PageMappedParams { power_loss: PowerLoss::Protected, ..params };
    let mut bench = OnTheBench::new(&params);
    bench.one(write(0, 4096));
    bench.one(Command::Flush);
    assert_eq!(bench.drive().counters().padded_units, 0);
}
