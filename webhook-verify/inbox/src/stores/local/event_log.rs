//! The store's file: an append-only log of JSON lines.
//!
//! A line is flushed to the disk before a delivery is acknowledged. A process that is killed while
//! writing leaves an incomplete last line. The next process removes it, because that delivery was
//! not acknowledged.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::HeaderMap;

use super::line::{FORMAT, Line};
use crate::store::{EventStoreError, EventStoreErrorKind};

/// The size of superfluous lines above which the file is compacted.
const MAX_DEAD_BYTES: u64 = 8 * 1024 * 1024;

/// The position of a line in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineRange {
    offset: u64,
    pub(super) length: u64,
}

/// The open log file.
#[derive(Debug)]
pub(super) struct EventLog {
    path: PathBuf,
    file: File,
    length: u64,
    /// The length after the last compaction.
    compacted_length: u64,
    /// Whether the last line may be incomplete and could not be removed.
    is_broken: bool,
    /// `None` if the file is only read.
    lock: Option<File>,
}

impl EventLog {
    /// Opens the file, or creates it if it is missing, and calls `on_line` for each line.
    pub(super) fn open(
        path: &Path,
        mut on_line: impl FnMut(Line, LineRange),
    ) -> Result<Self, EventStoreError> {
        let cannot_open = |error| io_error("cannot open the store", path, &error);
        let lock = lock(path)?;
        let file = open_append(path).map_err(cannot_open)?;
        let mut log = Self::new(path, file, Some(lock));
        log.read(&mut on_line)?;
        log.file.set_len(log.length).map_err(cannot_open)?;
        if log.length == 0 {
            log.append(&Line::SvcWebhookStore(FORMAT))
                .and_then(|_| log.sync())
                .and_then(|()| sync_dir(parent_dir(path)))
                .map_err(cannot_open)?;
        }
        Ok(log)
    }

    /// Opens the file for reading, also while another process uses it.
    pub(super) fn open_read_only(
        path: &Path,
        mut on_line: impl FnMut(Line, LineRange),
    ) -> Result<Self, EventStoreError> {
        let file = File::open(path);
        let file = file.map_err(|error| io_error("cannot open the store", path, &error))?;
        let mut log = Self::new(path, file, None);
        log.read(&mut on_line)?;
        Ok(log)
    }

    fn new(path: &Path, file: File, lock: Option<File>) -> Self {
        Self { path: path.to_owned(), file, length: 0, compacted_length: 0, is_broken: false, lock }
    }

    fn read(&mut self, on_line: &mut impl FnMut(Line, LineRange)) -> Result<(), EventStoreError> {
        let mut reader = BufReader::new(&self.file);
        let (mut text, mut offset, mut number) = (Vec::new(), 0_u64, 0_u64);
        loop {
            text.clear();
            let length = reader
                .read_until(b'\n', &mut text)
                .map_err(|error| io_error("cannot read the store", &self.path, &error))?;
            number += 1;
            let length = u64::try_from(length).unwrap_or(u64::MAX);
            if text.last() != Some(&b'\n') {
                // An incomplete first line may belong to a file of another program.
                if number == 1 && length > 0 && !b"{\"svc_webhook_store\":".starts_with(&text) {
                    return Err(self.not_a_store(number));
                }
                break;
            }
            let line = serde_json::from_slice(&text).map_err(|_| self.not_a_store(number))?;
            if (number == 1) != matches!(line, Line::SvcWebhookStore(FORMAT)) {
                return Err(self.not_a_store(number));
            }
            on_line(line, LineRange { offset, length });
            offset += length;
        }
        self.length = offset;
        Ok(())
    }

    fn not_a_store(&self, line: u64) -> EventStoreError {
        let path = self.path.display();
        let message = format!("{path} is not a store of svc webhook events (line {line})");
        EventStoreError::new(EventStoreErrorKind::Invalid, message)
    }

    /// Appends a line. On failure, the incomplete line is removed. If that fails as well, all later
    /// writes fail.
    pub(super) fn append(&mut self, line: &Line) -> io::Result<LineRange> {
        if self.lock.is_none() {
            return Err(io::Error::other("the store was opened for reading"));
        }
        if self.is_broken {
            return Err(io::Error::other("an earlier line was written only partially"));
        }
        let text = text_of(line)?;
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if let Err(error) = self.file.write_all(&text) {
            self.truncate();
            return Err(error);
        }
        let range = LineRange { offset: self.length, length };
        self.length += length;
        Ok(range)
    }

