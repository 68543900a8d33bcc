//! The page of a matrix, with what a study printed of the same configurations.

use crate::matrix::{STUDY, printed};
use matrix::{Configuration, MatrixOrder, Measured, TestDevice, page};
use report::{document::Document, terminal::Style};

/// Every configuration, pivots, effects, the best.
pub struct MatrixPage {
    /// Where it took place, in words.
    pub ground: String,
    /// For the terminal.
    pub text: String,
    /// The same with charts, for a browser.
    pub document: Document,
}

/// What was measured of a matrix, to be shown.
pub fn page(
    order: &MatrixOrder,
    device: &TestDevice,
    measured: &Measured,
    style: &Style,
) -> MatrixPage {
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
        ground: device.describe(order.slower()),
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
    MatrixPage {
        ground: device.describe(order.slower()),
        text: page.text(style),
        document: page.document(),
    }
}
