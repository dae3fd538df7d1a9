//! The options that all downloads have.

use std::sync::Arc;
use std::time::Duration;

use super::progress::OnProgress;
use crate::call::Core;
use crate::call::deadline::Deadline;
use crate::error::{Error, Kind, ResourceRef};
use crate::types::IdempotencyKey;

/// The default time limit of a download.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// What a download does if a file with the chosen name exists.
///
/// Unless it is [`Skip`](Self::Skip), the artifact is downloaded, and an existing file with the same
/// content is kept as it is. A symbolic link counts as a file with another content: it is never
/// followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IfExists {
    /// Stores the new file under another name, such as `art_1-1.png`.
    #[default]
    Rename,
    /// Replaces the existing file, at the moment when the new one is complete.
    Overwrite,
    /// Keeps the existing file, whatever its content, and downloads nothing.
    Skip,
}

/// The options of a download, and the resource that it belongs to.
#[derive(Clone)]
pub(crate) struct DownloadOptions {
    pub(super) core: Arc<Core>,
    resource: ResourceRef,
    /// The id of the job or run.
    pub(super) resource_id: String,
    idempotency_key: Option<IdempotencyKey>,
    pub(super) timeout: Option<Duration>,
    pub(super) if_exists: IfExists,
    pub(super) on_progress: Option<OnProgress>,
}

impl DownloadOptions {
    pub(crate) fn new(
        core: Arc<Core>,
        resource: ResourceRef,
        resource_id: &str,
        idempotency_key: Option<IdempotencyKey>,
    ) -> Self {
        Self {
            core,
            resource,
            resource_id: resource_id.to_owned(),
            idempotency_key,
            timeout: Some(DEFAULT_TIMEOUT),
            if_exists: IfExists::default(),
            on_progress: None,
        }
    }

    /// Returns the job or run that the artifacts belong to.
    pub(super) fn resource(&self) -> &ResourceRef {
        &self.resource
    }

    /// Returns the deadline of a download that begins now.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline::after(self.timeout.unwrap_or(Duration::MAX))
    }

    /// Adds the job or run and the idempotency key to an error.
    pub(super) fn annotate(&self, error: Error) -> Error {
        error.with_resource(self.resource.clone()).with_key(self.idempotency_key.as_ref())
    }
}

/// The setters that [`Download`](super::Download) and
/// [`ArtifactDownload`](super::ArtifactDownload) share.
macro_rules! download_options {
    ($type:ident) => {
        impl $type {
            /// Sets the time limit of the whole download. The default is one hour.
            ///
            /// A later download to the same place resumes the file that was interrupted.
            pub fn timeout(mut self, timeout: Duration) -> Self {
                self.options.timeout = Some(timeout);
                self
            }

            /// Removes the time limit.
            pub fn no_timeout(mut self) -> Self {
                self.options.timeout = None;
                self
            }

            /// Sets what happens if a file exists. The default is [`IfExists::Rename`].
            ///
            /// Files of the same download never replace each other.
            pub fn if_exists(mut self, if_exists: IfExists) -> Self {
                self.options.if_exists = if_exists;
                self
            }

            /// Calls a function with each progress event.
            ///
            /// The download waits until the function returns.
            pub fn on_progress(
                mut self,
                on_progress: impl Fn(DownloadProgress) + Send + Sync + 'static,
            ) -> Self {
                self.options.on_progress = Some(Arc::new(on_progress));
                self
            }
        }
    };
}
pub(super) use download_options;

/// Returns the error of a download whose time limit has passed.
pub(super) fn timed_out(deadline: &Deadline) -> Error {
    Error::new(Kind::Timeout { timeout: deadline.timeout(), sent: true, last: None })
}
