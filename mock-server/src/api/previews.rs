//! Previews of avatar videos: free, short and small. A preview can be made again under its id, and
//! the video be made from it.

use svc_sdk::contract::{ErrorCode, JobStatus};

use super::api_error::ApiError;
use super::avatar_videos::{portrait_video, read_speech, video_draft};
use super::fields::Fields;
use super::generation::{COMMON_FIELDS, communication};
use super::request::Request;
use super::resources::find;
use super::response::ApiResult;
use super::submit::{self, JobDraft, ResourceChange};
use crate::engine::directives::Directives;
use crate::engine::jobs::JobType;
use crate::engine::resources::{Kind, ResourceDetails};
use crate::engine::speech::Speech;
use crate::engine::versioned_models::price;

/// `POST /v1/avatar-video-previews`: the fields of the avatar video.
pub(super) fn create(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |request, fields| {
        let (speech, directives) = read_speech(request, fields)?;
        let draft = preview_draft(&speech, directives);
        Ok((
            draft,
            ResourceChange::Create(ResourceDetails::Preview { speech }),
        ))
    })
}

/// `POST /v1/avatar-video-previews/{id}/regenerate`: the same preview once more, after its job
/// ended in whatever way.
pub(super) fn regenerate(request: &mut Request<'_>) -> ApiResult {
    let preview = find_in_path(request)?;
    submit::submit_versioned(request, |_, fields| {
        deny_all_but_communication(fields)?;
        if !preview.status.is_terminal() {
            return Err(preview.not_ready());
        }
        let draft = preview_draft(&preview.speech, preview.directives());
        Ok((draft, ResourceChange::Regenerate(preview.id)))
    })
}

/// `POST /v1/avatar-video-previews/{id}/generate-video`: the video of a completed preview.
pub(super) fn generate_video(request: &mut Request<'_>) -> ApiResult {
    let preview = find_in_path(request)?;
    submit::submit_versioned(request, |_, fields| {
        deny_all_but_communication(fields)?;
        if preview.status != JobStatus::Completed {
            return Err(preview.not_ready());
        }
        let draft = video_draft(&preview.speech, preview.directives());
        let about = ResourceDetails::AvatarVideo {
            speech: preview.speech,
            preview_id: Some(preview.id),
        };
        Ok((draft, ResourceChange::Create(about)))
    })
}

/// A preview, and how it stands.
struct Preview {
    id: String,
    speech: Speech,
    status: JobStatus,
    next_poll: std::time::Duration,
}

impl Preview {
    /// The magic words of its script go on.
    fn directives(&self) -> Directives {
        Directives::parse([self.speech.text.as_str()])
    }

    fn not_ready(&self) -> ApiError {
        let message = format!("The preview is {}.", self.status);
        ApiError::new(ErrorCode::JobNotCompleted, message)
            .detail("status", serde_json::json!(self.status))
            .retry_after(self.next_poll)
    }
}

fn find_in_path(request: &Request<'_>) -> Result<Preview, ApiError> {
    let resource = find(request, Kind::Preview)?;
    let job = request.state.jobs.by_id(&resource.job_id);
    match (&resource.details, job) {
        (ResourceDetails::Preview { speech }, Some(job)) => Ok(Preview {
            id: resource.id.clone(),
            speech: speech.clone(),
            status: job.status.clone(),
            next_poll: job.timeline.next_poll(&job.status, request.now()),
        }),
        _ => Err(super::resources::not_found()),
    }
}

/// Fields are judged before the preview's state.
fn deny_all_but_communication(fields: Fields<'_>) -> Result<(), ApiError> {
    fields.deny_unknown(|name| COMMON_FIELDS.contains(&name), "this operation")?;
    communication(fields).map(drop)
}

fn preview_draft(speech: &Speech, directives: Directives) -> JobDraft {
    JobDraft {
        job_type: JobType::AvatarVideoPreview,
        model: "avatar-1.0",
        directives,
        price: price(JobType::AvatarVideoPreview, "", 1),
        spec: portrait_video("480p", speech.preview_seconds()),
        files: 1,
    }
}
