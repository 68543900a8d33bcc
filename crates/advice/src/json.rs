//! The whole answer for programs; `docs/guide/advice.md` describes it.

use crate::{
    Advice, Asked, Basis, Price,
    rank::{Endurance, Lifetime, Place, Refusal, price_at_par},
    reasons::{self, Reason},
    steady::{Lengths, Order},
    traced::Traced,
};
use lab::workload::BlockMix;
use serde_json::{Value, json};

/// One object; `sentence` words a reason and its cure.
pub fn document(advice: &Advice<'_>, sentence: &dyn Fn(Reason) -> String) -> Value {
    let sentences =
        |reasons: Vec<Reason>| reasons.into_iter().map(sentence).collect::<Vec<String>>();
    let (need, workload) = (&advice.question.need, &advice.question.workload);
    let first = advice.ranking.ranked.first();
    let unpriced = advice.ranking.unpriced.iter().map(|found| {
        let mut value = place(advice, found);
        value["price_at_par"] = json!(first.and_then(|first| price_at_par(found, first)));
        value
    });
    let worn = advice.ranking.refused.iter().map(|(at, refusal)| {
        let offer = &advice.offers[*at];
        refused(&offer.name, offer.price, *refusal)
    });
    let early = advice.refused.iter().map(|(name, price, refusal)| refused(name, *price, *refusal));
    let impossible =
        advice.impossible.iter().map(|(name, why)| json!({ "name": name, "reason": why }));
    json!({
        "question": {
            "read_percent": need.reads * 100.0,
            "block_bytes": workload.block_bytes,
            "pattern": match workload.order { Order::Random => "random", Order::Sequential => "seq" },
            "sequential": workload.sequential,
            "depth": workload.depth,
            "trace": advice.question.trace.as_ref().map(|traced| trace(advice, traced)),
            "budget": need.budget,
            "currency": advice.question.currency,
            "capacity_bytes": need.capacity_bytes,
            "written_bytes_per_day": need.written_bytes_per_day,
            "years": need.years,
            "as_of": advice.question.today.to_string(),
            "price_age_months": advice.question.price_age_months,
            "seed": advice.question.seed,
        },
        "ranked": advice.ranking.ranked.iter().map(|found| place(advice, found)).collect::<Vec<_>>(),
        "compared": advice.ranking.compared.iter().map(|found| place(advice, found)).collect::<Vec<_>>(),
        "unranked": unpriced.collect::<Vec<_>>(),
        "refused": early.chain(worn).chain(impossible).collect::<Vec<_>>(),
        "because": sentences(reasons::because(advice)),
        "would_change": reasons::would_change(advice),
        "assumed": sentences(reasons::assumed(advice)),
    })
}

/// What a trace said of the workload.
fn trace(advice: &Advice<'_>, traced: &Traced) -> Value {
    let lengths = |mix: &BlockMix| -> Vec<Value> {
        let share = |(bytes, percent): &(u32, f64)| json!([bytes, percent / 100.0]);
        mix.sizes().iter().map(share).collect()
    };
    let of = |mix: fn(&Lengths) -> &BlockMix| traced.lengths.as_ref().map(|all| lengths(mix(all)));
    json!({
        "title": traced.title,
        "read_lengths": of(|all| &all.reads),
        "write_lengths": of(|all| &all.writes),
        "room_bytes": traced.room_bytes,
        "taken": traced.taken(advice.question.need.capacity_bytes),
        "not_taken": traced.left_out(),
    })
}

fn place(advice: &Advice<'_>, place: &Place) -> Value {
    let (candidate, answer) = &advice.answered[place.offer];
    let offer = &answer.offer;
    let foreign = match &candidate.price {
        Price::Foreign(money) => {
            Some(json!({ "amount": money.amount, "currency": money.currency }))
        }
        _ => None,
    };
    let source = match &candidate.price {
        Price::Known { source, .. } => Some(source.as_str()),
        Price::Unknown(text) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    let (rated, per_host_byte) = match offer.endurance {
        Endurance::Rated { bytes, per_host_byte } => (Some(bytes), Some(per_host_byte)),
        _ => (None, None),
    };
    json!({
        "name": offer.name,
        "price": offer.price,
        "price_elsewhere": foreign,
        "price_source": source,
        "price_asked": match candidate.price.asked() {
            Asked::On(date) => Some(date.to_string()),
            Asked::Now => Some(advice.question.today.to_string()),
            Asked::Never => None,
        },
        "capacity_bytes": offer.capacity_bytes,
        "read_iops": offer.read.value,
        "write_iops": offer.write.value,
        "iops": place.iops.value,
        "iops_ci95": place.iops.ci95,
        "price_per_iops": place.price_per_iops.map(|cost| cost.value),
        "price_per_iops_ci95": place.price_per_iops.and_then(|cost| cost.ci95),
        "computed_iops": place.computed.value,
        "check_iops": place.is_checked.then_some(place.iops.value),
        "check_off": place.off(),
        "years": match place.lifetime { Lifetime::Years(years) => Some(years), _ => None },
        "wears": match place.lifetime {
            Lifetime::Unknown => Value::Null,
            Lifetime::Unbounded => false.into(),
            Lifetime::Years(_) => true.into(),
        },
        "rated_bytes": rated,
        "wear_bytes_per_host_byte": per_host_byte,
        "spare_drives": offer.spare_drives,
        "basis": basis(&answer.basis),
    })
}

fn basis(basis: &Basis) -> Value {
    match basis {
        Basis::Modelled { stack, between } => {
            json!({ "kind": "modelled", "stack": stack, "between": between })
        }
        Basis::Computed { stack, fill, log_per_host_byte } => json!({
            "kind": "computed",
            "stack": stack,
            "fill": fill,
            "log_per_host_byte": log_per_host_byte,
        }),
        Basis::Measured { run, flags } => json!({ "kind": "measured", "run": run, "flags": flags }),
    }
}

fn refused(name: &str, price: Option<f64>, refusal: Refusal) -> Value {
    let (reason, years) = match refusal {
        Refusal::Budget => ("budget", None),
        Refusal::Capacity => ("capacity", None),
        Refusal::Lifetime(years) => ("lifetime", Some(years)),
    };
    json!({ "name": name, "price": price, "reason": reason, "years": years })
}
