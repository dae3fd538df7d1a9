//! The output of a batch: a line for each item that ends, or an array or a table at the end.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use serde_json::{Value, json};
use svc_sdk::types::Usd;

use crate::args::Format;
use crate::batch::journal::{Status, status_words};
use crate::batch::reasons::Reasons;
use crate::download::StoredFile;
use crate::error::Failure;
use crate::output::values::optional_money;
use crate::output::{Column, Printer, Table};
use crate::resource::ResourceId;
use crate::session::Session;

/// The maximum number of rows in the table. Beyond it, only items that did not complete are listed.
const MAX_TABLE_ROWS: usize = 500;

/// An item that ended.
#[derive(Debug)]
pub(super) struct EndedItem {
    pub(super) id: String,
    pub(super) status: Status,
    pub(super) resource: Option<ResourceId>,
    pub(super) price: Option<Usd>,
    pub(super) artifacts: Vec<Value>,
    pub(super) files: Vec<StoredFile>,
    pub(super) error: Option<Value>,
}

impl EndedItem {
    /// Returns the item as JSON.
    pub(super) fn to_json(&self, is_run: bool) -> Value {
        let mut item = json!({
            "id": self.id,
            "status": self.status,
            "price_usd": self.price,
            "artifacts": self.artifacts,
            "files": self.files,
            "error": self.error,
        });
        let field = match &self.resource {
            Some(resource) => resource.field(),
            None if is_run => "run_id",
            None => "job_id",
        };
        let id = self.resource.as_ref().map(ResourceId::id);
        if let Some(fields) = item.as_object_mut() {
            fields.insert(field.to_owned(), json!(id));
        }
        item
    }
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A line for each item, as it ends.
    Lines,
    /// One array, at the end.
    Array,
    /// A table, at the end.
    Table,
}

/// The output of a batch.
#[derive(Debug)]
pub(super) struct Report<'a> {
    printer: &'a Printer,
    form: Form,
    /// The items so far, one per line, if they are printed at the end.
    spool: Option<BufWriter<File>>,
}

impl<'a> Report<'a> {
    /// Creates the output in the requested form: lines, unless standard output is a terminal.
    ///
    /// # Errors
    ///
    /// Returns an error if the temporary file for the items cannot be created.
    pub(super) fn new(session: &'a Session) -> Result<Self, Failure> {
        let printer = &session.printer;
        let form = match session.global.output {
            Some(Format::Json) => Form::Array,
            Some(Format::Jsonl) => Form::Lines,
            Some(Format::Table) => Form::Table,
            None if printer.is_table() => Form::Table,
            None => Form::Lines,
        };
        let spool = match form {
            Form::Lines => None,
            Form::Array | Form::Table => {
                let file = tempfile::tempfile();
                let file = file.map_err(|error| spool_failure(&error))?;
                Some(BufWriter::new(file))
            }
        };
        Ok(Self { printer, form, spool })
    }

