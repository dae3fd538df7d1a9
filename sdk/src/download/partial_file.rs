//! The partial file of a download, with the `ETag` of the content that it holds.
//!
//! A crash at any time leaves a file whose content belongs to the recorded `ETag`, or one that is
//! not resumed. Before the `ETag` changes, the file is empty on the disk; before content is written,
//! its `ETag` is on the disk; and before the file gets its final name as a second one, its `ETag` is
//! removed, because a file with two names must not be written to.

use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};

use http::HeaderValue;
use tokio::fs::{self, File};
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::digest::FileDigest;
use super::disk;
use crate::error::{Error, Kind, Result};

/// The maximum number of partial files of one target, and so of its concurrent downloads.
const MAX_PARTS: u32 = 16;
/// The maximum number of attempts to lock a partial file that other downloads keep moving away.
const MAX_LOCK_ATTEMPTS: u32 = 16;
/// How much of two files is compared at once.
const COMPARED_BYTES: u64 = 64 * 1024;

/// A hidden file next to the target, which is locked while a download writes to it.
///
/// Its `ETag` is stored in a second file, because a download can only be resumed if it is known
/// which version of which artifact the partial file belongs to.
pub(super) struct PartialFile {
    file: File,
    path: PathBuf,
    /// What errors name: the file that a person asked for.
    pub(super) target: PathBuf,
    /// The URL that the `ETag` belongs to. Servers use the same `ETag` for different URLs.
    source: String,
    pub(super) len: u64,
    pub(super) resumed_from: u64,
    pub(super) etag: Option<String>,
}

