//! The log: a file of lines that several processes append to, and the index of it.
//!
//! Each use is between [`Log::refresh`], which reads what others have written, and [`Log::commit`],
//! which writes all staged lines and flushes them once. A lock is held from one to the other.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Disk, DiskFile, OpenMode, io_error, random_name};
use super::index::{Index, IndexEntry, LOG};
use super::line::{self, FileInfo, Line, Parsed};
use crate::journal::store::StoreError;

/// How much is read and written at a time.
pub(super) const CHUNK: usize = 64 * 1024;

/// How much is read at a time for a single line.
const LINE_CHUNK: usize = 1024;

/// The log and its index.
#[derive(Debug)]
pub(super) struct Log {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    /// The first line, which distinguishes the file from another one with its name.
    header: Vec<u8>,
    /// Where the next line begins.
    end: u64,
    /// Whether the lines before the end are those of another process, which may not have been able to
    /// flush them.
    follows_others: bool,
    /// Lines that are not written yet.
    staged: Vec<u8>,
    pub(super) index: Index,
}

impl Log {
    pub(super) fn load(
        disk: Arc<dyn Disk>,
        path: PathBuf,
        mut file: Box<dyn DiskFile>,
    ) -> Result<Self, StoreError> {
        let mut header = Vec::new();
        let mut is_newer = false;
        let start = read_lines(&mut *file, 0, CHUNK, |_, text| {
            match Parsed::new(text) {
                Parsed::Line(line) if line.is_header() => header = text.to_vec(),
                Parsed::OtherVersion => is_newer |= line::is_header_text(text),
                _ => {}
            }
            header.is_empty() && !is_newer
        });
        let start = start.map_err(|error| io_error("cannot read", &path, error))?;
        if header.is_empty() {
            let path = path.display();
            return Err(StoreError::message(match is_newer {
                true => format!("{path} was written by a newer version of this program"),
                false => format!("{path} is not a journal"),
            }));
        }
        let mut log = Self {
            disk,
            path,
            file,
            header,
            end: start,
            follows_others: false,
            staged: Vec::new(),
            index: Index::default(),
        };
        log.index.add(0, Parsed::new(&log.header), &log.header);
        log.read_new_lines()?;
        log.follows_others = log.index.line_count() > 0;
        Ok(log)
    }

    pub(super) fn reload(self) -> Result<Self, StoreError> {
        Self::load(self.disk, self.path, self.file)
    }

    pub(super) fn write(
        disk: &dyn Disk,
        path: &Path,
        last_number: u64,
        write_lines: impl FnOnce(&mut Writer) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let temporary = path.with_extension("tmp");
        let mut writer = Writer::create(disk, &temporary)?;
        writer.write(&header_line(last_number)?)?;
        write_lines(&mut writer)?;
        writer.finish()?;
        disk.rename(&temporary, path).map_err(|error| io_error("cannot rename", &temporary, error))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what other processes have written. Returns `false` if the log has been replaced, so that
    /// it has to be loaded again.
    pub(super) fn refresh(&mut self) -> Result<bool, StoreError> {
        let failed = |error| io_error("cannot read", &self.path, error);
        // The folder may have been removed, or restored from a backup.
        let mut file = self.disk.open(&self.path, OpenMode::Existing).map_err(failed)?;
        let mut header = vec![0; self.header.len()];
        let count = file.read_at(0, &mut header).map_err(failed)?;
        let length = file.len().map_err(failed)?;
        if count != header.len() || header != self.header || length < self.end {
            return Ok(false);
        }
        self.file = file;
        if length > self.end {
            self.read_new_lines()?;
            self.follows_others = true;
        }
        Ok(true)
    }

    /// Adds lines to the index. What follows the last valid line has not been written completely, and
    /// the next line replaces it.
    pub(super) fn read_new_lines(&mut self) -> Result<(), StoreError> {
        let index = &mut self.index;
        let mut end = self.end;
        let mut invalid: Vec<(u64, Vec<u8>)> = Vec::new();
        let read = read_lines(&mut *self.file, self.end, CHUNK, |offset, text| {
            let parsed = Parsed::new(text);
            if matches!(parsed, Parsed::Invalid) {
                invalid.push((offset, text.to_vec()));
                return true;
            }
            for (offset, text) in invalid.drain(..) {
                index.add(offset, Parsed::Invalid, &text);
            }
            index.add(offset, parsed, text);
            end = offset + length(text) + 1;
            true
        });
        read.map_err(|error| io_error("cannot read", &self.path, error))?;
        self.end = end;
        Ok(())
    }

    /// Adds a line that [`commit`](Self::commit) writes.
    pub(super) fn stage(&mut self, line: &Line) -> Result<(), StoreError> {
        self.stage_text(&line.to_bytes()?);
        Ok(())
    }

    /// Adds a line with its end.
    pub(super) fn stage_text(&mut self, line: &[u8]) {
        if self.staged.is_empty() && self.follows_others {
            // If the end of the line before is not on the disk, this line is not a part of it.
            self.staged.push(b'\n');
        }
        let offset = self.end + length(&self.staged);
        self.index.add(offset, Parsed::new(line), line);
        self.staged.extend_from_slice(line);
    }

    /// Writes the staged lines, and flushes them to the disk.
    ///
    /// After an error, the index holds lines that are not in the file: the log must be loaded again.
    pub(super) fn commit(&mut self) -> Result<(), CommitError> {
        if self.staged.is_empty() {
            return Ok(());
        }
        let mut is_synced = true;
        let written = self.truncate_to_end().and_then(|()| {
            self.file.append(&self.staged)?;
            is_synced = false;
            self.file.sync()?;
            is_synced = true;
            Ok(())
        });
        let Err(error) = written else {
            self.end += length(&self.staged);
            self.staged.clear();
            self.follows_others = false;
            return Ok(());
        };
        let is_truncated = self.file.truncate(self.end).is_ok();
        Err(CommitError { error, path: self.path.clone(), is_broken: !is_synced || !is_truncated })
    }

    fn truncate_to_end(&mut self) -> io::Result<()> {
        if self.file.len()? > self.end {
            self.file.truncate(self.end)?;
        }
        Ok(())
    }

    /// Reads the lines of an intent, without their ends.
    pub(super) fn lines(&mut self, entry: &IndexEntry) -> Result<Vec<Vec<u8>>, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| io_error("cannot read", &path, error)
        };
        if entry.file == LOG {
            let mut lines = Vec::new();
            for offset in self.index.offsets(entry) {
                let line = self.line(offset).map_err(failed(&self.path))?;
                let restored = match Parsed::new(&line) {
                    Parsed::Line(line) => line.restored,
                    _ => None,
                };
                match restored {
                    Some(all) => lines.extend(all.iter().map(|it| it.get().as_bytes().to_vec())),
                    None => lines.push(line),
                }
            }
            return Ok(lines);
        }
        let path = archive_path(&self.path, entry.file);
        let mut file = self.disk.open(&path, OpenMode::Existing).map_err(failed(&path))?;
        let mut lines = Vec::new();
        let mut id: Option<String> = None;
        read_lines(&mut *file, entry.position, CHUNK, |_, text| {
            // A damaged line may have lost its number.
            let is_of_intent = match line::field::<u64>(text, "number") {
                Some(number) => number == entry.number,
                None => id.is_some() && line::field(text, "id") == id,
            };
            if is_of_intent {
                id = id.take().or_else(|| line::field(text, "id"));
                lines.push(text.to_vec());
            }
            is_of_intent
        })
        .map_err(failed(&path))?;
        Ok(lines)
    }

    fn line(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        if let Some(staged) = offset.checked_sub(self.end) {
            let staged = usize::try_from(staged).ok().and_then(|at| self.staged.get(at..));
            let line = staged.and_then(|staged| staged.split(|byte| *byte == b'\n').next());
            return Ok(line.unwrap_or_default().to_vec());
        }
        let mut line = Vec::new();
        read_lines(&mut *self.file, offset, LINE_CHUNK, |_, text| {
            line = text.to_vec();
            false
        })?;
        Ok(line)
    }
}

