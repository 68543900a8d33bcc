//! The words by which a file or device can be agreed to.
//!
//! ```text
//!   a drive                its serial; where several have it their WWN; the number of a unit of one USB reader
//!   a drive without any    its WWN; else kernel name, model and size together
//!   a partition            its drive's word and `-part2`, as udev writes it
//!   a mapping              its name; of a logical volume VG/LV as well; its UUID
//!   an array               its name, or its UUID where it has none but a number
//!   a loop device          its kernel name, or a path that leads to it
//!   a file                 its name, or a path that leads to it
//! ```
//!
//! The first word of a [`Naming`] is the one that is asked for; the others, names of
//! /dev/disk/by-id among them, are taken as well. A kernel name alone is another drive's after the
//! next boot, and agrees to none.

use super::{Reason, inode::Inode, paths};
use crate::{
    identify::{array, details::volume, identity_of, stack::kind_of, usb_device},
    roots::Roots,
    sysfs::BlockDevice,
};
use block::display_bytes;
use record::DriveIdentity;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// What must be typed for one file or device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Naming {
    /// Each agrees; the first is asked for.
    words: Vec<String>,
    /// What the first is.
    called: &'static str,
    /// The beginning and the end of a name whose middle the kernel cuts off.
    ends: Option<(String, String)>,
    /// A file: its name, and any path that leads to it, agree, too.
    file: Option<PathBuf>,
    /// Any path that leads to it agrees, too.
    by_path: Option<Inode>,
    /// Links in /dev/disk/by-id that lead to it agree, too.
    by_link: Option<Inode>,
    /// Of a device: its kernel name, which may be another's tomorrow.
    moves: Option<String>,
    /// What would be lost, for people to compare: `a Samsung SSD 860 EVO of 466 GiB`.
    what: String,
}

/// Words for a whole device, before a partition adds its number.
struct Words {
    words: Vec<String>,
    called: &'static str,
    ends: Option<(String, String)>,
    takes_links: bool,
}

impl Words {
    fn new(called: &'static str, words: impl IntoIterator<Item = String>) -> Self {
        let mut found: Vec<String> = Vec::new();
        for word in words {
            if !word.is_empty() && !found.contains(&word) {
                found.push(word);
            }
        }
        Self { words: found, called, ends: None, takes_links: true }
    }
}

impl Naming {
    /// Of a device.
    ///
    /// # Errors
    /// [`Reason::Twin`] where another device of the machine cannot be told from it.
    pub(super) fn of_device(device: &BlockDevice, roots: &Roots) -> Result<Self, Reason> {
        let disk = device.parent().unwrap_or_else(|| device.clone());
        let kind = kind_of(&disk);
        let size = display_bytes(device.bytes());
        let inode = Inode::Device(device.number);
        let moves = Some(device.name.clone());
        if ["loop", "zram", "ram"].contains(&&*kind) {
            let (words, by_path) = (vec![device.name.clone()], Some(inode));
            return Ok(Self { words, called: "name", by_path, what: size, ..Self::default() });
        }
        let drive = (kind == "disk").then(|| identity_of(&disk, roots));
        let words = match &drive {
            Some(drive) => of_drive(&disk, drive, roots)?,
            None if kind.starts_with("dm") => of_mapping(&disk),
            None if kind.starts_with("md") => of_array(&disk, roots),
            None => Words::new(NAME_AND_SIZE, [described(&disk, None)]),
        };
        let what = match drive.and_then(|drive| drive.model) {
            Some(model) => format!("{model} of {size}"),
            None => size,
        };
        let by_link = words.takes_links.then_some(inode);
        let naming = Self {
            words: words.words,
            called: words.called,
            ends: words.ends,
            by_link,
            moves,
            what,
            ..Self::default()
        };
        Ok(match device.text("partition").filter(|_| device.parent().is_some()) {
            Some(number) => naming.of_part(&number),
            None => naming,
        })
    }

    /// Of a file that was opened by this path.
    pub(super) fn of_file(path: &Path, inode: Inode, bytes: u64) -> Self {
        let (file, by_path) = (Some(path.to_owned()), Some(inode));
        Self { called: "name", file, by_path, what: display_bytes(bytes), ..Self::default() }
    }

    /// Of a partition of what these words are for, as udev's by-id has it.
    fn of_part(self, number: &str) -> Self {
        let part = |word: &String| format!("{word}-part{number}");
        Self {
            words: self.words.iter().map(part).collect(),
            called: "word, which ends in the partition's number",
            ends: self.ends.map(|(start, end)| (start, part(&end))),
            ..self
        }
    }

