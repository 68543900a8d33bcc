//! What an array of md is called: /sys knows its UUID, its name stands in its members' superblocks.

use crate::{roots::Roots, sysfs::BlockDevice};
use std::{fs::File, os::unix::fs::FileExt};

/// How an array is told from others after the next boot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ArrayName {
    /// `HOST:NAME` or `NAME`; only root can read it.
    pub name: Option<String>,
    /// As mdadm writes it: four groups of eight digits.
    pub uuid: Option<String>,
}

/// Of an array: what its first member that can be read says, else what /sys and udev say.
pub(crate) fn name_of(array: &BlockDevice, roots: &Roots) -> ArrayName {
    let read = array.slaves().iter().find_map(|member| {
        let file = File::open(roots.dev.join(&member.name)).ok()?;
        let file = file.metadata().is_ok_and(|facts| !facts.is_dir()).then_some(file)?;
        superblock(&file, member.bytes())
    });
    let read = read.unwrap_or_default();
    let uuid = read.uuid.or_else(|| grouped(&array.text("md/uuid")?));
    let udev = super::drive::udev_properties(array, roots);
    let uuid = uuid.or_else(|| grouped(udev.get("MD_UUID")?));
    ArrayName { name: read.name.or_else(|| udev.get("MD_NAME").cloned()), uuid }
}

/// Version 1 (raid/md_p.h): magic, major version, set_uuid at 16, set_name at 32; 4 KiB from the
/// front, at the front, or 8 to 12 KiB from the end.
fn superblock(member: &File, bytes: u64) -> Option<ArrayName> {
    const MAGIC: u32 = 0xa92b_4efc;
    let end = (bytes / 512).checked_sub(16).map(|sector| (sector & !7) * 512);
    [Some(4096), Some(0), end].into_iter().flatten().find_map(|offset| {
        let mut block = [0; 64];
        member.read_exact_at(&mut block, offset).ok()?;
        let is_it = block[..4] == MAGIC.to_le_bytes() && block[4..8] == 1u32.to_le_bytes();
        let uuid: String = block[16..32].iter().map(|byte| format!("{byte:02x}")).collect();
        let name = String::from_utf8_lossy(&block[32..64]);
        let name = name.split('\0').next().unwrap_or_default().trim().to_owned();
        is_it.then(|| ArrayName {
            name: Some(name).filter(|name| !name.is_empty()),
            uuid: grouped(&uuid),
        })
    })
}

/// `0a1b...` or `0a1b...-...` as mdadm writes it.
fn grouped(uuid: &str) -> Option<String> {
    let hex: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    let is_one = hex.len() == 32 && hex.bytes().any(|digit| digit != b'0');
    let group = |at: usize| &hex[at * 8..at * 8 + 8];
    is_one.then(|| [0, 1, 2, 3].map(group).join(":").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_superblock_says_name_and_uuid_wherever_it_stands() {
        for offset in [0, 4096, (1 << 20) - 8192] {
            let mut image = vec![0u8; 1 << 20];
            let block = &mut image[offset..offset + 64];
            block[..4].copy_from_slice(&0xa92b_4efc_u32.to_le_bytes());
            block[4] = 1;
            block[16..32].copy_from_slice(&[0xab; 16]);
            block[32..41].copy_from_slice(b"host:tank");
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(&image).expect("an image");
            let found = superblock(&file, 1 << 20).expect("a superblock");
            assert_eq!(found.name.as_deref(), Some("host:tank"));
            assert_eq!(found.uuid.as_deref(), Some("abababab:abababab:abababab:abababab"));
        }
        let blank = tempfile::tempfile().expect("a file");
        blank.set_len(1 << 20).expect("a length");
        assert_eq!(superblock(&blank, 1 << 20), None);
    }

    #[test]
    fn a_uuid_is_written_as_mdadm_does_and_zeros_are_none() {
        let uuid = grouped("0A1B2C3D-0000-1111-2222-333344445555").expect("a uuid");
        assert_eq!(uuid, "0a1b2c3d:00001111:22223333:44445555");
        assert_eq!(grouped("00000000-0000-0000-0000-000000000000"), None);
        assert_eq!(grouped("none"), None);
    }
}
