//! A job as the screen shows it.

use std::path::PathBuf;

use svc_sdk::types::{Job, JobId};

use crate::journal::label;
use crate::output::values::{money, time_ago};
use crate::text::counted;

#[derive(Debug)]
pub(super) struct JobRow {
    pub(super) id: JobId,
    /// The beginning of its prompt, if it was submitted from this machine.
    pub(super) label: Option<String>,
    /// The job as it was last read, or `None` before that.
    pub(super) job: Option<Job>,
    pub(super) download: DownloadState,
    pub(super) error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum DownloadState {
    #[default]
    None,
    Running {
        bytes: u64,
        total: Option<u64>,
    },
    Done {
        files: Vec<PathBuf>,
    },
    Failed,
}

impl JobRow {
    pub(super) fn new(id: JobId, label: Option<String>) -> Self {
        Self { id, label, job: None, download: DownloadState::None, error: None }
    }

    /// Returns the beginning of its prompt, or else of the name in its metadata.
    pub(super) fn name(&self) -> String {
        let name = || self.job.as_ref()?.metadata.as_ref()?.get("name")?.as_str();
        self.label.clone().or_else(|| label(name()?)).unwrap_or_default()
    }

    pub(super) fn status(&self) -> String {
        match (&self.job, &self.error) {
            (_, Some(_)) => "unknown".to_owned(),
            (Some(job), None) => job.status.to_string(),
            (None, None) => "…".to_owned(),
        }
    }

    pub(super) fn kind(&self) -> String {
        let kind = self.job.as_ref().and_then(|job| job.job_type.as_ref());
        kind.map(ToString::to_string).unwrap_or_default()
    }

    pub(super) fn model(&self) -> String {
        self.job.as_ref().and_then(|job| job.model.clone()).unwrap_or_default()
    }

    pub(super) fn age(&self) -> String {
        time_ago(self.job.as_ref().and_then(|job| job.created_at.as_ref()))
    }

    pub(super) fn price(&self) -> String {
        let price = self.job.as_ref().and_then(|job| job.price_usd);
        price.map(money).unwrap_or_default()
    }

    /// Returns how far the download of the files is, or how it ended.
    pub(super) fn files(&self) -> String {
        match &self.download {
            DownloadState::None => String::new(),
            DownloadState::Running { bytes, total: Some(total) } if *total > 0 => {
                format!("{} %", bytes.saturating_mul(100) / total)
            }
            DownloadState::Running { bytes, .. } => format!("{bytes} bytes"),
            DownloadState::Done { files } => counted(files.len(), "file"),
            DownloadState::Failed => "download failed".to_owned(),
        }
    }

    /// Returns whether a text, in lower case, is part of what is known of the job.
    pub(super) fn contains(&self, text: &str) -> bool {
        let status = self.job.as_ref().map(|job| job.status.to_string()).unwrap_or_default();
        [self.id.to_string(), self.name(), self.model(), status, self.kind()]
            .iter()
            .any(|part| part.to_lowercase().contains(text))
    }
}
