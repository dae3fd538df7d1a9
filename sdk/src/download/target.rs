//! The names under which complete files are stored, without replacing other files.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;

use super::options::IfExists;
use super::partial_file::{PartialFile, file_error};
use super::progress::FileStatus;
use crate::error::Result;

/// The maximum number of files with the same name and different contents.
const MAX_COPIES: u32 = 1000;

/// The name of a file, and the names that it gets if that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    path: PathBuf,
    /// The number in the first name to use: 0 is the path itself.
    first_number: u32,
}

impl Target {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, first_number: 0 }
    }

    /// Returns the targets of several files in a folder, in their order.
    ///
    /// Files with the same name get different targets. They depend on the names alone, so that a
    /// repeated download resumes and compares the right files.
    pub(super) fn distinct(folder: &Path, names: impl IntoIterator<Item = String>) -> Vec<Self> {
        let mut taken = HashSet::new();
        let targets = names.into_iter().map(|name| {
            let mut target = Self::new(folder.join(name));
            while !taken.insert(comparable_name(&target.path())) {
                target.first_number += 1;
            }
            target
        });
        targets.collect()
    }

    /// Returns the path of the file, if its name is not taken.
    pub(super) fn path(&self) -> PathBuf {
        numbered(&self.path, self.first_number)
    }

    /// Returns the length of what exists at the path. A symbolic link is not followed.
    pub(super) async fn existing_length(&self) -> Option<u64> {
        let metadata = tokio::fs::symlink_metadata(self.path()).await.ok()?;
        Some(metadata.len())
    }

    fn candidates(&self) -> impl Iterator<Item = PathBuf> {
        (self.first_number..self.first_number + MAX_COPIES)
            .map(|number| numbered(&self.path, number))
    }
}

/// The files that one download has stored.
#[derive(Debug)]
pub(super) struct StoredFiles {
    pub(super) if_exists: IfExists,
    /// The comparable names of the stored files.
    stored: Mutex<HashSet<String>>,
}

impl StoredFiles {
    pub(super) fn new(if_exists: IfExists) -> Self {
        Self { if_exists, stored: Mutex::default() }
    }

    /// Moves a complete file to its target, or next to it if another file has the name.
    ///
    /// Returns the path, and what happened to the file there.
    pub(super) async fn store(
        &self,
        mut file: PartialFile,
        target: &Target,
    ) -> Result<(PathBuf, FileStatus)> {
        file.sync().await.map_err(file_error(&target.path()))?;
        let mut stored = self.stored.lock().await;
        for path in target.candidates() {
            let name = comparable_name(&path);
            // Files of the same download are all kept, also if their contents are the same.
            if stored.contains(&name) {
                continue;
            }
            let status = if file.has_content_of(&path).await.unwrap_or(false) {
                file.remove().await;
                FileStatus::Unchanged
            } else if self.if_exists == IfExists::Overwrite {
                match file.rename_to(&path).await.map_err(file_error(&path))? {
                    true => FileStatus::Replaced,
                    false => FileStatus::Created,
                }
            } else if file.rename_to_new(&path).await.map_err(file_error(&path))? {
                if path == target.path() { FileStatus::Created } else { FileStatus::Renamed }
            } else {
                continue;
            };
            stored.insert(name);
            return Ok((path, status));
        }
        let error = io::Error::other("too many files with this name");
        Err(file_error(&target.path)(error))
    }
}

/// Returns the lower-case name of a file, as file systems may ignore case.
fn comparable_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_lowercase()
}

/// Returns the path with a number after the file stem, such as `art_1-2.png`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_the_same_name_get_different_targets() {
        let names = ["a.png", "b", "A.PNG", "a-1.png", "b", "a.png"];
        let targets = Target::distinct(Path::new("out"), names.map(str::to_owned));
        let paths: Vec<_> = targets.iter().map(Target::path).collect();
        let expected = ["a.png", "b", "A-1.PNG", "a-1-1.png", "b-1", "a-2.png"];
        assert_eq!(paths, expected.map(|name| Path::new("out").join(name)));
    }
}
