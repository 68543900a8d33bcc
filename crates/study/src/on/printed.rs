//! The page of a matrix, with what a study printed of the same configurations.

use crate::matrix::{STUDY, printed};
use matrix::{Configuration, MatrixOrder, Measured, TestDevice, page};
use report::{document::Document, terminal::Style};

/// Every configuration, pivots, effects, the best: for a browser, and as text.
pub fn page(
    order: &MatrixOrder,
    device: &TestDevice,
    measured: &Measured,
    style: &Style,
) -> (Document, String) {
    let configurations = order.axes.configurations();
    let drive = device.drive();
    let rate = |one: &Configuration, block_bytes| {
        printed(drive.as_deref()?, one, block_bytes).map(|printed| printed.text)
    };
    let source = format!(
        "Printed: by the study {STUDY} (`drivelab study {STUDY}`), of the real drive on its own \
         machine."
    );
    let page = page::Matrix {
        ground: device.describe(),
        axes: &order.axes,
        configurations: &configurations,
        records: &measured.records,
        floors: &measured.floors,
        printed: page::Printed { rate: &rate, source },
        machines: configurations.iter().map(|one| device.machine(one)).collect(),
        cuts: &measured.cuts,
        caches: measured.caches.clone(),
        pivots: &order.pivots,
        seed: order.seed,
    };
    (page.document(), page.text(style))
}
