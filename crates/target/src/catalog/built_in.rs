//! The catalog's files, inside the binary. A test compares this list with the folder.

macro_rules! file {
    ($path:literal) => {
        (
            concat!("catalog/", $path),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/catalog/", $path)),
        )
    };
}

/// Every drive: its file and the text.
pub(super) const DRIVES: &[(&str, &str)] = &[
    file!("adata-atom50-1000.toml"),
    file!("cloud-burst.toml"),
    file!("cloud-flat.toml"),
    file!("corsair-mp700elite-2000.toml"),
    file!("crucial-m4-128.toml"),
    file!("crucial-m550-1t.toml"),
    file!("crucial-mx300-1050.toml"),
    file!("fusionio-iodrive-80.toml"),
    file!("generic-15k-sas-hdd.toml"),
    file!("hdd-7200-cmr.toml"),
    file!("hdd-smr.toml"),
    file!("hgst-7k100-100.toml"),
    file!("hitachi-a7k1000-750.toml"),
    file!("intel-520-120.toml"),
    file!("intel-660p-1000.toml"),
    file!("intel-p4510-1000.toml"),
    file!("intel-p4800x-375.toml"),
    file!("intel-s4610-480.toml"),
    file!("intel-x25e-32.toml"),
    file!("intel-x25e-64.toml"),
    file!("intel-x25m-80.toml"),
    file!("kioxia-cm7r-3840.toml"),
    file!("memoright-gt-16.toml"),
    file!("memoright-mr25.2-128.toml"),
    file!("micron-7450max-800.toml"),
    file!("micron-7450pro-960.toml"),
    file!("mtron-mobi-16.toml"),
    file!("mtron-mobi-32.toml"),
    file!("mtron-pro-32.toml"),
    file!("nvme-plp.toml"),
    file!("nvme-tlc.toml"),
    file!("qlc.toml"),
    file!("samsung-850pro-256.toml"),
    file!("samsung-860pro-512.toml"),
    file!("samsung-870qvo-1000.toml"),
    file!("samsung-960evo-500.toml"),
    file!("samsung-980-1000.toml"),
    file!("samsung-980pro-1000.toml"),
    file!("samsung-pm9a3-960.toml"),
    file!("samsung-sata-750.toml"),
    file!("sata-750.toml"),
    file!("sata-tlc.toml"),
    file!("seagate-barracuda-7200.11-750.toml"),
    file!("seagate-st3300007lw.toml"),
    file!("seagate-st3300655lc.toml"),
    file!("toshiba-p300-3000.toml"),
    file!("wd-1002fbys.toml"),
    file!("wd-2502abys-250.toml"),
    file!("wd-raptor-740gd.toml"),
];

/// Every port.
pub(super) const PORTS: &[(&str, &str)] = &[
    file!("ports/3ware9650.toml"),
    file!("ports/ahci-g10.toml"),
    file!("ports/ahci300.toml"),
    file!("ports/ahci600.toml"),
    file!("ports/bu-disc-0125.toml"),
    file!("ports/bu-disc-0129.toml"),
    file!("ports/esata.toml"),
    file!("ports/h220.toml"),
    file!("ports/highpoint2320.toml"),
    file!("ports/m1015.toml"),
    file!("ports/none.toml"),
    file!("ports/nvme-thread.toml"),
    file!("ports/onboard.toml"),
    file!("ports/pcie-cmu.toml"),
    file!("ports/pcie.toml"),
    file!("ports/sas300.toml"),
    file!("ports/sata150.toml"),
    file!("ports/sata300-single.toml"),
    file!("ports/sata300.toml"),
    file!("ports/sata600.toml"),
    file!("ports/scsi160.toml"),
    file!("ports/scsi320.toml"),
];

/// Every array driver.
pub(super) const DRIVERS: &[(&str, &str)] = &[
    file!("drivers/generic-bbu.toml"),
    file!("drivers/highpoint.toml"),
    file!("drivers/host.toml"),
    file!("drivers/lsi.toml"),
    file!("drivers/md.toml"),
];
