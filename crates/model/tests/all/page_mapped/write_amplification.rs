//! Uniform random overwriting against the closed form: with alpha = physical / used, both net of
//! what is kept free, the victim's valid share is u = -W0(-alpha e^-alpha) / alpha and the write
//! amplification 1 / (1 - u).

use super::*;

/// The principal branch of Lambert's W for -1/e <= x < 0, by Halley's iteration (Corless and
/// others, "On the Lambert W function", 1996, equation 5.9).
fn lambert_w0(x: f64) -> f64 {
    // Near the branch point W0(x) is about -1 + sqrt(2 (e x + 1)), and that is a safe start
    // everywhere.
    let mut w = -1.0 + (2.0 * (std::f64::consts::E * x + 1.0)).max(0.0).sqrt();
    w = w.min(0.0);
    for _ in 0..50 {
        let error = w * w.exp() - x;
        let slope = w.exp() * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0);
        w -= error / slope;
    }
    w
}

/// Write amplification at a spare fraction of the physical space.
fn closed_form(spare: f64) -> f64 {
    let alpha = 1.0 / (1.0 - spare);
    let valid = -lambert_w0(-alpha * f64::exp(-alpha)) / alpha;
    1.0 / (1.0 - valid)
}

/// A drive of so many superblocks of `units` that its spare, net of the reserve, is about `spare`;
/// its planted state is that of the whole exported space overwritten at random.
fn with_spare(spare: f64, superblocks: u64, units: u64, cleaning: Cleaning) -> PageMappedParams {
    let params = small();
    let net = (superblocks - u64::from(params.reserve_superblocks)) * units;
    let exported = ((1.0 - spare) * net as f64) as u64;
    let extra = (superblocks * units - exported) as f64 / exported as f64;
    PageMappedParams {
        capacity_bytes: exported * 4096,
        over_provisioning_per_mille: (extra * 1000.0).ceil() as u32,
        pages_per_block: (units / u64::from(params.planes())) as u32,
        cleaning,
        state: State::Steady { used_per_mille: 1000 },
        ..params
    }
}

/// Measured over closed form, of a drive whose exported space is overwritten `overwrites` times.
fn ratio(params: &PageMappedParams, overwrites: u64) -> f64 {
    let mut bench = OnTheBench::new(params);
    let units = params.units();
    let counted = bench.overwrite(units, units * overwrites, &mut Rng::new(7, 0));
    let spare = 1.0 - units as f64 / params.net_units() as f64;
    counted.write_amplification() / closed_form(spare)
}

#[test]
fn the_closed_form_is_that_of_the_literature() {
    // Spare fractions and write amplifications as they are printed to two decimals.
    for (spare, printed) in [
        (0.05, 10.17),
        (0.07, 7.32),
        (0.10, 5.18),
        (0.15, 3.52),
        (0.20, 2.69),
        (0.28, 1.99),
        (0.33, 1.73),
        (0.40, 1.48),
        (0.50, 1.26),
        (0.60, 1.12),
        (0.70, 1.04),
    ] {
        assert!((closed_form(spare) - printed).abs() < 0.006, "{spare}: {}", closed_form(spare));
    }
}

#[test]
fn fifo_cleaning_reaches_the_closed_form_at_seven_spare_fractions() {
    for spare in [0.07, 0.10, 0.15, 0.20, 0.28, 0.40, 0.50] {
        let ratio = ratio(&with_spare(spare, 256, 512, Cleaning::Fifo), 1);
        assert!((0.97..1.03).contains(&ratio), "spare {spare}: {ratio:.4} of the closed form");
    }
}

#[test]
fn greedy_and_cost_benefit_cleaning_lie_just_below_it() {
    for cleaning in [Cleaning::Greedy, Cleaning::CostBenefit] {
        for spare in [0.07, 0.15, 0.28] {
            let ratio = ratio(&with_spare(spare, 256, 512, cleaning), 1);
            assert!((0.95..=1.0).contains(&ratio), "{cleaning:?}, spare {spare}: {ratio:.4}");
        }
    }
}

/// The same on drives of a million units, for three overwritings: half a minute in release.
#[test]
#[ignore = "takes minutes in a debug build"]
fn all_policies_meet_the_closed_form_at_nine_spare_fractions_on_a_large_drive() {
    for cleaning in [Cleaning::Fifo, Cleaning::Greedy, Cleaning::CostBenefit] {
        for spare in [0.05, 0.07, 0.10, 0.15, 0.20, 0.28, 0.33, 0.40, 0.50] {
            let ratio = ratio(&with_spare(spare, 2048, 512, cleaning), 3);
            println!("{cleaning:?}, spare {spare}: {:+.2} %", (ratio - 1.0) * 100.0);
            let accepted = match cleaning {
                Cleaning::Fifo => (0.97..1.03).contains(&ratio),
                Cleaning::Greedy | Cleaning::CostBenefit => (0.95..=1.0).contains(&ratio),
            };
            assert!(accepted, "{cleaning:?}, spare {spare}: {ratio:.4} of the closed form");
        }
    }
}

#[test]
fn trimming_half_the_drive_leaves_the_write_amplification_of_half_a_drive() {
    let params = with_spare(0.10, 256, 512, Cleaning::Greedy);
    let mut bench = OnTheBench::new(&params);
    let (mut rng, units) = (Rng::new(3, 0), params.units());
    let full = bench.overwrite(units, units / 2, &mut rng).write_amplification();
    let half = units / 2;
    bench.one(Command::Discard { offset: half * 4096, len: (units - half) * 4096 });
    bench.overwrite(half, units, &mut rng);
    let trimmed = bench.overwrite(half, units, &mut rng).write_amplification();
    let expected = closed_form(1.0 - half as f64 / params.net_units() as f64);
    assert!(full > 4.5 && (trimmed / expected - 1.0).abs() < 0.03, "{full} {trimmed} {expected}");
}

#[test]
fn writing_in_order_moves_nothing() {
    let params = PageMappedParams { cleaning: Cleaning::Fifo, ..small() };
    let mut bench = OnTheBench::new(&params);
    for _ in 0..3 {
        let mut offset = 0;
        bench.many(4, params.capacity_bytes >> 20, || {
            offset += 1 << 20;
            write(offset - (1 << 20), 1 << 20)
        });
    }
    // Only what a victim still holds of the pass before: less than a superblock.
    let counters = bench.drive().counters();
    assert_eq!(counters.host_units, 3 * params.units());
    assert!(counters.moved_units < params.units_per_superblock(), "{counters:?}");
}
