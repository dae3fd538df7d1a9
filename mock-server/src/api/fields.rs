//! Typed access to the fields of a JSON object, with an error for each invalid field.
//!
//! A field that is present must have the expected type; in particular, `null` is not the same as an
//! absent field.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use svc_sdk::contract::ErrorCode;

use super::api_error::ApiError;
use super::references::{MediaFile, MediaKind, References};
use crate::engine::directives::Directives;

/// Values that are determined by the API key and must not be in a body.
const KEY_FIELDS: [&str; 3] = ["workspace_id", "owner_user_id", "user_id"];

/// The fields of a JSON object, and the path of the object in the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'b> {
    /// The prefix of field names in errors, such as `input.`.
    path: &'static str,
    fields: &'b Map<String, Value>,
    references: References<'b>,
}

impl<'b> Fields<'b> {
    /// Returns the fields of a body, which must be an object.
    pub(super) fn of_body(body: &'b Value, references: References<'b>) -> Result<Self, ApiError> {
        match body.as_object() {
            Some(fields) => Ok(Self { path: "", fields, references }),
            None => Err(ApiError::field(
                "body",
                format!("must be a JSON object, not {}", type_name(body)),
            )),
        }
    }

    /// Returns the fields of a body that may be absent. An absent body is an empty object.
    pub(super) fn of_optional_body(
        body: Option<&'b Value>,
        references: References<'b>,
    ) -> Result<Self, ApiError> {
        static EMPTY: LazyLock<Value> = LazyLock::new(|| json!({}));
        Self::of_body(body.unwrap_or(&EMPTY), references)
    }

    /// Returns the fields of an object inside the body. `path` ends with a dot.
    pub(super) fn within(&self, path: &'static str, fields: &'b Map<String, Value>) -> Self {
        Self { path, fields, references: self.references }
    }

