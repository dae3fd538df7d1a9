//! Files that are read and written, and flag values that are text, a file or standard input.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::error::{Failure, Result};
use crate::text::json_error;

/// Reads `TEXT`, `@FILE`, or `-` for standard input. `@@TEXT` is text that starts with `@`.
pub(crate) fn read_text(flag: &str, given: &str) -> Result<String> {
    let bytes = match given.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => return Ok(rest.to_owned()),
        Some(path) => read_file(flag, Path::new(path))?,
        None if given == "-" => read_file(flag, Path::new("-"))?,
        None => return Ok(given.to_owned()),
    };
    let mut text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{flag}: {given} is not valid UTF-8 text")))?;
    // The line break that an editor adds at the end of a file is not part of a prompt.
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}

pub(crate) fn read_json(flag: &str, given: &str) -> Result<Value> {
    let text = read_text(flag, given)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{flag} is not valid JSON: {}", json_error(&error)))
    })
}

/// Reads a JSON value: inline if it is one or starts as one, `@FILE`, `FILE`, or `-` for standard input.
pub(crate) fn read_json_or_file(flag: &str, given: &str) -> Result<Value> {
    let is_file = !given.trim_start().starts_with(['{', '[', '@'])
        && given != "-"
        && serde_json::from_str::<IgnoredAny>(given).is_err();
    if is_file { read_json(flag, &format!("@{given}")) } else { read_json(flag, given) }
}

pub(crate) fn read_file(flag: &str, path: &Path) -> Result<Vec<u8>> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    read.map_err(|error| Failure::usage(format!("{flag}: cannot read {}: {error}", path.display())))
}

pub(crate) fn check_single_stdin_reader(given: &[(&str, Option<&str>)]) -> Result {
    let mut readers = given.iter().filter(|(_, value)| *value == Some("-"));
    match (readers.next(), readers.next()) {
        (Some((one, _)), Some((other, _))) => {
            Err(Failure::usage(format!("{one} - and {other} - cannot both read standard input")))
        }
        _ => Ok(()),
    }
}

pub(crate) fn parent_dir(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Reads a text file. A missing file is empty.
pub(crate) fn read_or_empty(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// Replaces a file atomically with one that only its owner can read (mode 0600).
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

/// Creates a folder that only its owner can enter (mode 0700), and the folders above it.
pub(crate) fn create_private_dir(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
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
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Flushes a folder to the disk, so that its new and renamed files survive a crash.
pub(crate) fn sync_dir(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
}
