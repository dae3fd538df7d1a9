//! What the keys of the screen start: cancelations, downloads, and opening files.

use std::path::{Path, PathBuf};

use svc_sdk::download::DownloadEvent;
use svc_sdk::types::{Job, JobId};
use svc_sdk::{Client, Surface};
use tokio::sync::mpsc::UnboundedSender;

use crate::download::open_file;
use crate::error::Failure;
use crate::text::counted;

use super::model::{DownloadState, Model};

/// What a task reports to the screen.
#[derive(Debug)]
pub(super) enum TaskEvent {
    Canceled(Box<Job>),
    Downloading {
        id: JobId,
        bytes: u64,
        total: Option<u64>,
    },
    Downloaded {
        id: JobId,
        files: Vec<PathBuf>,
        opens: bool,
    },
    DownloadFailed {
        id: JobId,
        reason: String,
    },
    Failed(String),
}

/// Returns why a request failed, as other commands say it.
pub(super) fn reason(error: svc_sdk::Error) -> String {
    Failure::from(error).headline()
}

/// Cancels a job.
pub(super) async fn cancel<S: Surface>(
    client: Client<S>,
    id: JobId,
    sender: UnboundedSender<TaskEvent>,
) {
    let event = match client.jobs().handle(&id).cancel().await {
        Ok(job) => TaskEvent::Canceled(Box::new(job)),
        Err(error) => TaskEvent::Failed(format!("could not cancel {id}: {}", reason(error))),
    };
    let _ = sender.send(event);
}

/// Downloads the files of a job, and opens them if that is asked for.
pub(super) async fn download<S: Surface>(
    client: Client<S>,
    id: JobId,
    folder: PathBuf,
    opens: bool,
    sender: UnboundedSender<TaskEvent>,
) {
    let (progress, job) = (sender.clone(), id.clone());
    let download = client
        .jobs()
        .handle(&id)
        .download(&folder)
        .on_progress(move |event| {
            if let DownloadEvent::Advanced { bytes, total, .. } = event.event {
                let id = job.clone();
                let _ = progress.send(TaskEvent::Downloading { id, bytes, total });
            }
        });
    let event = match download.await {
        Ok(files) => {
            let files = files.into_iter().map(|file| file.path).collect();
            TaskEvent::Downloaded { id, files, opens }
        }
        Err(error) => {
            let reason = reason(error);
            TaskEvent::DownloadFailed { id, reason }
        }
    };
    let _ = sender.send(event);
}

/// Opens a file with the platform's application for it.
pub(super) async fn open(path: PathBuf, sender: UnboundedSender<TaskEvent>) {
    if let Err(reason) = open_file(&path).await {
        let message = format!("cannot open {}: {reason}", path.display());
        let _ = sender.send(TaskEvent::Failed(message));
    }
}

/// Shows on the screen what a task reports. Returns the files that are to be opened.
pub(super) fn apply_task_event(model: &mut Model, event: TaskEvent, folder: &Path) -> Vec<PathBuf> {
    match event {
        TaskEvent::Canceled(job) => {
            model.set_message(format!("{} is {}", job.id, job.status), false);
            model.update(*job);
        }
        TaskEvent::Downloading { id, bytes, total } => {
            if let Some(row) = model.row_mut(&id) {
                row.download = DownloadState::Running { bytes, total };
            }
        }
        TaskEvent::Downloaded { id, files, opens } => {
            let folder = folder.display();
            model.set_message(
                format!(
                    "downloaded {} of {id} to {folder}",
                    counted(files.len(), "file")
                ),
                false,
            );
            if let Some(row) = model.row_mut(&id) {
                row.download = DownloadState::Done {
                    files: files.clone(),
                };
            }
            if opens {
                return files;
            }
        }
        TaskEvent::DownloadFailed { id, reason } => {
            model.set_message(format!("could not download {id}: {reason}"), true);
            if let Some(row) = model.row_mut(&id) {
                row.download = DownloadState::Failed;
            }
        }
        TaskEvent::Failed(message) => model.set_message(message, true),
    }
    Vec::new()
}