impl PartialFile {
    /// Opens a partial file of `target` that no other download is using.
    ///
    /// Creates the file and its directory if they do not exist. The content is kept if it comes from
    /// the same `source`, which is a line of text.
    pub(super) async fn open(target: &Path, source: &str) -> Result<Self> {
        let directory = target.parent().unwrap_or(Path::new("."));
        disk::create_dir_all(directory).await.map_err(file_error(directory))?;
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
                    Lock::Acquired(file) => {
                        let file = Self::resume(File::from_std(file), &path, target, source).await;
                        if let Some(file) = file.map_err(file_error(&path))? {
                            return Ok(file);
                        }
                    }
                    Lock::Moved => {}
                    Lock::Busy => break,
                }
            }
        }
        let error = io::Error::other("too many concurrent downloads of this file");
        Err(file_error(target)(error))
    }

    /// Returns the open file, or removes it if it has content that cannot be resumed.
    ///
    /// It is not emptied, as it could be a complete file that also has its final name.
    async fn resume(
        mut file: File,
        path: &Path,
        target: &Path,
        source: &str,
    ) -> io::Result<Option<Self>> {
        let etag = read_etag(&etag_path(path), source).await;
        let len = file.seek(SeekFrom::End(0)).await?;
        if etag.is_none() && len > 0 {
            disk::remove(path).await?;
            return Ok(None);
        }
        Ok(Some(Self {
            file,
            path: path.to_owned(),
            target: target.to_owned(),
            source: source.to_owned(),
            len,
            resumed_from: len,
            etag,
        }))
    }

    /// Discards the content, and stores the `ETag` of the content that will be written.
    ///
    /// Without an `ETag`, the file cannot be resumed later.
    pub(super) async fn restart(&mut self, etag: Option<&str>) -> io::Result<()> {
        (self.len, self.resumed_from, self.etag) = (0, 0, None);
        if self.file.metadata().await?.len() > 0 {
            disk::truncate(&self.file).await?;
            disk::sync(&self.file).await?;
        }
        self.file.seek(SeekFrom::Start(0)).await?;
        let path = etag_path(&self.path);
        let removed = disk::remove(&path).await?;
        if let Some(etag) = etag {
            disk::create_new(&path, format!("{etag}\n{}", self.source).as_bytes()).await?;
        }
        if removed || etag.is_some() {
            disk::sync_directory_of(&path).await?;
        }
        self.etag = etag.map(str::to_owned);
        Ok(())
    }

    pub(super) async fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        disk::write(&mut self.file, chunk).await?;
        self.len += chunk.len() as u64;
        Ok(())
    }

    pub(super) async fn sync(&self) -> io::Result<()> {
        disk::sync(&self.file).await
    }

    /// Keeps the content for a later download, or deletes the file if it cannot be resumed.
    pub(super) async fn close(self) {
        if self.len == 0 || self.etag.is_none() {
            self.remove().await;
        }
    }

    /// Deletes the file.
    pub(super) async fn remove(&self) {
        drop(disk::remove(&etag_path(&self.path)).await);
        drop(disk::remove(&self.path).await);
    }

    /// Returns `true` if there is a regular file at `path` with this content.
    pub(super) async fn has_content_of(&mut self, path: &Path) -> io::Result<bool> {
        let metadata = fs::symlink_metadata(path).await?;
        if !metadata.is_file() || metadata.len() != self.len {
            return Ok(false);
        }
        let mut other = File::open(path).await?;
        self.file.seek(SeekFrom::Start(0)).await?;
        let (mut own_bytes, mut other_bytes) = (Vec::new(), Vec::new());
        loop {
            own_bytes.clear();
            other_bytes.clear();
            (&mut self.file).take(COMPARED_BYTES).read_to_end(&mut own_bytes).await?;
            (&mut other).take(COMPARED_BYTES).read_to_end(&mut other_bytes).await?;
            if own_bytes != other_bytes || own_bytes.is_empty() {
                return Ok(own_bytes == other_bytes);
            }
        }
    }

    pub(super) async fn digest(&mut self) -> io::Result<FileDigest> {
        self.file.seek(SeekFrom::Start(0)).await?;
        FileDigest::of_file(&mut self.file).await
    }

    /// Renames the complete file to `path`, and returns `true` if it replaced a file there.
    pub(super) async fn rename_to(&self, path: &Path) -> io::Result<bool> {
        let replaces = fs::symlink_metadata(path).await.is_ok();
        disk::rename(&self.path, path).await?;
        drop(disk::remove(&etag_path(&self.path)).await);
        Ok(replaces)
    }

    /// Renames the complete file to `path`, and returns `false` if something is already there.
    pub(super) async fn rename_to_new(&self, path: &Path) -> io::Result<bool> {
        if fs::symlink_metadata(path).await.is_ok() {
            return Ok(false);
        }
        let etag_path = etag_path(&self.path);
        if disk::remove(&etag_path).await? {
            disk::sync_directory_of(&etag_path).await?;
        }
        match disk::hard_link(&self.path, path).await {
            Ok(()) => {
                drop(disk::remove(&self.path).await);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // Without hard links, a file that appears at the same time is replaced.
            Err(_) => disk::rename(&self.path, path).await.map(|()| true),
        }
    }
}

/// Reads the `ETag` of a partial file, unless it is invalid or belongs to another source.
async fn read_etag(path: &Path, source: &str) -> Option<String> {
    if !is_regular_file(path).await.ok()? {
        return None;
    }
    let content = fs::read_to_string(path).await.ok()?;
    let (etag, recorded_source) = content.split_once('\n')?;
    let is_valid = is_strong(etag) && HeaderValue::from_str(etag).is_ok();
    (is_valid && recorded_source == source).then(|| etag.to_owned())
}

/// Returns `true` for an `ETag` that `If-Range` accepts.
pub(super) fn is_strong(etag: &str) -> bool {
    etag.len() >= 2 && etag.starts_with('"') && etag.ends_with('"')
}

/// Opens or creates a partial file. What is not a regular file is refused: a symbolic link could lead to
/// another directory.
async fn open_file(path: &Path) -> io::Result<std::fs::File> {
    if !is_regular_file(path).await.unwrap_or(true) {
        return Err(io::Error::other("the path exists and is not a regular file"));
    }
    disk::open(path).await
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
    Ok(if is_file_at(&file, path)? { Lock::Acquired(file) } else { Lock::Moved })
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

pub(super) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
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
