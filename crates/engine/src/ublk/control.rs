//! Making, starting, stopping and removing devices: commands through /dev/ublk-control.

use super::uapi::{self, ControlCommand, DevInfo, ParamBasic, ParamDiscard, Params};
use io_uring::{IoUring, cqueue, opcode, squeue, types::Fd};
use std::{
    fs::File,
    io, mem,
    os::fd::{AsRawFd, BorrowedFd},
    process,
    time::{Duration, Instant},
};

/// How a device stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It has no disk: not started yet, or stopped.
    Dead,
    /// It is served.
    Live,
    /// Its server is gone, and its disk waits for another one.
    Quiesced,
    /// A state that this program does not know.
    Other(u16),
}

/// What becomes of a disk whose server is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Orphan {
    /// It goes too; what was asked of it fails.
    Removed,
    /// It waits for another server, and asks that one anew what was not answered.
    Waits,
}

/// A device as its making has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// Its number: the disk is `/dev/ublkb` and this.
    pub id: u32,
    /// Requests outstanding at most, of its one queue.
    pub queue_depth: u16,
    /// Longest transfer.
    pub transfer_bytes_max: u32,
    /// What becomes of it without a server.
    pub orphan: Orphan,
    /// What its maker left there for the next one.
    pub mark: u64,
    /// How it stands.
    pub state: State,
    /// Process number of its server; none before it is started and after it is stopped.
    pub server: Option<u32>,
    /// Queues. This program serves devices of one.
    pub queues: u16,
}

/// What the disk tells the system. Bytes in whole sectors of 512.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Size.
    pub size_bytes: u64,
    /// What offsets and lengths are multiples of: a power of two, 512 to 4,096.
    pub logical_block_bytes: u32,
    /// The request size that is served best: a power of two, no smaller.
    pub physical_block_bytes: u32,
    /// Longest read or write.
    pub transfer_bytes_max: u32,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// Whether a write may be lost until a flush, or is forced.
    pub volatile_cache: bool,
    /// Longest discard; 0 where there is none.
    pub discard_bytes_max: u64,
    /// Longest zeroing; 0 where zeroes have to be written.
    pub zeroing_bytes_max: u64,
}

/// A command that takes its time. The disk is read while it starts and written while it stops, so
/// its server must serve meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Makes the disk appear.
    Start,
    /// Lets a waiting disk go on with this process as its server.
    EndRecovery,
    /// Makes the disk go.
    Stop,
    /// Removes the device. It ends when nobody has the disk open any more.
    Delete,
}

/// /dev/ublk-control, and a ring of its own for commands.
///
/// One command at a time. Those that wait for the server of the device itself are
/// [begun](Self::begin) and [asked for](Self::outcome).
pub struct Control {
    file: File,
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
    is_under_way: bool,
    /// What commands read and fill; in its place as long as the ring.
    info: Box<DevInfo>,
    params: Box<Params>,
}

