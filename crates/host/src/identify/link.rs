//! How fast the wire to a drive is: negotiated, possible, and what payload it carries.

use crate::{
    ask::ata::Identity,
    roots::{names_in, read_text},
    sysfs::BlockDevice,
};
use record::Link;
use std::{fmt, path::Path};

/// The link of a drive from the first ancestor of its canonical sysfs directory that knows a speed:
/// a USB port, a SATA link or, for NVMe, a PCIe function. `None` for drives without a wire of their
/// own: the slot of a controller that serves several drives is no drive's link.
pub(crate) fn link_of(disk: &BlockDevice) -> Option<Link> {
    let is_nvme = disk.name.starts_with("nvme");
    disk.directory.ancestors().find_map(|ancestor| {
        usb(ancestor).or_else(|| sata(ancestor)).or_else(|| is_nvme.then(|| pcie(ancestor))?)
    })
}

fn pcie(function: &Path) -> Option<Link> {
    let negotiated = Pcie::of(function, "current")?;
    // The slot is the port above; a drive soldered to the root complex has none.
    let ends = [Some(function), function.parent()].into_iter().flatten();
    let possible = ends.filter_map(|end| Pcie::of(end, "max")).reduce(Pcie::least);
    Some(Link {
        possible: possible.map(|possible| possible.to_string()),
        bytes_per_s: pcie_payload_bytes_per_s(&negotiated.speed, &negotiated.width),
        negotiated: negotiated.to_string(),
    })
}

/// Speed and width as the kernel writes them: `8.0 GT/s PCIe` and `4`.
struct Pcie {
    speed: String,
    width: String,
}

impl Pcie {
    /// `which` is `current` or `max`.
    fn of(function: &Path, which: &str) -> Option<Self> {
        let text = |what: &str| read_text(&function.join(format!("{which}_link_{what}")));
        let found = Self { speed: text("speed")?, width: text("width")? };
        (found.gigatransfers().is_some() && found.lanes().is_some()).then_some(found)
    }

    /// What both can do.
    fn least(self, other: Self) -> Self {
        let speed = if other.gigatransfers() < self.gigatransfers() {
            other.speed.clone()
        } else {
            self.speed.clone()
        };
        let width = if other.lanes() < self.lanes() { other.width } else { self.width };
        Self { speed, width }
    }

    fn gigatransfers(&self) -> Option<f64> {
        self.speed.split_whitespace().next()?.parse().ok()
    }

    fn lanes(&self) -> Option<u32> {
        self.width.parse().ok()
    }
}

impl fmt::Display for Pcie {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PCIe {} x{}", self.speed.trim_end_matches(" PCIe"), self.width)
    }
}

/// Payload of a PCIe link: line rate x lanes x line code (8b/10b up to 5 GT/s, 128b/130b up to 32,
/// 236 of 256 bytes a flit at 64) x 256 bytes of payload per 280 on the wire (header 16, sequence
/// 2, LCRC 4, framing 2; PCI Express Base Specification, data link layer). Flits hold the latter
/// two.
fn pcie_payload_bytes_per_s(speed: &str, width: &str) -> Option<u64> {
    let transfers: f64 = speed.split_whitespace().next()?.parse().ok()?;
    let lanes: f64 = width.parse().ok()?;
    let code = match transfers {
        ..=5.0 => 0.8 * 256.0 / 280.0,
        ..=32.0 => 128.0 / 130.0 * 256.0 / 280.0,
        _ => 236.0 / 256.0 * 256.0 / 272.0,
    };
    let rate = transfers * 1e9 / 8.0 * lanes * code;
    (rate > 0.0 && rate.is_finite()).then_some(rate as u64)
}

