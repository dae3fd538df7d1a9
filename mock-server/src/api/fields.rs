//! The fields of a JSON object, read one by one and each with its own complaint.
//!
//! A field that is there has to be of its type: `null` is not the same as leaving it out.

use std::ops::RangeInclusive;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::api_error::ApiError;
use crate::engine::destination;

/// What comes from the key and never from a body.
const KEY_FIELDS: [&str; 3] = ["workspace_id", "owner_user_id", "user_id"];

/// The fields of an object, and where the object is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'b> {
    /// What goes before a field's name in a complaint, such as `input.`.
    path: &'static str,
    fields: &'b Map<String, Value>,
}

impl<'b> Fields<'b> {
    /// The fields of the whole body.
    pub(crate) fn of_body(body: &'b Value) -> Result<Self, ApiError> {
        match body.as_object() {
            Some(fields) => Ok(Self { path: "", fields }),
            None => Err(ApiError::field(
                "body",
                format!("must be a JSON object, not {}", kind(body)),
            )),
        }
    }

    /// The fields of an object in the body; `path` ends with a point.
    pub(crate) fn within(path: &'static str, fields: &'b Map<String, Value>) -> Self {
        Self { path, fields }
    }

    /// Refuses every field that `known` does not know; `whose` says whose fields they are.
    pub(crate) fn deny_unknown(
        &self,
        known: impl Fn(&str) -> bool,
        whose: &str,
    ) -> Result<(), ApiError> {
        for name in self.fields.keys() {
            if KEY_FIELDS.contains(&name.as_str()) {
                return Err(self.error(name, "comes from the API key and must not be in the body"));
            }
            if !known(name) {
                return Err(self.error(name, &format!("is not a field of {whose}")));
            }
        }
        Ok(())
    }