impl Control {
    /// Opens it.
    ///
    /// # Errors
    /// NotFound without the driver, PermissionDenied without the right to either, and those of
    /// io_uring, InvalidInput before Linux 5.19.
    pub fn open() -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(uapi::CONTROL_PATH)?;
        let ring = IoUring::builder().dontfork().build(2)?;
        Ok(Self { file, ring, is_under_way: false, info: Box::default(), params: Box::default() })
    }

    /// The device of that number; none if there is none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn device(&mut self, id: u32) -> io::Result<Option<Device>> {
        *self.info = DevInfo::default();
        let address = (&raw mut *self.info) as u64;
        match self.command(uapi::GET_DEV_INFO, id, (address, size_of::<DevInfo>()), 0) {
            Ok(()) => Ok(Some(Device::of(&self.info))),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes a device, which has no disk yet, of the number of `wish` or any. What comes back is
    /// what the kernel made of the wish.
    ///
    /// # Errors
    /// AlreadyExists if the number is taken, PermissionDenied without CAP_SYS_ADMIN, EOPNOTSUPP
    /// before Linux 6.4.
    pub fn add(&mut self, id: Option<u32>, wish: &Device) -> io::Result<Device> {
        let id = id.unwrap_or(uapi::ANY_DEVICE);
        *self.info = DevInfo {
            nr_hw_queues: wish.queues,
            queue_depth: wish.queue_depth,
            max_io_buf_bytes: wish.transfer_bytes_max,
            dev_id: id,
            ublksrv_pid: process::id() as i32,
            flags: match wish.orphan {
                Orphan::Removed => 0,
                Orphan::Waits => uapi::F_USER_RECOVERY | uapi::F_USER_RECOVERY_REISSUE,
            },
            ublksrv_flags: wish.mark,
            ..DevInfo::default()
        };
        let address = (&raw mut *self.info) as u64;
        self.command(uapi::ADD_DEV, id, (address, size_of::<DevInfo>()), 0)?;
        Ok(Device::of(&self.info))
    }

    /// Says what the disk is to be, before it is started.
    ///
    /// # Errors
    /// EINVAL if the kernel does not take that.
    pub fn set_parameters(&mut self, id: u32, parameters: &Parameters) -> io::Result<()> {
        *self.params = parameters.params();
        let address = (&raw mut *self.params) as u64;
        self.command(uapi::SET_PARAMS, id, (address, size_of::<Params>()), 0)
    }

    /// What the disk is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn parameters(&mut self, id: u32) -> io::Result<Parameters> {
        let len = size_of::<Params>() as u32;
        *self.params = Params { len, ..Params::default() };
        let address = (&raw mut *self.params) as u64;
        self.command(uapi::GET_PARAMS, id, (address, size_of::<Params>()), 0)?;
        Ok(Parameters::of(&self.params))
    }

    /// Has the kernel forget the server of a waiting disk, so that this process can be the next.
    ///
    /// # Errors
    /// EBUSY while the old server is not quite gone.
    pub fn start_recovery(&mut self, id: u32) -> io::Result<()> {
        self.command(uapi::START_USER_RECOVERY, id, (0, 0), 0)
    }

    /// Begins a command whose end [`outcome`](Self::outcome) tells.
    ///
    /// # Errors
    /// It cannot be handed to the kernel.
    pub fn begin(&mut self, order: Order, id: u32) -> io::Result<()> {
        let (number, data) = match order {
            Order::Start => (uapi::START_DEV, process::id()),
            Order::EndRecovery => (uapi::END_USER_RECOVERY, process::id()),
            Order::Stop => (uapi::STOP_DEV, 0),
            Order::Delete => (uapi::DEL_DEV, 0),
        };
        self.issue(number, id, (0, 0), data.into())
    }

    /// How the command that was begun ended; none while it has not.
    pub fn outcome(&mut self) -> Option<io::Result<()>> {
        let entry = self.ring.completion().next()?;
        self.is_under_way = false;
        Some(match entry.result() {
            0.. => Ok(()),
            refusal => Err(io::Error::from_raw_os_error(-refusal)),
        })
    }

    /// Waits until the command that was begun ends, or as long as `limit`; none if it has not.
    pub fn outcome_within(&mut self, limit: Duration) -> Option<io::Result<()>> {
        let end = Instant::now() + limit;
        loop {
            if let Some(outcome) = self.outcome() {
                return Some(outcome);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let left = rustix::event::Timespec::try_from(left).expect("less than a life");
            let ring = self.descriptor();
            let mut polled = [rustix::event::PollFd::new(&ring, rustix::event::PollFlags::IN)];
            // A signal may end it early.
            let _ = rustix::event::poll(&mut polled, Some(&left));
        }
    }

    /// Readable when a command has ended.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring, and with it its descriptor, is open as long as `self` is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }

    fn command(&mut self, number: u32, id: u32, memory: (u64, usize), data: u64) -> io::Result<()> {
        self.issue(number, id, memory, data)?;
        loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
        }
    }

    /// Hands a command to the kernel. `memory` is the address and length of `info` or `params`.
    fn issue(
        &mut self,
        number: u32,
        id: u32,
        (addr, bytes): (u64, usize),
        data: u64,
    ) -> io::Result<()> {
        assert!(!self.is_under_way, "one command at a time");
        let command = ControlCommand {
            dev_id: id,
            queue_id: uapi::NO_QUEUE,
            len: bytes as u16,
            addr,
            data,
            ..ControlCommand::default()
        };
        let entry =
            opcode::UringCmd80::new(Fd(self.file.as_raw_fd()), number).cmd(command.bytes()).build();
        // SAFETY: the file is open as long as the ring; `info` and `params` lie in boxes of their
        // own, and are not touched before the command has ended: `command` waits for that, and what
        // `begin` hands over has no memory.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the submission queue holds the only command");
        self.is_under_way = true;
        while !self.ring.submission().is_empty() {
            match self.ring.submit() {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    self.is_under_way = false;
                    return Err(error);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.is_under_way {
            // The kernel may still write there.
            mem::forget(mem::take(&mut self.info));
            mem::forget(mem::take(&mut self.params));
        }
    }
}

impl Device {
    fn of(info: &DevInfo) -> Self {
        let waits = uapi::F_USER_RECOVERY | uapi::F_USER_RECOVERY_REISSUE;
        Self {
            id: info.dev_id,
            queue_depth: info.queue_depth,
            transfer_bytes_max: info.max_io_buf_bytes,
            orphan: match info.flags & waits {
                flags if flags == waits => Orphan::Waits,
                _ => Orphan::Removed,
            },
            mark: info.ublksrv_flags,
            state: match info.state {
                uapi::S_DEV_DEAD => State::Dead,
                uapi::S_DEV_LIVE => State::Live,
                uapi::S_DEV_QUIESCED => State::Quiesced,
                other => State::Other(other),
            },
            server: u32::try_from(info.ublksrv_pid).ok().filter(|&pid| pid > 0),
            queues: info.nr_hw_queues,
        }
    }
}

const SECTOR_BYTES: u64 = 512;

impl Parameters {
    /// In the kernel's words.
    ///
    /// # Panics
    /// If a block size is no power of two.
    fn params(&self) -> Params {
        let shift = |bytes: u32| {
            assert!(bytes.is_power_of_two(), "a block of {bytes} bytes");
            bytes.trailing_zeros() as u8
        };
        let sectors = |bytes: u64| (bytes / SECTOR_BYTES) as u32;
        let mut attrs = 0;
        if self.read_only {
            attrs |= uapi::ATTR_READ_ONLY;
        }
        if self.volatile_cache {
            attrs |= uapi::ATTR_VOLATILE_CACHE | uapi::ATTR_FUA;
        }
        let changes = self.discard_bytes_max > 0 || self.zeroing_bytes_max > 0;
        Params {
            len: size_of::<Params>() as u32,
            types: match changes {
                true => uapi::PARAM_TYPE_BASIC | uapi::PARAM_TYPE_DISCARD,
                false => uapi::PARAM_TYPE_BASIC,
            },
            basic: ParamBasic {
                attrs,
                logical_bs_shift: shift(self.logical_block_bytes),
                physical_bs_shift: shift(self.physical_block_bytes),
                io_opt_shift: shift(self.physical_block_bytes),
                io_min_shift: shift(self.physical_block_bytes),
                max_sectors: sectors(self.transfer_bytes_max.into()),
                dev_sectors: self.size_bytes / SECTOR_BYTES,
                ..ParamBasic::default()
            },
            discard: match changes {
                true => ParamDiscard {
                    discard_granularity: self.physical_block_bytes,
                    max_discard_sectors: sectors(self.discard_bytes_max),
                    max_write_zeroes_sectors: sectors(self.zeroing_bytes_max),
                    max_discard_segments: 1,
                    ..ParamDiscard::default()
                },
                false => ParamDiscard::default(),
            },
        }
    }

    fn of(params: &Params) -> Self {
        let Params { types, basic, discard, .. } = *params;
        let discard = match types & uapi::PARAM_TYPE_DISCARD {
            0 => ParamDiscard::default(),
            _ => discard,
        };
        let bytes = |sectors: u32| u64::from(sectors) * SECTOR_BYTES;
        let size = |shift: u8| 1u32.checked_shl(shift.into()).unwrap_or(0);
        Self {
            size_bytes: basic.dev_sectors.saturating_mul(SECTOR_BYTES),
            logical_block_bytes: size(basic.logical_bs_shift),
            physical_block_bytes: size(basic.physical_bs_shift),
            transfer_bytes_max: bytes(basic.max_sectors).try_into().unwrap_or(u32::MAX),
            read_only: basic.attrs & uapi::ATTR_READ_ONLY != 0,
            volatile_cache: basic.attrs & uapi::ATTR_VOLATILE_CACHE != 0,
            discard_bytes_max: bytes(discard.max_discard_sectors),
            zeroing_bytes_max: bytes(discard.max_write_zeroes_sectors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back_as_they_were_set() {
        let volume = Parameters {
            size_bytes: 3 << 30,
            logical_block_bytes: 512,
            physical_block_bytes: 4096,
            transfer_bytes_max: 256 << 10,
            read_only: false,
            volatile_cache: true,
            discard_bytes_max: 1 << 30,
            zeroing_bytes_max: 1 << 30,
        };
        let params = volume.params();
        assert_eq!(params.types, uapi::PARAM_TYPE_BASIC | uapi::PARAM_TYPE_DISCARD);
        let ParamBasic {
            logical_bs_shift, physical_bs_shift, max_sectors, dev_sectors, attrs, ..
        } = params.basic;
        assert_eq!((logical_bs_shift, physical_bs_shift), (9, 12));
        assert_eq!((max_sectors, dev_sectors), (512, 6 << 20));
        assert_eq!(attrs, uapi::ATTR_VOLATILE_CACHE | uapi::ATTR_FUA);
        // What the driver checks (ublk_validate_params).
        assert_eq!(params.discard.max_discard_segments, 1);
        assert_eq!(params.discard.discard_granularity, 4096);
        assert_eq!(Parameters::of(&params), volume);
        let read_only = Parameters {
            logical_block_bytes: 4096,
            read_only: true,
            volatile_cache: false,
            discard_bytes_max: 0,
            zeroing_bytes_max: 0,
            ..volume
        };
        let params = read_only.params();
        assert_eq!((params.types, params.basic.attrs), (1, uapi::ATTR_READ_ONLY));
        assert_eq!(Parameters::of(&params), read_only);
    }
}
