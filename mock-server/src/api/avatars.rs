//! Avatars: generate, list, get, and search the catalog.
//!
//! A key can read the avatars of its workspace and the first-party ones. `avatar-1.0` generated
//! those of the workspace and two first-party ones. An avatar is listed once its job has completed;
//! until then, it can only be read by its ID.

use serde_json::{Value, json};
use svc_sdk::contract::JobStatus;

use super::api_error::ApiError;
use super::communication::deny_unknown;
use super::fields::Fields;
use super::job_draft::{JobDraft, ResourceChange};
use super::references::MediaKind;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use super::{pagination, resources, search, submit};
use crate::catalog_data::avatars::{self, AVATARS, CatalogAvatar};
use crate::catalog_data::matches_all_words;
use crate::engine::Hosts;
use crate::engine::jobs::JobType;
use crate::engine::resources::{Resource, ResourceDetails, ResourceKind};
use crate::media::Spec;

const MAX_HANDLE_CHARS: usize = 40;

/// `POST /v1/avatar-1.0/generate`.
pub(super) fn generate(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, read)
}

/// Reads the fields of a new avatar: an unused `avatar_handle`, and `input` with exactly one of
/// `prompt`, `props` and `image_url` (or its alias `photo`).
fn read(request: &Request<'_>, fields: Fields<'_>) -> Result<(JobDraft, ResourceChange), ApiError> {
    deny_unknown(fields, |name| matches!(name, "avatar_handle" | "input"), "avatar-1.0")?;
    let handle = fields.required_text("avatar_handle")?;
    if !is_valid_handle(handle) {
        let problem = "must be 1 to 40 lowercase letters, digits, `-` or `_`";
        return Err(fields.error("avatar_handle", problem));
    }
    if avatars::by_handle(handle).is_some() || own_avatar(request, handle).is_some() {
        return Err(fields.error("avatar_handle", "is already in use"));
    }
    let input = fields.object("input")?.ok_or_else(|| fields.error("input", "is required"))?;
    let inputs = ["prompt", "props", "image_url", "photo"];
    let input_fields = fields.within("input.", input);
    input_fields.deny_unknown(|name| inputs.contains(&name), "an avatar's input")?;
    if input.len() != 1 {
        let problem = "must have exactly one of `prompt`, `props` and `image_url`";
        return Err(fields.error("input", problem));
    }
    input_fields.non_blank_text("prompt")?;
    input_fields.media_url("image_url", MediaKind::Image)?;
    input_fields.media_url("photo", MediaKind::Image)?;
    if input_fields.object("props")?.is_some_and(serde_json::Map::is_empty) {
        return Err(input_fields.error("props", "must not be empty"));
    }
    let spec = Spec::Image { width: 720, height: 720, seed: 0 };
    let draft = JobDraft::of_product(JobType::AvatarGeneration, "", 1, spec, fields.directives()?);
    let details = ResourceDetails::Avatar { handle: handle.to_owned(), is_ready: false };
    Ok((draft, ResourceChange::Create(details)))
}

fn is_valid_handle(text: &str) -> bool {
    let is_handle_byte = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    (1..=MAX_HANDLE_CHARS).contains(&text.len()) && text.bytes().all(is_handle_byte)
}

/// Returns the workspace's avatar with this handle, completed or still in progress. The handle of
/// an avatar whose job failed or was canceled can be used again.
fn own_avatar<'r>(request: &'r Request<'_>, handle: &str) -> Option<&'r Resource> {
    let state = &*request.state;
    let avatar = state.resources.by_handle(request.workspace(), handle)?;
    let job = state.jobs.by_id(&avatar.job_id)?;
    let is_released = matches!(job.status, JobStatus::Failed | JobStatus::Canceled);
    (!is_released).then_some(avatar)
}