    /// What the fields are called.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'b str> {
        self.fields.keys().map(String::as_str)
    }

    /// A field of whatever type.
    pub(crate) fn value(&self, name: &str) -> Option<&'b Value> {
        self.fields.get(name)
    }

    /// A complaint about a field.
    pub(crate) fn error(&self, name: &str, problem: &str) -> ApiError {
        ApiError::field(format!("{}{name}", self.path), problem)
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'b str>, ApiError> {
        self.typed(name, "a string", Value::as_str)
    }

    /// A text that has to be there.
    pub(crate) fn required_text(&self, name: &str) -> Result<&'b str, ApiError> {
        self.text(name)?
            .ok_or_else(|| self.error(name, "is required"))
    }

    /// A text that is not blank.
    pub(crate) fn non_blank_text(&self, name: &str) -> Result<Option<&'b str>, ApiError> {
        match self.text(name)? {
            Some(text) if text.trim().is_empty() => Err(self.error(name, "must not be blank")),
            text => Ok(text),
        }
    }

    /// One of a set of texts.
    pub(crate) fn one_of(&self, name: &str, known: &[&str]) -> Result<Option<&'b str>, ApiError> {
        match self.text(name)? {
            Some(text) if !known.contains(&text) => {
                Err(self.error(name, &format!("must be one of {}", known.join(", "))))
            }
            text => Ok(text),
        }
    }

    /// A whole number within bounds. `5.0` is none: it is not written as one.
    pub(crate) fn integer(
        &self,
        name: &str,
        bounds: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ApiError> {
        let is_integer = |value: &Value| value.is_u64() || value.is_i64();
        match self.fields.get(name) {
            None => Ok(None),
            Some(value) if !is_integer(value) => {
                Err(self.error(name, &format!("must be an integer, not {}", kind(value))))
            }
            Some(value) => match value.as_u64() {
                Some(number) if bounds.contains(&number) => Ok(Some(number)),
                _ if bounds.start() == bounds.end() => {
                    Err(self.error(name, &format!("must be {}", bounds.start())))
                }
                _ => Err(self.error(
                    name,
                    &format!("must be from {} to {}", bounds.start(), bounds.end()),
                )),
            },
        }
    }

    /// A flag.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        self.typed(name, "a boolean", Value::as_bool)
    }

    /// An object.
    pub(crate) fn object(&self, name: &str) -> Result<Option<&'b Map<String, Value>>, ApiError> {
        self.typed(name, "an object", Value::as_object)
    }

    /// Objects, so many; what is in them is not judged.
    pub(crate) fn objects(
        &self,
        name: &str,
        count: RangeInclusive<usize>,
    ) -> Result<Option<&'b [Value]>, ApiError> {
        let Some(items) = self.typed(name, "an array", Value::as_array)? else {
            return Ok(None);
        };
        if !count.contains(&items.len()) {
            let problem = format!("must have {} to {} items", count.start(), count.end());
            return Err(self.error(name, &problem));
        }
        match items.iter().position(|item| !item.is_object()) {
            Some(place) => {
                let error = self.error(&format!("{name}[{place}]"), "must be an object");
                Err(error.detail("index", json!(place)))
            }
            None => Ok(Some(items)),
        }
    }

    /// An image: its URL, or an object that has one as `image_url`.
    pub(crate) fn image(&self, name: &str) -> Result<(), ApiError> {
        let (name, url) = match self.fields.get(name) {
            None => return Ok(()),
            Some(Value::Object(fields)) => (format!("{name}.image_url"), fields.get("image_url")),
            url => (name.to_owned(), url),
        };
        match url {
            None => Ok(()),
            Some(Value::String(url)) => self.validate_url(&name, url, MediaKind::Image),
            Some(other) => {
                let problem = format!("must be the URL of an image, not {}", kind(other));
                Err(self.error(&name, &problem))
            }
        }
    }

    /// All texts of the request, wherever they are; addresses decoded. The caller's own data and
    /// the webhook's address are not read.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let read = self.fields.iter();
        let read = read.filter(|(name, _)| !matches!(name.as_str(), "metadata" | "webhook_url"));
        read.for_each(|(_, value)| collect_texts(value, &mut texts));
        texts
    }

    /// All texts in the fields of these names.
    pub(crate) fn texts_in(&self, names: &[&str]) -> Vec<String> {
        let mut texts = Vec::new();
        let read = names.iter().filter_map(|name| self.fields.get(*name));
        read.for_each(|value| collect_texts(value, &mut texts));
        texts
    }

    /// The URL of a medium.
    pub(crate) fn media_url(
        &self,
        name: &str,
        media_kind: MediaKind,
    ) -> Result<Option<&'b str>, ApiError> {
        let Some(url) = self.text(name)? else {
            return Ok(None);
        };
        self.validate_url(name, url, media_kind)?;
        Ok(Some(url))
    }

    /// URLs of media, so many.
    pub(crate) fn media_urls(
        &self,
        name: &str,
        media_kind: MediaKind,
        count: RangeInclusive<usize>,
    ) -> Result<Option<usize>, ApiError> {
        let Some(items) = self.typed(name, "an array", Value::as_array)? else {
            return Ok(None);
        };
        if !count.contains(&items.len()) {
            let problem = format!("must have {} to {} items", count.start(), count.end());
            return Err(self.error(name, &problem));
        }
        for (place, item) in items.iter().enumerate() {
            let name = format!("{name}[{place}]");
            match item.as_str() {
                Some(url) => self.validate_url(&name, url, media_kind)?,
                None => {
                    return Err(self.error(&name, &format!("must be a string, not {}", kind(item))));
                }
            }
        }
        Ok(Some(items.len()))
    }

    fn validate_url(&self, name: &str, url: &str, media_kind: MediaKind) -> Result<(), ApiError> {
        let url = destination::public_https(url).map_err(|problem| self.error(name, problem))?;
        if media_kind.excludes(url.path()) {
            return Err(self.error(name, &format!("must lead to {}", media_kind.as_str())));
        }
        Ok(())
    }

    fn typed<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl Fn(&'b Value) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(value) = self.fields.get(name) else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(self.error(name, &format!("must be {wanted}, not {}", kind(value)))),
        }
    }
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.starts_with("https://") => {
            let decoded = percent_decode_str(text).decode_utf8_lossy();
            texts.push(decoded.into_owned());
        }
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| collect_texts(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a media URL is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaKind {
    Image,
    Video,
    Audio,
}

impl MediaKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Video => "a video",
            Self::Audio => "audio",
        }
    }

    /// Whether a path's extension clearly belongs to something else. Nothing is fetched, so what
    /// has no telling extension is believed.
    fn excludes(self, path: &str) -> bool {
        const IMAGES: [&str; 12] = [
            "png", "jpg", "jpeg", "webp", "gif", "bmp", "avif", "heic", "heif", "tif", "tiff",
            "svg",
        ];
        const VIDEOS: [&str; 8] = ["mp4", "mov", "webm", "mkv", "avi", "m4v", "mpg", "mpeg"];
        const SOUNDS: [&str; 7] = ["mp3", "wav", "m4a", "aac", "ogg", "flac", "opus"];
        const DOCUMENTS: [&str; 22] = [
            "html", "htm", "xhtml", "txt", "md", "json", "xml", "yaml", "csv", "pdf", "zip", "gz",
            "tar", "7z", "js", "css", "doc", "docx", "xls", "xlsx", "exe", "vtt",
        ];
        let file = path.rsplit('/').next().unwrap_or_default();
        let Some((_, extension)) = file.rsplit_once('.') else {
            return false;
        };
        let extension = extension.to_ascii_lowercase();
        let is = |list: &[&str]| list.contains(&extension.as_str());
        is(&DOCUMENTS)
            || match self {
                Self::Image => is(&VIDEOS) || is(&SOUNDS),
                Self::Video => is(&IMAGES) || is(&SOUNDS),
                // A video has a sound track.
                Self::Audio => is(&IMAGES),
            }
    }
}

