//! Which drive it is, from sysfs and udev's database, without asking the drive itself.

use super::link::link_of;
use crate::{
    roots::{Roots, names_in, read_text},
    sysfs::BlockDevice,
};
use record::DriveIdentity;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Everything that can be known of a whole disk without privileges.
pub(crate) fn identity_of(disk: &BlockDevice, roots: &Roots) -> DriveIdentity {
    let udev = udev_properties(disk, roots);
    let udev = |key: &str| udev.get(key).cloned();
    let device = |file: &str| disk.text(&format!("device/{file}"));
    let vendor = device("vendor").filter(|vendor| !vendor.starts_with("0x") && vendor != "ATA");
    let model = device("model").map(|model| match vendor {
        Some(vendor) if !model.starts_with(&vendor) => format!("{vendor} {model}"),
        _ => model,
    });
    let model = model.or_else(|| device("name")).or_else(|| udev("ID_MODEL"));
    let serial = disk.text("serial").or_else(|| device("serial")).or_else(|| scsi_serial(disk));
    let serial = serial.or_else(|| usb_serial(disk));
    let transport = transport_of(disk).or_else(|| udev("ID_BUS"));
    let is_virtual = is_virtual(disk, model.as_deref(), transport.as_deref());
    DriveIdentity {
        // A hypervisor's slot carries whatever speed it pleases.
        link: if is_virtual { None } else { link_of(disk) },
        is_virtual,
        serial: serial.or_else(|| udev("ID_SERIAL_SHORT")),
        firmware: device("firmware_rev")
            .or_else(|| device("rev"))
            .or_else(|| device("fwrev"))
            .or_else(|| udev("ID_REVISION")),
        wwn: disk.text("wwid").or_else(|| device("wwid")).or_else(|| udev("ID_WWN")),
        temperature_celsius: temperature_of(disk),
        model,
        transport,
        ..DriveIdentity::default()
    }
}

/// The unit serial number page, SPC-4 7.8.13: four bytes of header, the last two the length, then
/// ASCII.
fn scsi_serial(disk: &BlockDevice) -> Option<String> {
    let page = fs::read(disk.directory.join("device/vpd_pg80")).ok()?;
    let length = u16::from_be_bytes([*page.get(2)?, *page.get(3)?]) as usize;
    let text = page.get(4..)?;
    let serial = String::from_utf8_lossy(&text[..length.min(text.len())]);
    let serial = serial.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!serial.is_empty()).then(|| serial.to_owned())
}

/// Of a drive behind a USB bridge: the serial of the USB device, the first above it. The bridge has
/// no page of its own for it.
fn usb_serial(disk: &BlockDevice) -> Option<String> {
    read_text(&usb_device(disk)?.join("serial"))
}

/// The directory of the USB device that a drive hangs on.
pub(crate) fn usb_device(disk: &BlockDevice) -> Option<PathBuf> {
    let mut places = disk.directory.ancestors();
    places.find(|place| place.join("idVendor").exists()).map(Path::to_owned)
}

/// `E:KEY=value` lines of udev's database (systemd's src/libsystemd/sd-device).
pub(crate) fn udev_properties(disk: &BlockDevice, roots: &Roots) -> BTreeMap<String, String> {
    let text =
        read_text(&roots.run.join(format!("udev/data/b{}", disk.number))).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.strip_prefix("E:")?.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The nearest bus among the device's ancestors.
fn transport_of(disk: &BlockDevice) -> Option<String> {
    const BY_NAME: [(&str, &str); 5] =
        [("nbd", "nbd"), ("rbd", "rbd"), ("drbd", "drbd"), ("xvd", "xen"), ("mmcblk", "mmc")];
    if let Some((_, transport)) = BY_NAME.iter().find(|(prefix, _)| disk.name.starts_with(prefix)) {
        return Some((*transport).to_owned());
    }
    if disk.name.starts_with("nvme") {
        return Some(nvme_transport(disk));
    }
    let parts: Vec<&str> =
        disk.directory.iter().rev().skip(1).filter_map(|part| part.to_str()).collect();
    let has = |prefix: &str| {
        parts.iter().any(|part| {
            part.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    let word = if has("usb") {
        "usb"
    } else if has("ata") {
        "sata"
    } else if has("session") {
        "iscsi"
    } else if has("virtio") {
        "virtio"
    } else if parts.iter().any(|part| part.contains("vmbus") || part.contains("VMBUS")) {
        "vmbus"
    } else if has("host") {
        "scsi"
    } else {
        return None;
    };
    Some(word.to_owned())
}

/// `nvme` for PCIe; fabrics by name: `nvme-tcp`, `nvme-rdma`.
fn nvme_transport(disk: &BlockDevice) -> String {
    let own = disk.text("device/transport");
    // With multipath the disk hangs below the subsystem, and its controllers stand beside it.
    let below = || {
        let device = disk.directory.join("device");
        names_in(&device).iter().find_map(|name| read_text(&device.join(name).join("transport")))
    };
    match own.or_else(below).as_deref() {
        None | Some("pcie") => "nvme".to_owned(),
        Some(fabric) => format!("nvme-{fabric}"),
    }
}

/// Words that hypervisors put into model strings.
const VIRTUAL_MODELS: [&str; 11] = [
    "qemu",
    "vmware",
    "vbox",
    "virtualbox",
    "msft",
    "virtual disk",
    "xen",
    "amazon elastic block store",
    "amazon ec2",
    "google",
    "nvme_card",
];

fn is_virtual(disk: &BlockDevice, model: Option<&str>, transport: Option<&str>) -> bool {
    let model = model.unwrap_or("").to_ascii_lowercase();
    matches!(transport, Some("virtio" | "xen" | "vmbus"))
        || disk.name.starts_with("vd")
        || VIRTUAL_MODELS.iter().any(|word| model.contains(word))
}

/// Degrees Celsius from the drive's own hwmon sensor (nvme and drivetemp drivers), millidegrees in
/// sysfs (Documentation/hwmon/sysfs-interface.rst). Asking costs the drive one small command.
pub(crate) fn temperature_of(disk: &BlockDevice) -> Option<f64> {
    let device = disk.directory.join("device");
    let sensor_in = |folder: &Path| {
        let sensors = names_in(folder).into_iter().filter(|name| name.starts_with("hwmon"));
        sensors.into_iter().find_map(|name| read_text(&folder.join(name).join("temp1_input")))
    };
    let text = sensor_in(&device.join("hwmon")).or_else(|| sensor_in(&device))?;
    let celsius = text.parse::<f64>().ok()? / 1000.0;
    (-60.0..=150.0).contains(&celsius).then_some(celsius)
}
