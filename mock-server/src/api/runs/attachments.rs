//! `attachments`: media that a run is given, each an asset or a public HTTPS URL. Nothing is
//! fetched: what a URL leads to is believed, but for hosts below `.invalid`, which are not there.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;
use svc_sdk::contract::limits::{MAX_ATTACHMENT_IMAGE_BYTES, MAX_ATTACHMENTS_BYTES};

use crate::api::api_error::ApiError;
use crate::api::fields::Fields;
use crate::engine::assets::Asset;
use crate::engine::destination;

/// What an item may have in it.
const FIELDS: [&str; 5] = ["asset_id", "url", "type", "media_type", "name"];
/// How many attachments share a run's budget of media. The number is the mock's own.
const MAX_ITEMS: usize = 50;

/// The attachments of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attachments {
    pub(super) count: usize,
    /// The first that cannot be fetched.
    pub(super) unreachable: Option<usize>,
}

impl Attachments {
    /// Reads the field; none is as good as no items.
    pub(super) fn parse(fields: Fields<'_>) -> Result<Self, ApiError> {
        let Some(value) = fields.value("attachments") else {
            return Ok(Self::default());
        };
        let Some(items) = value.as_array() else {
            let message = "`attachments` must be an array";
            return Err(ApiError::new(ErrorCode::InvalidAttachment, message));
        };
        if items.len() > MAX_ITEMS {
            let message = format!("`attachments` must have at most {MAX_ITEMS} items");
            let error = ApiError::new(ErrorCode::InvalidAttachment, message);
            return Err(error.detail("limit", json!(MAX_ITEMS)));
        }
        let mut bytes = 0_u64;
        let mut unreachable = None;
        for (index, item) in items.iter().enumerate() {
            match validate(item).map_err(|error| with_index(error, index))? {
                Attached::Asset(asset) => bytes = bytes.saturating_add(asset.bytes),
                Attached::Unreachable => {
                    unreachable.get_or_insert(index);
                }
                Attached::Reachable => {}
            }
        }
        if bytes > MAX_ATTACHMENTS_BYTES {
            let message = "The attachments are too large together.";
            let error = ApiError::new(ErrorCode::AttachmentTooLarge, message);
            return Err(error.detail("limit_bytes", json!(MAX_ATTACHMENTS_BYTES)));
        }
        Ok(Self {
            count: items.len(),
            unreachable,
        })
    }

    /// Fetches them.
    pub(super) fn fetch(self) -> Result<(), ApiError> {
        let Some(index) = self.unreachable else {
            return Ok(());
        };
        let message = format!("`attachments[{index}]` could not be fetched.");
        let error = ApiError::new(ErrorCode::AttachmentFetchFailed, message);
        Err(with_index(error, index))
    }
}

enum Attached {
    Asset(&'static Asset),
    Reachable,
    Unreachable,
}

fn validate(item: &Value) -> Result<Attached, ApiError> {
    let invalid = |problem: &str| {
        let message = format!("An attachment {problem}.");
        ApiError::new(ErrorCode::InvalidAttachment, message)
    };
    let Some(fields) = item.as_object() else {
        return Err(invalid("must be an object"));
    };
    if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        let name: String = name.chars().take(100).collect();
        return Err(invalid(&format!("has no field `{name}`")));
    }
    match (fields.get("asset_id"), fields.get("url")) {
        (Some(Value::String(id)), None) => {
            let unknown = || {
                let message = "There is no such asset in this workspace.";
                let id: String = id.chars().take(100).collect();
                ApiError::new(ErrorCode::AttachmentNotFound, message).detail("asset_id", json!(id))
            };
            let asset = Asset::by_id(id).ok_or_else(unknown)?;
            if asset.is_image && asset.bytes > MAX_ATTACHMENT_IMAGE_BYTES {
                let message = "The image is too large.";
                let error = ApiError::new(ErrorCode::AttachmentTooLarge, message);
                return Err(error.detail("limit_bytes", json!(MAX_ATTACHMENT_IMAGE_BYTES)));
            }
            Ok(Attached::Asset(asset))
        }
        (None, Some(Value::String(url))) => {
            let url = destination::public_https(url)
                .map_err(|problem| invalid(&format!("has a `url` that {problem}")))?;
            let host = url.host_str().unwrap_or_default().trim_end_matches('.');
            if host == "invalid" || host.ends_with(".invalid") {
                Ok(Attached::Unreachable)
            } else {
                Ok(Attached::Reachable)
            }
        }
        (None, None) => Err(invalid("must have `asset_id` or `url`")),
        (Some(_), Some(_)) => Err(invalid("must have either `asset_id` or `url`")),
        _ => Err(invalid("must have a string as `asset_id` or `url`")),
    }
}

/// Says which attachment it is. In a bulk queue `index` is the item's, so it is said twice.
fn with_index(error: ApiError, index: usize) -> ApiError {
    error
        .detail("index", json!(index))
        .detail("attachment_index", json!(index))
}
