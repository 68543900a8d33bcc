//! Copies on a host with a cache, on the file-system machine.

use super::drive::{COST, MIB, bench, params, read, run, write};
use block::Command;
use model::fs::{Kind, Memory, Through};

const RECORD: u32 = 64 << 10;

fn records(file_bytes: u64, command: fn(u64, u32) -> Command) -> impl Iterator<Item = Command> {
    (0..file_bytes / u64::from(RECORD))
        .map(move |number| command(number * u64::from(RECORD), RECORD))
}

#[test]
fn a_file_that_was_just_written_is_read_from_memory_at_its_cost_and_touches_no_drive() {
    let params = params(Kind::Ext4, 256 * MIB);
    let (mut engine, log) = bench(params.clone(), 1 << 30, COST);
    engine.machine.set_memory(Memory::AMD_X2, Through::Stream);
    engine.machine.new_file();
    run(&mut engine, 0, records(4 * MIB, write));
    run(&mut engine, 0, [Command::Flush]);
    let asked = log.borrow().len();
    let took = run(&mut engine, 0, records(4 * MIB, read));
    assert_eq!(log.borrow().len(), asked);
    let record = Memory::AMD_X2.record_ns(u64::from(RECORD), Some(4 * MIB), Through::Stream);
    assert_eq!(took, (4 * MIB / u64::from(RECORD)) * (params.call_ns + record));
}

#[test]
fn a_write_to_a_new_page_costs_more_than_one_over_it() {
    let (mut engine, _) = bench(params(Kind::Ext4, 256 * MIB), 1 << 30, COST);
    engine.machine.set_memory(Memory::AMD_X2, Through::Call);
    engine.machine.new_file();
    let first = run(&mut engine, 0, records(4 * MIB, write));
    let second = run(&mut engine, 0, records(4 * MIB, write));
    assert!(first >= second + 1024 * Memory::AMD_X2.new_page_ns, "{first} and {second}");
}
