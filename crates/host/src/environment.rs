//! The machine and its state when a run begins.

use crate::{
    ask_tools, cgroup,
    health::{Moment, ask_health},
    program::Program,
    roots::{Roots, read_text},
};
use record::{Cpu, Environment, HostFacts, TargetInfo, TargetKind};

/// Whether we are root, who may attach devices and make file systems.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Host, kernel, memory and processor. `cpu.pinned` and `tools` are left empty: the runner pins,
/// and [`ask_tools`] asks.
pub fn environment(roots: &Roots) -> Environment {
    Environment { host: host_facts(roots), cpu: cpu(roots), ..Environment::default() }
}

/// The same, with what the identity programs say of these targets' drives: what they know is filled
/// in, and the drives' health before the first byte. Of modelled drives no program knows anything.
pub fn environment_of(targets: &mut [TargetInfo], roots: &Roots) -> Environment {
    let mut environment = environment(roots);
    for info in targets.iter_mut().filter(|info| info.kind != TargetKind::Model) {
        environment.tools.extend(ask_tools(&mut info.stack, roots));
        ask_health(&mut info.stack, Moment::Before, roots);
    }
    environment
}

/// Bytes of memory that programs could still have, by the kernel's own estimate (`MemAvailable`,
/// proc_meminfo(5)); `None` when /proc does not say.
pub fn memory_available(roots: &Roots) -> Option<u64> {
    meminfo_bytes(&read_text(&roots.proc.join("meminfo"))?, "MemAvailable")
}

/// Bytes of memory that the kernel manages (`MemTotal`).
pub fn memory_total(roots: &Roots) -> Option<u64> {
    meminfo_bytes(&read_text(&roots.proc.join("meminfo"))?, "MemTotal")
}

/// Bytes of memory that this program can have at most, its page cache included: all of the
/// machine's, or less where its control group has a limit.
pub fn memory_usable(roots: &Roots) -> Option<u64> {
    let total = memory_total(roots);
    total.into_iter().chain(cgroup::memory_limit(roots)).min()
}

/// Whether a program that asks for huge pages (madvise(2)) gets some.
///
/// # Errors
/// Why not, with the cure.
pub fn huge_pages(roots: &Roots) -> Result<(), String> {
    let file = "kernel/mm/transparent_hugepage/enabled";
    match read_text(&roots.sys.join(file)) {
        None => Err("this kernel has no transparent huge pages: use io = `direct`".to_owned()),
        Some(text) if text.contains("[never]") => Err(format!(
            "transparent huge pages are turned off: `echo madvise > /sys/{file}`, or use io = \
             `direct`"
        )),
        Some(_) => Ok(()),
    }
}

fn meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn host_facts(roots: &Roots) -> HostFacts {
    let kernel = |file: &str| read_text(&roots.proc.join("sys/kernel").join(file));
    let load = read_text(&roots.proc.join("loadavg"));
    HostFacts {
        name: kernel("hostname").unwrap_or_default(),
        kernel: kernel("osrelease").unwrap_or_default(),
        architecture: std::env::consts::ARCH.to_owned(),
        distribution: read_text(&roots.etc.join("os-release")).and_then(|text| pretty_name(&text)),
        memory_bytes: memory_total(roots).unwrap_or(0),
        memory_limit_bytes: cgroup::memory_limit(roots)
            .filter(|&limit| Some(limit) < memory_total(roots)),
        memory_available_bytes: memory_available(roots).unwrap_or(0),
        virtualisation: virtualisation(roots),
        load_1min: load
            .and_then(|text| text.split_whitespace().next()?.parse().ok())
            .unwrap_or(0.0),
    }
}

/// `PRETTY_NAME` of os-release(5), without its quotes.
fn pretty_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The container if in one, else the hypervisor, else nothing.
fn virtualisation(roots: &Roots) -> Option<String> {
    let container = read_text(&roots.run.join("systemd/container"))
        .or_else(|| roots.run.join(".containerenv").exists().then(|| "podman".to_owned()))
        .or_else(|| container_in_cgroup(&read_text(&roots.proc.join("1/cgroup"))?));
    container.map(|name| format!("container:{name}")).or_else(|| hypervisor(roots))
}

fn container_in_cgroup(text: &str) -> Option<String> {
    let words = ["docker", "kubepods", "lxc", "containerd", "libpod"];
    words.iter().find(|word| text.contains(**word)).map(|word| (*word).to_owned())
}

