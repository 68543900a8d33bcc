//! The kernel's words: numbers and structures of linux/ublk_cmd.h, as of Linux 6.12 (ioctl-encoded
//! commands, Linux 6.4). Names follow it; what is not used here is left out.

/// Where devices are made and managed.
pub const CONTROL_PATH: &str = "/dev/ublk-control";

/// `_IOR('u', number, struct ublksrv_ctrl_cmd)`.
const fn control_read(number: u32) -> u32 {
    2 << 30 | (size_of::<ControlCommand>() as u32) << 16 | (b'u' as u32) << 8 | number
}

/// `_IOWR('u', number, struct ublksrv_ctrl_cmd)`.
const fn control(number: u32) -> u32 {
    1 << 30 | control_read(number)
}

/// `_IOWR('u', number, struct ublksrv_io_cmd)`.
const fn io(number: u32) -> u32 {
    3 << 30 | (size_of::<IoCommand>() as u32) << 16 | (b'u' as u32) << 8 | number
}

pub const GET_DEV_INFO: u32 = control_read(0x02);
pub const ADD_DEV: u32 = control(0x04);
pub const DEL_DEV: u32 = control(0x05);
pub const START_DEV: u32 = control(0x06);
pub const STOP_DEV: u32 = control(0x07);
pub const SET_PARAMS: u32 = control(0x08);
pub const GET_PARAMS: u32 = control_read(0x09);
pub const START_USER_RECOVERY: u32 = control(0x10);
pub const END_USER_RECOVERY: u32 = control(0x11);

pub const FETCH_REQ: u32 = io(0x20);
pub const COMMIT_AND_FETCH_REQ: u32 = io(0x21);

/// `UBLK_F_USER_RECOVERY` and `UBLK_F_USER_RECOVERY_REISSUE`.
pub const F_USER_RECOVERY: u64 = 1 << 3;
pub const F_USER_RECOVERY_REISSUE: u64 = 1 << 4;

pub const S_DEV_DEAD: u16 = 0;
pub const S_DEV_LIVE: u16 = 1;
pub const S_DEV_QUIESCED: u16 = 2;

pub const OP_READ: u32 = 0;
pub const OP_WRITE: u32 = 1;
pub const OP_FLUSH: u32 = 2;
pub const OP_DISCARD: u32 = 3;
pub const OP_WRITE_ZEROES: u32 = 5;
/// Bits of `op_flags`; its low eight are the operation.
pub const IO_F_FUA: u32 = 1 << 13;
pub const IO_F_NOUNMAP: u32 = 1 << 15;

pub const PARAM_TYPE_BASIC: u32 = 1 << 0;
pub const PARAM_TYPE_DISCARD: u32 = 1 << 1;
pub const ATTR_READ_ONLY: u32 = 1 << 0;
pub const ATTR_VOLATILE_CACHE: u32 = 1 << 2;
pub const ATTR_FUA: u32 = 1 << 3;

/// A command that is for no queue, and a device whose number the kernel is to choose.
pub const NO_QUEUE: u16 = u16::MAX;
pub const ANY_DEVICE: u32 = u32::MAX;

/// `struct ublksrv_ctrl_cmd`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ControlCommand {
    pub dev_id: u32,
    pub queue_id: u16,
    pub len: u16,
    pub addr: u64,
    pub data: u64,
    pub dev_path_len: u16,
    pub pad: u16,
    pub reserved: u32,
}

/// `struct ublksrv_ctrl_dev_info`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct DevInfo {
    pub nr_hw_queues: u16,
    pub queue_depth: u16,
    pub state: u16,
    pub pad0: u16,
    pub max_io_buf_bytes: u32,
    pub dev_id: u32,
    pub ublksrv_pid: i32,
    pub pad1: u32,
    pub flags: u64,
    /// For the server alone: the kernel keeps it.
    pub ublksrv_flags: u64,
    pub owner_uid: u32,
    pub owner_gid: u32,
    pub reserved1: u64,
    pub reserved2: u64,
}

/// `struct ublk_param_basic`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ParamBasic {
    pub attrs: u32,
    pub logical_bs_shift: u8,
    pub physical_bs_shift: u8,
    pub io_opt_shift: u8,
    pub io_min_shift: u8,
    pub max_sectors: u32,
    pub chunk_sectors: u32,
    pub dev_sectors: u64,
    pub virt_boundary_mask: u64,
}

/// `struct ublk_param_discard`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ParamDiscard {
    pub discard_alignment: u32,
    pub discard_granularity: u32,
    pub max_discard_sectors: u32,
    pub max_write_zeroes_sectors: u32,
    pub max_discard_segments: u16,
    pub reserved0: u16,
}

/// The head of `struct ublk_params`: what `types` does not name need not be there.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Params {
    pub len: u32,
    pub types: u32,
    pub basic: ParamBasic,
    pub discard: ParamDiscard,
}

/// `struct ublksrv_io_desc`: a request, in memory that the kernel writes and a server maps.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct IoDesc {
    pub op_flags: u32,
    pub nr_sectors: u32,
    pub start_sector: u64,
    pub addr: u64,
}

/// `struct ublksrv_io_cmd`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct IoCommand {
    pub q_id: u16,
    pub tag: u16,
    pub result: i32,
    pub addr: u64,
}

impl ControlCommand {
    /// As the entry of a ring carries it.
    pub fn bytes(self) -> [u8; 80] {
        let mut bytes = [0; 80];
        bytes[..4].copy_from_slice(&self.dev_id.to_ne_bytes());
        bytes[4..6].copy_from_slice(&self.queue_id.to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.len.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.addr.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.data.to_ne_bytes());
        bytes
    }
}

impl IoCommand {
    /// As the entry of a ring carries it.
    pub fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&self.q_id.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.tag.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.result.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.addr.to_ne_bytes());
        bytes
    }
}
