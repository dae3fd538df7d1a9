//! Manifests: the requests of a batch, one per line of a JSONL file or per row of a spreadsheet.
//!
//! A manifest is read twice: once to check every line before anything is sent, and then line by line,
//! when a request is about to be submitted. At no time is more than one line in memory.

mod columns;
mod problems;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use svc_sdk::contract::{Auth, Operation, Surface};

use self::columns::{Columns, Fields};
use self::problems::Problems;
use crate::batch::plan::hash_id;
use crate::error::Failure;
use crate::journal::RequestHash;
use crate::request_body::RequestBody;
use crate::rows::{RecordFormat, RecordPosition, RecordReader, RowFile};

/// The request in a line of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// The id: as given, or the number of the line.
    pub(super) id: String,
    pub(super) operation: Operation,
    /// Whether the line itself names its operation.
    pub(super) names_operation: bool,
    pub(super) body: Map<String, Value>,
}

/// The place of a line in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinePosition(RecordPosition);

/// What flags say about all lines of a manifest.
#[derive(Debug, Default)]
pub(super) struct LineDefaults {
    /// The operation of lines without one.
    pub(super) operation: Option<Operation>,
    /// The fields of bodies that do not have them.
    pub(super) fields: Map<String, Value>,
    /// Columns that are left out.
    pub(super) ignored_columns: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    rows: RowFile,
    defaults: LineDefaults,
    /// The operations that items were submitted with, by the hashes of their ids.
    submitted: HashMap<u128, Operation>,
    /// The operations of models, for lines that name no operation.
    kinds: HashMap<String, Operation>,
    columns: Option<Columns>,
    /// The fields of the operations that a spreadsheet may name.
    fields: BTreeMap<&'static str, Fields>,
    /// The number of lines before the first that counts.
    header_lines: u32,
}

/// The id and the operation of a line, if it has them, and its body.
type Parsed = (Option<String>, Option<Operation>, Map<String, Value>);

/// What is checked of a line before its operation is known.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// The models of lines whose operation follows from the model.
    pub(super) without_operation: BTreeSet<String>,
    /// The models of lines that generate images or videos, with their operations.
    pub(super) named: BTreeSet<(String, &'static str)>,
}

/// The longest id of a submission in the journal.
const MAX_ID_BYTES: usize = 512;
/// The least similarity of an unknown operation to the one that is suggested, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.8;

/// A line as it is written in JSONL.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct JsonLine {
    id: Option<Value>,
    operation: Option<String>,
    body: Option<Map<String, Value>>,
}

impl Manifest {
    /// Opens a manifest. It is a spreadsheet if its name ends in `.csv` or `.tsv`, and JSONL otherwise.
    pub(super) fn open(path: &Path, defaults: LineDefaults) -> Result<Self, Failure> {
        let rows = RowFile::open(path)?;
        let mut manifest = Self {
            path: path.to_owned(),
            rows,
            defaults,
            submitted: HashMap::new(),
            kinds: HashMap::new(),
            columns: None,
            fields: BTreeMap::new(),
            header_lines: 0,
        };
        if let RecordFormat::Csv { separator } = manifest.rows.format {
            manifest.read_header(separator)?;
            let fields = operations().map(|operation| (operation.name(), Fields::of(operation)));
            manifest.fields = fields.collect();
        }
        Ok(manifest)
    }

    /// Sets the operations that items were submitted with, which stay theirs.
    pub(super) fn set_submitted(&mut self, operations: HashMap<u128, Operation>) {
        self.submitted = operations;
    }

    /// Returns whether the rows are those of a spreadsheet.
    pub(super) const fn is_spreadsheet(&self) -> bool {
        self.columns.is_some()
    }

    /// Sets the operations of models, for lines that name none.
    pub(super) fn set_kinds(&mut self, kinds: HashMap<String, Operation>) {
        self.kinds = kinds;
    }

