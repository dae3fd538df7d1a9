//! Captions of videos, in the WebVTT format.
//!
//! The mock does not fetch the video: the captions are fixed texts in the requested language, or in
//! English for other languages.

use super::api_error::ApiError;
use super::communication::deny_unknown;
use super::fields::Fields;
use super::job_draft::{JobDraft, ResourceChange};
use super::references::MediaKind;
use super::request::Request;
use super::response::ApiResult;
use super::submit;
use crate::engine::jobs::JobType;
use crate::engine::resources::ResourceDetails;
use crate::media::Spec;

const DURATION_MS: u64 = 12_000;

/// The texts by language. The first one is for all other languages.
const CAPTION_TEXTS: [(&str, &str); 4] = [
    (
        "en",
        "Welcome back. Today we look at how it is made. It starts with an idea, and a blank page. Then the work begins.",
    ),
    (
        "de",
        "Willkommen zurück. Heute sehen wir, wie es gemacht wird. Es beginnt mit einer Idee und einem leeren Blatt. Dann geht die Arbeit los.",
    ),
    (
        "es",
        "Bienvenidos de nuevo. Hoy vemos cómo se hace. Todo empieza con una idea y una página en blanco. Luego empieza el trabajo.",
    ),
    (
        "fr",
        "Bon retour. Aujourd'hui, nous voyons comment c'est fait. Tout commence par une idée et une page blanche. Puis le travail commence.",
    ),
];

/// `POST /v1/video-captions`.
pub(super) fn create(request: &mut Request<'_>) -> ApiResult {
    submit::submit_versioned(request, |_, fields| read(fields))
}

fn read(fields: Fields<'_>) -> Result<(JobDraft, ResourceChange), ApiError> {
    deny_unknown(fields, |name| matches!(name, "video_url" | "language"), "captions")?;
    let video_url = fields.media_url("video_url", MediaKind::Video)?;
    let video_url = video_url.ok_or_else(|| fields.error("video_url", "is required"))?;
    let language = fields.text("language")?;
    if language.is_some_and(|language| !is_language(language)) {
        return Err(fields.error("language", "must be a language tag, such as en or pt-BR"));
    }
    let text = caption_text(language.unwrap_or("en")).to_owned();
    let spec = Spec::Captions { text, duration_ms: DURATION_MS };
    let draft = JobDraft::of_product(JobType::VideoCaptions, "", 1, spec, fields.directives()?);
    let details = ResourceDetails::Captions {
        video_url: video_url.to_owned(),
        language: language.map(str::to_owned),
    };
    Ok((draft, ResourceChange::Create(details)))
}

fn caption_text(tag: &str) -> &'static str {
    let language = tag.split('-').next().unwrap_or_default().to_lowercase();
    let known = CAPTION_TEXTS.iter().find(|(known, _)| *known == language);
    known.or(CAPTION_TEXTS.first()).map_or("", |(_, text)| text)
}

/// Returns whether the text is a language tag: two or three letters, then subtags of up to eight
/// letters and digits. This is the common part of BCP 47.
fn is_language(tag: &str) -> bool {
    let mut subtags = tag.split('-');
    let language = subtags.next().unwrap_or_default();
    (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_alphabetic())
        && subtags.all(|subtag| {
            (1..=8).contains(&subtag.len())
                && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}
