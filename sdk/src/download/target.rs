//! The names under which complete files are stored, without replacing other files.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::partial_file::{PartialFile, file_error};
use crate::error::Result;

/// The maximum number of files with the same name and different contents.
const MAX_COPIES: u32 = 1000;

/// The files that one download has stored.
#[derive(Debug)]
pub(super) struct Targets {
    /// Whether files are replaced that this download has not stored.
    overwrite: bool,
    /// The lower-case names of the stored files, as file systems may ignore case.
    stored: HashSet<String>,
}

impl Targets {
    pub(super) fn new(overwrite: bool) -> Self {
        Self {
            overwrite,
            stored: HashSet::new(),
        }
    }

    /// Moves a complete file to `target`, or next to it if another file has the name.
    ///
    /// Returns the path, and `true` if a file with the same content was already there.
    pub(super) async fn store(
        &mut self,
        mut file: PartialFile,
        target: &Path,
    ) -> Result<(PathBuf, bool)> {
        file.sync().await?;
        for number in 0..MAX_COPIES {
            let path = numbered(target, number);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = name.to_ascii_lowercase();
            let existed = file.has_content_of(&path).await;
            if existed {
                file.remove().await;
            } else if self.overwrite && !self.stored.contains(&name) {
                file.rename_to(&path).await?;
            } else if !file.rename_to_new(&path).await? {
                continue;
            }
            self.stored.insert(name);
            return Ok((path, existed));
        }
        let error = io::Error::other("too many files with this name");
        Err(file_error(target)(error))
    }
}

/// Returns the path with a number after the file stem, such as `art_1-2.png`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{number}.{extension}"))
}
