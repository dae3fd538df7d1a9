//! Owners: each has a file that is locked as long as it lives.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Disk, DiskFile, OpenMode, io_error, random_name};
use crate::journal::store::{Owner, StoreError};

/// The owner that a store is.
#[derive(Debug)]
pub(super) struct Ownership {
    name: String,
    /// The folder of the owners' files, unless only one owner can exist at a time.
    folder: Option<PathBuf>,
    disk: Arc<dyn Disk>,
    file: Option<Box<dyn DiskFile>>,
}

impl Ownership {
    /// Creates an owner of a store that only one can have at a time.
    pub(super) fn exclusive(disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        Ok(Self { name: random_name()?, folder: None, disk, file: None })
    }

    /// Creates an owner with a file, and removes the files of owners that are gone. The store must be
    /// locked, so that no other process takes the file for that of a process that is gone.
    pub(super) fn create(disk: Arc<dyn Disk>, folder: PathBuf) -> Result<Self, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| io_error("cannot use", &path, error)
        };
        for name in disk.names(&folder).map_err(failed(&folder))? {
            is_gone(&*disk, &folder.join(name)).map_err(failed(&folder))?;
        }
        let mut owner = Self { name: random_name()?, folder: Some(folder), disk, file: None };
        owner.keep_file()?;
        Ok(owner)
    }

    /// Creates the owner's file again if it is missing or another one, as in a folder that was restored
    /// from a backup. The store must be locked.
    pub(super) fn keep_file(&mut self) -> Result<(), StoreError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(&self.name);
        let locked = self.disk.open(&path, OpenMode::OrCreate).or_else(|_| {
            self.disk.create_folder(folder)?;
            self.disk.open(&path, OpenMode::OrCreate)
        });
        let locked = locked.and_then(|mut file| Ok(file.try_lock()?.then_some(file)));
        // If it cannot be locked, this owner has locked it.
        if let Some(file) = locked.map_err(|error| io_error("cannot use", &path, error))? {
            self.file = Some(file);
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns who the owner of that name is.
    pub(super) fn of(&self, name: &str) -> Result<Owner, StoreError> {
        if name == self.name {
            return Ok(Owner::This);
        }
        let Some(folder) = self.folder.as_ref().filter(|_| is_file_name(name)) else {
            return Ok(Owner::Gone);
        };
        let path = folder.join(name);
        match is_gone(&*self.disk, &path) {
            Ok(true) => Ok(Owner::Gone),
            Ok(false) => Ok(Owner::Other),
            Err(error) => Err(io_error("cannot use", &path, error)),
        }
    }
}

/// Returns whether a name from a line can be that of an owner.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Removes the file of an owner that is gone. Returns whether it is: no process has locked the file.
fn is_gone(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    let mut file = match disk.open(path, OpenMode::Existing) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let is_gone = file.try_lock()?;
    if is_gone {
        // It is gone with or without its file.
        let _ = disk.remove(path);
    }
    Ok(is_gone)
}
