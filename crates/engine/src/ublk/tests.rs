use super::uapi::*;
use std::{mem::offset_of, process::Command};

/// Each `NAME = VALUE` that a C program prints, made of the header that this machine has; none
/// without a C compiler or a header. One that does not compile was once taken for none: that of
/// Linux 6.1 leaves it to others to bring `_IOR`.
fn values_of_the_header(wanted: &[(String, u64)]) -> Option<Vec<(String, u64)>> {
    let directory = std::env::temp_dir().join(format!("drivelab-ublk-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let source = directory.join("values.c");
    let program = directory.join("values");
    let mut text = "#include <stdio.h>\n#include <stddef.h>\n#include <linux/ioctl.h>\n\
                    #include <linux/ublk_cmd.h>\n\
                    int main(void) {\n"
        .to_owned();
    for (name, _) in wanted {
        text += &format!("printf(\"%llu\\n\", (unsigned long long)({name}));\n");
    }
    std::fs::write(&source, text + "return 0; }\n").expect("a source");
    let built = Command::new("cc").arg("-o").arg(&program).arg(&source).output();
    let built = built.is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stderr);
        let is_built = output.status.success();
        assert!(is_built || said.contains("ublk_cmd.h: No such file"), "{said}");
        is_built
    });
    let values = built.then(|| {
        let output = Command::new(&program).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("numbers");
        let values = text.lines().map(|line| line.parse().expect("a number"));
        wanted.iter().map(|(name, _)| name.clone()).zip(values).collect()
    });
    std::fs::remove_dir_all(&directory).expect("it is ours");
    values
}

macro_rules! fields {
    ($ours:ty, $theirs:literal: $($field:ident),+) => {
        [
            (format!("sizeof(struct {})", $theirs), size_of::<$ours>() as u64),
            $((
                format!("offsetof(struct {}, {})", $theirs, stringify!($field)),
                offset_of!($ours, $field) as u64,
            )),+
        ]
    };
}

