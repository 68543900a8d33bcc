//! Colours and type. Series are told apart by colour, and again by marker, dash or letter: no
//! information is in the colour alone.

/// Colours of series on a light and on a dark page, after Okabe and Ito's palette for every kind of
/// colour vision ("Color Universal Design", 2008): its yellow is left out, and each colour is
/// darkened or lightened until it stands out from the page by 3 to 1 (WCAG 2.2, 1.4.11).
pub const SERIES_COLORS: [(&str, &str); 7] = [
    ("#0072b2", "#56a9e8"),
    ("#d55e00", "#ff8a3d"),
    ("#00855f", "#2ec79a"),
    ("#b3588d", "#e29cc4"),
    ("#9a6b00", "#e6b030"),
    ("#4d4d4d", "#c8c8c8"),
    ("#2b8cbe", "#8fd3f7"),
];

/// The colour of a page, light and dark.
pub const PAGE_COLORS: (&str, &str) = ("#ffffff", "#14181f");

/// The rules that every drawing needs, with the colours of a light page. Selectors begin with
/// `.chart`, so that they can stand in any page.
pub const CSS: &str = include_str!("style.css");

/// The colours of a dark page, to be added where it is dark. Every selector begins with `.chart`.
pub const CSS_DARK: &str = include_str!("dark.css");

/// Which colour a series has.
pub(super) fn color(series: usize) -> usize {
    series % SERIES_COLORS.len()
}

/// Colours along a scale from 0 to 1: viridis (van der Walt and Smith, 2015, CC0), nine of its
/// points. Even in lightness, so that it prints in grey and reads with any colour vision.
const VIRIDIS: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

/// The colour of a share from 0 to 1.
pub(super) fn viridis(share: f64) -> [u8; 3] {
    let place = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 } * 8.0;
    let below = (place.floor() as usize).min(7);
    let part = place - below as f64;
    let [from, to] = [VIRIDIS[below], VIRIDIS[below + 1]];
    std::array::from_fn(|at| {
        let [from, to] = [f64::from(from[at]), f64::from(to[at])];
        (from + (to - from) * part).round() as u8
    })
}

/// As `#rrggbb`.
pub(super) fn hex(color: [u8; 3]) -> String {
    format!("#{:02x}{:02x}{:02x}", color[0], color[1], color[2])
}

/// Relative luminance after WCAG 2.2, 0 for black to 1 for white.
pub(super) fn luminance(color: [u8; 3]) -> f64 {
    let linear = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2])
}