/// What a value is, for people.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn complaint<T: std::fmt::Debug>(
        body: Value,
        read: impl Fn(Fields<'_>) -> Result<T, ApiError>,
    ) -> String {
        let fields = Fields::of_body(&body).unwrap();
        let error = read(fields).unwrap_err();
        let envelope = error.body(crate::engine::Host::Open, "req_1");
        assert!(
            envelope["error"]["message"]
                .as_str()
                .unwrap()
                .contains(error.field_name().unwrap())
        );
        envelope["error"]["message"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_whole_number_is_written_as_one() {
        let of =
            |value: Value| complaint(json!({"n": value}), |fields| fields.integer("n", 4..=15));
        for value in [json!(3), json!(16), json!(-5), json!(u64::MAX)] {
            assert_eq!(of(value), "`n` must be from 4 to 15");
        }
        assert_eq!(of(json!(5.0)), "`n` must be an integer, not a number");
        assert_eq!(of(json!(1e300)), "`n` must be an integer, not a number");
        assert_eq!(of(json!("5")), "`n` must be an integer, not a string");
        assert_eq!(of(json!(null)), "`n` must be an integer, not null");
        let only_five = complaint(json!({"n": 6}), |fields| fields.integer("n", 5..=5));
        assert_eq!(only_five, "`n` must be 5");
    }

    #[test]
    fn null_is_not_the_same_as_nothing() {
        let body = json!({"a": null});
        let fields = Fields::of_body(&body).unwrap();
        assert!(
            fields.text("a").is_err() && fields.flag("a").is_err() && fields.object("a").is_err()
        );
        assert_eq!(fields.text("b"), Ok(None));
    }

    #[test]
    fn every_complaint_names_its_field() {
        assert_eq!(
            complaint(json!({"p": " \t"}), |fields| fields
                .non_blank_text("p")
                .map(drop)),
            "`p` must not be blank"
        );
        assert_eq!(
            complaint(json!({}), |fields| fields.required_text("p").map(drop)),
            "`p` is required"
        );
        assert_eq!(
            complaint(json!({"m": "x"}), |fields| fields
                .one_of("m", &["a", "b"])
                .map(drop)),
            "`m` must be one of a, b"
        );
        assert_eq!(
            complaint(json!({"user_id": "x"}), |fields| fields
                .deny_unknown(|_| true, "it")),
            "`user_id` comes from the API key and must not be in the body"
        );
        assert_eq!(
            complaint(json!({"colour": 1}), |fields| fields
                .deny_unknown(|_| false, "video-f")),
            "`colour` is not a field of video-f"
        );
        let urls = json!({"u": ["https://media.example/a.png", 7]});
        assert_eq!(
            complaint(urls, |fields| fields.media_urls(
                "u",
                MediaKind::Image,
                1..=10
            )),
            "`u[1]` must be a string, not a number"
        );
        assert_eq!(
            complaint(json!({"u": []}), |fields| fields.media_urls(
                "u",
                MediaKind::Image,
                1..=10
            )),
            "`u` must have 1 to 10 items"
        );
    }

    #[test]
    fn an_extension_that_is_clearly_of_something_else_is_refused() {
        for (media_kind, good) in [
            (MediaKind::Image, "/cat.PNG"),
            (MediaKind::Image, "/cat"),
            (MediaKind::Image, "/v1.2/cat"),
            (MediaKind::Image, "/cat.php"),
            (MediaKind::Image, "/page.html/cat.jpg"),
            (MediaKind::Video, "/cat.mp4"),
            (MediaKind::Audio, "/cat.mp3"),
            (MediaKind::Audio, "/cat.mp4"),
        ] {
            assert!(!media_kind.excludes(good), "{media_kind:?} {good}");
        }
        for (media_kind, bad) in [
            (MediaKind::Image, "/cat.html"),
            (MediaKind::Image, "/cat.mp4"),
            (MediaKind::Image, "/cat.mp3"),
            (MediaKind::Video, "/cat.png"),
            (MediaKind::Video, "/cat.wav"),
            (MediaKind::Video, "/cat.pdf"),
            (MediaKind::Audio, "/cat.jpeg"),
            (MediaKind::Audio, "/cat.ZIP"),
        ] {
            assert!(media_kind.excludes(bad), "{media_kind:?} {bad}");
        }
    }
}
