//! The batches of this machine: where their journals are, and what they submitted.

use std::io;
use std::path::{Path, PathBuf};

use super::journal::{DEFAULT_SUFFIX, Journal, Stored, resource_id};
use super::report::label_of;
use crate::config::state_dir;
use crate::error::{Failure, Result};
use crate::input::{parent_dir, private_append, read_or_empty};
use crate::session::Session;

const FILE: &str = "batches.txt";

pub(crate) struct KnownItem {
    pub(crate) id: String,
    pub(crate) operation: String,
    pub(crate) batch: String,
    pub(crate) label: Option<String>,
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

/// Returns the jobs and runs of all batches that have a journal, and why some are missing.
pub(crate) async fn known_items(session: &Session) -> Result<(Vec<KnownItem>, Vec<String>)> {
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    if session.is_sandbox() {
        return Ok((items, problems));
    }
    let file = state_dir(session.environment())?.join(FILE);
    let paths = read_or_empty(&file)
        .map_err(|error| Failure::file("cannot read the list of batches", &file, &error))?;
    for path in paths.lines().map(PathBuf::from).filter(|path| path.exists()) {
        let read = read_items(&path, &mut items).await;
        if let Err(failure) = read {
            let (path, why) = (path.display(), failure.headline());
            problems.push(format!("the items of the batch in {path} are left out: {why}"));
        }
    }
    Ok((items, problems))
}

async fn read_items(path: &Path, items: &mut Vec<KnownItem>) -> Result {
    let journal = Journal::read_only(path).await?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let batch = name.strip_suffix(DEFAULT_SUFFIX).unwrap_or(&name);
    let visit = |stored| {
        if let Stored::Submission(entry) = stored
            && let (Some(id), Some(operation)) = (resource_id(&entry), entry.operation)
        {
            items.push(KnownItem {
                id: id.id().to_owned(),
                operation: operation.name().to_owned(),
                batch: batch.to_owned(),
                label: label_of(&entry).map(str::to_owned),
            });
        }
    };
    journal.read(visit).await
}
