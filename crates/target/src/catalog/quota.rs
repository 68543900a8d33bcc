//! A cloud volume's file becomes the numbers of its model.

use super::{BadCatalog, DriveEntry, DriveSettings};
use model::{Merging, Pools, QuotaLimit, QuotaParams, WriteCaching};

/// Commands at a time: more than any quota lets through.
pub(super) const QUOTA_COMMANDS: u32 = 1024;

/// Every request is shorter.
const ANY_BYTES: u64 = 1 << 40;

impl DriveEntry {
    /// The numbers of a volume with a quota.
    ///
    /// # Errors
    /// When they contradict each other.
    pub fn quota(&self, settings: &DriveSettings) -> Result<QuotaParams, BadCatalog> {
        self.check_unpaged(settings)?;
        if settings.write_cache == Some(WriteCaching::On) {
            return Err(BadCatalog(format!(
                "`{}` has no write cache: leave `write-cache=` out",
                self.name()
            )));
        }
        let entry = &self.entry;
        let per_mille = |name: &str| entry.ask(name).map(|millionths| (millionths / 1000) as u32);
        let params = QuotaParams {
            capacity_bytes: self.capacity(settings),
            operations: self.limit("iops", 1000)?,
            bandwidth: self.limit("bandwidth", 1)?,
            operation_bytes: entry.ask("operation").unwrap_or(ANY_BYTES),
            write_per_mille: per_mille("write_cost").unwrap_or(1000),
            pools: match entry.word("pools") {
                Some("separate") => Pools::Separate,
                _ => Pools::Shared,
            },
            merging: match entry.word("merging") {
                Some("on") => Merging::On,
                _ => Merging::Off,
            },
            read_latency_ns: entry.get("read_latency"),
            write_latency_ns: entry.get("write_latency"),
            latency_spread_per_mille: per_mille("latency_spread").unwrap_or(0),
        };
        params.contradiction().map_or(Ok(params), |about| Err(self.contradiction(about)))
    }

    /// The limit whose keys begin with `name`; its credit is counted in so many tokens.
    fn limit(&self, name: &str, tokens: u64) -> Result<Option<QuotaLimit>, BadCatalog> {
        let ask = |what: &str| self.entry.ask(&format!("{name}_{what}"));
        let [burst, credit, refill] = ["burst", "credit", "refill"].map(ask);
        let Some(sustained) = self.entry.ask(name) else {
            return match [burst, credit, refill].iter().any(Option::is_some) {
                true => Err(self.contradiction(&format!("{name}_... needs {name}"))),
                false => Ok(None),
            };
        };
        if credit.is_none() && refill.is_some() {
            return Err(self.contradiction(&format!("{name}_refill needs {name}_credit")));
        }
        Ok(Some(QuotaLimit {
            sustained,
            burst,
            credit: credit.unwrap_or(0).saturating_mul(tokens),
            refill: refill.unwrap_or(sustained),
        }))
    }
}
