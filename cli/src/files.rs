//! File-system helpers.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// Returns the folder of a file.
pub(crate) fn parent_dir(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Reads a text file. A missing file is empty.
///
/// # Errors
///
/// Returns an error if the file exists and cannot be read.
pub(crate) fn read_or_empty(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// Replaces a file atomically with one that only its owner can read (mode 0600).
///
/// # Errors
///
/// Returns an error if the file cannot be written. The old file is unchanged then.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A symbolic link is kept: its target is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = parent_dir(path);
    fs::create_dir_all(folder)?;
    // `NamedTempFile` creates files with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Returns the options of a file that is read and appended to, and that only its owner can read.
pub(crate) fn private_append() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Locks a file for this process. Returns `false` if another process has locked it.
///
/// # Errors
///
/// Returns an error if the file cannot be locked for another reason.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Flushes a folder to the disk, so that its new and renamed files survive a crash.
///
/// # Errors
///
/// Returns an error if the folder cannot be opened or flushed.
pub(crate) fn sync_dir(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_symbolic_link_is_kept_when_its_target_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        symlink(&real, &link).unwrap();
        write_private(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    }

    #[test]
    fn a_private_file_has_mode_0600() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        write_private(&path, b"x").unwrap();
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
