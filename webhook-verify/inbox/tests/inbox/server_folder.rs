//! The folder of a server's data, if wanted on a small disk of its own.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::servers::{is_root, not_tested};

/// A temporary folder in which another user may create sockets.
pub(crate) struct ServerFolder {
    folder: TempDir,
    is_mounted: bool,
}

impl ServerFolder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Self { folder, is_mounted: false }
    }

    /// Mounts a small disk, or says what is missing.
    pub(crate) fn on_small_disk(megabytes: u32) -> Option<Self> {
        let mut folder = Self::new();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=777"), "tmpfs"]);
        mount.arg(folder.path());
        folder.is_mounted = is_root() && mount.status().is_ok_and(|status| status.success());
        if !folder.is_mounted {
            not_tested("a full disk", "root and the right to mount");
        }
        folder.is_mounted.then_some(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills the disk.
    pub(crate) fn fill(&self) {
        let mut file = fs::File::create(self.path().join("filler")).unwrap();
        for size in [1 << 20, 1 << 10, 1] {
            let bytes = vec![0; size];
            while file.write_all(&bytes).is_ok() {}
        }
    }

    /// Makes room again.
    pub(crate) fn free(&self) {
        fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for ServerFolder {
    fn drop(&mut self) {
        if self.is_mounted {
            // Lazily, as the server is stopped after its folder is dropped.
            let _ = Command::new("umount").arg("-l").arg(self.path()).status();
        }
    }
}