fn ours() -> Vec<(String, u64)> {
    let mut ours = Vec::new();
    ours.extend(fields!(ControlCommand, "ublksrv_ctrl_cmd": dev_id, queue_id, len, addr, data));
    ours.extend(fields!(
        DevInfo, "ublksrv_ctrl_dev_info":
        nr_hw_queues, queue_depth, state, max_io_buf_bytes, dev_id, ublksrv_pid, flags,
        ublksrv_flags
    ));
    ours.extend(fields!(
        ParamBasic, "ublk_param_basic":
        attrs, logical_bs_shift, physical_bs_shift, io_opt_shift, io_min_shift, max_sectors,
        chunk_sectors, dev_sectors, virt_boundary_mask
    ));
    ours.extend(fields!(
        ParamDiscard, "ublk_param_discard":
        discard_alignment, discard_granularity, max_discard_sectors, max_write_zeroes_sectors,
        max_discard_segments
    ));
    // The whole of the structure has grown since.
    ours.extend(fields!(Params, "ublk_params": len, types, basic, discard).into_iter().skip(1));
    ours.extend(fields!(IoDesc, "ublksrv_io_desc": op_flags, nr_sectors, start_sector, addr));
    ours.extend(fields!(IoCommand, "ublksrv_io_cmd": q_id, tag, result, addr));
    let numbers = [
        ("UBLK_CMD_GET_DEV_INFO", GET_DEV_INFO & 0xff),
        ("UBLK_CMD_ADD_DEV", ADD_DEV & 0xff),
        ("UBLK_CMD_DEL_DEV", DEL_DEV & 0xff),
        ("UBLK_CMD_START_DEV", START_DEV & 0xff),
        ("UBLK_CMD_STOP_DEV", STOP_DEV & 0xff),
        ("UBLK_CMD_SET_PARAMS", SET_PARAMS & 0xff),
        ("UBLK_CMD_GET_PARAMS", GET_PARAMS & 0xff),
        ("UBLK_CMD_START_USER_RECOVERY", START_USER_RECOVERY & 0xff),
        ("UBLK_CMD_END_USER_RECOVERY", END_USER_RECOVERY & 0xff),
        ("UBLK_IO_FETCH_REQ", FETCH_REQ & 0xff),
        ("UBLK_IO_COMMIT_AND_FETCH_REQ", COMMIT_AND_FETCH_REQ & 0xff),
        ("_IOR('u', UBLK_CMD_GET_DEV_INFO, struct ublksrv_ctrl_cmd)", GET_DEV_INFO),
        ("_IOWR('u', UBLK_CMD_ADD_DEV, struct ublksrv_ctrl_cmd)", ADD_DEV),
        ("_IOR('u', UBLK_CMD_GET_PARAMS, struct ublksrv_ctrl_cmd)", GET_PARAMS),
        ("_IOWR('u', UBLK_IO_FETCH_REQ, struct ublksrv_io_cmd)", FETCH_REQ),
        ("UBLK_F_USER_RECOVERY", F_USER_RECOVERY as u32),
        ("UBLK_F_USER_RECOVERY_REISSUE", F_USER_RECOVERY_REISSUE as u32),
        ("UBLK_S_DEV_DEAD", S_DEV_DEAD.into()),
        ("UBLK_S_DEV_LIVE", S_DEV_LIVE.into()),
        ("UBLK_S_DEV_QUIESCED", S_DEV_QUIESCED.into()),
        ("UBLK_IO_OP_READ", OP_READ),
        ("UBLK_IO_OP_WRITE", OP_WRITE),
        ("UBLK_IO_OP_FLUSH", OP_FLUSH),
        ("UBLK_IO_OP_DISCARD", OP_DISCARD),
        ("UBLK_IO_OP_WRITE_ZEROES", OP_WRITE_ZEROES),
        ("UBLK_IO_F_FUA", IO_F_FUA),
        ("UBLK_IO_F_NOUNMAP", IO_F_NOUNMAP),
        ("UBLK_PARAM_TYPE_BASIC", PARAM_TYPE_BASIC),
        ("UBLK_PARAM_TYPE_DISCARD", PARAM_TYPE_DISCARD),
        ("UBLK_ATTR_READ_ONLY", ATTR_READ_ONLY),
        ("UBLK_ATTR_VOLATILE_CACHE", ATTR_VOLATILE_CACHE),
        ("UBLK_ATTR_FUA", ATTR_FUA),
    ];
    ours.extend(numbers.map(|(name, number)| (name.to_owned(), u64::from(number))));
    ours
}

#[test]
fn numbers_and_layouts_are_those_of_the_kernels_header() {
    let ours = ours();
    match values_of_the_header(&ours) {
        Some(theirs) => assert_eq!(ours, theirs),
        None => {
            assert!(std::env::var_os("DRIVELAB_NO_SKIP").is_none(), "no cc, or no header of ublk");
            eprintln!("skipped: no cc, or no linux/ublk_cmd.h");
        }
    }
    // Where there is no header, these at least: as printed by it on x86-64.
    assert_eq!((size_of::<DevInfo>(), size_of::<IoDesc>(), size_of::<IoCommand>()), (64, 24, 16));
    assert_eq!((ADD_DEV, GET_DEV_INFO, FETCH_REQ), (0xc020_7504, 0x8020_7502, 0xc010_7520));
}

#[test]
fn commands_travel_as_their_structures_lie_in_memory() {
    let command = ControlCommand {
        dev_id: 0x0403_0201,
        queue_id: 0x0605,
        len: 0x0807,
        addr: 0x100f_0e0d_0c0b_0a09,
        data: 0x1817_1615_1413_1211,
        ..ControlCommand::default()
    };
    let mut expected = [0; 80];
    (1..25).for_each(|byte| expected[usize::from(byte) - 1] = byte);
    assert_eq!(command.bytes(), expected);
    let command =
        IoCommand { q_id: 0x0201, tag: 0x0403, result: 0x0807_0605, addr: 0x100f_0e0d_0c0b_0a09 };
    assert_eq!(command.bytes(), std::array::from_fn(|place| place as u8 + 1));
}
