//! Whether the drive under a target is still there.

use crate::{
    identify::stack::components,
    roots::{DeviceNumber, Roots},
    sysfs::BlockDevice,
};
use record::BlockLayer;
use std::path::Path;

/// The devices through which all of a target's I/O goes, as they were when it was opened: a lost
/// member of an array is no lost target.
#[derive(Clone, Debug)]
pub struct Presence {
    roots: Roots,
    chain: Vec<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    name: String,
    number: DeviceNumber,
    /// The kernel's number for this attachment: another drive may be given the same name.
    diskseq: Option<u64>,
}

impl Presence {
    /// Of the stack that [`target_info`](crate::target_info) found, from its first layer down to
    /// the first that stands on several.
    pub fn of(stack: &[BlockLayer], roots: &Roots) -> Self {
        let first = stack.first().and_then(|layer| BlockDevice::named(&layer.name, roots));
        let mut chain = Vec::new();
        let mut next = first;
        while let Some(device) = next {
            next = match &components(&device)[..] {
                [only] => Some(only.clone()),
                _ => None,
            };
            let diskseq = diskseq(&device);
            chain.push(Known { name: device.name, number: device.number, diskseq });
        }
        Self { roots: roots.clone(), chain }
    }

    /// Of a block device by its canonical path.
    pub fn of_device(path: &Path, roots: &Roots) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Self::of(&[BlockLayer { name: name.to_owned(), ..BlockLayer::default() }], roots)
    }

    /// The kernel name of the first of them that is gone.
    pub fn gone(&self) -> Option<&str> {
        let is_gone = |known: &&Known| match BlockDevice::numbered(known.number, &self.roots) {
            None => self.roots.sys.join("dev/block").is_dir(),
            Some(device) => diskseq(&device) != known.diskseq || device.bytes() == 0,
        };
        self.chain.iter().find(is_gone).map(|known| known.name.as_str())
    }

    /// The sentence for it; `target` is what the user named.
    pub fn sentence(&self, target: &str) -> Option<String> {
        let name = self.gone()?;
        let place = format!("/dev/{name}");
        let what = match target == place || self.chain.first().is_some_and(|it| it.name == name) {
            true => format!("{target} is gone"),
            false => format!("the drive under {target} is gone"),
        };
        Some(format!(
            "{what}: the kernel has no {name} any more; was it pulled out or switched off, or did \
             its controller or bus fail? `dmesg` has more"
        ))
    }
}

/// A partition has its disk's.
fn diskseq(device: &BlockDevice) -> Option<u64> {
    device.parent().as_ref().unwrap_or(device).integer("diskseq")
}
