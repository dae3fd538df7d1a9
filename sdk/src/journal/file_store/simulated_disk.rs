//! A disk in memory that loses what was not flushed when it crashes, and that fails on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::disk::{Disk, DiskFile, OpenMode};

/// A disk whose clones are the same disk.
#[derive(Clone, Debug)]
pub(in crate::journal) struct SimulatedDisk(Arc<(Mutex<DiskState>, Condvar)>);

#[derive(Debug)]
struct DiskState {
    random: fastrand::Rng,
    /// What the folders are, and what they will be after a crash.
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    files: Vec<FileContent>,
    /// How many processes the disk has had: the files of earlier ones cannot be used any more.
    process: u32,
    operations: u32,
    crash_at: u32,
    /// How many times a file was flushed.
    flushes: u32,
    faults: Faults,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::journal) struct Faults {
    /// One in so many flushes fails, unless it is 0.
    pub(super) sync: u32,
    /// One in so many writes finds the disk full, and one in so many truncations fails.
    pub(super) full: u32,
}

#[derive(Debug, Default)]
struct FileContent {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    /// What a failed flush has dropped: it can be read, but is never written to the disk.
    dropped: Vec<Range<usize>>,
    is_locked: bool,
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    file: usize,
    process: u32,
    has_lock: bool,
}

impl SimulatedDisk {
    pub(in crate::journal) fn new(seed: u64) -> Self {
        let state = DiskState {
            random: fastrand::Rng::with_seed(seed),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            files: Vec::new(),
            process: 0,
            operations: 0,
            crash_at: u32::MAX,
            flushes: 0,
            faults: Faults::default(),
        };
        Self(Arc::new((Mutex::new(state), Condvar::new())))
    }

    /// Makes all operations fail after so many, as if the process was killed.
    pub(in crate::journal) fn crash_after(&self, operations: u32, faults: Faults) {
        let mut state = self.state();
        state.crash_at = state.operations + operations;
        state.faults = faults;
    }

    /// Returns whether an operation has failed because of the crash.
    pub(in crate::journal) fn has_crashed(&self) -> bool {
        let state = self.state();
        state.operations > state.crash_at
    }

    /// Starts the computer again: what was not flushed is there in part.
    pub(in crate::journal) fn restart(&self) {
        let state = &mut *self.state();
        for content in &mut state.files {
            content.crash(&mut state.random);
        }
        let paths: BTreeSet<_> = state.names.keys().chain(state.durable_names.keys()).collect();
        let mut names = BTreeMap::new();
        for path in paths {
            let kept = match state.random.bool() {
                true => state.names.get(path),
                false => state.durable_names.get(path),
            };
            names.extend(kept.map(|file| (path.clone(), *file)));
        }
        state.durable_names.clone_from(&names);
        state.names = names;
        state.process += 1;
        state.crash_at = u32::MAX;
        state.faults = Faults::default();
    }

    pub(in crate::journal) fn flushes(&self) -> u32 {
        self.state().flushes
    }

    /// Returns the content of a file.
    pub(in crate::journal) fn content(&self, path: &Path) -> Vec<u8> {
        let state = self.state();
        let file = state.names.get(path);
        file.map_or_else(Vec::new, |file| state.files[*file].bytes.clone())
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.0.0.lock().unwrap()
    }

    /// Begins an operation of a process.
    fn operation(&self) -> io::Result<MutexGuard<'_, DiskState>> {
        let mut state = self.state();
        state.operations += 1;
        match state.operations > state.crash_at {
            true => Err(io::Error::other("the process was killed")),
            false => Ok(state),
        }
    }
}

impl DiskState {
    fn fails(&mut self, one_in: u32) -> bool {
        one_in > 0 && self.random.u32(..one_in) == 0
    }
}

impl FileContent {
    /// Returns what a flush writes.
    fn flushed(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for range in &self.dropped {
            bytes[range.clone()].fill(0);
        }
        bytes
    }

    fn crash(&mut self, random: &mut fastrand::Rng) {
        let target = self.flushed();
        let common = target.iter().zip(&self.durable);
        let common = common.take_while(|(target, durable)| target == durable).count();
        let mut bytes = match random.u32(..3) {
            0 => self.durable.clone(),
            _ => target[..random.usize(common..=target.len())].to_vec(),
        };
        // Blocks need not be written in their order.
        if bytes.len() > common && random.bool() {
            let start = random.usize(common..bytes.len());
            let end = bytes.len().min(start + 64);
            bytes[start..end].fill(0);
        }
        *self = Self { durable: bytes.clone(), bytes, ..Self::default() };
    }

    fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
        for range in &mut self.dropped {
            *range = range.start.min(length)..range.end.min(length);
        }
    }
}

impl Disk for SimulatedDisk {
    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.operation()?;
        let paths = state.names.keys().filter(|path| path.parent() == Some(folder));
        let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        Ok(paths.filter_map(name).collect())
    }

    fn create_folder(&self, _: &Path) -> io::Result<()> {
        // Folders are not simulated.
        Ok(())
    }

    fn open(&self, path: &Path, how: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.operation()?;
        let existing = state.names.get(path).copied().filter(|_| how != OpenMode::New);
        let file = match (existing, how) {
            (Some(file), _) => file,
            (None, OpenMode::Existing | OpenMode::ReadOnly) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            (None, OpenMode::OrCreate | OpenMode::New) => {
                state.files.push(FileContent::default());
                let file = state.files.len() - 1;
                state.names.insert(path.to_owned(), file);
                file
            }
        };
        Ok(Box::new(SimulatedFile {
            disk: self.clone(),
            file,
            process: state.process,
            has_lock: false,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.operation()?;
        let file = state.names.remove(from);
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.operation()?;
        let removed = state.names.remove(path);
        removed.map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let state = &mut *self.operation()?;
        if state.fails(state.faults.sync) {
            return Err(io::Error::other("the folder cannot be flushed"));
        }
        state.durable_names.retain(|path, _| path.parent() != Some(folder));
        let names = state.names.iter();
        let in_folder = names.filter(|(path, _)| path.parent() == Some(folder));
        let in_folder = in_folder.map(|(path, file)| (path.clone(), *file));
        state.durable_names.extend(in_folder);
        Ok(())
    }
}

impl SimulatedFile {
    fn with<T>(
        &self,
        use_file: impl FnOnce(&mut DiskState, usize) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.disk.operation()?;
        assert_eq!(state.process, self.process, "the process was killed");
        use_file(&mut state, self.file)
    }
}

impl DiskFile for SimulatedFile {
    fn len(&mut self) -> io::Result<u64> {
        self.with(|state, file| Ok(state.files[file].bytes.len() as u64))
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.with(|state, file| {
            let bytes = &state.files[file].bytes;
            let rest = bytes.get(offset as usize..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let crashes = {
            let state = self.disk.state();
            state.operations == state.crash_at
        };
        if crashes {
            // The process is killed while it writes.
            let state = &mut *self.disk.state();
            let count = state.random.usize(..=bytes.len());
            state.files[self.file].bytes.extend(&bytes[..count]);
        }
        self.with(|state, file| {
            let is_full = state.fails(state.faults.full);
            let count = if is_full { state.random.usize(..=bytes.len()) } else { bytes.len() };
            state.files[file].bytes.extend(&bytes[..count]);
            if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        })
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.with(|state, file| {
            if state.fails(state.faults.full) {
                return Err(io::Error::other("the file cannot be truncated"));
            }
            state.files[file].truncate(length as usize);
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(|state, file| {
            let fails = state.fails(state.faults.sync);
            let content = &mut state.files[file];
            if fails {
                let synced = content.durable.len().min(content.bytes.len());
                content.dropped.push(synced..content.bytes.len());
                return Err(io::Error::other("the file cannot be flushed"));
            }
            content.durable = content.flushed();
            state.flushes += 1;
            Ok(())
        })
    }

    fn lock(&mut self) -> io::Result<()> {
        drop(self.disk.operation()?);
        let is_locked = |state: &mut DiskState| state.files[self.file].is_locked;
        let state = self.disk.0.1.wait_while(self.disk.state(), is_locked);
        state.unwrap().files[self.file].is_locked = true;
        self.has_lock = true;
        Ok(())
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        let is_free = self.with(|state, file| {
            let was_locked = std::mem::replace(&mut state.files[file].is_locked, true);
            Ok(!was_locked)
        })?;
        self.has_lock = is_free;
        Ok(is_free)
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        // A restart has released the locks of earlier processes.
        if self.has_lock && state.process == self.process {
            state.files[self.file].is_locked = false;
            self.disk.0.1.notify_all();
        }
    }
}
