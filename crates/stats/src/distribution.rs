//! Quantiles of the normal and of Student's distribution.

/// The 97.5 % quantiles of Student's t for 1 to 10 degrees of freedom: Abramowitz and Stegun,
/// Handbook of Mathematical Functions (1964), table 26.10.
const T_975: [f64; 10] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
    2.262_157, 2.228_139,
];

/// The 97.5 % quantile of the normal distribution.
pub(super) const Z_975: f64 = 1.959_963_985;

/// How many standard errors a two-sided 95 % interval reaches to each side with `df` degrees of
/// freedom: the table up to 10, beyond it the expansion 26.7.5 of Abramowitz and Stegun, within
/// 1e-4.
///
/// # Panics
/// If `df` is 0: one value alone has no interval.
pub fn student_t_975(df: usize) -> f64 {
    assert!(df > 0, "Student's t without a degree of freedom");
    if let Some(&quantile) = T_975.get(df - 1) {
        return quantile;
    }
    let (z, n) = (Z_975, df as f64);
    let (z3, z5, z7, z9) = (z.powi(3), z.powi(5), z.powi(7), z.powi(9));
    let first = (z3 + z) / 4.0;
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
    let fourth = (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * z) / 92_160.0;
    z + first / n + second / n.powi(2) + third / n.powi(3) + fourth / n.powi(4)
}

/// The value that a standard normal variable stays below with probability `p`, relative error 1e-6:
/// algorithm AS 241 (PPND7), Wichura, Applied Statistics 37 (1988).
///
/// # Panics
/// If `p` is not strictly between 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a normal quantile of {p}");
    let centre = p - 0.5;
    if centre.abs() <= 0.425 {
        let r = 0.180_625 - centre * centre;
        let above =
            polynomial(r, &[3.387_132_717_9, 50.434_271_938, 159.291_132_02, 59.109_374_720]);
        let below = polynomial(r, &[1.0, 17.895_169_469, 78.757_757_664, 67.187_563_600]);
        return centre * above / below;
    }
    let tail = p.min(1.0 - p);
    let r = (-tail.ln()).sqrt();
    let size = if r <= 5.0 {
        let r = r - 1.6;
        let above = [1.423_437_277_7, 2.756_815_390_0, 1.306_728_481_6, 0.170_238_211_03];
        polynomial(r, &above) / polynomial(r, &[1.0, 0.737_001_642_50, 0.120_211_329_75])
    } else {
        let r = r - 5.0;
        let above = [6.657_905_115_0, 3.081_226_386_0, 0.428_682_943_37, 0.017_337_203_997];
        polynomial(r, &above) / polynomial(r, &[1.0, 0.241_978_942_25, 0.012_258_202_635])
    };
    size.copysign(centre)
}

/// The coefficients in ascending order of power.
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed values of Fisher and Yates, Statistical Tables, table III.
    #[test]
    fn quantiles_of_students_t_are_those_of_the_printed_table() {
        let table = [
            (1, 12.706),
            (2, 4.303),
            (5, 2.571),
            (9, 2.262),
            (10, 2.228),
            (11, 2.201),
            (12, 2.179),
            (15, 2.131),
            (20, 2.086),
            (25, 2.060),
            (30, 2.042),
            (40, 2.021),
            (60, 2.000),
            (120, 1.980),
            (1_000_000, 1.960),
        ];
        for (df, printed) in table {
            let quantile = student_t_975(df);
            assert!((quantile - printed).abs() < 6e-4, "df {df}: {quantile} against {printed}");
        }
        assert!((1..200).all(|df| student_t_975(df) > student_t_975(df + 1)));
    }

    #[test]
    fn quantiles_of_the_normal_are_those_of_the_printed_table() {
        let table = [
            (0.5, 0.0),
            (0.75, 0.674_489_75),
            (0.9, 1.281_551_57),
            (0.975, 1.959_963_98),
            (0.99, 2.326_347_87),
            (0.999, 3.090_232_31),
            (0.999_999, 4.753_424_31),
        ];
        for (p, printed) in table {
            assert!((normal_quantile(p) - printed).abs() < 2e-6, "{p}: {}", normal_quantile(p));
            assert!((normal_quantile(1.0 - p) + printed).abs() < 2e-6, "the other tail of {p}");
        }
        assert!((normal_quantile(1e-20) + 9.262_340_09).abs() < 1e-5);
    }
}
