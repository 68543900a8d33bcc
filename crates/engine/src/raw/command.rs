//! Commands of a drive's own, passed through the kernel: NVMe admin commands and SCSI commands that
//! move no data, or move data from the drive. What they mean is the caller's business.

use super::device::ioctl;
use std::{fs::File, io, time::Duration};

/// `_IOWR('N', 0x41, struct nvme_admin_cmd)` (linux/nvme_ioctl.h).
const NVME_IOCTL_ADMIN_CMD: u32 = 0xc048_4e41;
/// scsi/sg.h.
const SG_IO: u32 = 0x2285;
/// scsi/sg.h: nothing is moved; the drive's data goes to us.
const SG_DXFER_NONE: i32 = -1;
const SG_DXFER_FROM_DEV: i32 = -3;
/// The longest sense data that SPC allows.
const SENSE_BYTES_MAX: usize = 252;
/// A drive that has spun down needs some seconds before it answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct PassedCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// `struct sg_io_hdr`.
#[repr(C)]
struct SgHeader {
    interface: i32,
    direction: i32,
    command_bytes: u8,
    sense_bytes_max: u8,
    vectors: u16,
    data_bytes: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration_ms: u32,
    information: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<PassedCommand>() == 72 && size_of::<SgHeader>() == 88);

/// An NVMe admin command (NVM Express Base Specification, Admin Command Set).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NvmeCommand {
    /// Its opcode, whose two lowest bits are 0 (no data) or 2 (data to the host), or 1 without any
    /// data: nothing is ever sent.
    pub opcode: u8,
    /// The namespace; 0 for what concerns the controller.
    pub namespace: u32,
    /// Command Dwords 10 to 15.
    pub words: [u32; 6],
}

/// What an NVMe drive answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NvmeAnswer {
    /// Status code and its type, 0 for success.
    pub status: u16,
    /// Dword 0 of the completion.
    pub result: u32,
}

/// Passes an admin command through a controller's or a namespace's node; what it gives is stored in
/// `data`.
///
/// # Errors
/// ENOTTY if `node` is none of an NVMe drive, EACCES for a user without CAP_SYS_ADMIN.
///
/// # Panics
/// When the command would send `data`.
pub fn nvme_admin(node: &File, command: NvmeCommand, data: &mut [u8]) -> io::Result<NvmeAnswer> {
    assert!(command.opcode & 1 == 0 || data.is_empty(), "nothing is ever sent");
    let mut passed = PassedCommand {
        opcode: command.opcode,
        namespace: command.namespace,
        address: if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 },
        data_bytes: length(data)?,
        words_10_15: command.words,
        timeout_ms: PATIENCE.as_millis() as u32,
        ..PassedCommand::default()
    };
    // SAFETY: the command's layout is asserted above; the kernel stores at most `data_bytes` bytes
    // at `address`, and they are there and ours alone.
    let status = unsafe { ioctl(node, NVME_IOCTL_ADMIN_CMD, (&raw mut passed).cast()) }?;
    Ok(NvmeAnswer { status: status as u16, result: passed.result })
}

/// What a SCSI device answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScsiAnswer {
    /// The status byte: 0 good, 2 check condition (SAM-5, 5.3.1).
    pub status: u8,
    /// Sense data; empty where there is none.
    pub sense: Vec<u8>,
    /// How many bytes of the data were stored.
    pub bytes: usize,
}

/// Passes a SCSI command through; what it gives is stored in `data`.
///
/// # Errors
/// ENOTTY if `node` is no SCSI device, EPERM for commands that the kernel keeps from users without
/// CAP_SYS_RAWIO, EIO where the command did not reach the device.
///
/// # Panics
/// When the command is longer than 16 bytes.
pub fn scsi_read(node: &File, command: &[u8], data: &mut [u8]) -> io::Result<ScsiAnswer> {
    assert!(command.len() <= 16, "a command has at most 16 bytes");
    let mut sense = [0u8; SENSE_BYTES_MAX];
    let mut header = SgHeader {
        interface: i32::from(b'S'),
        direction: if data.is_empty() { SG_DXFER_NONE } else { SG_DXFER_FROM_DEV },
        command_bytes: command.len() as u8,
        sense_bytes_max: sense.len() as u8,
        vectors: 0,
        data_bytes: length(data)?,
        data: data.as_mut_ptr(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: PATIENCE.as_millis() as u32,
        flags: 0,
        id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_bytes: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration_ms: 0,
        information: 0,
    };
    // SAFETY: the header's layout is asserted above; the kernel reads `command_bytes` of the
    // command and stores at most `data_bytes` and `sense_bytes_max` bytes, all of which outlive the
    // call.
    unsafe { ioctl(node, SG_IO, (&raw mut header).cast()) }?;
    if header.host_status != 0 {
        let sentence = format!("the host adapter answered {:#x}", header.host_status);
        return Err(io::Error::other(sentence));
    }
    let sense = sense[..usize::from(header.sense_bytes).min(sense.len())].to_vec();
    let left = usize::try_from(header.residual).unwrap_or(0).min(data.len());
    Ok(ScsiAnswer { status: header.status, sense, bytes: data.len() - left })
}

fn length(data: &[u8]) -> io::Result<u32> {
    u32::try_from(data.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_drive_says_so() {
        let file = File::open("/proc/self/exe").expect("a program has a file");
        let asked = NvmeCommand { opcode: 0x0a, words: [6, 0, 0, 0, 0, 0], ..Default::default() };
        let answer = nvme_admin(&file, asked, &mut []).expect_err("a file is no drive");
        assert_eq!(answer.raw_os_error(), Some(libc::ENOTTY));
        let answer = scsi_read(&file, &[0; 6], &mut []).expect_err("a file is no drive");
        assert_eq!(answer.raw_os_error(), Some(libc::ENOTTY));
    }
}
