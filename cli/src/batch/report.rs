//! The output of a batch: a line for each item that ends, or an array or a table at the end.

use serde_json::{Value, json};
use svc_sdk::types::{IdempotencyKey, Usd};

use crate::args::Format;
use crate::batch::journal::{Status, status_words};
use crate::batch::reasons::Reasons;
use crate::download::StoredFile;
use crate::error::Failure;
use crate::output::layout::{cut, number, required, status, whole};
use crate::output::values::optional_money;
use crate::output::{Printer, Table};
use crate::resource::ResourceId;
use crate::session::Session;

/// The maximum number of rows in the table. Beyond it, only items that did not complete are listed.
const MAX_TABLE_ROWS: usize = 500;

#[derive(Debug)]
pub(super) struct EndedItem {
    pub(super) id: String,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) status: Status,
    pub(super) resource: Option<ResourceId>,
    pub(super) price: Option<Usd>,
    pub(super) artifacts: Vec<Value>,
    pub(super) files: Vec<StoredFile>,
    pub(super) error: Option<Value>,
}

impl EndedItem {
    pub(super) fn to_json(&self, is_run: bool) -> Value {
        let mut item = json!({
            "item": self.id,
            "object": if is_run { "run" } else { "job" },
            "id": self.resource.as_ref().map(ResourceId::id),
            "idempotency_key": self.key,
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

/// How the items are printed.
#[derive(Debug)]
enum Form {
    /// A line for each item, as it ends.
    Lines,
    /// One array, at the end.
    Array(Vec<Value>),
    /// A table, at the end: its rows, why items did not complete, and how many ended.
    Table { rows: Vec<Value>, reasons: Reasons, count: usize },
}

/// The output of a batch.
#[derive(Debug)]
pub(super) struct Report<'a> {
    printer: &'a Printer,
    form: Form,
}

impl<'a> Report<'a> {
    /// Creates the output in the requested form: lines, unless standard output is a terminal.
    pub(super) fn new(session: &'a Session) -> Self {
        let printer = &session.printer;
        let table = Form::Table { rows: Vec::new(), reasons: Reasons::default(), count: 0 };
        let form = match session.global.output {
            Some(Format::Json) => Form::Array(Vec::new()),
            Some(Format::Table) => table,
            None if printer.is_table() => table,
            Some(Format::Jsonl) | None => Form::Lines,
        };
        Self { printer, form }
    }

    /// Adds an item that ended.
    pub(super) fn add(&mut self, item: Value) -> Result<(), Failure> {
        match &mut self.form {
            Form::Lines => {
                let line = self.printer.format_line(&item, ToString::to_string)?;
                self.printer.print_bytes(line.as_bytes())?;
            }
            Form::Array(items) => items.push(item),
            Form::Table { rows, reasons, count } => {
                let is_unfinished =
                    |item: &Value| item.get("status") != Some(&json!(Status::Completed));
                *count += 1;
                reasons.add(&item);
                if *count == MAX_TABLE_ROWS + 1 {
                    rows.retain(is_unfinished);
                }
                if *count <= MAX_TABLE_ROWS || (is_unfinished(&item) && rows.len() < MAX_TABLE_ROWS)
                {
                    rows.push(item);
                }
            }
        }
        Ok(())
    }

    /// Prints what was not printed yet.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        match &self.form {
            Form::Lines => Ok(()),
            Form::Array(items) => self.printer.print_list(items, |_| Table::default()),
            Form::Table { rows, reasons, count } => {
                if *count > MAX_TABLE_ROWS {
                    self.printer.note(&format!(
                        "{count} items ended; the table shows at most {MAX_TABLE_ROWS} that did \
                        not complete (for all, use -o jsonl or svc batch status)"
                    ));
                }
                if rows.is_empty() { Ok(()) } else { print_items(self.printer, rows, reasons) }
            }
        }
    }
}

/// Prints a table of items, and below it why some did not complete.
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

fn items_table(items: &[Value]) -> Table {
    let mut table = Table::new([
        required("item"),
        status("status"),
        whole("id"),
        number("price"),
        cut("result"),
    ]);
    for item in items {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let job = [text("job_id"), text("run_id")].concat();
        let price = text("price_usd").parse().ok();
        table.row([
            text("item"),
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
    if files.is_empty() { strings("artifacts", "url").join(" ") } else { files.join(" ") }
}