    /// Returns the models of the lines. Lines that are not valid are left out.
    pub(super) fn models(&self) -> Result<Models, Failure> {
        let mut models = Models::default();
        let mut reader = self.records(RecordPosition { offset: 0, line: 1 })?;
        let mut record = Vec::new();
        let mut is_header = self.columns.is_some();
        while let Ok(Some(position)) = reader.read(&mut record) {
            if std::mem::take(&mut is_header) {
                continue;
            }
            let (id, operation, model) = match &self.columns {
                Some(columns) => match columns.row(&record) {
                    Ok(row) => {
                        let model = row.cell("model").map(str::to_owned);
                        (row.id, row.operation, model)
                    }
                    Err(_) => continue,
                },
                None => match serde_json::from_slice::<JsonLine>(&record) {
                    Ok(line) => {
                        let id = line.id.as_ref().and_then(Value::as_str).map(str::to_owned);
                        (id, line.operation, line.body.as_ref().and_then(model_of))
                    }
                    Err(_) => continue,
                },
            };
            let id = id.unwrap_or_else(|| self.number(position).to_string());
            if self.submitted.contains_key(&hash_id(&id)) {
                continue;
            }
            let operation = operation.as_deref().and_then(Operation::from_name);
            let model = model.or_else(|| model_of(&self.defaults.fields));
            let Some(model) = model.filter(|model| model != AUTO) else { continue };
            match operation.or(self.defaults.operation) {
                None => drop(models.without_operation.insert(model)),
                Some(operation @ (Operation::ImageGenerate | Operation::VideoGenerate)) => {
                    models.named.insert((model, operation.name()));
                }
                Some(_) => {}
            }
        }
        Ok(models)
    }

    /// Calls a function with every valid line, in order.
    pub(super) fn for_each(
        &self,
        mut visit: impl FnMut(LinePosition, Line) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut reader = self.records(RecordPosition { offset: 0, line: 1 })?;
        let mut record = Vec::new();
        if self.columns.is_some() {
            reader.read(&mut record).map_err(|it| self.failure(&it))?;
        }
        let mut problems = Problems::default();
        loop {
            let position = match reader.read(&mut record) {
                Ok(Some(position)) => position,
                Ok(None) => break,
                Err(error) => {
                    problems.add(self.failure(&error));
                    break;
                }
            };
            let columns = self.columns.as_ref();
            if columns.is_some_and(|columns| columns.is_blank(&record)) {
                continue;
            }
            let line = self.parse(position, &record);
            let visited = line.and_then(|line| visit(LinePosition(position), line));
            if let Err(problem) = visited {
                problems.add(problem);
            }
        }
        problems.into_result()
    }

    pub(super) fn line_at(&self, LinePosition(position): LinePosition) -> Result<Line, Failure> {
        let mut record = Vec::new();
        let mut reader = self.records(position)?;
        match reader.read(&mut record).map_err(|it| self.failure(&it))? {
            Some(found) if found == position => self.parse(position, &record),
            _ => Err(self.changed(self.number(position))),
        }
    }

    pub(super) fn number_at(&self, LinePosition(position): LinePosition) -> u32 {
        self.number(position)
    }

    /// Returns how messages name a line: `line 2`, or `row 2 (line 3)` where a header precedes it.
    pub(super) fn place(&self, number: u32) -> String {
        match self.rows.format {
            RecordFormat::Jsonl => format!("line {number}"),
            RecordFormat::Csv { .. } => {
                let line = number.saturating_add(self.header_lines);
                format!("row {number} (line {line})")
            }
        }
    }

    /// Returns how messages name several lines, of which the first numbers are given.
    pub(super) fn places(&self, numbers: &[u32], total: usize) -> String {
        if let ([number], 1) = (numbers, total) {
            return self.place(*number);
        }
        let noun = match self.rows.format {
            RecordFormat::Jsonl => "lines",
            RecordFormat::Csv { .. } => "rows",
        };
        let shown: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let shown = shown.join(", ");
        match total.saturating_sub(numbers.len()) {
            0 => format!("{noun} {shown}"),
            hidden => format!("{noun} {shown} and {hidden} more"),
        }
    }

    /// Returns the failure of a manifest that changes while the batch runs.
    pub(super) fn changed(&self, number: u32) -> Failure {
        Failure::usage(format!(
            "{}: {} has changed while the batch was running",
            self.path.display(),
            self.place(number)
        ))
    }

