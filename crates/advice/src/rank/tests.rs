//! Everything here is worked out by hand, from round numbers.

use super::*;

fn exact(value: f64) -> Figure {
    Figure { value, ci95: None }
}

fn offer(name: &str, price: f64, read: f64, write: f64) -> Offer {
    Offer {
        name: name.to_owned(),
        price: (price > 0.0).then_some(price),
        purpose: Purpose::Buy,
        capacity_bytes: 100_000_000_000,
        read: exact(read),
        write: exact(write),
        check: Check::Due,
        endurance: Endurance::Unknown,
        spare_drives: 0,
    }
}

const NEED: Need = Need {
    reads: 0.5,
    budget: 1000.0,
    capacity_bytes: None,
    written_bytes_per_day: None,
    years: 5.0,
};

fn names<'o>(offers: &'o [Offer], places: &[Place]) -> Vec<&'o str> {
    places.iter().map(|place| offers[place.offer].name.as_str()).collect()
}

fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-12, "{value}, not {expected}");
}

/// Half reads: 1/(0.5/1000 + 0.5/250) = 400 and 1/(0.5/400 + 0.5/400) = 400 a second; 200 and 100
/// money.
#[test]
fn the_least_money_for_an_operation_a_second_comes_first() {
    let offers = [offer("dear", 200.0, 1000.0, 250.0), offer("cheap", 100.0, 400.0, 400.0)];
    let ranking = rank(&NEED, &offers);
    assert_eq!(names(&offers, &ranking.ranked), ["cheap", "dear"]);
    close(ranking.ranked[0].iops.value, 400.0);
    close(ranking.ranked[0].price_per_iops.expect("a price").value, 0.25);
    close(ranking.ranked[1].price_per_iops.expect("a price").value, 0.5);
    // Reads alone: 1000 for 200 and 400 for 100.
    let ranking = rank(&Need { reads: 1.0, ..NEED }, &offers);
    assert_eq!(names(&offers, &ranking.ranked), ["dear", "cheap"]);
    close(ranking.ranked[0].price_per_iops.expect("a price").value, 0.2);
}

#[test]
fn equals_are_ranked_by_name_whatever_their_order() {
    let mut offers = vec![offer("b", 100.0, 10.0, 10.0), offer("a", 100.0, 10.0, 10.0)];
    assert_eq!(names(&offers, &rank(&NEED, &offers).ranked), ["a", "b"]);
    offers.swap(0, 1);
    assert_eq!(names(&offers, &rank(&NEED, &offers).ranked), ["a", "b"]);
}

/// What has no price is not ranked; it draws level with 0.25 an operation at 0.25 x 800.
#[test]
fn what_has_no_price_stands_apart_with_the_price_that_would_draw_level() {
    let offers = [
        offer("priced", 100.0, 400.0, 400.0),
        offer("slow", 0.0, 80.0, 80.0),
        offer("fast", 0.0, 800.0, 800.0),
    ];
    let ranking = rank(&NEED, &offers);
    assert_eq!(names(&offers, &ranking.ranked), ["priced"]);
    assert_eq!(names(&offers, &ranking.unpriced), ["fast", "slow"]);
    assert_eq!(price_at_par(&ranking.unpriced[0], &ranking.ranked[0]), Some(200.0));
    assert_eq!(price_at_par(&ranking.ranked[0], &ranking.unpriced[0]), None);
}

/// 100 GB x 1000 cycles = 100 TB; at a write amplification of 2 and 27.4 GB a day: 100e12 / (2 x
/// 27.4e9 x 365) = 5.0 years (4.9995); at 20 GB a day 6.849.
#[test]
fn a_lifetime_is_the_rated_bytes_over_what_is_written_and_amplified() {
    let endurance = Endurance::Rated { bytes: 1e14, per_host_byte: 2.0 };
    let mut offers = [offer("rated", 100.0, 400.0, 400.0)];
    offers[0].endurance = endurance;
    let written = |a_day: f64| Need { written_bytes_per_day: Some(a_day), ..NEED };
    match written(20e9).lifetime(endurance) {
        Lifetime::Years(years) => close(years, 1e14 / 1.46e13),
        other => panic!("{other:?}"),
    }
    assert_eq!(rank(&written(20e9), &offers).ranked.len(), 1);
    let refused = rank(&written(27.4e9), &offers).refused;
    assert!(matches!(refused[..], [(0, Refusal::Lifetime(years))] if years > 4.999 && years < 5.0));
    assert_eq!(NEED.lifetime(endurance), Lifetime::Unknown, "nobody says how much is written");
    assert_eq!(written(1e9).lifetime(Endurance::Unknown), Lifetime::Unknown);
    assert_eq!(written(1e9).lifetime(Endurance::Unbounded), Lifetime::Unbounded);
}

#[test]
fn what_costs_too_much_or_holds_too_little_is_refused_with_the_reason() {
    let offers = [offer("dear", 1001.0, 9.0, 9.0), offer("small", 1000.0, 9.0, 9.0)];
    let need = Need { capacity_bytes: Some(100_000_000_001), ..NEED };
    let ranking = rank(&need, &offers);
    assert_eq!(ranking.refused, [(0, Refusal::Budget), (1, Refusal::Capacity)]);
    let exactly = Need { capacity_bytes: Some(100_000_000_000), ..NEED };
    assert_eq!(names(&offers, &rank(&exactly, &offers).ranked), ["small"]);
}

