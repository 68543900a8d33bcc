//! Time goes forward, or the trace is refused.

use crate::{opened, refusal, short};
use trace::{Access, Op};

fn spc(seconds: &[&str]) -> String {
    seconds.iter().map(|at| format!("0,8,4096,R,{at}\n")).collect()
}

/// What several processors saw is written a little out of order.
#[test]
fn what_is_out_of_order_by_less_than_a_second_is_put_in_order_and_counted() {
    let mut trace = opened(spc(&["1.0", "1.9", "1.2", "2.0"])).expect("it is SPC's");
    let accesses: Vec<Access> = trace.by_ref().map(|access| access.expect("right")).collect();
    let times: Vec<u64> = short(&accesses).iter().map(|access| access.0 / 1_000_000).collect();
    assert_eq!(times, [1000, 1200, 1900, 2000]);
    let remarks = trace.remarks();
    assert_eq!((remarks.reordered, remarks.reordered_ns_max), (1, 700_000_000));
}

/// A clock that was set back, or two files one behind the other, would be replayed as nonsense.
#[test]
fn time_that_goes_back_further_is_an_error_with_its_line() {
    let sentence = refusal(spc(&["1.0", "5.0", "2.0", "6.0"]));
    assert!(sentence.starts_with("line 3: the time goes back by 3.00 s"), "{sentence}");
    assert!(sentence.contains("sort the trace by its time"), "{sentence}");
}

/// Accesses of one moment keep the order of the file.
#[test]
fn accesses_of_one_moment_stay_as_they_stand() {
    let text = "0,8,4096,W,1.0\n0,8,4096,R,1.0\n0,8,4096,W,1.0\n";
    let trace = opened(text).expect("it is SPC's");
    let ops: Vec<Op> = trace.map(|access| access.expect("right").op).collect();
    assert_eq!(ops, [Op::Write, Op::Read, Op::Write]);
}