    fn read_header(&mut self, separator: u8) -> Result<(), Failure> {
        let mut header = Vec::new();
        let mut reader = self.records(RecordPosition { offset: 0, line: 1 })?;
        let found = reader.read(&mut header).map_err(|it| self.failure(&it))?;
        let Some(position) = found else {
            let path = self.path.display();
            return Err(Failure::usage(format!("{path} has no header line")));
        };
        let columns = Columns::parse(&header, separator, &self.defaults.ignored_columns)
            .map_err(|why| Failure::usage(format!("{}: {why}", self.path.display())))?;
        let breaks = header.iter().filter(|byte| **byte == b'\n').count();
        self.header_lines = position.line + u32::try_from(breaks).unwrap_or(u32::MAX);
        self.columns = Some(columns);
        Ok(())
    }

    fn records(&self, start: RecordPosition) -> Result<RecordReader<BufReader<&File>>, Failure> {
        self.rows.records(start).map_err(|error| self.failure(&error))
    }

    fn parse(&self, position: RecordPosition, record: &[u8]) -> Result<Line, Failure> {
        let number = self.number(position);
        let path = self.path.display();
        let place = self.place(number);
        let invalid = |why: String| Failure::usage(format!("{path}: {place}: {why}"));
        let parsed = match &self.columns {
            Some(columns) => self.parse_row(columns, record, number),
            None => {
                // An array would be read as the fields in their order.
                if let Some(at) = array_start(record) {
                    let column = at + 1;
                    return Err(Failure::usage(format!(
                        "{path}: {place}, column {column}: invalid type: sequence: expected an object"
                    )));
                }
                let line: JsonLine = serde_json::from_slice(record).map_err(|error| {
                    let (column, why) = (error.column(), json_problem(&error));
                    Failure::usage(format!("{path}: {place}, column {column}: {why}"))
                })?;
                line.parse()
            }
        };
        let (id, named, mut body) = parsed.map_err(invalid)?;
        for (name, value) in &self.defaults.fields {
            body.entry(name).or_insert_with(|| value.clone());
        }
        let id = id.unwrap_or_else(|| number.to_string());
        let operation = match named {
            Some(operation) => operation,
            None => self.operation_of(&id, model_of(&body).as_deref()).map_err(invalid)?,
        };
        if id.is_empty() {
            return Err(invalid("`id` is empty".to_owned()));
        }
        if id.len() > MAX_ID_BYTES || id.chars().any(char::is_control) {
            let why =
                format!("`id` must have at most {MAX_ID_BYTES} bytes, without control characters");
            return Err(invalid(why));
        }
        let body = check_body(operation, body).map_err(invalid)?;
        Ok(Line { id, operation, names_operation: named.is_some(), body })
    }

    fn parse_row(&self, columns: &Columns, record: &[u8], number: u32) -> Result<Parsed, String> {
        let mut row = columns.row(record)?;
        let id = row.id.take();
        let named = row.operation.as_deref().map(parse_operation).transpose()?;
        let operation = match named {
            Some(operation) => operation,
            None => {
                let model = row.cell("model").map(str::to_owned);
                let model = model.or_else(|| model_of(&self.defaults.fields));
                let id = id.clone().unwrap_or_else(|| number.to_string());
                self.operation_of(&id, model.as_deref())?
            }
        };
        let Some(fields) = self.fields.get(operation.name()) else {
            return Err(format!("the fields of {} are not known", operation.name()));
        };
        Ok((id, named, row.body(fields)?))
    }

    /// Returns the operation of a line that names none: that of the flags, that which it was submitted
    /// with, or that of its model.
    fn operation_of(&self, id: &str, model: Option<&str>) -> Result<Operation, String> {
        let submitted = || self.submitted.get(&hash_id(id)).copied();
        let by_model = || self.kinds.get(model?).copied();
        let operation = self.defaults.operation.or_else(submitted).or_else(by_model);
        operation.ok_or_else(|| match model {
            Some(model) if model != AUTO => format!(
                "the kind of the model `{model}` is not known: name the operation, such as \
                 --operation image_generate or --operation video_generate"
            ),
            _ => "it names no operation and no model: pass --operation image_generate or \
                 --operation video_generate"
                .to_owned(),
        })
    }

    fn number(&self, position: RecordPosition) -> u32 {
        position.line.saturating_sub(self.header_lines)
    }

    fn failure(&self, error: &io::Error) -> Failure {
        Failure::usage(format!("cannot read {}: {error}", self.path.display()))
    }
}

