//! Fields of responses that the mock server sends, and for which the SDK's types have no field of their own
//! (they are in `extra`). The specification does not name them.

use serde_json::{Map, Value, json};

use crate::schemas::COMPONENTS;

/// The fields: the component, the name, the type and the description. A type is the name of a component, that of
/// a JSON type, `date-time`, `uri`, or one of these in a list (`[string]`) or with null (`string?`).
#[rustfmt::skip]
const FIELDS: &[(&str, &str, &str, &str)] = &[
    ("Avatar", "status", "string", "The status of the avatar, for example `completed`."),
    ("Avatar", "job_id", "string", "The job that creates the avatar."),
    ("Avatar", "first_party", "boolean", "Whether the avatar belongs to the first-party catalog."),
    ("Avatar", "tags", "[string]", "The words that a search finds the avatar by."),
    ("Avatar", "created_at", "date-time", "When the avatar was created."),
    ("Avatar", "error", "ErrorBody", "Why the job failed."),
    ("AvatarVideo", "script", "string", "What the avatar says."),
    ("AvatarVideo", "quality", "string", "The quality of the video."),
    ("AvatarVideo", "duration_seconds", "number", "The length, in seconds."),
    ("AvatarVideo", "preview_id", "string?", "The preview that the video was made from."),
    ("AvatarVideo", "created_at", "date-time", "When the video was created."),
    ("AvatarVideo", "error", "ErrorBody", "Why the job failed."),
    ("Capabilities", "qualities", "[string]", "The qualities of videos."),
    ("ErrorDetails", "limit", "integer", "The limit that was reached."),
    ("ErrorDetails", "asset_id", "string", "The asset that cannot be attached."),
    ("ErrorDetails", "attachment_index", "integer", "The position of the attachment in the request."),
    ("ErrorDetails", "format_id", "string", "The Format that the request names."),
    ("ErrorDetails", "previous_format_id", "string", "The Format of the previous run."),
    ("ErrorDetails", "received_content_encoding", "string", "The `Content-Encoding` that is not accepted."),
    ("Format", "owner", "string", "The owner: a workspace, or that of the first-party catalog."),
    ("JobEvent", "job_id", "string", "The job."),
    ("JobEvent", "error", "ErrorBody?", "Why the job failed."),
    ("JobEvent", "webhook_delivery", "WebhookDelivery", "The state of the delivery after an attempt."),
    ("MusicCategory", "track_count", "integer", "The number of tracks."),
    ("MusicTrack", "content_type", "string", "The media type of the audio file."),
    ("RunReceipt", "cancel_url", "uri", "The URL that cancels the run."),
    ("RunReceipt", "updated_at", "date-time", "When the status last changed."),
    ("RunReceipt", "item_index", "integer?", "The position in the bulk queue that the run belongs to."),
    ("SubmitReceipt", "avatar", "Avatar", "The avatar that the job creates."),
    ("SubmitReceipt", "avatar_video", "AvatarVideo", "The avatar video that the job creates."),
    ("SubmitReceipt", "caption", "VideoCaptions", "The captions that the job creates."),
    ("SubmitReceipt", "preview", "AvatarVideo", "The preview that the job creates."),
    ("TopUp", "created_at", "date-time", "When the top-up was created."),
    ("TrendingVideo", "duration_seconds", "number", "The length, in seconds."),
    ("TrendingVideo", "published_at", "date-time", "When the video was published."),
    ("TrendingVideo", "tags", "[string]", "The words that a search finds the video by."),
    ("VideoCaptions", "created_at", "date-time", "When the captions were created."),
    ("VideoCaptions", "error", "ErrorBody", "Why the job failed."),
    ("VideoCaptions", "language", "string?", "The language of the captions."),
    ("Workspace", "kind", "string", "Whether the workspace is `personal` or that of a `team`."),
];

/// Adds the fields of a component to its schema.
pub(crate) fn add(component: &str, schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (_, name, kind, description) in FIELDS.iter().filter(|(known, ..)| *known == component) {
        let mut field = schema_of(kind);
        if let Some(field) = field.as_object_mut() {
            field.insert("description".to_owned(), json!(description));
            field.insert("x-assumed".to_owned(), true.into());
        }
        properties.entry(*name).or_insert(field);
    }
}

fn schema_of(kind: &str) -> Value {
    if let Some(item) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        return json!({"type": "array", "items": schema_of(item)});
    }
    match (kind.strip_suffix('?'), kind) {
        (Some(kind), _) => match schema_of(kind) {
            schema if schema.get("$ref").is_some() => json!({"anyOf": [schema, {"type": "null"}]}),
            schema => json!({"type": [schema.get("type"), "null"]}),
        },
        (None, "date-time" | "uri") => json!({"type": "string", "format": kind}),
        (None, kind) if kind.starts_with(|c: char| c.is_ascii_uppercase()) => {
            json!({"$ref": format!("{COMPONENTS}{kind}")})
        }
        (None, kind) => json!({"type": kind}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_missing_in_the_type_of_its_component() {
        let document = crate::document(&crate::Servers::default());
        for (component, name, _, description) in FIELDS {
            let field = &document["components"]["schemas"][component]["properties"][name];
            assert_eq!(field["description"], *description, "{component}.{name} is declared");
        }
    }
}
