//! A file that was downloaded.

use std::path::PathBuf;

/// A downloaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DownloadedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The number of bytes that were already present from an interrupted download.
    pub resumed_from: u64,
    /// Whether a file with the same content existed already. It was not changed.
    pub existed: bool,
}