impl JsonLine {
    fn parse(self) -> Result<Parsed, String> {
        let id = match self.id {
            None => None,
            Some(Value::String(id)) => Some(id),
            Some(Value::Number(id)) => Some(id.to_string()),
            Some(other) => return Err(format!("invalid id {other}: expected a string")),
        };
        let operation = self.operation.as_deref().map(parse_operation);
        let operation = operation.transpose()?;
        let body = self
            .body
            .ok_or("`body` is missing: expected {\"id\"?, \"operation\"?, \"body\": {…}}")?;
        Ok((id, operation, body))
    }
}

impl Line {
    /// Returns a hash of the operation and the body.
    pub(super) fn hash(&self) -> u64 {
        let body = Value::Object(self.body.clone());
        let hash = RequestHash::new("", "", self.operation, &[], &body, None).to_string();
        hash.get(..16).and_then(|prefix| u64::from_str_radix(prefix, 16).ok()).unwrap_or_default()
    }
}

/// The model that stands for any video model.
const AUTO: &str = "auto";

fn model_of(body: &Map<String, Value>) -> Option<String> {
    body.get("model").and_then(Value::as_str).map(str::to_owned)
}

/// Returns where an array starts, if the record is one.
fn array_start(record: &[u8]) -> Option<usize> {
    let at = record.iter().position(|byte| !byte.is_ascii_whitespace())?;
    (record.get(at) == Some(&b'[')).then_some(at)
}

/// Returns what is wrong with a JSON text, without the position, which is relative to the record.
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

/// Parses the name of an operation that a batch can submit.
pub(crate) fn parse_operation(name: &str) -> Result<Operation, String> {
    match Operation::from_name(name).filter(|operation| is_supported(*operation)) {
        Some(operation) => Ok(operation),
        None => {
            let names: Vec<_> = operations().map(Operation::name).collect();
            let similar = names.iter().copied().map(|it| (strsim::jaro_winkler(name, it), it));
            let nearest = similar.max_by(|a, b| a.0.total_cmp(&b.0));
            let guess = nearest.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY);
            Err(match guess {
                Some((_, guess)) => {
                    format!("invalid operation `{name}`: did you mean `{guess}`?")
                }
                None => {
                    let names = names.join(", ");
                    format!("invalid operation `{name}`: expected one of {names}")
                }
            })
        }
    }
}

/// Returns the operations that a batch can submit.
pub(crate) fn operations() -> impl Iterator<Item = Operation> {
    Operation::ALL.iter().copied().filter(|it| is_supported(*it))
}

/// Returns whether an operation submits a job or a run, and takes no path segment. A top-up is paid
/// for at its checkout page, and is not part of a batch.
fn is_supported(operation: Operation) -> bool {
    operation.retry().sends_idempotency_key()
        && operation.auth() == Auth::Key
        && operation.placeholders().next().is_none()
        && matches!(operation.surface(), Surface::Open | Surface::Developer)
        && !operation.is_hidden()
        && operation != Operation::TopUpsCreate
}

