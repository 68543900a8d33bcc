//! Which drive it was: smartctl's and nvme-cli's JSON, which stand beside results.

use record::{BlockLayer, DriveIdentity, Record};
use serde_json::Value;

/// A drive as a tool describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct DriveFile {
    /// `/dev/nvme0n1`, where the file tells.
    pub device: Option<String>,
    bytes: u64,
    drive: DriveIdentity,
}

pub(crate) fn is(text: &str) -> bool {
    !DriveFile::read(text).is_empty()
}

fn text(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

impl DriveFile {
    /// The drives that a text describes; none where it is not of smartctl or nvme.
    pub fn read(text: &str) -> Vec<Self> {
        let Ok(value) = serde_json::from_str::<Value>(text.trim()) else { return Vec::new() };
        if let Some(devices) = value.get("Devices").and_then(Value::as_array) {
            return devices.iter().filter_map(Self::of_nvme_list).collect();
        }
        let one = if value.get("smartctl").is_some() {
            Self::of_smartctl(&value)
        } else {
            Self::of_id_ctrl(&value)
        };
        one.into_iter().collect()
    }

    fn of_smartctl(value: &Value) -> Option<Self> {
        let protocol = value["device"]["protocol"].as_str().unwrap_or_default();
        let transport = match protocol {
            "NVMe" => Some("nvme"),
            "ATA" => Some("sata"),
            "SCSI" => Some("scsi"),
            _ => None,
        };
        let model = text(value, "model_name").or_else(|| text(value, "scsi_model_name"))?;
        Some(Self {
            device: text(&value["device"], "name"),
            bytes: value["user_capacity"]["bytes"].as_u64().unwrap_or(0),
            drive: DriveIdentity {
                model: Some(model),
                serial: text(value, "serial_number"),
                firmware: text(value, "firmware_version"),
                transport: transport.map(str::to_owned),
                temperature_celsius: value["temperature"]["current"].as_f64(),
                ..DriveIdentity::default()
            },
        })
    }

    fn of_id_ctrl(value: &Value) -> Option<Self> {
        value.get("vid")?;
        Some(Self {
            device: None,
            bytes: value["tnvmcap"].as_u64().unwrap_or(0),
            drive: DriveIdentity {
                model: Some(text(value, "mn")?),
                serial: text(value, "sn"),
                firmware: text(value, "fr"),
                transport: Some("nvme".to_owned()),
                ..DriveIdentity::default()
            },
        })
    }

    fn of_nvme_list(value: &Value) -> Option<Self> {
        Some(Self {
            device: text(value, "DevicePath"),
            bytes: value["PhysicalSize"].as_u64().unwrap_or(0),
            drive: DriveIdentity {
                model: Some(text(value, "ModelNumber")?),
                serial: text(value, "SerialNumber"),
                firmware: text(value, "Firmware"),
                transport: Some("nvme".to_owned()),
                ..DriveIdentity::default()
            },
        })
    }

    /// Enters it into the targets of a run that were of this device, or into its only target where
    /// neither names one. Says whether there was one.
    pub fn enter(&self, record: &mut Record) -> bool {
        let only = record.targets.len() == 1;
        let mut found = false;
        for target in &mut record.targets {
            let names_device = target.text.starts_with("/dev/");
            let same = self.device.as_deref() == Some(target.text.as_str());
            if same || (only && !(names_device && self.device.is_some())) {
                target.stack = vec![BlockLayer {
                    name: self.device.clone().unwrap_or_default(),
                    kind: "disk".to_owned(),
                    bytes: self.bytes,
                    drive: Some(self.drive.clone()),
                    ..BlockLayer::default()
                }];
                target.capacity_bytes = self.bytes;
                found = true;
            }
        }
        found
    }

    /// Model and serial number.
    pub fn name(&self) -> String {
        let parts = [&self.drive.model, &self.drive.serial];
        parts.into_iter().flatten().cloned().collect::<Vec<_>>().join(" ")
    }
}