    pub(super) fn is(&self, typed: &OsStr) -> bool {
        const BY_ID: &str = "/dev/disk/by-id/";
        let leads_to = |path: &Path, inode: &Inode| Inode::at(path) == Some(*inode);
        let is_word = |typed: &str| {
            let has_ends = |(start, end): &(String, String)| {
                typed.len() >= start.len() + end.len()
                    && typed.starts_with(start.as_str())
                    && typed.ends_with(end.as_str())
            };
            self.words.iter().any(|word| word == typed) || self.ends.as_ref().is_some_and(has_ends)
        };
        if self.by_path.as_ref().is_some_and(|inode| leads_to(Path::new(typed), inode))
            || self.file.as_ref().is_some_and(|path| path.file_name() == Some(typed))
        {
            return true;
        }
        let Some(typed) = typed.to_str() else { return false };
        match typed.strip_prefix(BY_ID) {
            // A link that is there says itself which device it means.
            Some(_) if Path::new(typed).exists() => {
                self.by_link.as_ref().is_some_and(|inode| leads_to(Path::new(typed), inode))
            }
            Some(name) => is_word(name),
            None if typed.is_empty() || typed.contains('/') => is_word(typed),
            None => {
                let link = PathBuf::from(BY_ID).join(typed);
                is_word(typed) || self.by_link.as_ref().is_some_and(|inode| leads_to(&link, inode))
            }
        }
    }

    /// What must be typed, as a shell takes it.
    pub(super) fn expected(&self) -> String {
        match &self.file {
            Some(path) => record::quoted(path),
            None => record::quoted(self.word()),
        }
    }