    /// Returns what the request can refer to.
    pub(super) fn references(&self) -> References<'b> {
        self.references
    }

    /// Returns an error if there is a field that is not known. `owner` is what the fields belong to.
    pub(super) fn deny_unknown(
        &self,
        known: impl Fn(&str) -> bool,
        owner: &str,
    ) -> Result<(), ApiError> {
        for name in self.fields.keys() {
            if KEY_FIELDS.contains(&name.as_str()) {
                return Err(
                    self.error(name, "is determined by the API key and must not be in the body")
                );
            }
            if !known(name) {
                return Err(self.error(name, &format!("is not a field of {owner}")));
            }
        }
        Ok(())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'b str> {
        self.fields.keys().map(String::as_str)
    }

    pub(super) fn value(&self, name: &str) -> Option<&'b Value> {
        self.fields.get(name)
    }

    pub(super) fn error(&self, name: &str, problem: &str) -> ApiError {
        ApiError::field(format!("{}{name}", self.path), problem)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'b str>, ApiError> {
        self.typed(name, "a string", Value::as_str)
    }

    pub(super) fn required_text(&self, name: &str) -> Result<&'b str, ApiError> {
        self.text(name)?.ok_or_else(|| self.error(name, "is required"))
    }

    pub(super) fn non_blank_text(&self, name: &str) -> Result<Option<&'b str>, ApiError> {
        match self.text(name)? {
            Some(text) if text.trim().is_empty() => Err(self.error(name, "must not be blank")),
            text => Ok(text),
        }
    }

    pub(super) fn one_of(&self, name: &str, known: &[&str]) -> Result<Option<&'b str>, ApiError> {
        match self.text(name)? {
            Some(text) if !known.contains(&text) => {
                Err(self.error(name, &format!("must be one of {}", known.join(", "))))
            }
            text => Ok(text),
        }
    }

    /// Reads an integer within bounds. A number with a decimal point, such as `5.0`, is not an integer.
    pub(super) fn integer(
        &self,
        name: &str,
        bounds: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ApiError> {
        let is_integer = |value: &Value| value.is_u64() || value.is_i64();
        match self.fields.get(name) {
            None => Ok(None),
            Some(value) if !is_integer(value) => Err(self.type_error(name, "an integer", value)),
            Some(value) => match value.as_u64() {
                Some(number) if bounds.contains(&number) => Ok(Some(number)),
                _ if bounds.start() == bounds.end() => {
                    Err(self.error(name, &format!("must be {}", bounds.start())))
                }
                _ => Err(self
                    .error(name, &format!("must be from {} to {}", bounds.start(), bounds.end()))),
            },
        }
    }

    /// Reads a boolean.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        self.typed(name, "a boolean", Value::as_bool)
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<&'b Map<String, Value>>, ApiError> {
        self.typed(name, "an object", Value::as_object)
    }

    /// Reads an array of objects with a limited number of items. The fields of the objects are not
    /// checked.
    pub(super) fn objects(
        &self,
        name: &str,
        count: RangeInclusive<usize>,
    ) -> Result<Option<&'b [Value]>, ApiError> {
        let items = self.array(name, count)?;
        let invalid = items.and_then(|items| items.iter().position(|item| !item.is_object()));
        match invalid {
            Some(index) => {
                let error = self.error(&format!("{name}[{index}]"), "must be an object");
                Err(error.detail("index", json!(index)))
            }
            None => Ok(items),
        }
    }

    /// Checks an image: a URL, or an object with a field `image_url`.
    pub(super) fn image(&self, name: &str) -> Result<(), ApiError> {
        let (name, url) = match self.fields.get(name) {
            None => return Ok(()),
            Some(Value::Object(fields)) => (format!("{name}.image_url"), fields.get("image_url")),
            url => (name.to_owned(), url),
        };
        match url {
            None => Ok(()),
            Some(Value::String(url)) => self.validate_url(&name, url, MediaKind::Image),
            Some(other) => Err(self.type_error(&name, "the URL of an image", other)),
        }
    }

    /// Reads the directives in all strings of the fields, with URLs percent-decoded. What the caller
    /// stores, and schemas, are not searched.
    pub(super) fn directives(&self) -> Result<Directives, ApiError> {
        const NOT_SEARCHED: [&str; 5] =
            ["metadata", "webhook_url", "communication", "output_schema", "response_format"];
        let mut texts = Vec::new();
        for (name, value) in self.fields {
            if !NOT_SEARCHED.contains(&name.as_str()) {
                collect_texts(value, &mut texts);
            }
        }
        directives(texts.iter().map(String::as_str))
    }

    pub(super) fn media_url(
        &self,
        name: &str,
        media_kind: MediaKind,
    ) -> Result<Option<&'b str>, ApiError> {
        let Some(url) = self.text(name)? else { return Ok(None) };
        self.validate_url(name, url, media_kind)?;
        Ok(Some(url))
    }

    /// Reads an array of media URLs with a limited number of items.
    pub(super) fn media_urls(
        &self,
        name: &str,
        media_kind: MediaKind,
        count: RangeInclusive<usize>,
    ) -> Result<Option<&'b [Value]>, ApiError> {
        let items = self.array(name, count)?;
        for (index, item) in items.into_iter().flatten().enumerate() {
            let name = format!("{name}[{index}]");
            match item.as_str() {
                Some(url) => self.validate_url(&name, url, media_kind)?,
                None => return Err(self.type_error(&name, "a string", item)),
            }
        }
        Ok(items)
    }

    fn array(
        &self,
        name: &str,
        count: RangeInclusive<usize>,
    ) -> Result<Option<&'b [Value]>, ApiError> {
        match self.typed(name, "an array", Value::as_array)? {
            Some(items) if !count.contains(&items.len()) => {
                let problem = format!("must have {} to {} items", count.start(), count.end());
                Err(self.error(name, &problem))
            }
            items => Ok(items.map(Vec::as_slice)),
        }
    }

    pub(super) fn webhook_url(&self, name: &str) -> Result<Option<&'b str>, ApiError> {
        let url = self.text(name)?;
        match url.map(|url| self.references.check_webhook(url)) {
            Some(Err(problem)) => Err(self.error(name, &problem)),
            _ => Ok(url),
        }
    }

    fn validate_url(&self, name: &str, url: &str, media_kind: MediaKind) -> Result<(), ApiError> {
        let file = self.references.media_file(url);
        let is_accepted = match file.map_err(|problem| self.error(name, problem))? {
            MediaFile::Own(spec) => media_kind.includes(&spec),
            MediaFile::Elsewhere(url) => !media_kind.excludes(url.path()),
            MediaFile::Unreachable => return Err(self.error(name, "cannot be fetched")),
        };
        if is_accepted {
            return Ok(());
        }
        let problem = format!("must be the URL of {}", media_kind.as_str());
        Err(self.error(name, &problem))
    }

    fn typed<T>(
        &self,
        name: &str,
        expected: &str,
        convert: impl Fn(&'b Value) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(value) = self.fields.get(name) else { return Ok(None) };
        match convert(value) {
            Some(converted) => Ok(Some(converted)),
            None => Err(self.type_error(name, expected, value)),
        }
    }

    fn type_error(&self, name: &str, expected: &str, value: &Value) -> ApiError {
        self.error(name, &format!("must be {expected}, not {}", type_name(value)))
    }
}

pub(super) fn directives<'t>(
    texts: impl IntoIterator<Item = &'t str>,
) -> Result<Directives, ApiError> {
    Directives::parse(texts).map_err(directive_error)
}

pub(super) fn directive_error(problem: String) -> ApiError {
    ApiError::new(ErrorCode::Other("mock_directive_invalid".to_owned()), problem)
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.starts_with("https://") => {
            let decoded = percent_decode_str(text).decode_utf8_lossy();
            texts.push(decoded.into_owned());
        }
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect_texts(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal number",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
