//! A file that was downloaded.

use std::path::PathBuf;

/// A downloaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DownloadedFile {
    /// The position of its artifact in the result, starting at 0.
    pub index: usize,
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The number of bytes that were already present from an interrupted download.
    pub resumed_from: u64,
    /// What happened to the file.
    pub status: FileStatus,
}

/// What a download did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileStatus {
    /// The file is new.
    Created,
    /// The file is new, and has another name than intended, as another file has that one.
    Renamed,
    /// The file replaced one with another content ([`IfExists::Overwrite`](super::IfExists)).
    Replaced,
    /// A file with the same content was already there. It was not changed.
    Unchanged,
    /// A file was already there, so nothing was downloaded ([`IfExists::Skip`](super::IfExists)).
    Skipped,
}