    /// Appends a line and flushes it to the disk.
    pub(super) fn append_durably(&mut self, line: &Line) -> io::Result<LineRange> {
        let range = self.append(line)?;
        if let Err(error) = self.sync() {
            self.length = range.offset;
            self.truncate();
            return Err(error);
        }
        Ok(range)
    }

    fn truncate(&mut self) {
        self.is_broken = self.file.set_len(self.length).is_err();
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    pub(super) fn write_error(&self, error: &io::Error) -> EventStoreError {
        let kind = match self.is_broken {
            true => EventStoreErrorKind::Broken,
            false => EventStoreErrorKind::Unavailable,
        };
        EventStoreError::new(kind, format!("cannot write to the store: {error}"))
    }

    /// Returns whether most of a large file is superfluous.
    pub(super) fn needs_compaction(&self) -> bool {
        self.length / 2 > self.compacted_length + MAX_DEAD_BYTES
    }

    /// Defers the next compaction after one that failed.
    pub(super) fn defer_compaction(&mut self) {
        self.compacted_length = self.length;
    }

    /// Reads the headers and the body of a delivery.
    pub(super) fn content(&mut self, range: LineRange) -> io::Result<(HeaderMap, Bytes)> {
        let Line::Received { delivery, .. } = serde_json::from_slice(&self.text(range)?)? else {
            return Err(io::Error::other("the line does not contain a delivery"));
        };
        let body = delivery.body();
        Ok((
            delivery.headers(),
            body.ok_or_else(|| io::Error::other("the stored body is damaged"))?,
        ))
    }

    fn text(&mut self, range: LineRange) -> io::Result<Vec<u8>> {
        let mut text = vec![0; usize::try_from(range.length).map_err(io::Error::other)?];
        self.file.seek(SeekFrom::Start(range.offset))?;
        self.file.read_exact(&mut text)?;
        Ok(text)
    }

    /// Replaces the file by one with `before`, the existing lines at `ranges`, and `after`. Returns
    /// the new ranges. The old file is kept until the new one is complete.
    pub(super) fn rewrite(
        &mut self,
        before: impl Iterator<Item = Line>,
        ranges: &[LineRange],
        after: impl Iterator<Item = Line>,
    ) -> io::Result<Vec<LineRange>> {
        // The lock is held, so no other process uses this name.
        let new_path = with_suffix(&self.path, ".new");
        let new_file = private_file().write(true).create(true).truncate(true).open(&new_path)?;
        let mut writer = BufWriter::new(&new_file);
        let mut length = 0;
        let mut write = |text: &[u8]| -> io::Result<LineRange> {
            writer.write_all(text)?;
            let range =
                LineRange { offset: length, length: u64::try_from(text.len()).unwrap_or(u64::MAX) };
            length += range.length;
            Ok(range)
        };
        for line in std::iter::once(Line::SvcWebhookStore(FORMAT)).chain(before) {
            write(&text_of(&line)?)?;
        }
        let mut new_ranges = Vec::with_capacity(ranges.len());
        for range in ranges {
            new_ranges.push(write(&self.text(*range)?)?);
        }
        for line in after {
            write(&text_of(&line)?)?;
        }
        writer.flush()?;
        drop(writer);
        new_file.sync_all()?;
        let file = open_append(&new_path)?;
        std::fs::rename(&new_path, &self.path)?;
        self.file = file;
        (self.length, self.compacted_length) = (length, length);
        // If the rename is not on the disk, later lines could be lost in a crash.
        self.is_broken |= sync_dir(parent_dir(&self.path)).is_err();
        Ok(new_ranges)
    }
}

fn text_of(line: &Line) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

/// Locks the store, so that a second process cannot use it.
fn lock(path: &Path) -> Result<File, EventStoreError> {
    let name = with_suffix(path, ".lock");
    let cannot_lock = |error| io_error("cannot lock the store", &name, &error);
    let file = open_append(&name).map_err(cannot_lock)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another process uses the store {}", path.display());
            Err(EventStoreError::new(EventStoreErrorKind::Locked, message))
        }
        Err(TryLockError::Error(error)) => Err(cannot_lock(error)),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn io_error(what: &str, path: &Path, error: &io::Error) -> EventStoreError {
    EventStoreError::unavailable(&format!("{what} {}", path.display()), error)
}

fn open_append(path: &Path) -> io::Result<File> {
    private_file().read(true).append(true).create(true).open(path)
}

/// Returns the options of a file that only its owner can read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Without a condition, the variable would not have to be mutable on other systems.
    options.read(false);
    options
}

fn parent_dir(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Flushes a folder to the disk, so that its new and renamed files survive a crash.
fn sync_dir(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
