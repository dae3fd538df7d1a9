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
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).read(true).write(true);
            let file = options
                .open(&path)
                .await
                .map_err(at(&path))?
                .into_std()
                .await;
            if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
                continue;
            }
            return Self::resume(File::from_std(file), path).await;
        }
        Err(at(target)(io::Error::other(
            "too many downloads of this file are under way",
        )))
    }

    async fn resume(mut file: File, path: PathBuf) -> Result<Self> {
        let version = fs::read_to_string(version_file(&path))
            .await
            .ok()
            .filter(|version| !version.is_empty());
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
        match version {
            Some(version) => fs::write(&versions, version).await.map_err(at(&versions))?,
            None => drop(fs::remove_file(&versions).await),
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

    pub(super) async fn write(&mut self, piece: &[u8]) -> Result<()> {
        self.file.write_all(piece).await.map_err(at(&self.path))?;
        self.written += piece.len() as u64;
        Ok(())
    }

    /// Makes what was written so far safe, to be gone on with.
    pub(super) async fn keep(&mut self) -> Result<()> {
        self.file.flush().await.map_err(at(&self.path))
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

fn version_file(part: &Path) -> PathBuf {
    part.with_extension("etag")
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::new(Kind::File { path, source })
}
