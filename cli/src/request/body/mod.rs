//! Request bodies, built from flags and validated before they are sent.

pub(crate) mod run;

use std::num::NonZero;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use svc_sdk::types::SearchQuery;

use crate::args::{
    AvatarFields, BodyArgs, CommunicationFields, DownloadArgs, JsonField, PromptArgs, SceneFields,
    SearchArgs, SpeechFields,
};
use crate::error::{Failure, Result, Suggestion};
use crate::input::{check_single_stdin_reader, read_file, read_json, read_text};
use crate::output::json::to_value;
use crate::text::{check_integers, json_error};

/// Fields that the service derives from the API key. A body must not contain them.
const OWNER_FIELDS: [&str; 3] = ["workspace_id", "owner_user_id", "user_id"];

/// Fields that describe what to generate, rather than how.
const INPUT_FIELDS: &str = "prompt input script video_inputs scene product_image image_url end_image_url video_url \
    audio_url reference_image_urls reference_video_urls";

#[derive(Debug, Default)]
pub(crate) struct RequestBody {
    fields: Map<String, Value>,
    set_fields: Vec<String>,
    /// Whether the caller has given fields with `--input` or `--param`.
    has_custom_fields: bool,
}

impl RequestBody {
    pub(crate) fn read_with_prompt(args: &BodyArgs, prompt: &PromptArgs) -> Result<Self> {
        let prompt = prompt.given();
        check_single_stdin_reader(&[
            ("--input", args.input.as_deref().and_then(Path::to_str)),
            ("--prompt", prompt),
        ])?;
        let mut body = Self::from_input(args.input.as_deref())?;
        body.has_custom_fields = !body.fields.is_empty() || !args.params.is_empty();
        let prompt = prompt.map(|text| read_text("--prompt", text)).transpose()?;
        body.set("prompt", prompt)?;
        body.params(&args.params)?;
        Ok(body)
    }

    pub(crate) fn read(args: &BodyArgs) -> Result<Self> {
        Self::read_with_prompt(args, &PromptArgs::default())
    }

    pub(crate) fn from_input(input: Option<&Path>) -> Result<Self> {
        let Some(path) = input else { return Ok(Self::default()) };
        let bytes = read_file("--input", path)?;
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(fields)) => {
                check_integers(&String::from_utf8_lossy(&bytes))
                    .map_err(|why| Failure::usage(format!("--input: {why}")))?;
                Ok(Self::from_fields(fields))
            }
            Ok(_) => Err(Failure::usage("--input must be a JSON object")),
            Err(error) => {
                Err(Failure::usage(format!("--input is not valid JSON: {}", json_error(&error))))
            }
        }
    }

    /// Starts with fields that do not count as set by a flag.
    pub(crate) fn from_fields(fields: Map<String, Value>) -> Self {
        Self { fields, ..Self::default() }
    }

    pub(crate) fn params(&mut self, params: &[JsonField]) -> Result {
        params.iter().try_for_each(|param| self.set(&param.name, Some(param.value.clone())))
    }

    pub(crate) fn flags(self, flags: &impl Serialize) -> Result<Self> {
        self.set_flags(to_value(flags))
    }

    fn set_flags(mut self, fields: serde_json::Result<Value>) -> Result<Self> {
        let fields = fields.map_err(|error| Failure::usage(error.to_string()))?;
        for (name, value) in fields.as_object().into_iter().flatten() {
            if !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()) {
                self.set(name, Some(value.clone()))?;
            }
        }
        Ok(self)
    }

    pub(crate) fn speech(self, args: &SpeechFields) -> Result<Self> {
        let script = args.script.as_ref().map(|text| read_text("--script", text)).transpose()?;
        let inputs = args.video_inputs.as_ref();
        let inputs = inputs.map(|json| read_json("--video-inputs", json)).transpose()?;
        self.flags(args)?.with("script", script)?.with("video_inputs", inputs)
    }

    pub(crate) fn scene(self, args: &SceneFields) -> Result<Self> {
        let scene = args.scene.as_ref().map(|json| read_json("--scene", json)).transpose()?;
        let image = args.scene_image_url.clone();
        self.flags(args)?.with("scene", scene)?.with_nested("scene", "image_url", image)
    }

    pub(crate) fn props(self, props: Option<&str>) -> Result<Self> {
        let props = props.map(|json| read_json("--props", json)).transpose()?;
        self.with_nested("input", "props", props)
    }

    pub(crate) fn avatar(self, args: &AvatarFields) -> Result<Self> {
        self.speech(&args.speech)?.scene(&args.scene)?.props(args.props.as_deref())
    }

    /// Adds the webhook, the mode and the metadata. A webhook implies `mode`.
    pub(crate) fn communication(mut self, args: &CommunicationFields) -> Result<Self> {
        self = self.flags(args)?;
        if args.webhook_url.is_some() && args.mode.is_none() {
            self.fields.insert("mode".to_owned(), "webhook".into());
        }
        if !args.metadata.is_empty() {
            let metadata =
                self.fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
            let Some(metadata) = metadata.as_object_mut() else {
                return Err(Failure::usage(
                    "--metadata requires `metadata` in the body to be an object",
                ));
            };
            for pair in &args.metadata {
                metadata.insert(pair.name.clone(), pair.value.clone().into());
            }
        }
        Ok(self)
    }

    pub(crate) fn set(&mut self, name: &str, value: Option<impl Into<Value>>) -> Result {
        let Some(value) = value else { return Ok(()) };
        if self.set_fields.iter().any(|set_fields| set_fields == name) {
            return Err(Failure::usage(format!("`{name}` is set twice")));
        }
        self.set_fields.push(name.to_owned());
        self.fields.insert(name.to_owned(), value.into());
        Ok(())
    }

    pub(crate) fn with(mut self, name: &str, value: Option<impl Into<Value>>) -> Result<Self> {
        self.set(name, value)?;
        Ok(self)
    }

    pub(crate) fn with_nested(
        mut self,
        object: &str,
        name: &str,
        value: Option<impl Into<Value>>,
    ) -> Result<Self> {
        let Some(value) = value else { return Ok(self) };
        let fields = self.fields.entry(object).or_insert_with(|| Value::Object(Map::new()));
        let Some(fields) = fields.as_object_mut() else {
            let why = format!("`{object}` must be an object to set `{object}.{name}`");
            return Err(Failure::usage(why));
        };
        fields.insert(name.to_owned(), value.into());
        Ok(self)
    }

    pub(crate) fn moved_into(mut self, name: &str, object: &str) -> Result<Self> {
        let value = self.fields.remove(name);
        self.with_nested(object, name, value)
    }

    pub(crate) fn with_default(mut self, name: &str, value: &str) -> Self {
        self.fields.entry(name).or_insert_with(|| value.into());
        self
    }

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

pub(crate) fn search_query(args: &SearchArgs) -> Result<SearchQuery> {
    let (query, fields) = RequestBody::read(&args.body)?
        .with("query", args.query.clone())?
        .with("limit", args.list.page.limit.map(NonZero::get))?
        .finish_with_text("query")?;
    let mut body = SearchQuery::new(query);
    body.extra = fields.into();
    Ok(body)
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
