//! Fields of responses that the mock server sends, and for which the SDK's types have no field of their own
//! (they are in `extra`). The specification does not name them.

/// The fields: the component, the name, the type and the description. A type is the name of a component, that of
/// a JSON type, `date-time`, `uri`, or one of these in a list (`[string]`) or with null (`string?`).
#[rustfmt::skip]
pub(crate) const FIELDS: &[(&str, &str, &str, &str)] = &[
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
