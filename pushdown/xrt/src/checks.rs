// SPDX-License-Identifier: Apache-2.0
//! Checks the requirements of a card on its machine: driver, platform, bus, disk.
//!
//! A configuration that must fail is refused, with a hint; one that only makes the drive slow is a
//! warning. All facts are read below `/sys`. This code was never run with a card.

use std::path::{Path, PathBuf};

use nearscan_link::Image;

use crate::{
    address::{Address, is_bus_address},
    error::OpenError,
};

/// The folder of the system's devices.
#[derive(Debug, Clone)]
pub(crate) struct Sysfs(PathBuf);

impl Default for Sysfs {
    fn default() -> Self {
        Self("/sys".into())
    }
}

impl Sysfs {
    fn device(&self, address: &Address) -> Option<PathBuf> {
        match address {
            Address::Bus(address) => Some(self.0.join("bus/pci/devices").join(address)),
            Address::Index(_) => None,
        }
    }
}

/// Checks before a card is opened.
///
/// # Errors
/// The requirement that is not met.
pub(crate) fn before(sysfs: &Sysfs, address: &Address, image: &Image) -> Result<(), OpenError> {
    let Some(device) = sysfs.device(address) else { return Ok(()) };
    if !device.exists() {
        let detail = absence(sysfs, address);
        return Err(OpenError::NoCard { target: address.to_string(), detail });
    }
    match platform_of(&device) {
        Some(card) if card != image.platform => Err(OpenError::Platform {
            target: address.to_string(),
            image: image.platform.clone(),
            card,
        }),
        _ => Ok(()),
    }
}

/// The reason why a card may be missing, as the end of a sentence.
pub(crate) fn absence(sysfs: &Sysfs, address: &Address) -> String {
    if !sysfs.0.join("bus/pci/drivers/xocl").exists() {
        return ": the driver xocl is not loaded".to_owned();
    }
    match (address, sysfs.device(address)) {
        (_, Some(device)) if !device.exists() => ": no device on the bus has this address".into(),
        (Address::Bus(bus), _) if bus.ends_with(".0") => {
            ": function 0 manages a card, kernels run on its function 1".to_owned()
        }
        _ => String::new(),
    }
}

/// The platform that a card is flashed with, where the driver tells.
fn platform_of(device: &Path) -> Option<String> {
    let entries = std::fs::read_dir(device).ok()?;
    let roms =
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("rom."));
    let names = roms.filter_map(|rom| std::fs::read_to_string(rom.path().join("VBNV")).ok());
    names.map(|name| name.trim().to_owned()).find(|name| !name.is_empty())
}

/// Looks for what makes an open card slow, and warns of it.
pub(crate) fn after(sysfs: &Sysfs, address: &Address, root: Option<&Path>) {
    for warning in warnings(sysfs, address, root) {
        tracing::warn!(%address, warning);
    }
}

fn warnings(sysfs: &Sysfs, address: &Address, root: Option<&Path>) -> Vec<&'static str> {
    let Some(device) = sysfs.device(address) else { return Vec::new() };
    let mut warnings = Vec::new();
    if device.join("iommu_group").exists() {
        warnings.push(
            "the IOMMU is on for this card: what the disk sends it takes the way through the \
             processor",
        );
    }
    if let Some(disk) = root.and_then(|root| disk_of(sysfs, root))
        && shared_bridges(&device, &disk) < 2
    {
        warnings.push(
            "the disk of this drive is not behind the same switch as the card: is it another \
             SmartSSD's?",
        );
    }
    warnings
}

/// The device of the disk that holds a folder.
fn disk_of(sysfs: &Sysfs, folder: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(folder).ok()?.dev();
    let number = format!("{}:{}", libc::major(device), libc::minor(device));
    sysfs.0.join("dev/block").join(number).canonicalize().ok()
}