/// Why lines were not written. What has been written of them is removed if possible.
#[derive(Debug)]
pub(super) struct CommitError {
    error: io::Error,
    path: PathBuf,
    /// Whether the system may have lost the lines, but shows them, so that the file must not be used
    /// any more.
    pub(super) is_broken: bool,
}

impl From<CommitError> for StoreError {
    fn from(error: CommitError) -> Self {
        io_error("cannot write to", &error.path, error.error)
    }
}

pub(super) struct Writer {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    buffer: Vec<u8>,
    length: u64,
}

impl Writer {
    pub(super) fn create(disk: &dyn Disk, path: &Path) -> Result<Self, StoreError> {
        let file = disk.open(path, OpenMode::New);
        Ok(Self {
            file: file.map_err(|error| io_error("cannot create", path, error))?,
            path: path.to_owned(),
            buffer: Vec::new(),
            length: 0,
        })
    }

    /// Returns where the next line begins.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Writes a line with its end.
    pub(super) fn write(&mut self, line: &[u8]) -> Result<(), StoreError> {
        self.buffer.extend_from_slice(line);
        self.length += length(line);
        match self.buffer.len() {
            0..CHUNK => Ok(()),
            _ => self.flush(),
        }
    }

    pub(super) fn write_line(&mut self, line: &Line) -> Result<(), StoreError> {
        self.write(&line.to_bytes()?)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let written = self.file.append(&self.buffer);
        self.buffer.clear();
        written.map_err(|error| io_error("cannot write to", &self.path, error))
    }

    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.flush()?;
        let synced = self.file.sync();
        synced.map_err(|error| io_error("cannot write to", &self.path, error))
    }
}

pub(super) fn header_line(last_number: u64) -> Result<Vec<u8>, StoreError> {
    let file = FileInfo { id: random_name()?, last: last_number };
    Line::header(file).to_bytes()
}

pub(super) fn archive_path(log: &Path, number: u32) -> PathBuf {
    log.with_file_name(format!("archive-{number:08}.jsonl"))
}

pub(super) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Calls a function with the offset and the text of each complete line until it returns `false`.
/// Returns where the next line begins.
pub(super) fn read_lines(
    file: &mut dyn DiskFile,
    start: u64,
    chunk: usize,
    mut visit: impl FnMut(u64, &[u8]) -> bool,
) -> io::Result<u64> {
    let mut line_start = start;
    let mut text = Vec::new();
    let mut buffer = vec![0; chunk];
    loop {
        let count = file.read_at(line_start + length(&text), &mut buffer)?;
        let read = buffer.get(..count).unwrap_or_default();
        if read.is_empty() {
            return Ok(line_start);
        }
        let mut rest = read;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            text.extend_from_slice(line);
            let goes_on = visit(line_start, &text);
            line_start += length(&text) + 1;
            text.clear();
            rest = after.get(1..).unwrap_or_default();
            if !goes_on {
                return Ok(line_start);
            }
        }
        text.extend_from_slice(rest);
    }
}
