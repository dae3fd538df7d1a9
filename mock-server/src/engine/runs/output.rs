//! The output of runs.

use serde_json::{Map, Value, json};
use svc_sdk::contract::{ErrorCode, RunStatus};

use super::{PlannedOutcome, Run};
use crate::engine::output_schema::{Violation, example, fit, urls_in};
use crate::json_object::set_field;

/// The field of the image in outputs without a schema.
const IMAGE: &str = "image_url";
const MAX_CHANGED_FIELDS: usize = 8;
/// The URL to use when only the validity of an output matters.
const EXAMPLE_URL: &str = "https://media.example/";

const FOREIGN_URL: &str = "https://files.example.com/unknown.png";

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunOutput {
    /// The output: an object or null.
    pub(crate) output: Value,
    /// The field of the primary output.
    pub(crate) primary_key: Option<String>,
    /// Whether the primary output exists, which is the first artifact.
    pub(crate) has_primary: bool,
    pub(crate) violations: Vec<Violation>,
    /// The URLs of the output that are not files of the run. There are none if there are violations.
    pub(crate) rejected_urls: Vec<String>,
}

impl RunOutput {
    /// Returns the current output of a run. `url` is the URL of its first artifact.
    pub(crate) fn for_run(run: &Run, url: Option<&str>) -> Self {
        let mut run_output = Self { primary_key: primary_key(run), ..Self::default() };
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
                run_output.set_failed(&run_error.code, run, url);
            }
            _ => {}
        }
        run_output
    }

    fn set_failed(&mut self, code: &ErrorCode, run: &Run, url: Option<&str>) {
        match code {
            ErrorCode::OutputSchemaUnsatisfied => {
                // The agent made up URLs, if the output has any.
                let output = full_output(run, Some(FOREIGN_URL));
                let schema = run.config.schema.as_ref().filter(|_| can_satisfy_schema(run));
                let urls = schema.map(|schema| urls_in(&output, schema)).unwrap_or_default();
                let is_foreign = |it: &String| Some(it.as_str()) != url;
                self.rejected_urls = urls.into_iter().filter(is_foreign).collect();
                match self.rejected_urls.is_empty() {
                    false => self.output = output,
                    true => (self.violations, self.output) = invalid_output(run, url),
                }
            }
            ErrorCode::PrimaryOutputMissing => {
                let key = self.primary_key.get_or_insert_with(|| IMAGE.to_owned());
                self.output = full_output(run, url);
                set_field(&mut self.output, key, Value::Null);
            }
            _ => {}
        }
    }
}

pub(super) fn can_satisfy_schema(run: &Run) -> bool {
    let schema = run.config.schema.as_ref();
    schema.is_none_or(|schema| fit(&example(schema, EXAMPLE_URL), schema).is_empty())
}

fn full_output(run: &Run, url: Option<&str>) -> Value {
    if let Some(schema) = &run.config.schema {
        return example(schema, url.unwrap_or_default());
    }
    let kind = run.config.kind.as_str();
    let summary = match &run.config.continued_thread {
        Some(thread) => {
            format!("The output of the {kind} run, turn {} of its thread.", thread.turn)
        }
        None => format!("The output of the {kind} run."),
    };
    let mut output = json!({"summary": summary});
    set_field(&mut output, IMAGE, url.map(|url| json!(url)));
    output
}

/// Returns an output that does not fit the schema, and its violations.
///
/// Candidates are validated with a fixed URL, so that the choice does not depend on the mock's
/// addresses.
fn invalid_output(run: &Run, url: Option<&str>) -> (Vec<Violation>, Value) {
    let summary = json!({"type": "object", "required": ["summary"]});
    let schema = run.config.schema.as_ref().unwrap_or(&summary);
    let results = candidates(run, url.map(|_| EXAMPLE_URL)).map(|output| fit(&output, schema));
    let mut results = results.enumerate();
    let Some((index, violations)) = results.find(|(_, violations)| !violations.is_empty()) else {
        return Default::default();
    };
    let output = candidates(run, url).nth(index);
    (violations, output.unwrap_or_default())
}

/// Returns the complete output, followed by variants with fields removed or replaced, and null.
fn candidates(run: &Run, url: Option<&str>) -> impl Iterator<Item = Value> {
    let full_output = full_output(run, url).as_object().cloned().unwrap_or_default();
    let names: Vec<String> = full_output.keys().take(MAX_CHANGED_FIELDS).cloned().collect();
    let change_fields = |value: Option<Value>| {
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
    let changed = change_fields(None).chain(change_fields(Some(Value::Null)));
    let changed = changed.chain(change_fields(Some(json!(true))));
    let outputs: Vec<Map<String, Value>> =
        [full_output.clone()].into_iter().chain(changed).collect();
    outputs.into_iter().map(Value::Object).chain([Value::Null])
}

/// Returns the field of the primary output: the image, or the first field of the schema for a URL that the
/// schema does not fix.
fn primary_key(run: &Run) -> Option<String> {
    let Some(schema) = &run.config.schema else {
        return run.config.makes_image.then(|| IMAGE.to_owned());
    };
    let properties: Option<&Map<String, Value>> =
        schema.get("properties").and_then(Value::as_object);
    let is_url = |schema: &Value| {
        schema.get("format").is_some_and(|format| format == "uri")
            && ["const", "enum"].iter().all(|keyword| schema.get(keyword).is_none())
    };
    let mut properties = properties.into_iter().flatten();
    let first = properties.find(|(_, schema)| is_url(schema));
    first.map(|(name, _)| name.clone())
}
