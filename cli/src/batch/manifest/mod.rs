//! Manifests: the requests of a batch, one per line of a JSONL file or per row of a spreadsheet.
//!
//! A manifest is read several times: to look up its models, to check every line before anything is sent,
//! and then line by line, when a request is about to be submitted. At no time is more than one line in
//! memory.

mod line;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use svc_sdk::contract::Operation;

use self::line::GivenLine;
use super::journal::hash_id;
use crate::error::{Failure, Result};
use crate::request::rows::{Columns, Fields, RecordFormat, RecordPosition, RecordReader, RowFile};
use crate::text::{counted, nearest, sanitize, shell_quote};

pub(crate) use self::line::operations;
pub(super) use self::line::{Line, parse_operation};

const MAX_SHOWN_PROBLEMS: usize = 10;

#[derive(Debug, Default)]
pub(super) struct LineDefaults {
    pub(super) operation: Option<Operation>,
    pub(super) fields: Map<String, Value>,
    pub(super) ignored_columns: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    rows: RowFile,
    defaults: LineDefaults,
    /// The operations that items were submitted with, which stay theirs, by the hashes of their ids.
    pub(super) submitted: HashMap<u128, Operation>,
    pub(super) kinds: HashMap<String, Operation>,
    columns: Option<Columns>,
    fields: BTreeMap<&'static str, Fields>,
    header_lines: u32,
}

#[derive(Debug, Default)]
pub(super) struct Models {
    /// Models that decide the operation of a line, each with how messages name its first line.
    pub(super) without_operation: BTreeMap<String, String>,
    pub(super) named: BTreeMap<String, String>,
}

