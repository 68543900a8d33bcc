//! How fast the wire to a drive is: negotiated, possible, and what payload it carries.

use crate::{
    roots::{names_in, read_text},
    sysfs::BlockDevice,
};
use record::Link;
use std::path::Path;

/// The link of a drive from the first ancestor of its canonical sysfs directory that knows a speed: a USB
/// port, a SATA link or, for NVMe, a PCIe function. `None` for drives without a wire of their own: the slot
/// of a controller that serves several drives is no drive's link.
pub(crate) fn link_of(disk: &BlockDevice) -> Option<Link> {
    let is_nvme = disk.name.starts_with("nvme");
    disk.directory.ancestors().find_map(|ancestor| {
        usb(ancestor).or_else(|| sata(ancestor)).or_else(|| is_nvme.then(|| pcie(ancestor))?)
    })
}

fn pcie(function: &Path) -> Option<Link> {
    let text = |file: &str| read_text(&function.join(file));
    let (speed, width) = (text("current_link_speed")?, text("current_link_width")?);
    let words =
        |speed: &str, width: &str| format!("PCIe {} x{width}", speed.trim_end_matches(" PCIe"));
    let possible = text("max_link_speed").zip(text("max_link_width"));
    Some(Link {
        negotiated: words(&speed, &width),
        possible: possible.map(|(speed, width)| words(&speed, &width)),
        bytes_per_s: pcie_payload_bytes_per_s(&speed, &width),
    })
}

/// Payload of a PCIe link: line rate x lanes x line code (8b/10b up to 5 GT/s, 128b/130b up to 32,
/// 236 of 256 bytes a flit at 64) x 256 bytes of payload per 280 on the wire (header 16, sequence 2,
/// LCRC 4, framing 2; PCI Express Base Specification, data link layer). Flits hold the latter two.
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
        let class = port.join(&name).join("ata_link").join(&name);
        let speed = read_text(&class.join("sata_spd")).filter(|speed| speed.ends_with("Gbps"))?;
        let possible =
            read_text(&class.join("hw_sata_spd_limit")).filter(|text| text.ends_with("Gbps"));
        Some(Link {
            negotiated: format!("SATA {speed}"),
            possible: possible.map(|speed| format!("SATA {speed}")),
            bytes_per_s: sata_payload_bytes_per_s(&speed),
        })
    })
}

/// Payload of a SATA link: 8b/10b, so a tenth of the line rate in bytes, of which frame headers, ALIGN
/// primitives and handshakes leave about 95 % (Serial ATA 3.x, 8 KiB data frames).
fn sata_payload_bytes_per_s(speed: &str) -> Option<u64> {
    let gigabits: f64 = speed.split_whitespace().next()?.parse().ok()?;
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

/// Payload of a USB bulk pipe: 480 Mb/s carries 13 packets of 512 B a microframe of 125 us (USB 2.0, table
/// 5-10); 5 Gb/s codes 8b/10b, faster ones 128b/132b, and packet headers and link commands take a tenth.
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