    /// What must be typed, as it is.
    pub(crate) fn word(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// What is taken as well.
    pub(crate) fn others(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// What the word is.
    pub(crate) fn called(&self) -> &'static str {
        self.called
    }

    /// What would be lost.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// A device's kernel name, where it agrees to nothing.
    pub(super) fn moves(&self) -> Option<&str> {
        self.moves.as_deref()
    }
}

const NAME_AND_SIZE: &str = "name with its model and size";

fn of_drive(disk: &BlockDevice, drive: &DriveIdentity, roots: &Roots) -> Result<Words, Reason> {
    if let Some((other, same)) = paths::same_drive(disk, drive, roots).into_iter().next() {
        return Err(Reason::Twin { device: other.name, same });
    }
    let wwn = drive.wwn.clone();
    let by_wwn = || wwn.iter().flat_map(|wwn| wwn_links(disk, wwn)).chain(wwn.clone());
    let Some(serial) = &drive.serial else {
        return Ok(match &wwn {
            Some(wwn) => Words::new("WWN", [wwn.clone()].into_iter().chain(by_wwn())),
            None => Words::new(NAME_AND_SIZE, [described(disk, drive.model.as_deref())]),
        });
    };
    let shared = paths::with_serial(disk, serial, roots);
    if shared.is_empty() {
        let links = serial_links(disk, drive, serial);
        let words = [serial.clone()].into_iter().chain(links).chain(by_wwn());
        let mut words = Words::new("serial", words);
        words.ends = ata_link(disk, drive, serial);
        return Ok(words);
    }
    let own = match (unit_of(disk, serial, &shared), &wwn) {
        (Some(unit), _) => Words::new("serial with the unit's number", [unit]),
        (None, Some(wwn)) => Words::new("WWN", [wwn.clone()].into_iter().chain(by_wwn())),
        (None, None) => Words::new(NAME_AND_SIZE, [described(disk, drive.model.as_deref())]),
    };
    // A link made of the serial alone leads to whichever drive came first.
    Ok(Words { takes_links: false, ..own })
}

/// `sdc-Flash_Disk-64MiB`: the name may be another's tomorrow, and hardly one of the same model and
/// size.
fn described(disk: &BlockDevice, model: Option<&str>) -> String {
    let size = display_bytes(disk.bytes()).replace(' ', "");
    let model = model.map(joined);
    [Some(disk.name.clone()), model, Some(size)].into_iter().flatten().collect::<Vec<_>>().join("-")
}

/// `SERIAL-0:1`, of units that hang on one USB device: the slots of a reader.
fn unit_of(disk: &BlockDevice, serial: &str, shared: &[BlockDevice]) -> Option<String> {
    let own = usb_device(disk)?;
    let is_beside = |other: &BlockDevice| usb_device(other).as_ref() == Some(&own);
    shared.iter().all(is_beside).then(|| Some(format!("{serial}-{}", scsi_unit(disk)?)))?
}

/// Target and unit of the SCSI address `host:channel:target:unit`, the directory above `block`.
fn scsi_unit(disk: &BlockDevice) -> Option<String> {
    let address = disk.directory.parent()?.parent()?.file_name()?.to_str()?;
    let parts: Vec<&str> = address.split(':').collect();
    let [_, _, target, unit] = parts[..] else { return None };
    Some(format!("{target}:{unit}"))
}

/// What udev's 60-persistent-storage.rules call a drive by its world-wide name.
fn wwn_links(disk: &BlockDevice, wwn: &str) -> Vec<String> {
    if disk.name.starts_with("nvme") {
        return vec![format!("nvme-{}", joined(wwn))];
    }
    match wwn.split_once('.') {
        Some(("naa", hex)) => vec![format!("wwn-0x{hex}"), format!("scsi-3{hex}")],
        Some(("eui", hex)) => vec![format!("wwn-0x{hex}"), format!("scsi-2{hex}")],
        _ => Vec::new(),
    }
}

/// What they call it by its serial.
fn serial_links(disk: &BlockDevice, drive: &DriveIdentity, serial: &String) -> Vec<String> {
    let device = |file: &str| disk.text(&format!("device/{file}")).unwrap_or_default();
    let (vendor, model) = (device("vendor"), device("model"));
    let named = |bus: &str| format!("{bus}-{}_{}", joined(&model), joined(serial));
    match drive.transport.as_deref() {
        Some("virtio") if disk.name.starts_with("vd") => vec![format!("virtio-{}", joined(serial))],
        Some("usb") => {
            let unit = scsi_unit(disk).unwrap_or_else(|| "0:0".to_owned());
            let names = [&vendor, &model, serial].map(|text| joined(text)).join("_");
            vec![format!("usb-{names}-{unit}")]
        }
        Some("sata") => vec![named("ata")],
        Some("mmc") => vec![joined(&format!("mmc-{}_{serial}", device("name")))],
        Some(nvme) if nvme.starts_with("nvme") => {
            let space = disk.text("nsid").map(|nsid| format!("{}_{nsid}", named("nvme")));
            [named("nvme")].into_iter().chain(space).collect()
        }
        // Vendor and model are padded to 8 and 16 letters (SPC-4, standard INQUIRY data).
        _ if !vendor.is_empty() => ["S", "0"]
            .map(|kind| joined(&format!("scsi-{kind}{vendor:<8}{model:<16}{serial}")))
            .to_vec(),
        _ => Vec::new(),
    }
}

/// The kernel cuts a SATA drive's model off after 16 letters, and udev does not.
fn ata_link(disk: &BlockDevice, drive: &DriveIdentity, serial: &str) -> Option<(String, String)> {
    let model = disk.text("device/model").filter(|_| drive.transport.as_deref() == Some("sata"))?;
    let ends = (format!("ata-{}", joined(&model)), format!("_{}", joined(serial)));
    (model.chars().count() >= 16).then_some(ends)
}

/// By the device-mapper's name and UUID, which its owner gave, and by volume group and volume.
fn of_mapping(disk: &BlockDevice) -> Words {
    let Some(name) = disk.text("dm/name") else {
        return Words::new(NAME_AND_SIZE, [described(disk, None)]);
    };
    let uuid = disk.text("dm/uuid");
    let mut words = vec![name.clone(), format!("/dev/mapper/{name}"), format!("dm-name-{name}")];
    if uuid.as_ref().is_some_and(|uuid| uuid.starts_with("LVM-")) {
        let volume = volume(&name);
        words.extend([format!("/dev/{volume}"), volume]);
    }
    words.extend(uuid.iter().flat_map(|uuid| [uuid.clone(), format!("dm-uuid-{uuid}")]));
    Words::new("name", words)
}

/// By the name that its superblock keeps, if it is more than a number, or by its UUID.
fn of_array(disk: &BlockDevice, roots: &Roots) -> Words {
    let array::ArrayName { name, uuid } = array::name_of(disk, roots);
    let full = name.clone().unwrap_or_default();
    let short = full.rsplit_once(':').map_or(full.as_str(), |(_, short)| short).to_owned();
    let is_number = short.bytes().all(|byte| byte.is_ascii_digit());
    let by_name = name
        .iter()
        .filter(|_| !is_number)
        .flat_map(|_| [short.clone(), format!("/dev/md/{short}")]);
    let by_full = name.iter().flat_map(|name| [name.clone(), format!("md-name-{name}")]);
    let by_uuid = uuid.iter().flat_map(|uuid| {
        let hex: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
        [uuid.clone(), format!("md-uuid-{uuid}"), dashed(&hex), hex]
    });
    match (is_number, &uuid) {
        (false, _) => Words::new("name", by_name.chain(by_full).chain(by_uuid)),
        (true, Some(_)) => Words::new("UUID", by_uuid.chain(by_full)),
        (true, None) => Words::new(NAME_AND_SIZE, [described(disk, None)]),
    }
}

/// As blkid and /sys write a UUID.
fn dashed(hex: &str) -> String {
    let piece = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    [piece(0..8), piece(8..12), piece(12..16), piece(16..20), piece(20..32)].join("-")
}

/// As udev writes texts into names: a run of spaces becomes one `_`, and those at the ends nothing.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join("_")
}
