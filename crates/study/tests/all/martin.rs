//! Martin's surfaces and charts, modelled in virtual time.

use study::{Basis, Dossier, Models, Study};
use target::catalog::Catalog;

/// The study on the models: each value of a table by its operation, device and further
/// coordinates.
fn modelled(threads: usize) -> (Dossier, Models) {
    let catalog = Catalog::built_in().expect("a catalog");
    let dossier = Dossier::open(Study::Martin2008);
    let tables: Vec<_> = dossier.file.tables.iter().collect();
    let models = Models::run(&dossier, &catalog, &tables, threads, &|_, _| {});
    (dossier, models)
}

#[test]
fn the_five_surfaces_and_four_charts_are_there_predicted_and_the_same_every_time() {
    let (dossier, models) = modelled(2);
    let value = |filters: &[(&str, &str)]| {
        let stands = |at: &usize| {
            filters.iter().all(|(key, word)| dossier.cells[*at].coordinate(key) == Some(word))
        };
        let at = (0..dossier.cells.len()).find(stands).unwrap_or_else(|| panic!("{filters:?}"));
        assert_eq!(models.bases[at], Some(Basis::Predicted), "{filters:?}");
        models.values[at].clone().expect("a value").expect("a number")
    };
    let surface = |op: &str, file: u64, block: u64| {
        let (op, file, block) = (format!("iozone-{op}"), file.to_string(), block.to_string());
        value(&[("table", "surface"), ("op", &op), ("file", &file), ("block", &block)])
    };
    for test in ["write", "rewrite", "read", "fwrite", "fread"] {
        // The ridge of the processor's cache, the page cache behind it, and the drive.
        let ridge = surface(test, 4 << 20, 64 << 10);
        let plain = surface(test, 4 << 20, 4 << 20);
        let drive = surface(test, 2 << 30, 4 << 20);
        assert!(ridge > 1.1 * plain && plain > 5.0 * drive, "{test}: {ridge} {plain} {drive}");
    }
    let bonnie = |device: &str, config: &str, op: &str| {
        value(&[("table", "bonnie"), ("device", device), ("config", config), ("op", op)])
    };
    for device in ["mtron-mobi-32", "sata-750", "sata-750x6-raid6"] {
        for op in ["create", "delete"] {
            let fenced = bonnie(device, "barriers", op);
            assert!(fenced < bonnie(device, "nobarrier", op), "{device} {op}");
            assert!(bonnie(device, "lazy0", op) <= bonnie(device, "nobarrier", op));
        }
        // What memory answers is the same on any drive.
        assert_eq!(bonnie(device, "barriers", "stat"), bonnie(device, "default", "stat"));
        assert!(bonnie(device, "default", "seeks") > bonnie(device, "default", "seeks-flushed"));
    }
    assert!(
        bonnie("mtron-mobi-32", "default", "seeks") > 10.0 * bonnie("sata-750", "default", "seeks")
    );
    assert_eq!(self::modelled(1).1.values, models.values);
}
