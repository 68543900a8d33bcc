//! `serve --ublk` where the kernel has its driver: in a virtual machine, with the machine's own
//! files and a drive of its own. What is shown there stands in `show.sh`.

use crate::check::root;
use anyhow::{Context, Result, bail, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const SHOW: &str = include_str!("show.sh");
/// Where the guest lies, from the workspace's root; DRIVELAB_GUEST names another place.
const GUEST: &str = "../shared/guest/guest";
/// For all of the show on two busy processors without KVM.
const LIMIT_S: &str = "2400";
/// Runs in the guest: its drive is made a file system for the show.
const BEGIN: &str = "mkfs.ext4 -q /dev/nvme0n1 && mkdir -p /mnt/show && \
    mount /dev/nvme0n1 /mnt/show && exec bash \"$1\" \"$2\" /mnt/show";

/// Builds the program and shows it in the guest; says why where that cannot be done.
pub fn run(arguments: &[String]) -> Result<()> {
    let program = match arguments {
        [] => None,
        [option, path] if option == "--program" => Some(PathBuf::from(path)),
        _ => bail!("`{}` is unknown; `cargo xtask help` has it", arguments.join(" ")),
    };
    let guest = env::var_os("DRIVELAB_GUEST").map_or_else(|| root().join(GUEST), PathBuf::from);
    let missing = if !guest.exists() {
        Some(format!("no guest at {}: name one by DRIVELAB_GUEST", guest.display()))
    } else {
        let programs = ["qemu-system-x86_64", "busybox", "cpio", "modprobe", "fio"];
        let missing = programs.iter().find(|program| !is_there(program));
        missing.map(|program| format!("no {program}"))
    };
    if let Some(missing) = missing {
        println!("skipped: {missing}");
        return Ok(());
    }
    let program = match program {
        Some(program) => fs::canonicalize(&program).context("--program")?,
        None => built()?,
    };
    let place = env::temp_dir().join(format!("drivelab-ublk-{}", std::process::id()));
    fs::create_dir(&place).with_context(|| place.display().to_string())?;
    let outcome = show(&guest, &program, &place);
    fs::remove_dir_all(&place).with_context(|| place.display().to_string())?;
    outcome
}

fn show(guest: &Path, program: &Path, place: &Path) -> Result<()> {
    let script = place.join("show.sh");
    fs::write(&script, SHOW).with_context(|| script.display().to_string())?;
    let mut command = Command::new(guest);
    // Of the releases that the guest can be, the one whose kernel has the driver.
    command.env("GUEST_SUITE", "trixie").current_dir(place);
    command.args(["-t", LIMIT_S, "-m", "2600", "-d", "nvme:2G", "--"]);
    command.args(["bash", "-c", BEGIN, "show"]).args([&script, program]);
    let status = command.status().with_context(|| guest.display().to_string())?;
    ensure!(status.success(), "the show ended with {status}");
    Ok(())
}

fn built() -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--package", "drivelab", "--features", "ublk"])
        .current_dir(root())
        .status()
        .context("cargo could not be started")?;
    ensure!(built.success(), "the program is not built");
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("debug/drivelab"))
}

fn is_there(program: &str) -> bool {
    let path = env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').any(|directory| Path::new(directory).join(program).exists())
}
