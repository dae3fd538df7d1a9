//! A store in one file, which one process uses at a time.

use std::path::Path;
use std::sync::Arc;

use super::disk::{Disk, DiskFile, OpenMode, io_error};
use super::line::{Line, Opened, Parsed};
use super::log::{CHUNK, Log, header_line, read_lines};
use crate::journal::store::StoreError;

/// How the first line begins.
const HEADER_START: &[u8; 22] = br#"{"v":1,"journal":"svc""#;

/// Opens the file, and creates it if it does not exist.
pub(super) fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<Log, StoreError> {
    let failed = |error| io_error("cannot open", path, error);
    let mut file = disk.open(path, OpenMode::OrCreate).map_err(failed)?;
    if !file.try_lock().map_err(failed)? {
        return Err(locked(path, &mut *file));
    }
    add_header(&mut *file, path)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    disk.sync_folder(folder).map_err(failed)?;
    let mut log = Log::load(disk, path.to_owned(), file)?;
    log.stage(&Line { opened: Some(Opened::by_this_process()), ..Line::new() })?;
    log.commit()?;
    Ok(log)
}

/// Writes the first line, unless the file has it. One that was not written completely is followed by
/// another one.
fn add_header(file: &mut dyn DiskFile, path: &Path) -> Result<(), StoreError> {
    let failed = |error| io_error("cannot open", path, error);
    let mut start = [0; HEADER_START.len()];
    let count = file.read_at(0, &mut start).map_err(failed)?;
    let start = start.get(..count).unwrap_or_default();
    let start = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // A block that was not written before the computer failed is zero.
    let mut bytes = start.iter().zip(HEADER_START);
    if !bytes.all(|(byte, expected)| byte == expected || *byte == 0) {
        let path = path.display();
        return Err(StoreError::message(format!("{path} is not a journal")));
    }
    let mut has_header = false;
    let end = read_lines(file, 0, CHUNK, |_, text| {
        has_header = match Parsed::new(text) {
            Parsed::Line(line) => line.is_header(),
            // This error is reported when the file is loaded.
            Parsed::OtherVersion => super::line::is_header_text(text),
            Parsed::Invalid => false,
        };
        !has_header
    });
    let end = end.map_err(failed)?;
    if has_header {
        return Ok(());
    }
    let mut text = Vec::new();
    if file.len().map_err(failed)? > end {
        text.push(b'\n');
    }
    text.extend(header_line(0)?);
    file.append(&text).and_then(|()| file.sync()).map_err(failed)
}

/// Opens a file to read it, whether another process has locked it or not.
pub(super) fn open_to_read(disk: Arc<dyn Disk>, path: &Path) -> Result<Log, StoreError> {
    let file = disk.open(path, OpenMode::ReadOnly);
    let file = file.map_err(|error| io_error("cannot open", path, error))?;
    Log::load(disk, path.to_owned(), file)
}

/// Calls a function with each note in a file.
pub(super) fn read_notes(
    disk: &dyn Disk,
    path: &Path,
    mut visit: impl FnMut(&str),
) -> Result<(), StoreError> {
    let failed = |error| io_error("cannot read", path, error);
    let mut file = disk.open(path, OpenMode::ReadOnly).map_err(failed)?;
    let read = read_lines(&mut *file, 0, CHUNK, |_, text| {
        if let Parsed::Line(line) = Parsed::new(text)
            && let Some(note) = line.note
        {
            visit(note.get());
        }
        true
    });
    read.map(|_| ()).map_err(failed)
}

/// Returns the error of a file that another process has opened.
fn locked(path: &Path, file: &mut dyn DiskFile) -> StoreError {
    let mut process = None;
    // The name of the process is only a help.
    let _ = read_lines(file, 0, CHUNK, |_, text| {
        if let Parsed::Line(line) = Parsed::new(text) {
            process = line.opened.map(|opened| opened.process).or(process);
        }
        true
    });
    let path = path.display();
    StoreError::locked(match process {
        Some(process) => format!("{path} is locked by process {process}"),
        None => format!("{path} is locked by another process"),
    })
}
