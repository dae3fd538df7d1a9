//! Changes of the file system during a download.
//!
//! Each function makes one change at a time, and tests can stop a download between any two of them
//! as a crash would.

use std::io;
use std::path::Path;

use tokio::fs::{self, File, OpenOptions};
use tokio::io::AsyncWriteExt;

#[cfg(test)]
use self::crash::step;

/// Marks the point before a change.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests it fails after a simulated crash")]
fn step() -> io::Result<()> {
    Ok(())
}

pub(super) async fn create_dir_all(path: &Path) -> io::Result<()> {
    step()?;
    fs::create_dir_all(path).await
}

/// Opens a file for reading and writing, and creates it if it does not exist.
pub(super) async fn open(path: &Path) -> io::Result<std::fs::File> {
    step()?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    Ok(options.open(path).await?.into_std().await)
}

/// Creates a file with a content, and writes it through to the disk.
///
/// An existing file is not opened, as it could be a symbolic link to another directory.
pub(super) async fn create_new(path: &Path, content: &[u8]) -> io::Result<()> {
    step()?;
    let mut file = OpenOptions::new().create_new(true).write(true).open(path).await?;
    write(&mut file, content).await?;
    sync(&file).await
}

pub(super) async fn write(file: &mut File, chunk: &[u8]) -> io::Result<()> {
    step()?;
    file.write_all(chunk).await?;
    file.flush().await
}

pub(super) async fn truncate(file: &File) -> io::Result<()> {
    step()?;
    file.set_len(0).await
}

pub(super) async fn sync(file: &File) -> io::Result<()> {
    step()?;
    file.sync_all().await
}

/// Writes the names of files that were created, renamed or removed through to the disk.
///
/// A failure is ignored, as some file systems do not support it.
pub(super) async fn sync_directory_of(path: &Path) -> io::Result<()> {
    step()?;
    #[cfg(unix)]
    if let Some(directory) = path.parent()
        && let Ok(directory) = File::open(directory).await
    {
        drop(directory.sync_all().await);
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Removes a file, and returns `true` if it existed.
pub(super) async fn remove(path: &Path) -> io::Result<bool> {
    step()?;
    match fs::remove_file(path).await {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) async fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    fs::rename(from, to).await
}

pub(super) async fn hard_link(original: &Path, link: &Path) -> io::Result<()> {
    step()?;
    fs::hard_link(original, link).await
}

/// Simulated crashes: after a number of steps, nothing is changed any more.
#[cfg(test)]
pub(super) mod crash {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        static STEPS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Makes all changes on this thread fail after a number of steps.
    pub(in crate::download) fn after(steps: usize) {
        STEPS_LEFT.set(Some(steps));
    }

    /// Ends the simulation, and returns the number of steps that were left.
    pub(in crate::download) fn reset() -> Option<usize> {
        STEPS_LEFT.take()
    }

    pub(super) fn step() -> io::Result<()> {
        match STEPS_LEFT.get() {
            Some(0) => Err(io::Error::other("simulated crash")),
            left => {
                STEPS_LEFT.set(left.map(|steps| steps - 1));
                Ok(())
            }
        }
    }
}
