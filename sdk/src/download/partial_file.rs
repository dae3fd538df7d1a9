//! The partial file of a download, with the `ETag` of the content that it holds.

use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};

use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use crate::error::{Error, Kind, Result};

/// The maximum number of partial files of one target, and so of its concurrent downloads.
const MAX_PARTS: u32 = 16;
/// The maximum number of attempts to lock a partial file that other downloads keep moving away.
const MAX_LOCK_ATTEMPTS: u32 = 16;

/// A hidden file next to the target, which is locked while a download writes to it.
///
/// Its `ETag` is stored in a second file, because a download can only be resumed if it is known
/// which version of the artifact the partial file belongs to.
pub(super) struct PartialFile {
    file: File,
    path: PathBuf,
    pub(super) len: u64,
    pub(super) etag: Option<String>,
}

impl PartialFile {
    /// Opens a partial file of `target` that no other download is using.
    ///
    /// Creates the file and its directory if they do not exist.
    pub(super) async fn open(target: &Path) -> Result<Self> {
        let directory = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)
            .await
            .map_err(file_error(directory))?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        for number in 0..MAX_PARTS {
            let suffix = match number {
                0 => String::new(),
                _ => format!(".{number}"),
            };
            let path = directory.join(format!(".{name}{suffix}.part"));
            for _ in 0..MAX_LOCK_ATTEMPTS {
                let file = open_file(&path).await.map_err(file_error(&path))?;
                match try_lock(file, &path).map_err(file_error(&path))? {
                    Lock::Acquired(file) => return Self::resume(File::from_std(file), path).await,
                    Lock::Moved => {}
                    Lock::Busy => break,
                }
            }
        }
        let error = io::Error::other("too many concurrent downloads of this file");
        Err(file_error(target)(error))
    }

    async fn resume(mut file: File, path: PathBuf) -> Result<Self> {
        let etag_path = etag_path(&path);
        let etag = match is_regular_file(&etag_path).await {
            Ok(true) => fs::read_to_string(&etag_path).await.ok(),
            _ => None,
        };
        let etag = etag.filter(|etag| !etag.is_empty());
        let len = match etag {
            Some(_) => file
                .seek(SeekFrom::End(0))
                .await
                .map_err(file_error(&path))?,
            None => 0,
        };
        let mut partial = Self {
            file,
            path,
            len,
            etag,
        };
        if partial.etag.is_none() {
            partial.restart(None).await?;
        }
        Ok(partial)
    }

    /// Discards the content, and stores the `ETag` of the content that will be written.
    ///
    /// Without an `ETag`, the file cannot be resumed later.
    pub(super) async fn restart(&mut self, etag: Option<&str>) -> Result<()> {
        let etag_path = etag_path(&self.path);
        drop(fs::remove_file(&etag_path).await);
        if let Some(etag) = etag {
            // An existing file is not opened, as it could be a symbolic link to another directory.
            let mut file = OpenOptions::new()
                .create_new(true)
                .write(true)
                .open(&etag_path)
                .await
                .map_err(file_error(&etag_path))?;
            file.write_all(etag.as_bytes())
                .await
                .map_err(file_error(&etag_path))?;
            file.flush().await.map_err(file_error(&etag_path))?;
        }
        self.etag = etag.map(str::to_owned);
        self.len = 0;
        self.file.set_len(0).await.map_err(file_error(&self.path))?;
        self.file
            .seek(SeekFrom::Start(0))
            .await
            .map_err(file_error(&self.path))?;
        Ok(())
    }

    /// Returns `true` if content with this `ETag` can be appended.
    ///
    /// A response without an `ETag` is accepted, as the server has already checked `If-Range`.
    pub(super) fn matches_etag(&self, etag: Option<&str>) -> bool {
        self.len == 0 || etag.is_none() || etag == self.etag.as_deref()
    }

    pub(super) async fn write(&mut self, chunk: &[u8]) -> Result<()> {
        self.file
            .write_all(chunk)
            .await
            .map_err(file_error(&self.path))?;
        self.len += chunk.len() as u64;
        Ok(())
    }

    pub(super) async fn flush(&mut self) -> Result<()> {
        self.file.flush().await.map_err(file_error(&self.path))
    }

    /// Keeps the content for a later download, or deletes the file if it is empty.
    pub(super) async fn close(self) {
        if self.len == 0 {
            drop(fs::remove_file(etag_path(&self.path)).await);
            drop(fs::remove_file(&self.path).await);
        }
    }

    /// Renames the complete file to `target`.
    pub(super) async fn persist(mut self, target: &Path) -> Result<()> {
        self.flush().await?;
        self.file.sync_all().await.map_err(file_error(&self.path))?;
        fs::rename(&self.path, target)
            .await
            .map_err(file_error(target))?;
        drop(fs::remove_file(etag_path(&self.path)).await);
        Ok(())
    }
}

/// Opens or creates a partial file.
///
/// # Errors
///
/// Returns an error if the path exists and is not a regular file: a symbolic link could lead to
/// another directory.
async fn open_file(path: &Path) -> io::Result<std::fs::File> {
    if !is_regular_file(path).await.unwrap_or(true) {
        return Err(io::Error::other(
            "the path exists and is not a regular file",
        ));
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    Ok(options.open(path).await?.into_std().await)
}

async fn is_regular_file(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path).await?.is_file())
}

/// The result of locking a partial file.
enum Lock {
    Acquired(std::fs::File),
    /// Another download is writing to the file.
    Busy,
    /// Another download renamed the file to its target after it was opened here.
    Moved,
}

fn try_lock(file: std::fs::File, path: &Path) -> io::Result<Lock> {
    if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
        return Ok(Lock::Busy);
    }
    Ok(if is_file_at(&file, path)? {
        Lock::Acquired(file)
    } else {
        Lock::Moved
    })
}

/// Returns `true` if the open file is still the one at `path`.
#[cfg(unix)]
fn is_file_at(file: &std::fs::File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let opened = file.metadata()?;
    Ok(std::fs::symlink_metadata(path)
        .is_ok_and(|current| (current.dev(), current.ino()) == (opened.dev(), opened.ino())))
}

#[cfg(not(unix))]
fn is_file_at(_: &std::fs::File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

fn etag_path(partial: &Path) -> PathBuf {
    partial.with_extension("etag")
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::new(Kind::File { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn file_moved_to_its_target_is_not_locked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".a.part");
        let opened_before = open_file(&path).await.unwrap();
        std::fs::rename(&path, directory.path().join("a")).unwrap();
        let lock = try_lock(opened_before, &path).unwrap();
        assert!(matches!(lock, Lock::Moved));
        let opened_after = open_file(&path).await.unwrap();
        let lock = try_lock(opened_after, &path).unwrap();
        assert!(matches!(lock, Lock::Acquired(_)));
    }
}
