//! Resources that jobs create, such as avatars and previews: get, list, and their field in receipts.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus};

use super::api_error::ApiError;
use super::job_view::{ArtifactView, error_of};
use super::pagination;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::jobs::Job;
use crate::engine::resources::{Resource, ResourceDetails, ResourceKind};
use crate::engine::{Hosts, State};
use crate::json_object::set_field;

/// Returns the resource that the path names, if it is of this kind and in the key's workspace.
pub(super) fn find<'r>(
    request: &'r Request<'_>,
    kind: ResourceKind,
) -> Result<&'r Resource, ApiError> {
    let resource = request.state.resources.by_id(request.id());
    let resource = resource.filter(|resource| {
        resource.workspace == request.workspace() && resource.details.kind() == kind
    });
    resource.ok_or_else(not_found)
}

pub(super) fn not_found() -> ApiError {
    let message = "no resource with this ID in this workspace";
    ApiError::new(ErrorCode::NotFound, message)
}

pub(super) fn get(request: &mut Request<'_>, kind: ResourceKind) -> ApiResult {
    let resource = find(request, kind)?;
    Ok(ApiResponse::data(200, view(request.state, resource, request.hosts)))
}

/// Lists the resources of a kind, newest first. `limit` and `cursor` page through them.
pub(super) fn list(request: &mut Request<'_>, kind: ResourceKind) -> ApiResult {
    let limit = pagination::limit(request)?;
    let (state, workspace) = (&*request.state, request.workspace());
    let before = pagination::before(request, |id| listed_number(request, kind, id))?;
    let newest_first = state.resources.newest_first(workspace, kind, before);
    let (page, next) = pagination::page(newest_first, limit);
    let items = page.into_iter().map(|resource| view(state, resource, request.hosts)).collect();
    Ok(ApiResponse::page(items, next.map(|last| last.id.as_str())))
}

/// Returns the number of a resource, if it is in the list of its kind.
pub(super) fn listed_number(request: &Request<'_>, kind: ResourceKind, id: &str) -> Option<usize> {
    let resources = &request.state.resources;
    let is_listed = resources.by_id(id).is_some_and(|resource| {
        resource.workspace == request.workspace() && resource.details.kind() == kind
    });
    resources.number(id).filter(|_| is_listed)
}

pub(super) fn view(state: &State, resource: &Resource, hosts: &Hosts) -> Value {
    match state.jobs.by_id(&resource.job_id) {
        Some(job) => view_with_job(resource, job, hosts),
        None => Value::Null,
    }
}

/// Returns the field that the receipt of a job has for its resource: the name and the view.
pub(super) fn receipt_field(
    state: &State,
    job: &Job,
    hosts: &Hosts,
) -> Option<(&'static str, Value)> {
    let resource = state.resources.by_job(&job.id)?;
    Some((resource.details.kind().field(), view_with_job(resource, job, hosts)))
}

fn view_with_job(resource: &Resource, job: &Job, hosts: &Hosts) -> Value {
    let mut view = json!({
        "id": resource.id,
        "status": job.status,
        "job_id": job.id,
        "created_at": job.timeline.created_at().to_string(),
    });
    let artifacts = ArtifactView::of_job(job, hosts);
    let details = match &resource.details {
        ResourceDetails::Avatar { handle, .. } => json!({
            "avatar_handle": handle,
            "name": display_name(handle),
            "first_party": false,
            "tags": [],
            "image_url": artifacts.first().map(|artifact| &artifact.url),
        }),
        ResourceDetails::AvatarVideo { speech, preview_id } => json!({
            "avatar_handle": speech.avatar_handle,
            "script": speech.text,
            "quality": speech.quality,
            "duration_seconds": speech.seconds(),
            "preview_id": preview_id,
            "artifacts": artifacts,
        }),
        ResourceDetails::Preview { speech } => json!({
            "avatar_handle": speech.avatar_handle,
            "script": speech.text,
            "quality": speech.quality,
            "duration_seconds": speech.preview_seconds(),
            "artifacts": artifacts,
        }),
        ResourceDetails::Captions { video_url, language } => {
            json!({"video_url": video_url, "language": language, "artifacts": artifacts})
        }
    };
    if let (Value::Object(fields), Value::Object(details)) = (&mut view, details) {
        fields.extend(details);
    }
    if job.status == JobStatus::Failed {
        set_field(&mut view, "error", error_of(job));
    }
    view
}

/// Returns the display name for a handle: its words, capitalized.
fn display_name(handle: &str) -> String {
    let words = handle.split(['-', '_']).map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ").trim().to_owned()
}
