//! Cases (a) to (d): the same load for all contenders, in turn, round after round.

use super::{
    contender::{Bench, Caching, Contender, Load, Op, Reading, Way},
    sample::{Ratio, median},
    scratch::{bring_into_cache, drop_from_cache},
};
use anyhow::Result;
use std::io::{Write, stdout};

/// One comparison.
pub struct Case {
    /// Its name on the command line.
    pub letter: &'static str,
    title: &'static str,
    load: Load,
    /// Seconds of a measurement unless the user says otherwise: more where the start of a process
    /// must not weigh on what an operation costs.
    pub seconds: u64,
    goal: Goal,
}

/// What drivelab sets out to reach.
#[derive(Clone, Copy)]
enum Goal {
    /// At most so many ns an operation.
    Cost { ns_max: f64 },
    /// At least these shares of the rates of the loop and of fio.
    Rate { of_hand: f64, of_fio: f64 },
    /// No difference in rate, and less processor time than fio.
    Processor,
}

const OWN_CPU: &str = "CPU ns per I/O, by each one's own account";
const READ: Load = Load { way: Way::Null, caching: Caching::Buffered, op: Op::Read, depth: 1 };

/// All of them, in order.
pub const CASES: [Case; 5] = [
    Case {
        letter: "a",
        title: "no device, depth 1, full recording",
        load: READ,
        seconds: 2,
        goal: Goal::Cost { ns_max: 50.0 },
    },
    Case {
        letter: "b",
        title: "page cache, random 4 KiB reads, pread",
        load: Load { way: Way::Sync, ..READ },
        seconds: 2,
        goal: Goal::Rate { of_hand: 0.95, of_fio: 1.3 },
    },
    Case {
        letter: "c",
        title: "page cache, random 4 KiB reads, io_uring at depth 32",
        load: Load { way: Way::Uring, depth: 32, ..READ },
        seconds: 2,
        goal: Goal::Rate { of_hand: 0.95, of_fio: 1.5 },
    },
    Case {
        letter: "d",
        title: "O_DIRECT, random 4 KiB reads, depth 1",
        load: Load { way: Way::Sync, caching: Caching::Direct, ..READ },
        seconds: 5,
        goal: Goal::Processor,
    },
    Case {
        letter: "d",
        title: "O_DIRECT, random 4 KiB reads, io_uring at depth 32",
        load: Load { way: Way::Uring, caching: Caching::Direct, depth: 32, ..READ },
        seconds: 5,
        goal: Goal::Processor,
    },
];

/// All readings of one contender, one a round.
struct Series {
    who: Contender,
    readings: Vec<Reading>,
}

impl Series {
    fn of(&self, what: fn(&Reading) -> f64) -> Vec<f64> {
        self.readings.iter().map(what).collect()
    }
}

impl Case {
    /// Measures `rounds` rounds of `seconds` each after one that only warms up, and prints the
    /// table.
    pub fn run(&self, bench: &Bench, seconds: u64, rounds: usize) -> Result<()> {
        println!("\n({}) {}; {rounds} rounds of {seconds} s", self.letter, self.title);
        let mut all = vec![Contender::Drivelab, Contender::Hand];
        all.extend(bench.fio.as_ref().map(|_| Contender::Fio));
        let mut series: Vec<Series> =
            all.iter().map(|&who| Series { who, readings: Vec::new() }).collect();
        if self.load.caching == Caching::Direct {
            drop_from_cache(&bench.file)?;
        }
        for round in 0..=rounds {
            for turn in 0..all.len() {
                // Nobody always follows the same one.
                let index = (turn + round) % all.len();
                if self.load.caching == Caching::Buffered && self.load.way != Way::Null {
                    bring_into_cache(&bench.file)?;
                }
                let reading = bench.measure(all[index], self.load, seconds)?;
                if round > 0 {
                    series[index].readings.push(reading);
                }
                print!(".");
                stdout().flush()?;
            }
        }
        println!();
        self.print(&series);
        Ok(())
    }

    fn print(&self, series: &[Series]) {
        match self.goal {
            Goal::Cost { ns_max } => {
                let ns: fn(&Reading) -> f64 = |reading| 1e9 / reading.iops;
                table("ns per I/O", 1, series, ns);
                let own = median(&series[0].of(ns));
                println!("  goal: at most {ns_max} ns; {}", verdict(own <= ns_max));
            }
            Goal::Rate { of_hand, of_fio } => {
                table("IOPS", 0, series, iops);
                // On a busy machine the steadier measure: whoever else runs costs no time here.
                table(OWN_CPU, 0, series, |reading| reading.cpu_ns_worker);
                for other in &series[1..] {
                    let goal = if other.who == Contender::Hand { of_hand } else { of_fio };
                    let ratio = Ratio::of(&series[0].of(iops), &other.of(iops));
                    let reached = verdict(ratio.mean >= goal);
                    println!("  goal: at least {goal} of {}; {reached}", other.who);
                }
            }
            Goal::Processor => {
                table("IOPS", 0, series, iops);
                let worker: fn(&Reading) -> f64 = |reading| reading.cpu_ns_worker;
                let process: fn(&Reading) -> f64 = |reading| reading.cpu_ns_process;
                table(OWN_CPU, 0, series, worker);
                table("CPU ns per I/O, whole process, start and end included", 0, series, process);
                let fio = series.iter().find(|series| series.who == Contender::Fio);
                if let Some(fio) = fio {
                    let ratio = Ratio::of(&series[0].of(iops), &fio.of(iops));
                    let same = if ratio.contains_one() { "contains" } else { "does not contain" };
                    println!("  goal: rate as fio's; the interval {same} 1");
                    let less = |what| median(&series[0].of(what)) < median(&fio.of(what));
                    println!(
                        "  goal: processor time below fio's; {} by own account, {} by process",
                        verdict(less(worker)),
                        verdict(less(process))
                    );
                }
            }
        }
    }
}

fn iops(reading: &Reading) -> f64 {
    reading.iops
}

fn verdict(reached: bool) -> &'static str {
    if reached { "reached" } else { "missed" }
}

/// One line a contender: median, range, and drivelab's ratio to it with its interval.
fn table(unit: &str, decimals: usize, series: &[Series], what: fn(&Reading) -> f64) {
    println!("  {unit}");
    println!("    {:<18} {:>11}  {:^23}  drivelab to it (95 %)", "", "median", "least - most");
    let own = series[0].of(what);
    for one in series {
        let values = one.of(what);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        print!("    {:<18} {:>11.decimals$}", one.who, median(&values));
        print!("  {least:>10.decimals$} - {most:>10.decimals$}");
        if one.who != Contender::Drivelab {
            let ratio = Ratio::of(&own, &values);
            print!("  {:.3} ({:.3} - {:.3})", ratio.mean, ratio.low, ratio.high);
        }
        println!();
    }
}
