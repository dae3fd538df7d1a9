//! Attachments of runs: assets, artifacts, or other public HTTPS URLs. The mock fetches nothing: all
//! URLs count as reachable, except those with a host below `.invalid` and those of files that its
//! media host does not have.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;
use svc_sdk::contract::limits::{MAX_ATTACHMENT_IMAGE_BYTES, MAX_ATTACHMENTS_TOTAL_BYTES};

use crate::api::api_error::ApiError;
use crate::api::fields::Fields;
use crate::api::references::{MediaFile, References};

const FIELDS: [&str; 5] = ["asset_id", "url", "type", "media_type", "name"];
/// The maximum number of attachments. The specification does not define a limit.
const MAX_ITEMS: usize = 50;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attachments {
    pub(super) count: usize,
    /// The index of the first attachment that cannot be fetched.
    pub(super) unreachable: Option<usize>,
}

impl Attachments {
    /// Reads the field `attachments`. An absent field is an empty list.
    pub(super) fn parse(fields: Fields<'_>) -> Result<Self, ApiError> {
        let Some(value) = fields.value("attachments") else { return Ok(Self::default()) };
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
            match validate(item, fields.references()).map_err(|error| with_index(error, index))? {
                Attachment::File { size } => bytes = bytes.saturating_add(size),
                Attachment::Unreachable => {
                    unreachable.get_or_insert(index);
                }
                Attachment::Reachable => {}
            }
        }
        if bytes > MAX_ATTACHMENTS_TOTAL_BYTES {
            let message =
                format!("attachments exceed {MAX_ATTACHMENTS_TOTAL_BYTES} bytes in total");
            let error = ApiError::new(ErrorCode::AttachmentTooLarge, message);
            return Err(error.detail("limit_bytes", json!(MAX_ATTACHMENTS_TOTAL_BYTES)));
        }
        Ok(Self { count: items.len(), unreachable })
    }

    /// Returns an error if an attachment cannot be fetched.
    pub(super) fn check_reachable(self) -> Result<(), ApiError> {
        let Some(index) = self.unreachable else { return Ok(()) };
        let message = format!("`attachments[{index}]` could not be fetched");
        let error = ApiError::new(ErrorCode::AttachmentFetchFailed, message);
        Err(with_index(error, index))
    }
}

enum Attachment {
    /// An asset or a file of the mock's media host.
    File {
        size: u64,
    },
    Reachable,
    Unreachable,
}

fn validate(item: &Value, references: References<'_>) -> Result<Attachment, ApiError> {
    let invalid = |problem: &str| {
        let message = format!("attachment {problem}");
        ApiError::new(ErrorCode::InvalidAttachment, message)
    };
    let Some(fields) = item.as_object() else { return Err(invalid("must be an object")) };
    if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        let name: String = name.chars().take(100).collect();
        return Err(invalid(&format!("has an unknown field `{name}`")));
    }
    match (fields.get("asset_id"), fields.get("url")) {
        (Some(Value::String(id)), None) => {
            let unknown = || {
                let message = "asset not found in this workspace";
                let id: String = id.chars().take(100).collect();
                ApiError::new(ErrorCode::AttachmentNotFound, message).detail("asset_id", json!(id))
            };
            let asset = references.asset(id).ok_or_else(unknown)?;
            file_of_size(asset.is_image(), asset.bytes)
        }
        (None, Some(Value::String(url))) => {
            let file = references
                .media_file(url)
                .map_err(|problem| invalid(&format!("has a `url` that {problem}")))?;
            match file {
                MediaFile::Own(spec) => file_of_size(spec.media_type() == "image", spec.size()),
                MediaFile::Elsewhere(_) => Ok(Attachment::Reachable),
                MediaFile::Unreachable => Ok(Attachment::Unreachable),
            }
        }
        (None, None) => Err(invalid("must have `asset_id` or `url`")),
        (Some(_), Some(_)) => Err(invalid("must not have both `asset_id` and `url`")),
        _ => Err(invalid("must have a string in `asset_id` or `url`")),
    }
}

/// Returns a file, unless it is an image that is too large.
fn file_of_size(is_image: bool, size: u64) -> Result<Attachment, ApiError> {
    if is_image && size > MAX_ATTACHMENT_IMAGE_BYTES {
        let message = format!("image exceeds {MAX_ATTACHMENT_IMAGE_BYTES} bytes");
        let error = ApiError::new(ErrorCode::AttachmentTooLarge, message);
        return Err(error.detail("limit_bytes", json!(MAX_ATTACHMENT_IMAGE_BYTES)));
    }
    Ok(Attachment::File { size })
}

/// Adds the index of the attachment to the details. It is added twice, because `index` is replaced
/// by the index of the item in a bulk queue.
fn with_index(error: ApiError, index: usize) -> ApiError {
    error.detail("index", json!(index)).detail("attachment_index", json!(index))
}
