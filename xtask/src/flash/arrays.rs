//! RAID-5 of four and of eight such drives: bursts beside (n-1) single drives, and whether any
//! stripe was partial.

use super::Table;
use super::bed::{Bed, MIB};
use super::drive::{DRIVE, REST_SECONDS};
use anyhow::Result;
use flash::BLOCK_BYTES;
use target::catalog::Catalog;

/// Mapped, as for the single drive in the middle of its table.
const SPARE: &str = "spare=50%";

/// The members of four and of eight, data members, the driver, and whether there is more of it in
/// the study.
const STACKS: [(&str, u64, &str); 6] = [
    ("4xmtron-pro-32", 3, "host"),
    ("8xmtron-pro-32", 7, "host"),
    ("4xmtron-pro-32", 3, "md"),
    ("8xmtron-pro-32", 7, "md"),
    ("4xmtron-pro-32+4xmtron-mobi-32", 7, "host"),
    ("4xmtron-pro-32+4xmtron-mobi-32", 7, "md"),
];

/// The section of the page; of so many bytes a member.
pub fn run(catalog: &Catalog, member_bytes: u64) -> Result<String> {
    let mut table = Table::new(
        "| stack | burst writes/s | of (n-1) managed drives | blocks of padding | drives read | checkpoints | clean pool |",
    );
    let size = |members: u64| format!("drive-size={}M", (member_bytes * members) >> 20);
    let text = format!("{DRIVE}/flash:{SPARE},{}", size(1));
    let single = burst(catalog, &text, None, &mut table)?;
    for (members, data, driver) in STACKS {
        let text =
            format!("{members}/raid5:chunk=64K,driver={driver}/flash:{SPARE},{}", size(data));
        burst(catalog, &text, Some(single * data as f64), &mut table)?;
    }
    Ok(table.text)
}

/// How many a second, beside what all its drives would do alone.
fn burst(catalog: &Catalog, text: &str, alone: Option<f64>, table: &mut Table) -> Result<f64> {
    let mut bed = Bed::new(catalog, text)?;
    bed.rest(REST_SECONDS);
    let before = (bed.counters(), bed.opened.traffic.read_bytes());
    let pool = before.0.clean_pool_bytes;
    let rate = bed.overwrite(pool / BLOCK_BYTES)?;
    let now = bed.counters();
    let read = (bed.opened.traffic.read_bytes() - before.1) as f64 / MIB;
    table.line(
        &format!("`{text}`"),
        &[
            format!("{rate:.0}"),
            alone.map_or("-".to_owned(), |alone| format!("{:.1} %", 100.0 * rate / alone)),
            format!("{}", now.padding_blocks - before.0.padding_blocks),
            format!("{read:.1} MiB"),
            format!("{}", now.checkpoints - before.0.checkpoints),
            format!("{} MiB", pool >> 20),
        ],
    );
    Ok(rate)
}
