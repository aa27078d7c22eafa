//! The disk under a folder.

use std::path::Path;

use sysinfo::{DiskRefreshKind, Disks};

/// A disk, as the system calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Kind of file system, such as `ext4`.
    pub file_system: String,
    /// The device, such as `/dev/vda`.
    pub device: String,
}

/// The disk that holds a folder; `None` if the system lists none.
pub fn disk_of(folder: &Path) -> Option<Disk> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let disks = Disks::new_with_refreshed_list_specifics(DiskRefreshKind::nothing()).ok()?;
    let here = disks.iter().filter(|disk| folder.starts_with(disk.mount_point()));
    let disk = here.max_by_key(|disk| disk.mount_point().components().count())?;
    Some(Disk {
        file_system: disk.file_system().to_string_lossy().into_owned(),
        device: disk.name().to_string_lossy().into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_disk_of_the_one_above_it_unless_one_is_mounted_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("below");
        std::fs::create_dir(&below).expect("a folder");
        assert_eq!(disk_of(&below), disk_of(folder.path()));
        assert_eq!(disk_of(&folder.path().join("nowhere")), None);
    }
}