fn hypervisor(roots: &Roots) -> Option<String> {
    const VENDORS: [(&str, &str); 10] = [
        ("QEMU", "qemu"),
        ("KVM", "kvm"),
        ("VMware", "vmware"),
        ("innotek", "virtualbox"),
        ("VirtualBox", "virtualbox"),
        ("Xen", "xen"),
        ("Microsoft Corporation Virtual", "hyper-v"),
        ("Amazon EC2", "amazon"),
        ("Google Compute", "google"),
        ("Parallels", "parallels"),
    ];
    if let Some(kind) = read_text(&roots.sys.join("hypervisor/type")) {
        return Some(kind);
    }
    let clocks =
        read_text(&roots.sys.join("devices/system/clocksource/clocksource0/available_clocksource"));
    let dmi =
        |file: &str| read_text(&roots.sys.join("class/dmi/id").join(file)).unwrap_or_default();
    let maker = format!("{} {}", dmi("sys_vendor"), dmi("product_name"));
    if let Some((_, name)) = VENDORS.iter().find(|(word, _)| maker.contains(word)) {
        // EC2's metal instances have the vendor's name and no hypervisor bit.
        return (cpu_has_hypervisor_bit(roots) || *name != "amazon").then(|| (*name).to_owned());
    }
    if clocks.is_some_and(|text| text.contains("kvm-clock")) {
        return Some("kvm".to_owned());
    }
    cpu_has_hypervisor_bit(roots).then(|| "hypervisor".to_owned())
}

/// CPUID leaf 1, ECX bit 31, as /proc/cpuinfo lists it; x86 only.
fn cpu_has_hypervisor_bit(roots: &Roots) -> bool {
    let text = read_text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|word| word == "hypervisor"))
}

fn cpu(roots: &Roots) -> Cpu {
    let info = read_text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let system = roots.sys.join("devices/system");
    let clocks = system.join("clocksource/clocksource0");
    Cpu {
        model: cpu_model(&info, roots),
        online: usable_cpus(&info),
        governor: read_text(&system.join("cpu/cpu0/cpufreq/scaling_governor")),
        pinned: Vec::new(),
        clock_source: read_text(&clocks.join("current_clocksource")),
    }
}

/// `model name` on x86; the device tree's model where cpuinfo only has part numbers (aarch64).
fn cpu_model(info: &str, roots: &Roots) -> String {
    let field = |key: &str| {
        let value = info.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        });
        value.filter(|value| !value.is_empty())
    };
    field("model name")
        .or_else(|| read_text(&roots.proc.join("device-tree/model")))
        .or_else(|| field("Model"))
        .or_else(|| {
            Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?))
        })
        .unwrap_or_default()
}

/// Processors that this process may run on, which containers and cpusets narrow.
fn usable_cpus(info: &str) -> u32 {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => set.count(),
        Err(_) => info.lines().filter(|line| line.starts_with("processor")).count() as u32,
    }
}

/// Whether this kernel can mount a `file_system`: it has it, or finds its module.
pub fn can_mount(file_system: &str, roots: &Roots) -> bool {
    let known = read_text(&roots.proc.join("filesystems")).unwrap_or_default();
    // `nodev<TAB>tmpfs`, or `<TAB>ext4`.
    let named = |line: &str| line.split_whitespace().next_back() == Some(file_system);
    let module = format!("fs-{file_system}");
    known.lines().any(named)
        || Program::new(["modprobe", "--dry-run", "--quiet", &module]).run().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_kib() {
        let text = "MemTotal:       49368188 kB\nMemFree: 1 kB\nMemAvailable:   47000000 kB\n";
        assert_eq!(meminfo_bytes(text, "MemTotal"), Some(49_368_188 * 1024));
        assert_eq!(meminfo_bytes(text, "MemAvailable"), Some(47_000_000 * 1024));
        assert_eq!(meminfo_bytes(text, "Mem"), None);
        assert_eq!(meminfo_bytes("MemTotal: many kB", "MemTotal"), None);
    }

    #[test]
    fn a_file_system_can_be_mounted_if_the_kernel_names_it() {
        let top = tempfile::tempdir().expect("a directory");
        let roots = Roots::below(top.path());
        std::fs::create_dir(&roots.proc).expect("a directory");
        let text = "nodev\tsysfs\nnodev\ttmpfs\n\text4\n\tf2fs-like\n";
        std::fs::write(roots.proc.join("filesystems"), text).expect("written");
        assert!(can_mount("ext4", &roots) && can_mount("tmpfs", &roots));
        assert!(!can_mount("like", &roots) && !can_mount("nodev-there-is-none", &roots));
    }

    #[test]
    fn huge_pages_are_to_be_had_unless_they_are_turned_off_or_unknown() {
        let top = tempfile::tempdir().expect("a directory");
        let roots = Roots::below(top.path());
        let file = roots.sys.join("kernel/mm/transparent_hugepage/enabled");
        assert!(huge_pages(&roots).expect_err("no such file").contains("no transparent"));
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
        for (text, is_had) in [
            ("[always] madvise never\n", true),
            ("always [madvise] never\n", true),
            ("always madvise [never]\n", false),
        ] {
            std::fs::write(&file, text).expect("written");
            let answer = huge_pages(&roots);
            assert_eq!(answer.is_ok(), is_had, "{text}");
            assert!(answer.err().is_none_or(|cure| cure.contains("echo madvise > /sys/kernel")));
        }
    }

    #[test]
    fn the_distribution_stands_without_quotes() {
        let text = "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    }
}
