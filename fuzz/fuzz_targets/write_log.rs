//! A log of writes with any bytes, whose checksums and numbers are made good: read to its end or
//! refused in one sentence, never a panic, and what is read fits the target.
#![no_main]

use libfuzzer_sys::fuzz_target;
use target::write_log::{Entry, Operation, Reader, survey};

const HEAD_BYTES: usize = 32;

/// Makes good what no input would hit upon: the numbers of entries, and all checksums.
fn mend(log: &mut [u8]) {
    if log.len() < HEAD_BYTES {
        return;
    }
    log[..12].copy_from_slice(b"dlwrites\x01\0\0\0");
    let checksum = crc32c::crc32c(&log[..28]);
    log[28..HEAD_BYTES].copy_from_slice(&checksum.to_le_bytes());
    let (mut at, mut number) = (HEAD_BYTES, 0_u64);
    while at + HEAD_BYTES <= log.len() {
        let entry = &mut log[at..];
        entry[8..16].copy_from_slice(&number.to_le_bytes());
        let bytes = u64::from_le_bytes(entry[24..32].try_into().expect("eight bytes"));
        // Writes, promises and the command line carry bytes.
        let carried = if matches!(entry[4], 1 | 5 | 6) { bytes } else { 0 };
        let end = (HEAD_BYTES as u64).saturating_add(carried).min(entry.len() as u64) as usize;
        let checksum = crc32c::crc32c(&entry[4..end]);
        entry[..4].copy_from_slice(&checksum.to_le_bytes());
        (at, number) = (at + end, number + 1);
    }
}

fuzz_target!(|bytes: &[u8]| {
    assert!(survey(bytes).is_ok() || !survey(bytes).unwrap_err().to_string().contains('\n'));
    let mut log = bytes.to_vec();
    mend(&mut log);
    let Ok(mut reader) = Reader::new(&log[..]) else { return };
    let head = reader.head();
    let mut zeroed = 0;
    while let Ok(Some(entry)) = reader.entry() {
        let Entry::Operation(operation) = entry else { continue };
        let (Operation::Write { offset, bytes, .. } | Operation::Discard { offset, bytes }) =
            operation
        else {
            continue;
        };
        assert!(bytes > 0 && offset + bytes <= head.device_bytes);
        if matches!(operation, Operation::Write { .. }) {
            assert_eq!(reader.payload().len() as u64, bytes);
            zeroed += bytes;
        }
        // Zeroes take no room in a log and some time here.
        if zeroed > 1 << 30 {
            return;
        }
    }
    if let Ok(survey) = survey(&log[..]) {
        assert!(survey.promises.iter().all(|promise| promise.after <= survey.operations));
    }
});
