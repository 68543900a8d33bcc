//! The tables that are asked for, modelled alone or among others.

use std::sync::atomic::{AtomicUsize, Ordering};
use study::{Dossier, Models, Study};
use target::catalog::Catalog;

/// These tables on the models, and how many cells were modelled.
fn modelled(dossier: &Dossier, tables: &[&str]) -> (Models, usize) {
    let catalog = Catalog::built_in().expect("a catalog");
    let tables: Vec<_> = tables.iter().map(|id| dossier.file.table(id).expect("a table")).collect();
    let cells = AtomicUsize::new(0);
    let progress = |_, all| cells.store(all, Ordering::Relaxed);
    let models = Models::run(dossier, &catalog, &tables, 2, &progress);
    (models, cells.into_inner())
}

/// One table cost as much as the whole study: every trial was done, whatever was asked for. Trials
/// that share a stack leave their mark on the next one, so that a table alone could also have got
/// other values: those of `pool` come after those of `depth` on one drive.
#[test]
fn a_table_alone_has_the_values_that_it_has_among_others_and_costs_less() {
    for (study, all, one) in [
        (Study::Cmu2009, &["depth", "pool"][..], "pool"),
        (Study::Easyco2007, &["pro", "onboard", "mixes"], "mixes"),
    ] {
        let dossier = Dossier::open(study);
        let (among, every) = modelled(&dossier, all);
        let (alone, few) = modelled(&dossier, &[one]);
        assert!(0 < few && few < every, "{one}: {few} of {every} cells");
        for at in dossier.of_table(one) {
            assert!(alone.values[at].is_some(), "{:?}", dossier.cells[at].at);
            assert_eq!(alone.values[at], among.values[at], "{:?}", dossier.cells[at].at);
            assert_eq!(alone.bases[at], among.bases[at]);
        }
    }
}
