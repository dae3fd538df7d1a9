//! What a run delivers: its output, and where the primary one is in it.

use serde_json::{Map, Value, json};
use svc_sdk::contract::{ErrorCode, RunStatus};

use super::{PlannedOutcome, Run};
use crate::engine::output_schema::{Violation, example, fit};

/// The name of the image in an output that nobody gave a schema for.
const IMAGE: &str = "image_url";
/// How many fields of an output are tried in turn to spoil it: a schema may have very many.
const MAX_SPOILED_FIELDS: usize = 8;
/// What stands for the URL of a file where any will do.
const EXAMPLE_URL: &str = "https://media.example/";

/// What a run that has ended gives back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunOutput {
    /// An object, or null.
    pub(crate) output: Value,
    pub(crate) primary_key: Option<String>,
    /// Whether the deliverable exists; it is the first file then.
    pub(crate) has_primary: bool,
    /// Where the output does not fit the schema.
    pub(crate) violations: Vec<Violation>,
}

impl RunOutput {
    /// What a run gives back now; `url` is where its first file is.
    pub(crate) fn for_run(run: &Run, url: Option<&str>) -> Self {
        let mut run_output = Self {
            primary_key: primary_key(run),
            ..Self::default()
        };
        match (&run.status, &run.error) {
            (RunStatus::Completed, _) => {
                if run.config.planned_outcome == PlannedOutcome::Degraded {
                    (run_output.violations, _) = invalid_output(run, url);
                } else if !run.output_pending {
                    run_output.has_primary = url.is_some();
                    run_output.output = full_output(run, url);
                }
            }
            (RunStatus::Failed, Some(run_error)) => {
                run_output.fail(&run_error.code, run, url);
            }
            _ => {}
        }
        run_output
    }

    /// What is left of the output of a run that failed.
    fn fail(&mut self, code: &ErrorCode, run: &Run, url: Option<&str>) {
        match code {
            ErrorCode::OutputSchemaUnsatisfied => {
                (self.violations, self.output) = invalid_output(run, url);
            }
            ErrorCode::PrimaryOutputMissing => {
                let key = self.primary_key.get_or_insert_with(|| IMAGE.to_owned());
                self.output = full_output(run, url);
                if let Some(fields) = self.output.as_object_mut() {
                    fields.insert(key.clone(), Value::Null);
                }
            }
            _ => {}
        }
    }
}

/// Whether what a run would deliver fits what was asked for.
pub(super) fn can_satisfy_schema(run: &Run) -> bool {
    let schema = run.config.schema.as_ref();
    schema.is_none_or(|schema| fit(&example(schema, EXAMPLE_URL), schema).is_empty())
}

/// The output as it was meant to be.
fn full_output(run: &Run, url: Option<&str>) -> Value {
    if let Some(schema) = &run.config.schema {
        return example(schema, url.unwrap_or_default());
    }
    let mut output =
        json!({"summary": format!("What the {} run was asked for.", run.config.kind.as_str())});
    if let (Some(url), Some(fields)) = (url, output.as_object_mut()) {
        fields.insert(IMAGE.to_owned(), json!(url));
    }
    output
}

/// Why an output does not fit, and that output. The same one is found whatever its URLs are.
fn invalid_output(run: &Run, url: Option<&str>) -> (Vec<Violation>, Value) {
    let summary = json!({"type": "object", "required": ["summary"]});
    let schema = run.config.schema.as_ref().unwrap_or(&summary);
    let judged = attempts(run, url.map(|_| EXAMPLE_URL)).map(|output| fit(&output, schema));
    let mut unfit = judged.enumerate().filter(|(_, found)| !found.is_empty());
    let Some((number, violations)) = unfit.next() else {
        return Default::default();
    };
    let output = attempts(run, url).nth(number);
    (violations, output.unwrap_or_default())
}

/// The whole output, and then worse and worse ones.
fn attempts(run: &Run, url: Option<&str>) -> impl Iterator<Item = Value> {
    let full_output = full_output(run, url)
        .as_object()
        .cloned()
        .unwrap_or_default();
    let names: Vec<String> = full_output
        .keys()
        .take(MAX_SPOILED_FIELDS)
        .cloned()
        .collect();
    let spoil = |value: Option<Value>| {
        let (full_output, names) = (full_output.clone(), names.clone());
        names.into_iter().map(move |name| {
            let mut fields = full_output.clone();
            match &value {
                Some(value) => fields.insert(name, value.clone()),
                None => fields.remove(&name),
            };
            fields
        })
    };
    let less = spoil(None).chain(spoil(Some(Value::Null)));
    let less = less.chain(spoil(Some(json!(true))));
    let outputs: Vec<Map<String, Value>> = [full_output.clone()].into_iter().chain(less).collect();
    outputs.into_iter().map(Value::Object).chain([Value::Null])
}

/// The name of the primary output, where there is one: the image, or the first field for a URL.
fn primary_key(run: &Run) -> Option<String> {
    let Some(schema) = &run.config.schema else {
        return run.config.makes_image.then(|| IMAGE.to_owned());
    };
    let properties: Option<&Map<String, Value>> =
        schema.get("properties").and_then(Value::as_object);
    let is_url = |schema: &Value| schema.get("format").is_some_and(|format| format == "uri");
    let mut named = properties.into_iter().flatten();
    let first = named.find(|(_, schema)| is_url(schema));
    first.map(|(name, _)| name.clone())
}