fn sata(port: &Path) -> Option<Link> {
    // .../ata1/link1/ata_link/link1/sata_spd
    port.file_name()?.to_str()?.strip_prefix("ata")?.parse::<u32>().ok()?;
    let links = names_in(port).into_iter().filter(|name| name.starts_with("link"));
    links.into_iter().find_map(|name| {
        let link = port.join(&name);
        let class = link.join("ata_link").join(&name);
        let speed =
            |file: &str| read_text(&class.join(file)).filter(|speed| speed.ends_with("Gbps"));
        let negotiated = speed("sata_spd")?;
        // Without the drive's own word an old drive would seem to be held back.
        let ends = speed("hw_sata_spd_limit").as_deref().and_then(gigabits).zip(drive_max(&link));
        Some(Link {
            possible: ends.map(|(port, drive)| format!("SATA {:.1} Gbps", port.min(drive))),
            bytes_per_s: sata_payload_bytes_per_s(&negotiated),
            negotiated: format!("SATA {negotiated}"),
        })
    })
}

/// The fastest that the drive of a link says it can do, by the kernel's copy of its identity:
/// `link1/dev1.0/ata_device/dev1.0/id`.
fn drive_max(link: &Path) -> Option<f64> {
    let names = names_in(link).into_iter().filter(|name| name.starts_with("dev"));
    let identities = names.filter_map(|name| {
        let file = link.join(&name).join("ata_device").join(&name).join("id");
        Identity::from_words(&read_text(&file)?)
    });
    { identities }.find_map(|identity| identity.gigabits_max())
}

fn gigabits(speed: &str) -> Option<f64> {
    speed.split_whitespace().next()?.parse().ok()
}

/// Payload of a SATA link: 8b/10b, so a tenth of the line rate in bytes, of which frame headers,
/// ALIGN primitives and handshakes leave about 95 % (Serial ATA 3.x, 8 KiB data frames).
fn sata_payload_bytes_per_s(speed: &str) -> Option<u64> {
    let gigabits = gigabits(speed)?;
    (gigabits > 0.0).then_some((gigabits * 1e9 / 10.0 * 0.95) as u64)
}

fn usb(port: &Path) -> Option<Link> {
    if !port.join("idVendor").exists() {
        return None;
    }
    let speed = read_text(&port.join("speed"))?;
    Some(Link {
        negotiated: format!("USB {speed} Mb/s"),
        possible: None,
        bytes_per_s: usb_payload_bytes_per_s(&speed),
    })
}

/// Payload of a USB bulk pipe: 480 Mb/s carries 13 packets of 512 B a microframe of 125 us (USB
/// 2.0, table 5-10); 5 Gb/s codes 8b/10b, faster ones 128b/132b, and packet headers and link
/// commands take a tenth.
fn usb_payload_bytes_per_s(speed: &str) -> Option<u64> {
    let megabits: f64 = speed.parse().ok()?;
    match megabits {
        480.0 => Some(13 * 512 * 8000),
        5000.0 => Some(450_000_000),
        5001.0.. => Some((megabits * 1e6 / 8.0 * 128.0 / 132.0 * 0.9) as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_rates_are_below_the_line_and_near_what_drives_reach() {
        let pcie = |speed, width| pcie_payload_bytes_per_s(speed, width).expect("a rate");
        assert!((3_500_000_000..3_700_000_000).contains(&pcie("8.0 GT/s PCIe", "4")));
        assert!((7_000_000_000..7_400_000_000).contains(&pcie("16.0 GT/s PCIe", "4")));
        assert!((440_000_000..500_000_000).contains(&pcie("5.0 GT/s PCIe", "1")));
        assert_eq!(pcie_payload_bytes_per_s("Unknown", "4"), None);
        assert_eq!(pcie_payload_bytes_per_s("8.0 GT/s PCIe", "0"), None);
        assert_eq!(sata_payload_bytes_per_s("6.0 Gbps"), Some(570_000_000));
        assert_eq!(usb_payload_bytes_per_s("480"), Some(53_248_000));
        assert_eq!(usb_payload_bytes_per_s("5000"), Some(450_000_000));
        assert_eq!(usb_payload_bytes_per_s("12"), None);
    }
}
