//! The folder of a store: the newest log, the files of its archive, a lock and the owners' files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Disk, DiskFile, OpenMode, io_error};
use super::log::{Log, Writer, archive_path};
use super::owners::Ownership;
use crate::journal::store::StoreError;

#[derive(Clone, Debug)]
pub(super) struct Folder {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self { disk, path }
    }

    /// Creates the folder and an empty log, unless they exist.
    pub(super) fn create(&self) -> Result<(), StoreError> {
        let failed = |error| io_error("cannot create", &self.path, error);
        self.disk.create_folder(&self.path).map_err(failed)?;
        self.disk.create_folder(&self.owners()).map_err(failed)?;
        let lock = self.disk.open(&self.lock_path(), OpenMode::OrCreate);
        lock.map_err(failed)?;
        let _lock = self.lock()?;
        if self.newest_log()?.is_none() {
            self.write_log(1, 0, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Locks the folder, and waits for other processes.
    pub(super) fn lock(&self) -> Result<Box<dyn DiskFile>, StoreError> {
        let path = self.lock_path();
        let lock = self.disk.open(&path, OpenMode::Existing).and_then(|mut lock| {
            lock.lock()?;
            Ok(lock)
        });
        lock.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                let path = self.path.display();
                StoreError::failed(format!("{path} does not exist or is not a journal"), error)
            }
            _ => io_error("cannot lock", &path, error),
        })
    }

    /// Creates an owner. The folder must be locked.
    pub(super) fn create_owner(&self) -> Result<Ownership, StoreError> {
        Ownership::create(Arc::clone(&self.disk), self.owners())
    }

    fn owners(&self) -> PathBuf {
        self.path.join("owners")
    }

    /// Loads the newest log, unless it is loaded already.
    pub(super) fn refresh(&self, log: Option<Log>) -> Result<Log, StoreError> {
        let number = self.newest_log()?.ok_or_else(|| {
            StoreError::message(format!("{} is not a journal", self.path.display()))
        })?;
        let path = self.log_path(number);
        if let Some(mut log) = log.filter(|log| log.path() == path)
            && log.refresh()?
        {
            return Ok(log);
        }
        // What is written to a log is durable only if its name is.
        self.sync()?;
        let file = self.disk.open(&path, OpenMode::Existing);
        let file = file.map_err(|error| io_error("cannot open", &path, error))?;
        Log::load(Arc::clone(&self.disk), path, file)
    }

    /// Writes a log, which others see when it is complete.
    pub(super) fn write_log(
        &self,
        number: u32,
        last_number: u64,
        write_lines: impl FnOnce(&mut Writer) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let path = self.log_path(number);
        Log::write(&*self.disk, &path, last_number, write_lines)
    }

    pub(super) fn write_archive(
        &self,
        number: u32,
        write_lines: impl FnOnce(&mut Writer) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let path = archive_path(&self.log_path(number), number);
        let mut writer = Writer::create(&*self.disk, &path)?;
        write_lines(&mut writer)?;
        writer.finish()?;
        // The log that names the file must not be there without it.
        self.sync()
    }

    /// Removes the logs before the newest one, and the files of the archive that are not used. What
    /// remains is removed the next time.
    pub(super) fn remove_old_files(&self, newest: u32, used: &BTreeSet<u32>) {
        for name in self.disk.names(&self.path).unwrap_or_default() {
            let path = self.path.join(name);
            let is_old_log = log_number(&path).is_some_and(|number| number < newest);
            let is_unused = archive_number(&path).is_some_and(|number| !used.contains(&number));
            if is_old_log || is_unused {
                let _ = self.disk.remove(&path);
            }
        }
    }

    fn newest_log(&self) -> Result<Option<u32>, StoreError> {
        let names = self.disk.names(&self.path);
        let names = names.map_err(|error| io_error("cannot read", &self.path, error))?;
        let numbers = names.iter().filter_map(|name| log_number(Path::new(name)));
        Ok(numbers.max())
    }

    fn log_path(&self, number: u32) -> PathBuf {
        self.path.join(format!("log-{number:08}.jsonl"))
    }

    fn lock_path(&self) -> PathBuf {
        self.path.join("lock")
    }

    fn sync(&self) -> Result<(), StoreError> {
        let synced = self.disk.sync_folder(&self.path);
        synced.map_err(|error| io_error("cannot write to", &self.path, error))
    }
}

pub(super) fn log_number(path: &Path) -> Option<u32> {
    number_in(path, "log-")
}

fn archive_number(path: &Path) -> Option<u32> {
    number_in(path, "archive-")
}

fn number_in(path: &Path, prefix: &str) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(prefix)?.strip_suffix(".jsonl")?.parse().ok()
}
