//! The store's file: one JSON line for each thing that happened, appended.
//!
//! A line is on the disk before the delivery is acknowledged. A process that is killed in the
//! middle of one leaves a torn last line, which the next one cuts off: it was not acknowledged.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use svc_webhook_verify::DedupeKey;

use super::delivery::{Delivery, key};
use crate::error::Failure;

/// What the first line says the file is.
const FORMAT: u64 = 1;
/// So much of what was dealt with may stay in the file.
const MAX_DEAD_BYTES: u64 = 8 * 1024 * 1024;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first: what the file is.
    SvcWebhookStore(u64),
    /// An event was received.
    Received { id: u64, delivery: Delivery },
    /// The target took it.
    Forwarded { id: u64 },
    /// The target refused it too often.
    GivenUp { id: u64 },
    /// An event that was dealt with, of which only this is kept.
    Known {
        at: u64,
        #[serde(with = "key")]
        key: Option<DedupeKey>,
    },
}

/// Where a line is in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRange {
    offset: u64,
    length: u64,
}

/// The file, locked.
#[derive(Debug)]
pub(super) struct EventLog {
    path: PathBuf,
    file: File,
    length: u64,
    /// How long it was when it held nothing needless.
    compacted_length: u64,
    /// Its last line may be torn, and could not be cut off.
    is_torn: bool,
    _lock: File,
}

impl EventLog {
    /// Opens it, and tells each line that is in it. It is made where it is missing.
    pub(super) fn open(
        path: &Path,
        mut on_line: impl FnMut(Line, LineRange),
    ) -> Result<Self, Failure> {
        let io_failure = |error: io::Error| Failure::file("cannot use the store", path, &error);
        let lock = lock(path)?;
        let file = open_append(path).map_err(io_failure)?;
        let mut log = Self {
            path: path.to_owned(),
            file,
            length: 0,
            compacted_length: 0,
            is_torn: false,
            _lock: lock,
        };
        log.read(&mut on_line)?;
        if log.length == 0 {
            log.append(&Line::SvcWebhookStore(FORMAT))
                .map_err(io_failure)?;
            log.sync().map_err(io_failure)?;
            sync_folder(path).map_err(io_failure)?;
        }
        Ok(log)
    }

    fn read(&mut self, on_line: &mut impl FnMut(Line, LineRange)) -> Result<(), Failure> {
        let io_failure =
            |error: io::Error| Failure::file("cannot read the store", &self.path, &error);
        let not_a_store = |number: u64| {
            let path = self.path.display();
            let why = format!("{path} is no store of svc webhook listen (line {number})");
            Failure::usage(why).hint("name another file with --store; it is made if it is missing")
        };
        let mut reader = BufReader::new(&self.file);
        let (mut text, mut offset, mut number) = (Vec::new(), 0_u64, 0_u64);
        loop {
            text.clear();
            let length = reader.read_until(b'\n', &mut text).map_err(io_failure)?;
            number += 1;
            let length = u64::try_from(length).unwrap_or(u64::MAX);
            if text.last() != Some(&b'\n') {
                // A first line without an end may be anybody's file.
                if number == 1 && length > 0 && !b"{\"svc_webhook_store\":".starts_with(&text) {
                    return Err(not_a_store(number));
                }
                break;
            }
            let line = serde_json::from_slice(&text).map_err(|_| not_a_store(number))?;
            if (number == 1) != matches!(line, Line::SvcWebhookStore(FORMAT)) {
                return Err(not_a_store(number));
            }
            on_line(line, LineRange { offset, length });
            offset += length;
        }
        self.file.set_len(offset).map_err(io_failure)?;
        (self.length, self.compacted_length) = (offset, offset);
        Ok(())
    }

    /// Appends a line. Where that fails nothing of it stays; where something may, this and every
    /// later one fails.
    pub(super) fn append(&mut self, line: &Line) -> io::Result<LineRange> {
        if self.is_torn {
            return Err(io::Error::other(
                "an earlier line could not be written whole",
            ));
        }
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if let Err(error) = self.file.write_all(&text) {
            self.truncate();
            return Err(error);
        }
        let range = LineRange {
            offset: self.length,
            length,
        };
        self.length += length;
        Ok(range)
    }

    /// Appends a line, and has it on the disk.
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
        self.is_torn = self.file.set_len(self.length).is_err();
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Whether nothing can be written to it any more.
    pub(super) fn is_broken(&self) -> bool {
        self.is_torn
    }

    /// Whether most of it is needless, and that is a lot.
    pub(super) fn needs_compaction(&self) -> bool {
        self.length / 2 > self.compacted_length + MAX_DEAD_BYTES
    }

    /// Lets it be for now: it could not be written anew.
    pub(super) fn defer_compaction(&mut self) {
        self.compacted_length = self.length;
    }

    /// The delivery in a line.
    pub(super) fn delivery(&mut self, range: LineRange) -> io::Result<Delivery> {
        match serde_json::from_slice(&self.text(range)?)? {
            Line::Received { delivery, .. } => Ok(delivery),
            _ => Err(io::Error::other("the line is another one")),
        }
    }

    fn text(&mut self, range: LineRange) -> io::Result<Vec<u8>> {
        let mut text = vec![0; usize::try_from(range.length).map_err(io::Error::other)?];
        self.file.seek(SeekFrom::Start(range.offset))?;
        self.file.read_exact(&mut text)?;
        Ok(text)
    }

    /// Writes the file anew with those lines and those that are in it at those places, and gives
    /// the new places. The old file stays until the new one is whole.
    pub(super) fn rewrite(
        &mut self,
        lines: impl Iterator<Item = Line>,
        ranges: &[LineRange],
    ) -> io::Result<Vec<LineRange>> {
        let folder = folder_of(&self.path);
        // A temporary file of this crate has mode 0600 from its first byte.
        let temporary = tempfile::NamedTempFile::new_in(folder)?;
        let mut writer = io::BufWriter::new(temporary.as_file());
        let mut length = 0;
        let mut write_line = |text: &[u8]| -> io::Result<LineRange> {
            writer.write_all(text)?;
            let range = LineRange {
                offset: length,
                length: u64::try_from(text.len()).unwrap_or(u64::MAX),
            };
            length += range.length;
            Ok(range)
        };
        for line in std::iter::once(Line::SvcWebhookStore(FORMAT)).chain(lines) {
            let mut text = serde_json::to_vec(&line)?;
            text.push(b'\n');
            write_line(&text)?;
        }
        let mut new_ranges = Vec::with_capacity(ranges.len());
        for range in ranges {
            new_ranges.push(write_line(&self.text(*range)?)?);
        }
        writer.flush()?;
        drop(writer);
        temporary.as_file().sync_all()?;
        let file = open_append(temporary.path())?;
        temporary.persist(&self.path)?;
        self.file = file;
        (self.length, self.compacted_length) = (length, length);
        // Were the new file not under its name after all, what is appended to it would be lost.
        self.is_torn |= sync_folder(&self.path).is_err();
        Ok(new_ranges)
    }
}

/// Keeps a second listener away from the same store.
fn lock(path: &Path) -> Result<File, Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let io_failure = |error: &io::Error| Failure::file("cannot lock the store", &name, error);
    let file = open_append(&name).map_err(|error| io_failure(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::other(format!(
            "another svc webhook listen uses the store {}",
            path.display()
        ))
        .hint("name another file with --store, or end the other one")),
        Err(TryLockError::Error(error)) => Err(io_failure(&error)),
    }
}

/// Only its owner can read it: events are nobody else's business.
fn open_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A file's name is on the disk only when its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder_of(path))?.sync_all()?;
    }
    Ok(())
}