/// Black on the lighter half, white on the darker.
pub(super) fn ink_on(color: [u8; 3]) -> &'static str {
    if luminance(color) > 0.18 { "#000" } else { "#fff" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: [(&str, &str); 2] =
        [(include_str!("../html/style.css"), CSS), (include_str!("../html/dark.css"), CSS_DARK)];

    /// `#rgb` or `#rrggbb`.
    fn parsed(color: &str) -> [u8; 3] {
        let digits: Vec<u8> =
            color[1..].chars().map(|digit| digit.to_digit(16).expect("a digit") as u8).collect();
        std::array::from_fn(|at| match digits.len() {
            3 => digits[at] * 17,
            _ => digits[at * 2] * 16 + digits[at * 2 + 1],
        })
    }

    fn contrast_of(one: [u8; 3], other: [u8; 3]) -> f64 {
        let [one, other] = [one, other].map(luminance);
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        contrast_of(parsed(one), parsed(other))
    }

    /// A colour of the page: what follows `--name:`; of a drawing: of the last rule for `.name`
    /// that has this property.
    fn colour(sheet: &str, before: &str) -> [u8; 3] {
        let rest = sheet.split_once(before).unwrap_or_else(|| panic!("no {before} in {sheet}")).1;
        let rest = &rest[rest.find('#').expect("a colour")..];
        let end = rest[1..].find(|letter: char| !letter.is_ascii_hexdigit()).expect("an end") + 1;
        parsed(&rest[..end])
    }

    /// `shade` laid over `page` with this opacity.
    fn laid_over(page: [u8; 3], shade: [u8; 3], opacity: f64) -> [u8; 3] {
        std::array::from_fn(|at| {
            let [page, shade] = [page[at], shade[at]].map(f64::from);
            (page + (shade - page) * opacity).round() as u8
        })
    }

    /// WCAG 2.2, 1.4.3 (AA) for text.
    #[test]
    fn all_text_of_a_page_has_a_contrast_of_four_and_a_half_light_and_dark() {
        for (page, chart) in PAGE {
            let of = |name: &str| colour(page, &format!("--{name}:"));
            for (ink, grounds) in [
                ("ink", &["page", "card", "wash", "alert-wash"][..]),
                ("soft", &["page", "card", "wash", "alert-wash"]),
                ("link", &["page"]),
                ("alert", &["alert-wash"]),
                ("fine", &["page"]),
            ] {
                for ground in grounds {
                    let ratio = contrast_of(of(ink), of(ground));
                    assert!(ratio >= 4.5, "{ink} on {ground}: {ratio:.2}");
                }
            }
            // In a drawing, on the page, in a row and in the steady window, as `style.css` shades
            // them.
            let shade = parsed("#8a94a3");
            for class in [".chart text{fill:", ".chart .k,.chart .a{fill:"] {
                for opacity in [0.0, 0.06, 0.13] {
                    let ground = laid_over(of("page"), shade, opacity);
                    let ratio = contrast_of(colour(chart, class), ground);
                    assert!(ratio >= 4.5, "{class} on {opacity}: {ratio:.2}");
                }
            }
        }
        assert!(
            CSS.contains(".band{fill:#8a94a3;opacity:.13}"),
            "what was tested is what is drawn"
        );
        assert!(CSS.contains(".row{fill:#8a94a3;opacity:.06}"), "what was tested is what is drawn");
    }

    /// WCAG 2.2, 1.4.11 for what carries a meaning; a line across the page does not.
    #[test]
    fn all_marks_of_a_page_have_a_contrast_of_three_light_and_dark() {
        for (page, chart) in PAGE {
            let of = |name: &str| colour(page, &format!("--{name}:"));
            let shade = parsed("#8a94a3");
            for opacity in [0.0, 0.06, 0.13] {
                let ground = laid_over(of("page"), shade, opacity);
                for series in 0..SERIES_COLORS.len() {
                    let ratio = contrast_of(colour(chart, &format!(".s{series}{{color:")), ground);
                    assert!(ratio >= 3.0, "series {series} on {opacity}: {ratio:.2}");
                }
                for class in [".chart .x{stroke:", ".chart .lim{stroke:"] {
                    let ratio = contrast_of(colour(chart, class), of("page"));
                    assert!(ratio >= 3.0, "{class}: {ratio:.2}");
                }
            }
            // Whoever uses the keyboard sees where they are; an interval shows on a bar by its rim.
            assert!(contrast_of(of("link"), of("page")) >= 3.0);
            assert!(contrast_of(colour(chart, ".chart .w{fill:"), of("page")) >= 3.0);
        }
    }

    #[test]
    fn numbers_on_the_scale_of_colours_are_read_everywhere() {
        for at in 0..=200 {
            let ground = viridis(f64::from(at) / 200.0);
            let ratio = contrast_of(parsed(ink_on(ground)), ground);
            assert!(ratio >= 4.5, "{at}: {ratio:.2}");
        }
    }

    #[test]
    fn every_series_stands_out_from_the_page_by_three_to_one() {
        for (light, dark) in SERIES_COLORS {
            let [on_light, on_dark] =
                [contrast(light, PAGE_COLORS.0), contrast(dark, PAGE_COLORS.1)];
            assert!(
                on_light >= 3.0 && on_dark >= 3.0,
                "{light} {on_light:.2}, {dark} {on_dark:.2}"
            );
        }
    }

    #[test]
    fn the_style_sheet_has_the_colours_that_the_drawings_name() {
        for (at, (light, dark)) in SERIES_COLORS.into_iter().enumerate() {
            for (sheet, color) in [(CSS, light), (CSS_DARK, dark)] {
                assert!(sheet.contains(&format!(".s{at}{{color:{color}}}")), "s{at} {color}");
            }
        }
        assert!(CSS.contains(PAGE_COLORS.0) && CSS_DARK.contains(PAGE_COLORS.1));
    }

    #[test]
    fn the_scale_of_colours_only_gets_lighter() {
        let steps: Vec<f64> =
            (0..=100).map(|at| luminance(viridis(f64::from(at) / 100.0))).collect();
        assert!(steps.windows(2).all(|pair| pair[0] <= pair[1] + 1e-3), "{steps:?}");
        assert_eq!((hex(viridis(0.0)), hex(viridis(1.0))), ("#440154".into(), "#fde725".into()));
    }
}
