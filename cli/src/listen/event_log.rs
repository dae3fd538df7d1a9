//! The store's file: an append-only log of JSON lines.
//!
//! A line is flushed to the disk before the delivery is acknowledged. A process that is killed
//! while writing leaves an incomplete last line. The next process removes it, because that delivery
//! was not acknowledged.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use svc_webhook_verify::DedupeKey;

use super::delivery::{Delivery, key};
use crate::error::Failure;
use crate::files::{parent_dir, private_append, sync_dir, try_lock};

/// The version of the format, in the first line.
const FORMAT: u64 = 1;
/// The size of settled deliveries above which the file is compacted.
const MAX_DEAD_BYTES: u64 = 8 * 1024 * 1024;

/// One line of the log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first line, with the version of the format.
    SvcWebhookStore(u64),
    /// An event was received.
    Received { id: u64, delivery: Delivery },
    /// The target accepted the event.
    Forwarded { id: u64 },
    /// The target rejected the event too many times.
    GivenUp { id: u64 },
    /// A settled event, of which only the deduplication key is kept.
    Known {
        at: u64,
        #[serde(with = "key")]
        key: Option<DedupeKey>,
    },
}

/// The position of a line in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRange {
    offset: u64,
    length: u64,
}

/// The open and locked log file.
#[derive(Debug)]
pub(super) struct EventLog {
    path: PathBuf,
    file: File,
    length: u64,
    /// The length after the last compaction.
    compacted_length: u64,
    /// Whether the last line may be incomplete and could not be removed.
    is_broken: bool,
    _lock: File,
}

impl EventLog {
    /// Opens the file, or creates it if it is missing, and calls `on_line` for each line.
    ///
    /// # Errors
    ///
    /// Returns an error if another process uses the file, or if it cannot be read or is not a
    /// store.
    pub(super) fn open(
        path: &Path,
        mut on_line: impl FnMut(Line, LineRange),
    ) -> Result<Self, Failure> {
        let io_failure = |error: io::Error| Failure::file("cannot open the store", path, &error);
        let lock = lock(path)?;
        let file = open_append(path).map_err(io_failure)?;
        let mut log = Self {
            path: path.to_owned(),
            file,
            length: 0,
            compacted_length: 0,
            is_broken: false,
            _lock: lock,
        };
        log.read(&mut on_line)?;
        if log.length == 0 {
            log.append(&Line::SvcWebhookStore(FORMAT))
                .map_err(io_failure)?;
            log.sync().map_err(io_failure)?;
            sync_dir(parent_dir(path)).map_err(io_failure)?;
        }
        Ok(log)
    }

    fn read(&mut self, on_line: &mut impl FnMut(Line, LineRange)) -> Result<(), Failure> {
        let io_failure =
            |error: io::Error| Failure::file("cannot read the store", &self.path, &error);
        let not_a_store = |number: u64| {
            let path = self.path.display();
            let why = format!("{path} is not a store of svc webhook listen (line {number})");
            Failure::usage(why).hint("pass another file to --store; it is created if it is missing")
        };
        let mut reader = BufReader::new(&self.file);
        let (mut text, mut offset, mut number) = (Vec::new(), 0_u64, 0_u64);
        loop {
            text.clear();
            let length = reader.read_until(b'\n', &mut text).map_err(io_failure)?;
            number += 1;
            let length = u64::try_from(length).unwrap_or(u64::MAX);
            if text.last() != Some(&b'\n') {
                // An incomplete first line may belong to a file of another program.
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

    /// Appends a line. On failure, the incomplete line is removed. If that fails as well, all later
    /// writes fail.
    pub(super) fn append(&mut self, line: &Line) -> io::Result<LineRange> {
        if self.is_broken {
            return Err(io::Error::other(
                "an earlier line was written only partially",
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

    /// Returns whether all later writes will fail.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns whether most of a large file belongs to settled deliveries.
    pub(super) fn needs_compaction(&self) -> bool {
        self.length / 2 > self.compacted_length + MAX_DEAD_BYTES
    }

    /// Defers the next compaction after one that failed.
    pub(super) fn defer_compaction(&mut self) {
        self.compacted_length = self.length;
    }

    /// Reads the delivery of a line.
    pub(super) fn delivery(&mut self, range: LineRange) -> io::Result<Delivery> {
        match serde_json::from_slice(&self.text(range)?)? {
            Line::Received { delivery, .. } => Ok(delivery),
            _ => Err(io::Error::other("the line does not contain a delivery")),
        }
    }

    fn text(&mut self, range: LineRange) -> io::Result<Vec<u8>> {
        let mut text = vec![0; usize::try_from(range.length).map_err(io::Error::other)?];
        self.file.seek(SeekFrom::Start(range.offset))?;
        self.file.read_exact(&mut text)?;
        Ok(text)
    }

    /// Replaces the file by one with the given lines and the existing lines at `ranges`. Returns
    /// the new ranges. The old file is kept until the new one is complete.
    pub(super) fn rewrite(
        &mut self,
        lines: impl Iterator<Item = Line>,
        ranges: &[LineRange],
    ) -> io::Result<Vec<LineRange>> {
        // `NamedTempFile` creates files with mode 0600.
        let temporary = tempfile::NamedTempFile::new_in(parent_dir(&self.path))?;
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
        // If the rename is not on the disk, later lines could be lost in a crash.
        self.is_broken |= sync_dir(parent_dir(&self.path)).is_err();
        Ok(new_ranges)
    }
}

/// Locks the store, so that a second listener cannot use it.
fn lock(path: &Path) -> Result<File, Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let io_failure = |error: io::Error| Failure::file("cannot lock the store", &name, &error);
    let file = open_append(&name).map_err(io_failure)?;
    if try_lock(&file).map_err(io_failure)? {
        return Ok(file);
    }
    let path = path.display();
    Err(
        Failure::other(format!("another svc webhook listen uses the store {path}"))
            .hint("pass another file to --store, or stop the other process"),
    )
}

fn open_append(path: &Path) -> io::Result<File> {
    private_append().create(true).open(path)
}
