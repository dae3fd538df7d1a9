//! Previews of avatar videos, which are free, short and small. A preview can be regenerated under
//! the same ID, and the full video can be generated from it.

use svc_sdk::contract::{ErrorCode, JobStatus};

use super::api_error::ApiError;
use super::avatar_videos::{portrait_video, read_speech, video_draft};
use super::communication::{CommunicationOptions, deny_unknown};
use super::fields::{Fields, directives};
use super::job_draft::{JobDraft, ResourceChange};
use super::jobs::next_poll;
use super::request::Request;
use super::resources::find;
use super::response::ApiResult;
use super::submit;
use crate::engine::directives::Directives;
use crate::engine::jobs::JobType;
use crate::engine::resources::{ResourceDetails, ResourceKind};
use crate::engine::speech::Speech;

/// `POST /v1/avatar-video-previews`: the same fields as for an avatar video.
pub(super) fn create(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |request, fields| {
        let (speech, directives) = read_speech(request, fields)?;
        let draft = preview_draft(&speech, directives);
        Ok((draft, ResourceChange::Create(ResourceDetails::Preview { speech })))
    })
}

/// `POST /v1/avatar-video-previews/{id}/regenerate`: possible once the job of the preview has ended,
/// with any status.
pub(super) fn regenerate(request: &mut Request<'_>) -> ApiResult {
    let preview = find_in_path(request)?;
    submit::submit_versioned(request, |_, fields| {
        deny_all_but_communication(fields)?;
        if !preview.status.is_terminal() {
            return Err(preview.not_ready());
        }
        let draft = preview_draft(&preview.speech, preview.directives()?);
        Ok((draft, ResourceChange::Regenerate(preview.id)))
    })
}

/// `POST /v1/avatar-video-previews/{id}/generate-video`: generates the video of a completed preview.
pub(super) fn generate_video(request: &mut Request<'_>) -> ApiResult {
    let preview = find_in_path(request)?;
    submit::submit_versioned(request, |_, fields| {
        deny_all_but_communication(fields)?;
        if preview.status != JobStatus::Completed {
            return Err(preview.not_ready());
        }
        let draft = video_draft(&preview.speech, preview.directives()?);
        let details =
            ResourceDetails::AvatarVideo { speech: preview.speech, preview_id: Some(preview.id) };
        Ok((draft, ResourceChange::Create(details)))
    })
}

/// A preview with the status of its job.
struct Preview {
    id: String,
    speech: Speech,
    status: JobStatus,
    next_poll: std::time::Duration,
}

impl Preview {
    /// Returns the directives of the script, which apply to later jobs as well.
    fn directives(&self) -> Result<Directives, ApiError> {
        directives([self.speech.text.as_str()])
    }

    fn not_ready(&self) -> ApiError {
        let code = ErrorCode::JobNotCompleted;
        ApiError::not_terminal(code, "preview", &self.status, self.next_poll)
    }
}

fn find_in_path(request: &Request<'_>) -> Result<Preview, ApiError> {
    let resource = find(request, ResourceKind::Preview)?;
    let job = request.state.jobs.by_id(&resource.job_id);
    match (&resource.details, job) {
        (ResourceDetails::Preview { speech }, Some(job)) => Ok(Preview {
            id: resource.id.clone(),
            speech: speech.clone(),
            status: job.status.clone(),
            next_poll: next_poll(request, job),
        }),
        _ => Err(super::resources::not_found()),
    }
}

/// Validates the fields. The handlers do this before they check the status of the preview.
fn deny_all_but_communication(fields: Fields<'_>) -> Result<(), ApiError> {
    deny_unknown(fields, |_| false, "this operation")?;
    CommunicationOptions::parse(fields).map(drop)
}

fn preview_draft(speech: &Speech, directives: Directives) -> JobDraft {
    let spec = portrait_video("480p", speech.preview_seconds());
    JobDraft::of_product(JobType::AvatarVideoPreview, "", 1, spec, directives)
}