    /// Adds an item that ended.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub(super) fn add(&mut self, item: &Value) -> Result<(), Failure> {
        match &mut self.spool {
            Some(spool) => writeln!(spool, "{item}").map_err(|error| spool_failure(&error)),
            None => {
                let line = self.printer.format_line(item, describe)?;
                self.printer.print_bytes(line.as_bytes())
            }
        }
    }

    /// Prints what was not printed yet.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        let Some(spool) = self.spool.take() else {
            return Ok(());
        };
        let mut file = spool.into_inner().map_err(|error| spool_failure(error.error()))?;
        file.seek(SeekFrom::Start(0)).map_err(|error| spool_failure(&error))?;
        let lines = BufReader::new(file).lines();
        match self.form {
            Form::Array if self.printer.has_filter() => {
                let items = lines.map(|line| parse(&line.map_err(|it| spool_failure(&it))?));
                let items = items.collect::<Result<Vec<Value>, Failure>>()?;
                self.printer.print_list(&items, |_| Table::default())
            }
            Form::Array => self.print_array(lines),
            Form::Lines | Form::Table => self.print_table(lines),
        }
    }

    /// Prints the array item by item: a batch can be large.
    fn print_array(
        &self,
        lines: impl Iterator<Item = std::io::Result<String>>,
    ) -> Result<(), Failure> {
        let mut is_first = true;
        for line in lines {
            let line = line.map_err(|error| spool_failure(&error))?;
            let start = match std::mem::replace(&mut is_first, false) {
                true => "[\n  ",
                false => ",\n  ",
            };
            self.printer.print_json_text(&format!("{start}{line}"))?;
        }
        let end = match is_first {
            true => "[]\n",
            false => "\n]\n",
        };
        self.printer.print_json_text(end)
    }

    fn print_table(
        &self,
        lines: impl Iterator<Item = std::io::Result<String>>,
    ) -> Result<(), Failure> {
        let (mut rows, mut count) = (Vec::new(), 0_usize);
        let mut reasons = Reasons::default();
        for line in lines {
            let item = parse(&line.map_err(|error| spool_failure(&error))?)?;
            count += 1;
            reasons.add(&item);
            let is_completed = item.get("status") == Some(&json!(Status::Completed));
            if count == MAX_TABLE_ROWS + 1 {
                rows.retain(|item: &Value| item.get("status") != Some(&json!(Status::Completed)));
            }
            if count <= MAX_TABLE_ROWS || (!is_completed && rows.len() < MAX_TABLE_ROWS) {
                rows.push(item);
            }
        }
        if count > MAX_TABLE_ROWS {
            self.printer.note(&format!(
                "{count} items ended; the table shows at most {MAX_TABLE_ROWS} that did not \
                complete (for all, use -o jsonl or svc batch status)"
            ));
        }
        if rows.is_empty() {
            return Ok(());
        }
        print_items(self.printer, &rows, &reasons)
    }
}

/// Prints a table of items, and below it why some did not complete.
///
/// # Errors
///
/// Returns an error if it cannot be written.
pub(super) fn print_items(
    printer: &Printer,
    items: &[Value],
    reasons: &Reasons,
) -> Result<(), Failure> {
    printer.print_list(items, items_table)?;
    let lines = reasons.lines();
    if lines.is_empty() {
        return Ok(());
    }
    printer.print_bytes(format!("\n{}\n", lines.join("\n")).as_bytes())
}

/// Returns the table of items.
fn items_table(items: &[Value]) -> Table {
    let mut table = Table::new([
        Column::required("id"),
        Column::status("status"),
        Column::whole("job"),
        Column::number("price"),
        Column::text("result"),
    ]);
    for item in items {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let job = [text("job_id"), text("run_id")].concat();
        let price = text("price_usd").parse().ok();
        table.row([
            text("id"),
            &status_words(text("status")),
            &job,
            &optional_money(price),
            &result_of(item),
        ]);
    }
    table
}

/// Returns the files or the URLs of an item, or the code of its error.
fn result_of(item: &Value) -> String {
    let strings = |name: &str, field: &str| -> Vec<String> {
        let values = item.get(name).and_then(Value::as_array);
        let values = values.into_iter().flatten();
        values.filter_map(|value| value.get(field)?.as_str()).map(str::to_owned).collect()
    };
    let error = item.get("error").filter(|error| !error.is_null());
    if let Some(error) = error {
        let code = error.get("code").and_then(Value::as_str);
        return code.unwrap_or_default().to_owned();
    }
    let files = strings("files", "path");
    match files.is_empty() {
        true => strings("artifacts", "url").join(" "),
        false => files.join(" "),
    }
}

fn describe(item: &Value) -> String {
    item.to_string()
}

fn parse(line: &str) -> Result<Value, Failure> {
    serde_json::from_str(line).map_err(|error| Failure::other(error.to_string()))
}

fn spool_failure(error: &std::io::Error) -> Failure {
    Failure::other(format!("cannot use a temporary file for the output: {error}"))
}
