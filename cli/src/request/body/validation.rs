//! Checks of a request body before it is sent.

use std::path::Path;

use serde_json::{Map, Value};

use super::RequestBody;
use crate::args::DownloadArgs;
use crate::error::{Failure, Result, Suggestion};

/// Fields that the service derives from the API key. A body must not contain them.
const OWNER_FIELDS: [&str; 3] = ["workspace_id", "owner_user_id", "user_id"];

/// Fields that describe what to generate, rather than how.
const INPUT_FIELDS: &str = "prompt input script video_inputs scene product_image image_url end_image_url video_url \
    audio_url reference_image_urls reference_video_urls";

impl RequestBody {
    /// A generation of nothing in particular would be paid for as well.
    pub(crate) fn require_input(self, what_to_pass: &str) -> Result<Self> {
        self.require(what_to_pass, None, "the fields with --param KEY=JSON or --input FILE")
    }

    fn require(
        self,
        what_to_pass: &str,
        example: Option<(&[&str], &str)>,
        other_ways: &str,
    ) -> Result<Self> {
        if self.has_custom_fields || has_input(&self.fields) {
            return Ok(self);
        }
        let pass = Suggestion::from(format!("pass {what_to_pass}"));
        let pass = match example {
            Some((command, rest)) => {
                pass.then(", for example: ").svc(command.iter().copied()).then(format!(" {rest}"))
            }
            None => pass,
        };
        Err(Failure::usage("the request has no input; nothing was sent")
            .hint(pass)
            .hint(format!("or {other_ways}")))
    }

    /// `--download` may have taken the prompt as its folder. The example ends as the command does.
    pub(crate) fn require_prompt(
        self,
        what_to_pass: &str,
        example: Option<(&[&str], &str)>,
        download: &DownloadArgs,
    ) -> Result<Self> {
        let other_ways = "--prompt TEXT, the fields with --param KEY=JSON, or --input FILE";
        self.require(what_to_pass, example, other_ways).map_err(|failure| {
            match &download.download {
                Some(folder) if folder != Path::new(".") => failure.hint(format!(
                    "--download took `{}` as its directory: put the prompt first, or write \
                     --download=DIR",
                    folder.display()
                )),
                _ => failure,
            }
        })
    }

    pub(crate) fn finish_with_text(self, name: &str) -> Result<(String, Map<String, Value>)> {
        let mut fields = self.finish()?;
        match fields.remove(name) {
            Some(Value::String(text)) => Ok((text, fields)),
            _ => Err(Failure::usage(format!("`{name}` must be a text"))),
        }
    }

    pub(crate) fn finish(self) -> Result<Map<String, Value>> {
        for owner in OWNER_FIELDS {
            if self.fields.contains_key(owner) {
                return Err(Failure::usage(format!(
                    "`{owner}` must not be set: it follows from the API key"
                )));
            }
        }
        for (name, value) in &self.fields {
            // A schema may contain null values.
            let path = (name != "output_schema").then(|| find_null(name, value));
            if let Some(path) = path.flatten() {
                return Err(Failure::usage(format!("`{path}` must not be null: omit it")));
            }
            check_urls(name, value)?;
        }
        if self.fields.contains_key("end_image_url") && !self.fields.contains_key("image_url") {
            return Err(Failure::usage("`end_image_url` requires `image_url`"));
        }
        Ok(self.fields)
    }
}

fn is_https_url(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| url.scheme() == "https" && url.has_host())
}

/// By https, or by http on this machine, where a mock of the service has its artifacts.
pub(super) fn is_media_url(text: &str) -> bool {
    let is_loopback = |url: url::Url| {
        let host = url.host_str().unwrap_or_default();
        url.scheme() == "http" && matches!(host, "127.0.0.1" | "localhost" | "[::1]")
    };
    is_https_url(text) || url::Url::parse(text).is_ok_and(is_loopback)
}

pub(crate) fn has_input(fields: &Map<String, Value>) -> bool {
    INPUT_FIELDS.split(' ').any(|name| fields.get(name).is_some_and(has_content))
}

/// Returns whether a value contains anything but blank text.
pub(crate) fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(has_content),
        Value::Object(fields) => fields.values().any(has_content),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn find_null(path: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(path.to_owned()),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_null(&format!("{path}[{index}]"), item)),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, value)| find_null(&format!("{path}.{name}"), value))
        }
        _ => None,
    }
}

fn check_urls(name: &str, value: &Value) -> Result {
    let urls: Vec<&Value> = match value {
        url if name.ends_with("_url") => vec![url],
        Value::Array(urls) if name.ends_with("_urls") => urls.iter().collect(),
        _ => return Ok(()),
    };
    for url in urls {
        let text = url.as_str().unwrap_or_default();
        let is_valid = match name {
            "webhook_url" => is_https_url(text),
            _ => is_media_url(text),
        };
        if !is_valid {
            let given = match url {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let why = format!("invalid `{name}` `{given}`: expected an https:// URL");
            let failure = Failure::usage(why).for_field(name);
            return Err(match text.contains("://") {
                true => failure,
                false => failure.hint(
                    "the service takes public URLs only, and no files: put the file where it has one",
                ),
            });
        }
    }
    Ok(())
}
