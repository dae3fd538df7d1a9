//! The file operations of the store, which tests replace by those of a simulated disk.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::journal::store::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenMode {
    Existing,
    /// Does not write.
    ReadOnly,
    /// Creates the file if it does not exist.
    OrCreate,
    /// Creates the file, in place of another one with its name.
    New,
}

pub(super) trait Disk: Debug + Send + Sync {
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Creates a folder that only its owner can use, unless it exists, and those above it.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Opens a file that only its owner can read.
    fn open(&self, path: &Path, how: OpenMode) -> io::Result<Box<dyn DiskFile>>;

    /// Renames a file, and replaces the one that had the name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Flushes a folder to the disk, so that its new and renamed files survive a crash.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

pub(super) trait DiskFile: Debug + Send {
    fn len(&mut self) -> io::Result<u64>;

    /// Reads at most as many bytes as `buffer` holds. Returns 0 at the end of the file.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes at the end of the file.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    fn truncate(&mut self, length: u64) -> io::Result<()>;

    fn sync(&mut self) -> io::Result<()>;

    /// Locks the file until it is closed, and waits for other owners of the lock.
    fn lock(&mut self) -> io::Result<()>;

    /// Locks the file until it is closed. Returns `false` if the lock has another owner.
    fn try_lock(&mut self) -> io::Result<bool>;
}

#[derive(Debug)]
pub(super) struct SystemDisk;

impl Disk for SystemDisk {
    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        fs::read_dir(folder)?.map(name).collect()
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)?;
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.sync_folder(parent),
            _ => self.sync_folder(Path::new(".")),
        }
    }

    fn open(&self, path: &Path, how: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).append(how != OpenMode::ReadOnly);
        options.create(how == OpenMode::OrCreate).create_new(how == OpenMode::New);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        if how == OpenMode::New
            && let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        Ok(Box::new(options.open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        if cfg!(unix) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl DiskFile for File {
    fn len(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.seek(SeekFrom::Start(offset))?;
        self.read(buffer)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn lock(&mut self) -> io::Result<()> {
        File::lock(self)
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        match File::try_lock(self) {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Returns a name that nothing else has.
pub(super) fn random_name() -> Result<String, StoreError> {
    let number = getrandom::u64().map_err(|error| {
        StoreError::failed("the operating system provides no random numbers", error)
    })?;
    Ok(format!("{number:016x}"))
}

pub(super) fn io_error(what: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::failed(format!("{what} {}", path.display()), error)
}
