//! The partial file of a download: what is there already, and which version of the file it is of.

use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};

use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use crate::error::{Error, Kind, Result};

/// Downloads of one file that may go on beside each other, from as many processes.
const RIVALS: u32 = 16;

/// A hidden file beside the target, locked while a download writes to it. Its version (the `ETag`)
/// lies in a second file, as a partial file is only worth something with it.
pub(super) struct Part {
    file: File,
    path: PathBuf,
    pub(super) written: u64,
    pub(super) version: Option<String>,
}

impl Part {
    /// Opens the partial file of `target`, in a folder that is made where it is missing.
    pub(super) async fn open(target: &Path) -> Result<Self> {
        let folder = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).await.map_err(at(folder))?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        for rival in 0..RIVALS {
            let suffix = if rival == 0 {
                String::new()
            } else {
                format!(".{rival}")
            };
            let path = folder.join(format!(".{name}{suffix}.part"));
            for _ in 0..RIVALS {
                match claim(open(&path).await.map_err(at(&path))?, &path).map_err(at(&path))? {
                    Claim::Ours(file) => return Self::resume(File::from_std(file), path).await,
                    Claim::Moved => {}
                    Claim::Locked => break,
                }
            }
        }
        Err(at(target)(io::Error::other(
            "too many downloads of this file are under way",
        )))
    }

    async fn resume(mut file: File, path: PathBuf) -> Result<Self> {
        let versions = version_file(&path);
        let version = match is_file(&versions).await {
            Ok(true) => fs::read_to_string(&versions).await.ok(),
            _ => None,
        };
        let version = version.filter(|version| !version.is_empty());
        let written = match version {
            Some(_) => file.seek(SeekFrom::End(0)).await.map_err(at(&path))?,
            None => 0,
        };
        let mut part = Self {
            file,
            path,
            written,
            version,
        };
        if part.version.is_none() {
            part.restart(None).await?;
        }
        Ok(part)
    }

    /// Begins anew, with a file of that version; none where the server does not name one.
    pub(super) async fn restart(&mut self, version: Option<&str>) -> Result<()> {
        let versions = version_file(&self.path);
        drop(fs::remove_file(&versions).await);
        if let Some(version) = version {
            // Made anew, as a link in its place would lead out of the folder.
            let mut file = OpenOptions::new()
                .create_new(true)
                .write(true)
                .open(&versions)
                .await
                .map_err(at(&versions))?;
            file.write_all(version.as_bytes())
                .await
                .map_err(at(&versions))?;
            file.flush().await.map_err(at(&versions))?;
        }
        self.version = version.map(str::to_owned);
        self.written = 0;
        self.file.set_len(0).await.map_err(at(&self.path))?;
        self.file
            .seek(SeekFrom::Start(0))
            .await
            .map_err(at(&self.path))?;
        Ok(())
    }

    /// Whether a file of that version is the one that was begun; a version that is not told is.
    pub(super) fn is_of(&self, version: Option<&str>) -> bool {
        self.written == 0 || version.is_none() || version == self.version.as_deref()
    }

    pub(super) async fn write(&mut self, piece: &[u8]) -> Result<()> {
        self.file.write_all(piece).await.map_err(at(&self.path))?;
        self.written += piece.len() as u64;
        Ok(())
    }

    /// Makes what was written so far safe, to be gone on with.
    pub(super) async fn keep(&mut self) -> Result<()> {
        self.file.flush().await.map_err(at(&self.path))
    }

    /// Leaves what there is for the next download; of nothing, nothing is left behind.
    pub(super) async fn leave(self) {
        if self.written == 0 {
            drop(fs::remove_file(version_file(&self.path)).await);
            drop(fs::remove_file(&self.path).await);
        }
    }

    /// Puts the whole file in its place.
    pub(super) async fn finish(mut self, target: &Path) -> Result<()> {
        self.keep().await?;
        self.file.sync_all().await.map_err(at(&self.path))?;
        fs::rename(&self.path, target).await.map_err(at(target))?;
        drop(fs::remove_file(version_file(&self.path)).await);
        Ok(())
    }
}

/// Opens or makes a partial file; what is no plain file, such as a link out of the folder, is not
/// written to.
async fn open(path: &Path) -> io::Result<std::fs::File> {
    if !is_file(path).await.unwrap_or(true) {
        return Err(io::Error::other("it is in the way, and no plain file"));
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    Ok(options.open(path).await?.into_std().await)
}

async fn is_file(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path).await?.is_file())
}

enum Claim {
    Ours(std::fs::File),
    /// Another download writes to it.
    Locked,
    /// Another download put it in its place between our opening and our locking it.
    Moved,
}

fn claim(file: std::fs::File, path: &Path) -> io::Result<Claim> {
    if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
        return Ok(Claim::Locked);
    }
    Ok(if is_at(&file, path)? {
        Claim::Ours(file)
    } else {
        Claim::Moved
    })
}

#[cfg(unix)]
fn is_at(file: &std::fs::File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let ours = file.metadata()?;
    Ok(std::fs::symlink_metadata(path)
        .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

#[cfg(not(unix))]
fn is_at(_: &std::fs::File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

fn version_file(part: &Path) -> PathBuf {
    part.with_extension("etag")
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::new(Kind::File { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_was_put_in_its_place_meanwhile_is_not_taken_for_a_part() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join(".a.part"), folder.path().join("a"));
        let late = open(&path).await.unwrap();
        std::fs::rename(&path, &target).unwrap();
        assert!(matches!(claim(late, &path).unwrap(), Claim::Moved));
        let fresh = open(&path).await.unwrap();
        assert!(matches!(claim(fresh, &path).unwrap(), Claim::Ours(_)));
    }
}
