//! The lines of a manifest.

use serde::Deserialize;
use serde_json::{Map, Value};
use svc_sdk::contract::{Auth, Operation, Surface};

use crate::journal::RequestHash;
use crate::request::body::RequestBody;
use crate::text::nearest;

/// The longest id of a submission in the journal.
const MAX_ID_BYTES: usize = 512;
const AUTO: &str = "auto";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The id: as given, or the number of the line.
    pub(crate) id: String,
    pub(crate) operation: Operation,
    pub(crate) names_operation: bool,
    pub(crate) body: Map<String, Value>,
}

impl Line {
    pub(super) fn new(
        id: String,
        operation: Operation,
        names_operation: bool,
        body: Map<String, Value>,
    ) -> Result<Self, String> {
        if id.is_empty() {
            return Err("`id` is empty".to_owned());
        }
        if id.len() > MAX_ID_BYTES || id.chars().any(char::is_control) {
            return Err(format!(
                "`id` must have at most {MAX_ID_BYTES} bytes, without control characters"
            ));
        }
        let is_capped = body.contains_key("generation_spend_cap_usd");
        if operation == Operation::AgentCompletionsCreate && !is_capped {
            return Err("`generation_spend_cap_usd` is required (USD)".to_owned());
        }
        let body = RequestBody::from_fields(body);
        let body = match operation {
            Operation::VideoGenerate => body.with_default("model", AUTO),
            _ => body,
        };
        let body = body.finish().map_err(|failure| failure.headline())?;
        Ok(Self { id, operation, names_operation, body })
    }

    pub(crate) fn hash(&self) -> u64 {
        let body = Value::Object(self.body.clone());
        let hash = RequestHash::new("", "", self.operation, &[], &body, None).to_string();
        hash.get(..16).and_then(|prefix| u64::from_str_radix(prefix, 16).ok()).unwrap_or_default()
    }
}

/// A line as it is written: the id and the operation, if it has them, and the body.
#[derive(Debug)]
pub(super) struct GivenLine {
    pub(super) id: Option<String>,
    pub(super) operation: Option<String>,
    pub(super) body: Map<String, Value>,
}

impl GivenLine {
    /// Parses a line of JSONL. An error has the column, if it is known.
    pub(super) fn from_json(record: &[u8]) -> Result<Self, (Option<usize>, String)> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object")]
        struct JsonLine {
            id: Option<Value>,
            operation: Option<String>,
            body: Option<Map<String, Value>>,
        }
        // An array would be read as the fields in their order.
        let start = record.iter().position(|byte| !byte.is_ascii_whitespace());
        if let Some(at) = start.filter(|at| record.get(*at) == Some(&b'[')) {
            return Err((Some(at + 1), "invalid type: sequence: expected an object".to_owned()));
        }
        let line: JsonLine = serde_json::from_slice(record)
            .map_err(|error| (Some(error.column()), json_problem(&error)))?;
        let id = match line.id {
            None => None,
            Some(Value::String(id)) => Some(id),
            Some(Value::Number(id)) => Some(id.to_string()),
            Some(other) => return Err((None, format!("invalid id {other}: expected a string"))),
        };
        let missing = "`body` is missing: expected {\"id\"?, \"operation\"?, \"body\": {…}}";
        let body = line.body.ok_or((None, missing.to_owned()))?;
        Ok(Self { id, operation: line.operation, body })
    }

    pub(super) fn operation(&self) -> Result<Option<Operation>, String> {
        self.operation.as_deref().map(parse_operation).transpose()
    }

    /// Returns the model of the line, or else that of the flags, unless it is any.
    pub(super) fn model(&self, defaults: &Map<String, Value>) -> Option<String> {
        let model = self.body.get("model").or_else(|| defaults.get("model"))?.as_str()?;
        (model != AUTO).then(|| model.trim().to_owned())
    }
}

fn json_problem(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "the JSON ends too early".to_owned();
    }
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&position).unwrap_or(&text);
    let text = text.replacen(", expected ", ": expected ", 1);
    match text.starts_with("unknown field") {
        true => format!("{text} (the fields of the request belong into \"body\")"),
        false => text,
    }
}

/// The operations that submit a job or a run, and whose path has no placeholder. A top-up is paid for at its
/// checkout page, and left out.
pub(crate) fn operations() -> impl Iterator<Item = Operation> {
    let is_submit = |it: &Operation| {
        it.retry().sends_idempotency_key()
            && it.auth() == Auth::Key
            && it.placeholders().next().is_none()
            && matches!(it.surface(), Surface::Open | Surface::Developer)
            && !it.is_hidden()
            && *it != Operation::TopUpsCreate
    };
    Operation::ALL.iter().copied().filter(is_submit)
}

pub(crate) fn parse_operation(name: &str) -> Result<Operation, String> {
    operations().find(|operation| operation.name() == name).ok_or_else(|| {
        let names: Vec<_> = operations().map(Operation::name).collect();
        if name.starts_with("format") {
            return format!(
                "invalid operation `{name}`: a Format is run for each row of a file by \
                 svc format bulk FORMAT --input FILE"
            );
        }
        let kind = format!("{name}_generate");
        let of_kind = names.iter().copied().find(|it| *it == kind);
        match of_kind.or_else(|| nearest(name, names.iter().copied())) {
            Some(guess) => format!("invalid operation `{name}`: did you mean `{guess}`?"),
            None => format!("invalid operation `{name}`: expected one of {}", names.join(", ")),
        }
    })
}