/// reader: 100 money, R 1000, W 100: cost 1 - 0.9 f. writer: 100 money, R 200, W 200: 0.5 always.
/// They cross where 1 - 0.9 f = 0.5, f = 5/9. even: 200 money, R 250, W 250: 0.8, crosses the
/// writer nowhere.
#[test]
fn the_mix_at_which_another_comes_first_is_where_the_costs_cross() {
    let offers = [
        offer("reader", 100.0, 1000.0, 100.0),
        offer("writer", 100.0, 200.0, 200.0),
        offer("even", 200.0, 250.0, 250.0),
    ];
    let ranking = rank(&NEED, &offers);
    assert_eq!(names(&offers, &ranking.ranked), ["writer", "reader", "even"]);
    let found = neighbours(&NEED, &offers, &ranking);
    let above = found.above.expect("a crossing");
    assert_eq!((above.offer, found.below), (0, None));
    close(above.reads, 5.0 / 9.0);
    // From the other side the writer lies below; and at the crossing both cost the same.
    let more = Need { reads: 0.8, ..NEED };
    let below = neighbours(&more, &offers, &rank(&more, &offers)).below.expect("a crossing");
    assert_eq!(below.offer, 1);
    close(below.reads, 5.0 / 9.0);
    let there = rank(&Need { reads: above.reads, ..NEED }, &offers).ranked;
    let cost = |at: usize| there[at].price_per_iops.expect("a price").value;
    close(cost(0), cost(1));
}

/// A volume on a drive reads as the drive does: their costs meet where everything reads, and
/// nothing lies beyond.
#[test]
fn what_is_equal_at_nothing_but_reads_is_overtaken_nowhere() {
    let offers = [offer("bare", 100.0, 300.0, 70.0), offer("managed", 100.0, 300.0, 60.0)];
    let ranking = rank(&NEED, &offers);
    assert_eq!(neighbours(&NEED, &offers, &ranking), Neighbours::default());
}

/// Twice the drives for twice the money cost the same at every mix: no crossing may be made of
/// rounding.
#[test]
fn more_of_the_same_crosses_nowhere() {
    let offers = [offer("one", 100.0, 300.0, 70.0), offer("two", 200.0, 600.0, 140.0)];
    let ranking = rank(&NEED, &offers);
    assert_eq!(neighbours(&NEED, &offers, &ranking), Neighbours::default());
    assert_eq!(fastest(&ranking).map(|place| place.offer), Some(1));
}

#[test]
fn the_first_that_outlives_a_drive_is_found() {
    let mut offers = [
        offer("one", 100.0, 300.0, 70.0),
        offer("mirror", 200.0, 600.0, 70.0),
        offer("parity", 300.0, 600.0, 40.0),
    ];
    offers[1].spare_drives = 1;
    offers[2].spare_drives = 1;
    let ranking = rank(&NEED, &offers);
    assert_eq!(sturdiest(&offers, &ranking).map(|place| place.offer), Some(1));
    assert_eq!(sturdiest(&[offer("x", 1.0, 1.0, 1.0)], &rank(&NEED, &offers[..0])), None);
}

/// Cheap by its formula, dear when it is run: the next one is run before the first is named.
#[test]
fn what_was_run_comes_before_what_was_not_and_the_first_are_run() {
    let mut offers = vec![
        offer("boast", 100.0, 900.0, 900.0),
        offer("honest", 100.0, 400.0, 400.0),
        offer("dear", 400.0, 400.0, 400.0),
    ];
    offers[2].check = Check::Done(400.0);
    let ranking = rank(&NEED, &offers);
    assert_eq!(names(&offers, &ranking.ranked), ["dear", "boast", "honest"]);
    assert_eq!(due(&offers, &ranking, 1), [0]);
    offers[0].check = Check::Done(300.0);
    let ranking = rank(&NEED, &offers);
    assert_eq!(due(&offers, &ranking, 1), [1]);
    offers[1].check = Check::Done(410.0);
    let ranking = rank(&NEED, &offers);
    assert_eq!(names(&offers, &ranking.ranked), ["honest", "boast", "dear"]);
    assert!(due(&offers, &ranking, 3).is_empty());
    close(ranking.ranked[0].price_per_iops.expect("a price").value, 100.0 / 410.0);
    close(1.0 + ranking.ranked[1].off().expect("it was run"), 300.0 / 900.0);
    // What cannot be run is not asked for again, and stays behind.
    offers[0].check = Check::Impossible;
    let ranking = rank(&NEED, &offers);
    assert_eq!(names(&offers, &ranking.ranked), ["honest", "dear", "boast"]);
    assert!(due(&offers, &ranking, 3).is_empty());
}

#[test]
fn an_old_price_is_compared_and_not_ranked() {
    let mut offers = vec![offer("old", 1.0, 400.0, 400.0), offer("new", 100.0, 400.0, 400.0)];
    offers[0].purpose = Purpose::Compare;
    let ranking = rank(&NEED, &offers);
    assert_eq!(names(&offers, &ranking.ranked), ["new"]);
    assert_eq!(names(&offers, &ranking.compared), ["old"]);
}