impl Manifest {
    /// Opens a manifest. It is a spreadsheet if its name ends in `.csv` or `.tsv`, and JSONL otherwise.
    pub(super) fn open(path: &Path, defaults: LineDefaults) -> Result<Self> {
        let mut manifest = Self {
            path: path.to_owned(),
            rows: RowFile::open(path)?,
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

    /// Returns the columns that are not known as fields of an operation.
    pub(super) fn unknown_columns(&self, operation: &str) -> Vec<&str> {
        let (Some(columns), Some(fields)) = (&self.columns, self.fields.get(operation)) else {
            return Vec::new();
        };
        let is_own = |name: &str| OWN_COLUMNS.iter().any(|own| own.eq_ignore_ascii_case(name));
        columns.names().filter(|name| !is_own(name) && fields.name_of(name).is_none()).collect()
    }

    pub(super) const fn is_spreadsheet(&self) -> bool {
        self.columns.is_some()
    }

    /// Returns the models of the lines that were not submitted. Lines that are not valid are left out.
    pub(super) fn models(&self) -> Result<Models> {
        let mut models = Models::default();
        let mut reader = self.reader()?;
        let mut record = Vec::new();
        while let Ok(Some(position)) = reader.read(&mut record) {
            let Ok(given) = self.given(&record) else { continue };
            let Some(model) = given.model(&self.defaults.fields) else { continue };
            let operation = given.operation().ok().flatten().or(self.defaults.operation);
            let id = given.id.clone().unwrap_or_else(|| self.number_at(position).to_string());
            if self.submitted.contains_key(&hash_id(&id)) {
                continue;
            }
            let models = match operation {
                None => &mut models.without_operation,
                Some(Operation::ImageGenerate | Operation::VideoGenerate) => &mut models.named,
                Some(_) => continue,
            };
            let name = || match given.body.contains_key("model") {
                true => format!("{}: {}: ", self.path.display(), self.item_name(position, &id)),
                false => String::new(),
            };
            models.entry(model).or_insert_with(name);
        }
        Ok(models)
    }

    /// Calls a function with every valid line, in order. The problems of all lines are reported together.
    pub(super) fn for_each(&self, mut visit: impl FnMut(RecordPosition, Line) -> Result) -> Result {
        let mut reader = self.reader()?;
        let (mut record, mut seen) = (Vec::new(), HashSet::new());
        let (mut header, mut problems) = (Vec::new(), Vec::new());
        let (mut hidden, mut is_end) = (0_usize, false);
        while !is_end {
            let visited = match reader.read(&mut record) {
                Ok(Some(_)) if self.columns.as_ref().is_some_and(|it| it.is_blank(&record)) => {
                    Ok(())
                }
                Ok(Some(position)) => match self.parse(position, &record) {
                    Ok(line) => visit(position, line),
                    Err(Problem::Header(found)) => {
                        header.extend(found.into_iter().filter(|why| seen.insert(why.clone())));
                        Ok(())
                    }
                    Err(Problem::Record(column, why)) => Err(self.record(position, column, &why)),
                },
                Ok(None) => break,
                Err(error) => {
                    is_end = true;
                    Err(self.failure(&error))
                }
            };
            match visited {
                Ok(()) => {}
                Err(problem) if problems.len() < MAX_SHOWN_PROBLEMS => problems.push(problem),
                Err(_) => hidden += 1,
            }
        }
        let path = self.path.display();
        let header = header.iter().map(|why| Failure::usage(format!("{path}: {why}")));
        let mut problems = header.chain(problems);
        let Some(first) = problems.next() else { return Ok(()) };
        let failure = problems.fold(first, |failure, problem| failure.issue(problem.headline()));
        Err(match hidden {
            0 => failure,
            count => failure.issue(format!("and {}", counted(count, "more problem"))),
        })
    }

    pub(super) fn line_at(&self, position: RecordPosition) -> Result<Line> {
        let mut record = Vec::new();
        let mut reader = self.rows.records(position).map_err(|it| self.failure(&it))?;
        match reader.read(&mut record).map_err(|it| self.failure(&it))? {
            Some(found) if found == position => {
                self.parse(position, &record).map_err(|_| self.changed(position))
            }
            _ => Err(self.changed(position)),
        }
    }

    pub(super) fn number_at(&self, position: RecordPosition) -> u32 {
        position.line.saturating_sub(self.header_lines)
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

    /// Returns how messages name an item: its line, and its id if it has one.
    pub(super) fn item_name(&self, position: RecordPosition, id: &str) -> String {
        let number = self.number_at(position);
        let place = self.place(number);
        if id == number.to_string() { place } else { format!("{place}, item {}", sanitize(id)) }
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

    pub(super) fn changed(&self, position: RecordPosition) -> Failure {
        let (path, place) = (self.path.display(), self.place(self.number_at(position)));
        Failure::usage(format!("{path}: {place} has changed while the batch was running"))
    }

    fn read_header(&mut self, separator: u8) -> Result {
        let path = self.path.display();
        let mut header = Vec::new();
        let mut reader = self.reader()?;
        let found = reader.read(&mut header).map_err(|it| self.failure(&it))?;
        let Some(position) = found else {
            return Err(Failure::usage(format!("{path} has no header line")));
        };
        let columns = Columns::parse(&header, separator, &self.defaults.ignored_columns)
            .map_err(|why| Failure::usage(format!("{path}: {why}")))?;
        let breaks = header.iter().filter(|byte| **byte == b'\n').count();
        self.header_lines = position.line + u32::try_from(breaks).unwrap_or(u32::MAX);
        self.columns = Some(columns);
        Ok(())
    }

    /// Returns the records below the header.
    fn reader(&self) -> Result<RecordReader<BufReader<&File>>> {
        let reader = self.rows.records(RecordPosition::START);
        let mut reader = reader.map_err(|error| self.failure(&error))?;
        if self.columns.is_some() {
            reader.read(&mut Vec::new()).map_err(|it| self.failure(&it))?;
        }
        Ok(reader)
    }

    fn parse(&self, position: RecordPosition, record: &[u8]) -> Result<Line, Problem> {
        let given = self.given(record);
        let given = given.map_err(|(column, why)| Problem::Record(column, why))?;
        self.line(given, self.number_at(position))
    }

    fn record(&self, position: RecordPosition, column: Option<usize>, why: &str) -> Failure {
        let (path, place) = (self.path.display(), self.place(self.number_at(position)));
        let column = column.map(|column| format!(", column {column}")).unwrap_or_default();
        Failure::usage(format!("{path}: {place}{column}: {why}"))
    }

    /// Parses a record. An error has its column, if it is known.
    fn given(&self, record: &[u8]) -> Result<GivenLine, (Option<usize>, String)> {
        let Some(columns) = &self.columns else { return GivenLine::from_json(record) };
        let mut given = GivenLine { id: None, operation: None, body: Map::new() };
        for (name, cell) in columns.cells(record).map_err(|why| (None, why))? {
            match name.to_ascii_lowercase().as_str() {
                "id" => given.id = Some(cell),
                "operation" => given.operation = Some(cell),
                "model" => {
                    if given.body.insert("model".to_owned(), cell.into()).is_some() {
                        return Err((None, "two columns are the field `model`".to_owned()));
                    }
                }
                _ => drop(given.body.insert(name.to_owned(), cell.into())),
            }
        }
        Ok(given)
    }

    fn line(&self, given: GivenLine, number: u32) -> Result<Line, Problem> {
        let named = given.operation()?;
        let model = given.model(&self.defaults.fields);
        let id = given.id.unwrap_or_else(|| number.to_string());
        let operation = match named {
            Some(operation) => operation,
            None => self.operation_of(&id, model.as_deref())?,
        };
        let mut body = self.typed(given.body, operation)?;
        for (name, value) in &self.defaults.fields {
            body.entry(name).or_insert_with(|| value.clone());
        }
        Ok(Line::new(id, operation, named.is_some(), body)?)
    }

    /// Takes the operation of the flags, that of an earlier run, or that of the line's model.
    fn operation_of(&self, id: &str, model: Option<&str>) -> Result<Operation, Problem> {
        let submitted = || self.submitted.get(&hash_id(id)).copied();
        let by_model = || self.kinds.get(model?).copied();
        let operation = self.defaults.operation.or_else(submitted).or_else(by_model);
        operation.ok_or_else(|| match model {
            Some(model) => Problem::from(format!(
                "the kind of the model `{model}` is not known: name the operation, such as \
                 --operation image_generate or --operation video_generate"
            )),
            None if self.is_spreadsheet() && !self.has_column(&["operation", "model"]) => {
                let why = format!("the rows name no operation and no model: {PASS_OPERATION}");
                Problem::Header(std::iter::once(why).chain(self.columns_of_no_media()).collect())
            }
            None => Problem::from(format!("it names no operation and no model: {PASS_OPERATION}")),
        })
    }

    /// Returns the columns as fields, without regard to case, and their cells as typed values.
    fn typed(
        &self,
        cells: Map<String, Value>,
        operation: Operation,
    ) -> Result<Map<String, Value>, Problem> {
        let Some(fields) = self.fields.get(operation.name()) else { return Ok(cells) };
        let unknown = cells.keys().filter(|it| fields.is_complete && fields.name_of(it).is_none());
        let unknown: Vec<String> =
            unknown.map(|it| self.unknown_column(it, operation.name(), fields.names())).collect();
        if !unknown.is_empty() {
            return Err(Problem::Header(unknown));
        }
        let mut body = Map::new();
        for (column, cell) in cells {
            let field = fields.name_of(&column).unwrap_or(&column);
            let cell = cell.as_str().unwrap_or_default().to_owned();
            if body.insert(field.to_owned(), fields.value(field, cell)?).is_some() {
                return Err(Problem::Header(vec![format!("two columns are the field `{field}`")]));
            }
        }
        Ok(body)
    }

    /// Returns what is wrong with the columns that are fields of neither images nor videos.
    fn columns_of_no_media(&self) -> impl Iterator<Item = String> {
        let fields = ["image_generate", "video_generate"].map(|name| self.fields.get(name));
        let names = move || fields.into_iter().flatten().flat_map(Fields::names).chain(OWN_COLUMNS);
        let columns = self.columns.iter().flat_map(Columns::names);
        let unknown =
            columns.filter(move |it| !names().any(|known| known.eq_ignore_ascii_case(it)));
        unknown.map(move |it| self.unknown_column(it, "image_generate or video_generate", names()))
    }

    /// Says that a column is not a field, and what may be meant.
    fn unknown_column<'a>(
        &self,
        column: &str,
        operation: &str,
        fields: impl Iterator<Item = &'a str>,
    ) -> String {
        let is_name = ["name", "file", "filename", "title"].contains(&&*column.to_lowercase());
        let guess = match nearest(column, fields.chain(OWN_COLUMNS)) {
            _ if is_name && !self.has_column(&["id"]) => {
                "to name the items and their files, rename the column to `id`; to leave it out"
                    .into()
            }
            Some(field) => format!("did you mean `{field}`? To leave it out"),
            None => "to leave it out".to_owned(),
        };
        let quoted = shell_quote(column);
        format!(
            "the column `{column}` is not a field of {operation}: {guess}: --ignore-column {quoted}"
        )
    }

    fn has_column(&self, names: &[&str]) -> bool {
        let mut columns = self.columns.iter().flat_map(Columns::names);
        columns.any(|column| names.iter().any(|name| name.eq_ignore_ascii_case(column)))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        Failure::usage(format!("cannot read {}: {error}", self.path.display()))
    }
}

/// The columns that are not fields of the body.
const OWN_COLUMNS: [&str; 2] = ["id", "operation"];

const PASS_OPERATION: &str =
    "pass --model MODEL, or --operation image_generate or --operation video_generate";

/// What is wrong with a record.
enum Problem {
    /// What the header is the reason for, so that other records have it too.
    Header(Vec<String>),
    /// Its column, if it is known, and why.
    Record(Option<usize>, String),
}

impl From<String> for Problem {
    fn from(why: String) -> Self {
        Self::Record(None, why)
    }
}
