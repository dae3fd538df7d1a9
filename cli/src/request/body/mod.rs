//! Request bodies, built from flags and validated before they are sent.

pub(crate) mod run;
mod validation;

use std::num::NonZero;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use svc_sdk::types::SearchQuery;

use crate::args::{
    AvatarFields, BodyArgs, CommunicationFields, JsonField, PromptArgs, SceneFields, SearchArgs,
    SpeechFields,
};
use crate::error::{Failure, Result};
use crate::input::{check_single_stdin_reader, read_file, read_json, read_text};
use crate::text::{check_integers, json_error};

#[cfg(feature = "mcp")]
pub(crate) use self::validation::{has_content, has_input};

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

    pub(crate) fn flags(mut self, flags: &impl Serialize) -> Result<Self> {
        let fields = serde_json::to_value(flags);
        let fields = fields.map_err(|error| Failure::usage(error.to_string()))?;
        for (name, value) in fields.as_object().into_iter().flatten() {
            if !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()) {
                self.set(name, Some(value.clone()))?;
            }
        }
        Ok(self)
    }

    pub(crate) fn speech(self, args: &SpeechFields) -> Result<Self> {
        let script = args.script.as_ref();
        let script = script.map(|text| read_text("--script", text)).transpose()?;
        let inputs = args.video_inputs.as_ref();
        let inputs: Option<Value> =
            inputs.map(|json| read_json("--video-inputs", json)).transpose()?;
        self.flags(args)?.with("script", script)?.with("video_inputs", inputs)
    }

    pub(crate) fn scene(self, args: &SceneFields) -> Result<Self> {
        let scene = args.scene.as_ref();
        let scene = scene.map(|json| read_json("--scene", json)).transpose()?;
        self.flags(args)?.with("scene", scene)?.with_nested(
            "scene",
            "image_url",
            args.scene_image_url.clone(),
        )
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
