//! Does the stop rule keep its word? Thousands of simulated cells whose true rate is known.
//!
//! A simulated drive makes 1,000 operations a tick of 100 ms. Ticks follow a first-order autoregression,
//! the simplest series whose neighbours resemble each other as those of real drives do, with a
//! coefficient of variation drawn evenly from 5 to 15 %. Run with `--nocapture` to see the shares.

use block::Rng;
use lab::statistics::*;

const TRUTH: f64 = 10_000.0;
const PER_TICK: f64 = 1000.0;
const SEEDS: u64 = 600;

/// How the ticks of a simulated drive come about.
#[derive(Clone, Copy)]
struct Drive {
    autocorrelation: f64,
    /// Least and greatest coefficient of variation of the ticks.
    variation: [f64; 2],
    start: Start,
}

#[derive(Clone, Copy)]
enum Start {
    Level,
    /// 4 s at 60 % of the rate before it settles.
    Slow,
    /// 3 s at twice the rate, out of a cache.
    Cached,
}

/// Standard normal draws by the sum of uniform ones would have thin tails: this is Box and Muller (1958).
fn normal(rng: &mut Rng) -> f64 {
    let (u, v) = (1.0 - rng.unit(), rng.unit());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// An endless series of tick values: mean `PER_TICK`, stationary from the first tick on but for the start.
fn simulate(drive: Drive, seed: u64, count: usize) -> Vec<Tick> {
    let mut rng = Rng::new(seed, 0x7ea5);
    let [low, high] = drive.variation;
    let variation = low + (high - low) * rng.unit();
    let innovation = (1.0 - drive.autocorrelation.powi(2)).sqrt();
    let mut wave = normal(&mut rng);
    let values = (0..count).map(|tick| {
        let level = match drive.start {
            Start::Slow if tick < 40 => 0.6,
            Start::Cached if tick < 30 => 2.0,
            _ => 1.0,
        };
        let value = PER_TICK * level * (1.0 + variation * wave);
        wave = drive.autocorrelation * wave + innovation * normal(&mut rng);
        value.round().max(0.0) as u64
    });
    values.map(|operations| Tick { operations, bytes: operations * 4096 }).collect()
}

/// One cell under the stop rule.
fn measure(ticks: &[Tick], grade: Grade) -> (Stop, Assessment) {
    let mut looks = Looks::new(StopRule::for_grade(grade), TICK_NS);
    for count in 1.. {
        if let Some(stop) = looks.look(count as u64 * TICK_NS, &ticks[..count]) {
            return (stop, *looks.assessment().expect("a look was taken"));
        }
    }
    unreachable!("the maximum time ends every cell")
}

#[derive(Default, Debug)]
struct Shares {
    converged: f64,
    /// Of those that converged.
    covered: f64,
    /// Of all: converged to an interval that misses the truth.
    wrong: f64,
    seconds: f64,
    all_covered: f64,
}

fn shares(drive: Drive, grade: Grade) -> Shares {
    let n = SEEDS as f64;
    let (mut converged, mut covered, mut seconds, mut all) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..SEEDS {
        let ticks = simulate(drive, seed, 3000);
        let (stop, seen) = measure(&ticks, grade);
        let width = seen.half_width_relative.expect("long enough");
        let hit = (seen.operations_per_second - TRUTH).abs() <= width * seen.operations_per_second;
        seconds += seen.warm_up_ticks as f64 / 10.0 + seen.samples as f64 / 10.0;
        all += f64::from(u8::from(hit));
        if stop == Stop::Converged {
            converged += 1.0;
            covered += f64::from(u8::from(hit));
        }
    }
    Shares {
        converged: converged / n,
        covered: covered / converged,
        wrong: (converged - covered) / n,
        seconds: seconds / n,
        all_covered: all / n,
    }
}

#[test]
fn explore() {
    for (autocorrelation, cv) in [(0.5, 0.1), (0.5, 0.15), (0.5,0.13)] {
        let rule = StopRule::for_grade(Grade::Normal);
        let mut why = [0; 6];
        for seed in 0..SEEDS {
            let ticks = simulate(Drive { autocorrelation, variation: [cv, cv], start: Start::Level }, seed, 600);
            let a = assess(&ticks, TICK_NS, &rule);
            why[0] += u32::from(a.half_width_relative.unwrap() > 0.02);
            why[1] += u32::from(a.slope_relative > 0.05);
            why[2] += u32::from(a.spread_relative > 0.1);
            why[3] += u32::from(a.drifting);
            why[4] += u32::from(a.left_steady_at_seconds.is_some());
            why[5] += u32::from(!a.satisfies(&rule));
        }
        println!("{autocorrelation} {cv} wide/slope/spread/drift/alarm/any {why:?} of {SEEDS}");
    }
    for grade in [Grade::Quick, Grade::Normal] {
    for start in [Start::Level] {
        for autocorrelation in [0.0, 0.5, 0.9] {
            for variation in [[0.01, 0.01], [0.05, 0.05], [0.1, 0.1], [0.15, 0.15], [0.05, 0.15]] {
                let drive = Drive { autocorrelation, variation, start };
                let s = shares(drive, grade);
                println!("{grade:?} start {} r {autocorrelation} cv {variation:?} conv {:.3} cov {:.3} wrong {:.3} all {:.3} s {:.1}", start as u8, s.converged, s.covered, s.wrong, s.all_covered, s.seconds);
            }
        }
    }
    }
}
