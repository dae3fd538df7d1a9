//! The batches of this machine: where their journals are, and what they submitted.

use std::io;
use std::path::{Path, PathBuf};

use super::journal::{Journal, Stored, resource_id};
use crate::input::{parent_dir, private_append, read_or_empty};

/// The file with the paths of the journals, in the folder of the state.
const FILE: &str = "batches.txt";

/// A job or run of a batch.
pub(crate) struct KnownItem {
    pub(crate) id: String,
    pub(crate) operation: String,
    /// The name of the journal's file, without what all of them end in.
    pub(crate) batch: String,
}

pub(super) fn remember(folder: &Path, journal: &Path) -> io::Result<()> {
    let path = std::path::absolute(journal)?.display().to_string();
    let file = folder.join(FILE);
    if read_or_empty(&file)?.lines().any(|line| line == path) || path.contains('\n') {
        return Ok(());
    }
    std::fs::create_dir_all(parent_dir(&file))?;
    io::Write::write_all(
        &mut private_append().create(true).open(&file)?,
        format!("{path}\n").as_bytes(),
    )
}

/// Returns the jobs and runs of all batches whose journals are still there.
pub(crate) async fn known_items(folder: &Path) -> Vec<KnownItem> {
    let paths = read_or_empty(&folder.join(FILE)).unwrap_or_default();
    let mut items = Vec::new();
    for path in paths.lines().map(PathBuf::from).filter(|path| path.exists()) {
        let Ok(journal) = Journal::read_only(&path).await else { continue };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let batch = name.strip_suffix(".journal.jsonl").unwrap_or(&name);
        // What cannot be read is not known.
        let _ = journal
            .read(|stored| {
                if let Stored::Submission(entry) = stored
                    && let (Some(id), Some(operation)) = (resource_id(&entry), entry.operation)
                {
                    items.push(KnownItem {
                        id: id.id().to_owned(),
                        operation: operation.name().to_owned(),
                        batch: batch.to_owned(),
                    });
                }
            })
            .await;
    }
    items
}