/// Reads the required field `avatar_handle`, which must name a completed avatar.
pub(super) fn completed_avatar_handle<'b>(
    request: &Request<'_>,
    fields: Fields<'b>,
) -> Result<&'b str, ApiError> {
    let handle = fields.required_text("avatar_handle")?;
    let is_completed = |avatar: &Resource| {
        matches!(avatar.details, ResourceDetails::Avatar { is_ready: true, .. })
    };
    if avatars::by_handle(handle).is_some() || own_avatar(request, handle).is_some_and(is_completed)
    {
        return Ok(handle);
    }
    Err(fields.error("avatar_handle", "is not the handle of a completed avatar"))
}

/// An avatar in a list. The workspace's own come first, newest first.
#[derive(Clone, Copy)]
enum ListedAvatar<'s> {
    Own(&'s Resource),
    Catalog(&'static CatalogAvatar),
}

impl ListedAvatar<'_> {
    fn id(&self) -> &str {
        match self {
            Self::Own(resource) => &resource.id,
            Self::Catalog(avatar) => avatar.id,
        }
    }
}

/// `GET /v1/avatar-1.0/avatars`, the avatars that `avatar-1.0` generated, and `GET /v1/avatars`, all that
/// the key can read.
pub(super) fn list(request: &mut Request<'_>, is_listed: fn(&CatalogAvatar) -> bool) -> ApiResult {
    let limit = pagination::limit(request)?;
    let (state, workspace) = (&*request.state, request.workspace());
    let catalog: Vec<_> = AVATARS.iter().filter(|avatar| is_listed(avatar)).collect();
    // The page starts before this number of the workspace's avatars, and after this many of the
    // catalog.
    let mut skipped = 0;
    let before = pagination::before(request, |id| {
        match catalog.iter().position(|avatar| avatar.id == id) {
            Some(index) => {
                skipped = index + 1;
                Some(0)
            }
            None => resources::listed_number(request, ResourceKind::Avatar, id),
        }
    })?;
    let own = state.resources.newest_first(workspace, ResourceKind::Avatar, before);
    let from_catalog = catalog.into_iter().skip(skipped);
    let all = own.map(ListedAvatar::Own).chain(from_catalog.map(ListedAvatar::Catalog));
    let (page, next) = pagination::page(all, limit);
    let items = page
        .iter()
        .map(|avatar| match avatar {
            ListedAvatar::Own(resource) => resources::view(state, resource, request.hosts),
            ListedAvatar::Catalog(avatar) => catalog_view(avatar, request.hosts),
        })
        .collect();
    Ok(ApiResponse::page(items, next.as_ref().map(ListedAvatar::id)))
}

/// `GET /v1/avatar-1.0/avatars/{id}` and `GET /v1/avatars/{id}`.
pub(super) fn get(request: &mut Request<'_>, is_visible: fn(&CatalogAvatar) -> bool) -> ApiResult {
    match avatars::by_id(request.id()).filter(|avatar| is_visible(avatar)) {
        Some(avatar) => Ok(ApiResponse::data(200, catalog_view(avatar, request.hosts))),
        None => resources::get(request, ResourceKind::Avatar),
    }
}

/// `POST /v1/avatar-catalog/search`: first-party avatars by name, handle and tags.
pub(super) fn search_catalog(request: &mut Request<'_>) -> ApiResult {
    let (query, limit) = search::read_query(request)?;
    let matches = AVATARS.iter().filter(|avatar| {
        let texts = [avatar.name, avatar.handle].into_iter();
        matches_all_words(query, texts.chain(avatar.tags.iter().copied()))
    });
    let views = matches.map(|avatar| catalog_view(avatar, request.hosts));
    Ok(ApiResponse::list(views.take(limit).collect()))
}

fn catalog_view(avatar: &CatalogAvatar, hosts: &Hosts) -> Value {
    json!({
        "id": avatar.id,
        "avatar_handle": avatar.handle,
        "name": avatar.name,
        "status": JobStatus::Completed,
        "first_party": true,
        "tags": avatar.tags,
        "image_url": format!("{}/artifacts/{}.png", hosts.media, avatar.id),
        "created_at": avatars::CREATED_AT,
    })
}
