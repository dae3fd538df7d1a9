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
const NEEDLESS: u64 = 8 * 1024 * 1024;

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
pub(super) struct Place {
    offset: u64,
    length: u64,
}

/// The file, locked.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    /// How long it was when it held nothing needless.
    least: u64,
    /// Its last line may be torn, and could not be cut off.
    torn: bool,
    _lock: File,
}

impl Journal {
    /// Opens it, and tells each line that is in it. It is made where it is missing.
    pub(super) fn open(path: &Path, mut each: impl FnMut(Line, Place)) -> Result<Self, Failure> {
        let cannot = |error: io::Error| Failure::file("cannot use the store", path, &error);
        let lock = lock(path)?;
        let file = appendable(path).map_err(cannot)?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            length: 0,
            least: 0,
            torn: false,
            _lock: lock,
        };
        journal.read(&mut each)?;
        if journal.length == 0 {
            journal
                .append(&Line::SvcWebhookStore(FORMAT))
                .map_err(cannot)?;
            journal.sync().map_err(cannot)?;
            sync_folder(path).map_err(cannot)?;
        }
        Ok(journal)
    }

    fn read(&mut self, each: &mut impl FnMut(Line, Place)) -> Result<(), Failure> {
        let cannot = |error: io::Error| Failure::file("cannot read the store", &self.path, &error);
        let strange = |number: u64| {
            let path = self.path.display();
            let why = format!("{path} is no store of svc webhook listen (line {number})");
            Failure::usage(why).next("name another file with --store; it is made if it is missing")
        };
        let mut reader = BufReader::new(&self.file);
        let (mut text, mut offset, mut number) = (Vec::new(), 0_u64, 0_u64);
        loop {
            text.clear();
            let length = reader.read_until(b'\n', &mut text).map_err(cannot)?;
            number += 1;
            let length = u64::try_from(length).unwrap_or(u64::MAX);
            if text.last() != Some(&b'\n') {
                // A first line without an end may be anybody's file.
                if number == 1 && length > 0 && !b"{\"svc_webhook_store\":".starts_with(&text) {
                    return Err(strange(number));
                }
                break;
            }
            let line = serde_json::from_slice(&text).map_err(|_| strange(number))?;
            if (number == 1) != matches!(line, Line::SvcWebhookStore(FORMAT)) {
                return Err(strange(number));
            }
            each(line, Place { offset, length });
            offset += length;
        }
        self.file.set_len(offset).map_err(cannot)?;
        (self.length, self.least) = (offset, offset);
        Ok(())
    }

    /// Appends a line. Where that fails nothing of it stays; where something may, this and every
    /// later one fails.
    pub(super) fn append(&mut self, line: &Line) -> io::Result<Place> {
        if self.torn {
            return Err(io::Error::other(
                "an earlier line could not be written whole",
            ));
        }
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if let Err(error) = self.file.write_all(&text) {
            self.cut_back();
            return Err(error);
        }
        let place = Place {
            offset: self.length,
            length,
        };
        self.length += length;
        Ok(place)
    }

    /// Appends a line, and has it on the disk.
    pub(super) fn append_durably(&mut self, line: &Line) -> io::Result<Place> {
        let place = self.append(line)?;
        if let Err(error) = self.sync() {
            self.length = place.offset;
            self.cut_back();
            return Err(error);
        }
        Ok(place)
    }

    fn cut_back(&mut self) {
        self.torn = self.file.set_len(self.length).is_err();
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Whether nothing can be written to it any more.
    pub(super) fn is_broken(&self) -> bool {
        self.torn
    }

    /// Whether most of it is needless, and that is a lot.
    pub(super) fn is_wasteful(&self) -> bool {
        self.length / 2 > self.least + NEEDLESS
    }

    /// Lets it be for now: it could not be written anew.
    pub(super) fn put_off(&mut self) {
        self.least = self.length;
    }

    /// The delivery in a line.
    pub(super) fn delivery(&mut self, place: Place) -> io::Result<Delivery> {
        match serde_json::from_slice(&self.text(place)?)? {
            Line::Received { delivery, .. } => Ok(delivery),
            _ => Err(io::Error::other("the line is another one")),
        }
    }

    fn text(&mut self, place: Place) -> io::Result<Vec<u8>> {
        let mut text = vec![0; usize::try_from(place.length).map_err(io::Error::other)?];
        self.file.seek(SeekFrom::Start(place.offset))?;
        self.file.read_exact(&mut text)?;
        Ok(text)
    }

    /// Writes the file anew with those lines and those that are in it at those places, and gives
    /// the new places. The old file stays until the new one is whole.
    pub(super) fn rewrite(
        &mut self,
        lines: impl Iterator<Item = Line>,
        places: &[Place],
    ) -> io::Result<Vec<Place>> {
        let folder = folder_of(&self.path);
        // A temporary file of this crate has mode 0600 from its first byte.
        let temporary = tempfile::NamedTempFile::new_in(folder)?;
        let mut writer = io::BufWriter::new(temporary.as_file());
        let mut length = 0;
        let mut put = |text: &[u8]| -> io::Result<Place> {
            writer.write_all(text)?;
            let place = Place {
                offset: length,
                length: u64::try_from(text.len()).unwrap_or(u64::MAX),
            };
            length += place.length;
            Ok(place)
        };
        for line in std::iter::once(Line::SvcWebhookStore(FORMAT)).chain(lines) {
            let mut text = serde_json::to_vec(&line)?;
            text.push(b'\n');
            put(&text)?;
        }
        let mut moved = Vec::with_capacity(places.len());
        for place in places {
            moved.push(put(&self.text(*place)?)?);
        }
        writer.flush()?;
        drop(writer);
        temporary.as_file().sync_all()?;
        let file = appendable(temporary.path())?;
        temporary.persist(&self.path)?;
        self.file = file;
        (self.length, self.least) = (length, length);
        // Were the new file not under its name after all, what is appended to it would be lost.
        self.torn |= sync_folder(&self.path).is_err();
        Ok(moved)
    }
}

/// Keeps a second listener away from the same store.
fn lock(path: &Path) -> Result<File, Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let cannot = |error: &io::Error| Failure::file("cannot lock the store", &name, error);
    let file = appendable(&name).map_err(|error| cannot(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::other(format!(
            "another svc webhook listen uses the store {}",
            path.display()
        ))
        .next("name another file with --store, or end the other one")),
        Err(TryLockError::Error(error)) => Err(cannot(&error)),
    }
}

/// Only its owner can read it: events are nobody else's business.
fn appendable(path: &Path) -> io::Result<File> {
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
