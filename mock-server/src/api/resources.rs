//! How the things that jobs make are read: by id, page by page, and beside the job in a receipt.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus};

use super::api_error::ApiError;
use super::job_view::{artifacts, error_of};
use super::pagination;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::jobs::Job;
use crate::engine::resources::{Kind, Resource, ResourceDetails};
use crate::engine::{Hosts, State};

/// The resource of that kind that the path names, in the key's workspace.
pub(super) fn find<'r>(request: &'r Request<'_>, kind: Kind) -> Result<&'r Resource, ApiError> {
    let resource = request.state.resources.by_id(request.id());
    let ours = resource.filter(|resource| {
        resource.workspace == request.workspace() && resource.details.kind() == kind
    });
    ours.ok_or_else(not_found)
}

/// What is said where there is none.
pub(super) fn not_found() -> ApiError {
    let message = "There is nothing of that id in this workspace.";
    ApiError::new(ErrorCode::NotFound, message)
}

/// The resource of that kind that the path names, as it is read.
pub(super) fn get(request: &mut Request<'_>, kind: Kind) -> ApiResult {
    let resource = find(request, kind)?;
    Ok(ApiResponse::data(
        200,
        view(request.state, resource, request.hosts),
    ))
}

/// Those of a kind, newest first; `limit` and `cursor` page through them.
pub(super) fn list(request: &mut Request<'_>, kind: Kind) -> ApiResult {
    let limit = pagination::limit(request)?;
    let (state, workspace) = (&*request.state, request.workspace());
    let resources = &state.resources;
    let before = match request.parameter("cursor")? {
        None => None,
        Some(id) => {
            let known = resources.by_id(&id).filter(|resource| {
                resource.workspace == workspace && resource.details.kind() == kind
            });
            let number = known.and_then(|resource| resources.number(&resource.id));
            Some(number.ok_or_else(pagination::invalid_cursor)?)
        }
    };
    let (page, next) = pagination::page(resources.newest_first(workspace, kind, before), limit);
    let items = page
        .into_iter()
        .map(|resource| view(state, resource, request.hosts))
        .collect();
    Ok(ApiResponse::page(items, next.map(|last| last.id.as_str())))
}

/// A resource as it is read.
pub(super) fn view(state: &State, resource: &Resource, hosts: &Hosts) -> Value {
    match state.jobs.by_id(&resource.job_id) {
        Some(job) => view_with_job(resource, job, hosts),
        None => Value::Null,
    }
}

/// What a receipt has beside the job: the name of the field, and the resource as of that job.
pub(super) fn receipt_field(
    state: &State,
    job: &Job,
    hosts: &Hosts,
) -> Option<(&'static str, Value)> {
    let resource = state.resources.by_job(&job.id)?;
    Some((
        resource.details.kind().field(),
        view_with_job(resource, job, hosts),
    ))
}

fn view_with_job(resource: &Resource, job: &Job, hosts: &Hosts) -> Value {
    let mut view = json!({
        "id": resource.id,
        "status": job.status,
        "job_id": job.id,
        "created_at": job.timeline.created_at().to_string(),
    });
    let made = artifacts(job, hosts);
    let more = match &resource.details {
        ResourceDetails::Avatar { handle, .. } => json!({
            "avatar_handle": handle,
            "name": display_name(handle),
            "first_party": false,
            "tags": [],
            "image_url": made.first().map(|artifact| artifact["url"].clone()),
        }),
        ResourceDetails::AvatarVideo { speech, preview_id } => json!({
            "avatar_handle": speech.avatar_handle,
            "script": speech.text,
            "quality": speech.quality,
            "duration_seconds": speech.seconds(),
            "preview_id": preview_id,
            "artifacts": made,
        }),
        ResourceDetails::Preview { speech } => json!({
            "avatar_handle": speech.avatar_handle,
            "script": speech.text,
            "quality": speech.quality,
            "duration_seconds": speech.preview_seconds(),
            "artifacts": made,
        }),
        ResourceDetails::Captions {
            video_url,
            language,
        } => json!({"video_url": video_url, "language": language, "artifacts": made}),
    };
    let (Value::Object(fields), Value::Object(more)) = (&mut view, more) else {
        return view;
    };
    fields.extend(more);
    if let (JobStatus::Failed, Some(error)) = (&job.status, error_of(job)) {
        fields.insert("error".to_owned(), error);
    }
    view
}

/// A name for people: the handle's words with capitals.
fn display_name(handle: &str) -> String {
    let words = handle.split(['-', '_']).map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_gives_a_name() {
        assert_eq!(display_name("mia"), "Mia");
        assert_eq!(display_name("news-anchor_2"), "News Anchor 2");
        assert_eq!(display_name("x-"), "X");
    }
}