/// Checks a body as the commands that submit do.
fn check_body(
    operation: Operation,
    body: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let is_capped = body.contains_key("generation_spend_cap_usd");
    if operation == Operation::AgentCompletionsCreate && !is_capped {
        return Err("`generation_spend_cap_usd` is required (USD)".to_owned());
    }
    let body = RequestBody::from_fields(body);
    let body = match operation {
        Operation::VideoGenerate => body.with_default("model", "auto"),
        _ => body,
    };
    body.finish().map_err(|failure| failure.headline())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manifest(name: &str, text: &str) -> (tempfile::TempDir, Result<Manifest, Failure>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let operation = Some(Operation::VideoGenerate);
        let manifest = Manifest::open(&path, LineDefaults { operation, ..LineDefaults::default() });
        (folder, manifest)
    }

    fn lines(name: &str, text: &str) -> Result<Vec<Line>, Failure> {
        let (_folder, manifest) = manifest(name, text);
        let manifest = manifest?;
        let (mut positions, mut lines) = (Vec::new(), Vec::new());
        manifest.for_each(|position, line| {
            positions.push(position);
            lines.push(line);
            Ok(())
        })?;
        for (position, line) in positions.iter().zip(&lines) {
            assert_eq!(manifest.line_at(*position)?, *line);
        }
        Ok(lines)
    }

    #[test]
    fn a_line_has_an_id_an_operation_and_a_body() {
        let text = r#"{"body": {"prompt": "a"}}

{"id": "x", "operation": "image_generate", "body": {"model": "image-i"}}
{"id": 7, "body": {"model": "video-f"}}"#;
        let lines = lines("m.jsonl", text).unwrap();
        let ids: Vec<_> = lines.iter().map(|line| line.id.as_str()).collect();
        assert_eq!(ids, ["1", "x", "7"]);
        assert_eq!(lines[1].operation, Operation::ImageGenerate);
        assert_eq!(Value::Object(lines[0].body.clone()), json!({"model": "auto", "prompt": "a"}));
        let mut other = lines[1].clone();
        assert_eq!(other.hash(), lines[1].hash());
        other.operation = Operation::Image1Generate;
        assert_ne!(other.hash(), lines[1].hash());
    }

    #[test]
    fn the_header_of_a_csv_file_does_not_count() {
        let text = "\nid,model,prompt\n,video-f,one\n\nx,video-f,\"two\nlines\"\n,video-f,three\n";
        let lines = lines("m.CSV", text).unwrap();
        let ids: Vec<_> = lines.iter().map(|line| line.id.as_str()).collect();
        assert_eq!(ids, ["1", "x", "5"]);
        assert_eq!(lines[1].body["prompt"], "two\nlines");
    }

    #[test]
    fn invalid_lines_are_named() {
        let rows = [
            ("{\"body\":{}}\n{", "line 2, column 1: the JSON ends too early"),
            (
                "{\"prompt\": \"x\"}",
                "line 1, column 9: unknown field `prompt`: expected one of `id`, `operation`, \
                `body` (the fields of the request belong into \"body\")",
            ),
            ("7", "line 1, column 1: invalid type: integer `7`: expected an object"),
            ("{\"id\": \"a\"}", "`body` is missing"),
            ("{\"id\": \"\", \"body\": {}}", "`id` is empty"),
            ("{\"id\": [], \"body\": {}}", "invalid id []"),
            (
                "{\"operation\": \"jobs_list\", \"body\": {}}",
                "invalid operation `jobs_list`: expected one of",
            ),
            (
                "{\"operation\": \"image-generat\", \"body\": {}}",
                "invalid operation `image-generat`: did you mean `image_generate`?",
            ),
            ("{\"operation\": \"alias_image_1_0\", \"body\": {}}", "invalid operation"),
            ("{\"operation\": \"top_ups_create\", \"body\": {}}", "invalid operation"),
            (
                "{\"operation\": \"agent_completions_create\", \"body\": {\"instruction\": \"x\"}}",
                "`generation_spend_cap_usd` is required",
            ),
            ("{\"body\": {\"prompt\": null}}", "`prompt` must not be null"),
        ];
        for (text, expected) in rows {
            let failure = lines("m.jsonl", text).unwrap_err();
            assert_eq!(failure.exit(), crate::error::Exit::Usage);
            let headline = failure.headline();
            assert!(headline.contains(expected), "{headline}");
        }
        let row = lines("m.csv", "id,prompt\na,x\nb,x,y\n").unwrap_err();
        let headline = row.headline();
        assert!(headline.contains("row 2 (line 3): it has 3 cells"), "{headline}");
        let quote = lines("m.csv", "id,prompt\na,\"x\n").unwrap_err();
        let headline = quote.headline();
        assert!(
            headline.contains("the record in line 2 has a quote that is not closed"),
            "{headline}"
        );
        let (_folder, empty) = manifest("m.csv", "\n");
        assert!(empty.unwrap_err().headline().contains("no header line"));
    }

    #[test]
    fn the_problems_of_several_lines_are_reported_at_once() {
        let failure = lines("m.jsonl", &"7\n".repeat(13)).unwrap_err();
        assert!(failure.headline().contains("line 1, column 1"));
        let others = failure.detail_lines();
        assert_eq!(others.len(), 10);
        assert!(others[8].contains("line 10, column 1: invalid type"), "{others:?}");
        assert_eq!(others[9], "and 3 more problems");
    }

    #[test]
    fn batches_submit_jobs_and_agent_runs() {
        let names: Vec<_> = operations().map(Operation::name).collect();
        assert_eq!(
            names,
            [
                "image_generate",
                "video_generate",
                "avatar_generate",
                "avatar_talking_video",
                "image_1_generate",
                "video_1_generate",
                "music_1_generate",
                "avatar_previews_create",
                "video_captions_create",
                "agent_completions_create",
            ]
        );
    }
}