/// Bridges of the bus that lead to both devices: a root port, and below it a switch.
fn shared_bridges(one: &Path, other: &Path) -> usize {
    let Ok(one) = one.canonicalize() else { return 0 };
    let shared = one.components().zip(other.components()).take_while(|(one, other)| one == other);
    let is_bridge = |name: &std::ffi::OsStr| name.to_str().is_some_and(is_bus_address);
    shared.filter(|(component, _)| is_bridge(component.as_os_str())).count()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nearscan_link::Target;

    use super::*;

    /// A made-up machine: a card at 0000:03:00.1 behind the port 0000:00:01.0 and the switch
    /// 0000:01:00.0.
    struct Machine {
        folder: tempfile::TempDir,
        sysfs: Sysfs,
    }

    const CARD: &str = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:03:00.1";

    impl Machine {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let sysfs = Sysfs(folder.path().to_owned());
            let machine = Self { folder, sysfs };
            machine.make(CARD);
            machine.make("bus/pci/devices");
            machine.make("bus/pci/drivers/xocl");
            let link = machine.path("bus/pci/devices/0000:03:00.1");
            symlink(machine.path(CARD), link).unwrap();
            machine
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn make(&self, name: &str) {
            std::fs::create_dir_all(self.path(name)).unwrap();
        }

        fn put_disk(&self, at: &str) {
            use std::os::unix::fs::MetadataExt;
            let device = std::fs::metadata(self.folder.path()).unwrap().dev();
            let number = format!("{}:{}", libc::major(device), libc::minor(device));
            self.make(at);
            self.make("dev/block");
            symlink(self.path(at), self.path("dev/block").join(number)).unwrap();
        }
    }

    fn card(address: &str) -> Address {
        Address::parse(address).unwrap()
    }

    fn image() -> Image {
        Image {
            target: Target::Card,
            name: "smartssd_scan".to_owned(),
            platform: "xilinx_u2_gen3x4_xdma_gc_base_2".to_owned(),
            uuid: [0; 16],
            units: Vec::new(),
            lanes: 6,
            merge_inputs: 0,
        }
    }

    #[test]
    fn missing_card_is_an_error_with_the_reason() {
        let machine = Machine::new();
        let refused = |address: &str| {
            before(&machine.sysfs, &card(address), &image()).unwrap_err().to_string()
        };
        assert_eq!(
            refused("0000:04:00.1"),
            "there is no card 0000:04:00.1: no device on the bus has this address"
        );
        std::fs::remove_dir(machine.path("bus/pci/drivers/xocl")).unwrap();
        assert_eq!(
            refused("0000:04:00.1"),
            "there is no card 0000:04:00.1: the driver xocl is not loaded"
        );
        assert_eq!(absence(&machine.sysfs, &card("0")), ": the driver xocl is not loaded");
    }

    #[test]
    fn function_that_manages_is_not_card() {
        let machine = Machine::new();
        machine.make("bus/pci/devices/0000:03:00.0");
        let detail = absence(&machine.sysfs, &card("0000:03:00.0"));
        assert_eq!(detail, ": function 0 manages a card, kernels run on its function 1");
    }

    #[test]
    fn image_for_another_platform_is_refused() {
        let machine = Machine::new();
        let address = card("0000:03:00.1");
        before(&machine.sysfs, &address, &image()).unwrap();
        machine.make(&format!("{CARD}/rom.u.1"));
        let name = machine.path(&format!("{CARD}/rom.u.1/VBNV"));
        std::fs::write(&name, "xilinx_u2_gen3x4_xdma_gc_base_2\n").unwrap();
        before(&machine.sysfs, &address, &image()).unwrap();
        std::fs::write(&name, "xilinx_u50_gen3x16_xdma_5\n").unwrap();
        assert_eq!(
            before(&machine.sysfs, &address, &image()).unwrap_err().to_string(),
            "the image is for the platform xilinx_u2_gen3x4_xdma_gc_base_2, and the card \
             0000:03:00.1 has xilinx_u50_gen3x16_xdma_5"
        );
    }

    #[test]
    fn slow_paths_are_warnings() {
        let near = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/nvme/nvme0/nvme0n1";
        let far = "devices/pci0000:00/0000:00:02.0/0000:05:00.0/nvme/nvme1/nvme1n1";
        for (disk, is_near) in [(near, true), (far, false)] {
            let machine = Machine::new();
            machine.put_disk(disk);
            let found =
                warnings(&machine.sysfs, &card("0000:03:00.1"), Some(machine.folder.path()));
            assert_eq!(found.is_empty(), is_near, "{disk}: {found:?}");
        }
        let machine = Machine::new();
        machine.make(&format!("{CARD}/iommu_group"));
        let found = warnings(&machine.sysfs, &card("0000:03:00.1"), None);
        assert!(found.len() == 1 && found[0].starts_with("the IOMMU is on"), "{found:?}");
        assert!(warnings(&machine.sysfs, &card("0"), None).is_empty());
    }
}
