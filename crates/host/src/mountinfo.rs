//! The mount table, `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use crate::roots::{DeviceNumber, Roots};
use std::{fs, path::Path};

/// One line of the mount table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mount {
    /// `st_dev` of its files, except on btrfs subvolumes.
    pub number: DeviceNumber,
    /// Which part of the file system stands at the mount point.
    pub root: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// `ext4`, `nfs4`, `fuse.sshfs`...
    pub kind: String,
    /// What is mounted: a device path, `host:/export`, `pool/dataset`, or a word.
    pub source: String,
    /// Options of this mount point and of the file system, joined by a comma.
    pub options: String,
}

impl Mount {
    /// Whether `name` stands among the options, alone or as `name=...`.
    pub fn has_option(&self, name: &str) -> bool {
        self.option(name).is_some()
    }

    /// The text after `name=`; empty when the option has no value.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.split(',').find_map(|option| match option.split_once('=') {
            Some((key, value)) => (key == name).then_some(value),
            None => (option == name).then_some(""),
        })
    }

    fn parse(line: &str) -> Option<Self> {
        // 36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let number = left.next()?.parse().ok()?;
        let (root, mount_point, mut options) =
            (left.next()?, left.next()?, left.next()?.to_owned());
        let mut right = right.split(' ');
        let (kind, source) = (right.next()?, right.next()?);
        for option in right.next().unwrap_or("").split(',').filter(|option| !option.is_empty()) {
            if !options.split(',').any(|known| known == option) {
                options.push(',');
                options.push_str(&unescape_octal(option));
            }
        }
        Some(Self {
            number,
            root: unescape_octal(root),
            mount_point: unescape_octal(mount_point),
            kind: unescape_octal(kind),
            source: unescape_octal(source),
            options,
        })
    }
}

/// Every line that has the fields of a mount; others are left out.
pub fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(Mount::parse).collect()
}

/// The kernel writes space, tab, newline and backslash in paths as `\040`, `\011`, `\012`, `\134`.
pub fn unescape_octal(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if first == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The mount table of this process; empty when /proc is not there.
pub(crate) fn mounts(roots: &Roots) -> Vec<Mount> {
    let text = fs::read(roots.proc.join("self/mountinfo")).unwrap_or_default();
    parse_mountinfo(&String::from_utf8_lossy(&text))
}

/// The mount that serves the absolute `path`: the deepest mount point above it, the last one where
/// several are stacked. When `number` (its `st_dev`) is known and among the candidates it decides,
/// because a mount may be hidden under a later one.
pub(crate) fn mount_of<'a>(
    path: &Path,
    number: Option<DeviceNumber>,
    mounts: &'a [Mount],
) -> Option<&'a Mount> {
    // As the table was read: U+FFFD for what is no text.
    let shown = path.to_string_lossy();
    let above = || mounts.iter().filter(|it| Path::new(&*shown).starts_with(&it.mount_point));
    let deepest = |candidates: &mut dyn Iterator<Item = &'a Mount>| {
        candidates.max_by_key(|mount| mount.mount_point.trim_end_matches('/').len())
    };
    deepest(&mut above().filter(|mount| Some(mount.number) == number))
        .or_else(|| deepest(&mut above()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
31 27 8:17 /sub /mnt/my\\040disk rw,noatime - xfs /dev/sdb1 rw,attr2,noquota
32 27 0:45 /@home /home rw,relatime - btrfs /dev/sdc rw,compress=zstd:3,space_cache=v2
33 27 0:50 / /mnt/my\\040disk/deep rw - tmpfs tmpfs rw,size=1k
not a mount line
34 27 0:51 / /nfs rw - nfs4 server:/export rw,vers=4.2";

    #[test]
    fn a_line_is_read_with_escapes_and_optional_fields() {
        let mounts = parse_mountinfo(TABLE);
        assert_eq!(mounts.len(), 6);
        assert_eq!(mounts[2].mount_point, "/mnt/my disk");
        assert_eq!(mounts[2].number, DeviceNumber { major: 8, minor: 17 });
        assert_eq!(mounts[2].options, "rw,noatime,attr2,noquota");
        assert_eq!(mounts[3].option("compress"), Some("zstd:3"));
        assert!(mounts[1].has_option("discard") && !mounts[1].has_option("disc"));
    }

    #[test]
    fn the_deepest_mount_point_above_a_path_serves_it() {
        let mounts = parse_mountinfo(TABLE);
        let kind_at = |path: &str| mount_of(Path::new(path), None, &mounts).map(|m| &*m.kind);
        assert_eq!(kind_at("/mnt/my disk/a"), Some("xfs"));
        assert_eq!(kind_at("/mnt/my disk/deep/a"), Some("tmpfs"));
        assert_eq!(kind_at("/mnt/my diskette"), Some("ext4"));
        assert_eq!(kind_at("/homestead"), Some("ext4"));
        assert_eq!(kind_at("/home"), Some("btrfs"));
    }

    /// A directory on a drive mounted at `/mnt/caf\xe9` was taken for one of the root's.
    #[test]
    fn a_mount_point_need_not_be_text() {
        use std::os::unix::ffi::OsStrExt;
        let line = b"35 27 8:33 / /mnt/caf\xe9 rw - xfs /dev/sdc1 rw";
        let mounts = parse_mountinfo(&format!("{TABLE}\n{}", String::from_utf8_lossy(line)));
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/mnt/caf\xe9/a"));
        assert_eq!(mount_of(path, None, &mounts).map(|m| &*m.source), Some("/dev/sdc1"));
    }

    #[test]
    fn the_device_number_decides_when_a_mount_is_hidden_under_another() {
        let mut mounts = parse_mountinfo(TABLE);
        mounts.push(Mount { mount_point: "/mnt".to_owned(), ..mounts[1].clone() });
        let number = Some(DeviceNumber { major: 254, minor: 0 });
        let found = mount_of(Path::new("/mnt/my disk/a"), number, &mounts).map(|m| &*m.mount_point);
        assert_eq!(found, Some("/mnt"));
    }

    #[test]
    fn octal_escapes_are_undone_and_other_backslashes_stay() {
        assert_eq!(unescape_octal(r"a\040b\011c\134d\012"), "a b\tc\\d\n");
        assert_eq!(unescape_octal(r"\04"), r"\04");
        assert_eq!(unescape_octal(r"\999\"), r"\999\");
        assert_eq!(unescape_octal(r"\777"), r"\777");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), line in "[0-9]{0,3} [0-9]{0,3} [0-9:]{0,5} /[\\\\0-9a-z]{0,9} .{0,20} - .{0,9} .{0,9}") {
            parse_mountinfo(&text);
            parse_mountinfo(&line);
            unescape_octal(&text);
        }

        #[test]
        fn escaping_then_unescaping_a_path_changes_nothing(path in "[ a-z0-7\\\\\t\n/]{0,30}") {
            let escaped: String = path.chars().map(|c| match c {
                ' ' | '\t' | '\n' | '\\' => format!("\\{:03o}", c as u32),
                other => other.to_string(),
            }).collect();
            prop_assert_eq!(unescape_octal(&escaped), path);
        }
    }
}
