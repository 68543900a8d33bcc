//! What a fuzz target starts from: the repository's own files, so that none has to be kept twice,
//! and a few words of protocols and formats that no file holds.

use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Writes the seeds of `target` into `directory`, in place of what was there.
pub fn write(root: &Path, target: &str, directory: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory)?;
    for (number, bytes) in of(root, target)?.iter().enumerate() {
        fs::write(directory.join(format!("{number:03}")), bytes)?;
    }
    Ok(())
}

fn of(root: &Path, target: &str) -> Result<Vec<Vec<u8>>> {
    Ok(match target {
        "method" => files(&root.join("methods"))?,
        "fio_job" => files(&root.join("crates/fio/tests/all/jobs"))?,
        "catalog" => {
            let directories = ["catalog", "catalog/ports", "catalog/drivers"];
            let each = directories.map(|directory| files(&root.join(directory)));
            each.into_iter().collect::<Result<Vec<_>>>()?.concat()
        }
        "stack" => texts(STACKS).into_iter().chain(files(&root.join("catalog"))?).collect(),
        "trace" => files(&root.join("crates/trace/tests/corpus"))?,
        "record" => vec![read(&root.join("crates/record/tests/example.json"))?],
        "import" => files(&root.join("crates/import/tests/corpus"))?,
        "words" => texts(WORDS),
        "kernel" => texts(KERNEL),
        "signature" => signatures(),
        "nbd_session" => sessions(),
        "write_log" => vec![read(&root.join("crates/target/tests/corpus/write.log"))?],
        "flash_image" => images(),
        // One byte for the volume, one for the place, then what is put over it.
        _ => (0..4).map(|number| vec![number % 2, number, 0x80, 0, 1, 0xff]).collect(),
    })
}

fn files(directory: &Path) -> Result<Vec<Vec<u8>>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

const STACKS: &[&str] = &[
    "mtron-pro-32",
    "4xmtron-pro-32/raid5:chunk=64K",
    "2xsata-tlc:state=steady+hdd-7200-cmr/raid0:driver=md/ext4:ram=64M",
    "8xintel-x25m-80:port=pcie/raid6/flash:spare=28%,cleaning=auto",
    "nvme-tlc:write-cache=off/flash/xfs:barrier=off",
    "2xhdd-7200-cmr/raid1/cache:ssd=nvme-tlc,size=1G,mode=writeback,policy=arc,map=memory/ext4",
    "hdd-7200-cmr/deadline:read_expire=500ms,fifo_batch=16,front_merges=0/ext4:read-ahead=8M",
    "2xhdd-7200-cmr/raid1/cfq:slice_idle=0ms,nr_requests=64,max_sectors_kb=128/ext3",
    "intel-x25e-64/anticipatory:antic_expire=6ms/noop",
    "4xhdd-7200-cmr/raid5/pin:ssd=nvme-tlc,range=0-10%/ext4",
    "hdd-7200-cmr/tier:ssd=sata-tlc,size=32G,epoch=10s,block=1M",
];

const WORDS: &[&str] = &[
    "4K",
    "1.5GiB",
    "10MB",
    "null:",
    "memory:1G/flash:spare=28%",
    "flash:/dev/sdb",
    "model:4xmtron-pro-32/raid5",
    "zipf:0.99",
    "hot_cold:20/80",
    "strided:17",
    "mixed:70",
    "read_dirty:10",
    "compressible:50",
    "direct,dsync",
    "stdio:block",
    "4K..64K",
    "1,2,4",
];

const KERNEL: &[&str] = &[
    "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
     37 36 0:26 / /mnt2/a\\040b rw shared:7 propagate_from:1 - btrfs /dev/sda2 \
     rw,compress=zstd:3\n",
    "   8       0 sda 5 0 40 1 2 0 16 1 0 2 2 0 0 0 0 0 0\n 259       1 nvme0n1 9 1 72 3\n",
    "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nctxt 5\n",
    "      5        0       40        1        2        0       16        1        0        2     \
        2\n",
];

/// Beginnings of devices that are in use.
fn signatures() -> Vec<Vec<u8>> {
    let at = |offset: usize, magic: &[u8]| {
        let mut bytes = vec![0; (offset + magic.len()).next_multiple_of(512)];
        bytes[offset..offset + magic.len()].copy_from_slice(magic);
        bytes
    };
    vec![
        at(0, b"XFSB"),
        at(510, &[0x55, 0xaa]),
        at(512, b"EFI PART"),
        at(1080, &[0x53, 0xef]),
        at(0, b"LUKS\xba\xbe"),
        at(512, b"LABELONE"),
        at(4096, &0xa92b_4efc_u32.to_le_bytes()),
        at(4086, b"SWAPSPACE2"),
        at(65_600, b"_BHRfS_M"),
    ]
}

/// A mode, a number of pieces with their sizes, then what a client sends.
fn sessions() -> Vec<Vec<u8>> {
    let option = |number: u8, data: &[u8]| {
        let mut bytes = b"IHAVEOPT\0\0\0".to_vec();
        bytes.push(number);
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        bytes
    };
    let request = |command: u8, offset: u64, bytes: u32, data: &[u8]| {
        let mut request = vec![0x25, 0x60, 0x95, 0x13, 0, 0, 0, command];
        request.extend(7u64.to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend(bytes.to_be_bytes());
        request.extend(data);
        request
    };
    let flags = [0, 0, 0, 3];
    let go = option(7, &[0, 0, 0, 6, b'v', b'o', b'l', b'u', b'm', b'e', 0, 1, 0, 3]);
    let whole = |mode: u8, parts: &[&[u8]]| {
        let mut bytes = vec![mode, 3, 1, 7, 200];
        bytes.extend(parts.concat());
        bytes
    };
    let (list, abort) = (option(3, &[]), option(2, &[]));
    let (read, flush) = (request(0, 4096, 512, &[]), request(3, 0, 0, &[]));
    let (write, trim) = (request(1, 0, 8, b"contents"), request(4, 0, 4096, &[]));
    let (status, leave) = (request(7, 0, 4096, &[]), request(2, 0, 0, &[]));
    vec![
        whole(0, &[&flags, &list, &abort]),
        whole(0, &[&flags, &go, &read, &leave]),
        whole(4, &[&read, &write, &flush, &trim, &leave]),
        whole(4, &[&status, &request(6, 512, 512, &[]), &leave]),
        whole(5, &[&write, &read]),
        whole(0x14, &[&read, &write]),
    ]
}

/// A volume, then changes of nine bytes each: block, byte of it, four bytes, length.
fn images() -> Vec<Vec<u8>> {
    let change = |block: u16, at: u16| {
        let mut bytes = block.to_le_bytes().to_vec();
        bytes.extend(at.to_le_bytes());
        bytes.extend([0x80, 0, 0, 1, 4]);
        bytes
    };
    (0..6u16)
        .map(|number| {
            let mut bytes = vec![number as u8 % 2];
            bytes.extend(change(number * 37, number * 8));
            bytes.extend(change(number * 11, 32));
            bytes
        })
        .collect()
}
