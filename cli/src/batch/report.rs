//! The output of a batch: a line for each item that ends, or an array or a table at the end, followed by the
//! whole reasons of items that did not complete, because table cells are cut.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use svc_sdk::journal::Entry;

use super::journal::{ItemResult, Status, resource_id, status_words};
use super::plan::Index;
use crate::args::Format;
use crate::error::Result;
use crate::journal::LABEL;
use crate::output::layout::{cut, number, required, status, whole};
use crate::output::object::Shown;
use crate::output::values::optional_money;
use crate::output::{ObjectKind, Printer, Table};
use crate::resource::ResourceId;
use crate::session::Session;
use crate::text::{counted, sanitize};

/// The maximum number of rows in the table. Beyond it, only items that did not complete are listed.
const MAX_TABLE_ROWS: usize = 500;

/// Returns an item as it is printed, with its latest submission and what it ended with.
pub(super) fn item_json(
    id: &str,
    is_run: bool,
    status: &str,
    entry: Option<&Entry>,
    result: Option<&ItemResult>,
) -> Value {
    let kind = if is_run { ObjectKind::Run } else { ObjectKind::Job };
    let resource = entry.and_then(resource_id);
    let charge = entry.and_then(|entry| entry.charge_usd);
    let item = json!({
        "item": id,
        "id": resource.as_ref().map(ResourceId::id),
        "idempotency_key": entry.and_then(|entry| entry.idempotency_key.as_ref()),
        "status": status,
        "price_usd": result.map_or(charge, |result| result.price_usd),
        "artifacts": result.map(|result| &result.artifacts),
        "files": result.and_then(|result| result.files.as_ref()),
        "error": result.map(|result| &result.error),
        "label": entry.and_then(label_of),
    });
    json!(Shown::new(kind, &item))
}

pub(super) fn label_of(entry: &Entry) -> Option<&str> {
    entry.notes.get(LABEL)?.as_str()
}

#[derive(Debug)]
enum Form {
    Lines,
    Array(Vec<Value>),
    /// A table, at the end, in the order of the manifest, with what is said below it.
    Table {
        rows: BTreeMap<Index, Value>,
        reasons: Reasons,
        count: usize,
    },
}

#[derive(Debug)]
pub(super) struct Report<'a> {
    printer: &'a Printer,
    form: Form,
}

impl<'a> Report<'a> {
    /// Creates the output in the requested form: lines, unless standard output is a terminal.
    pub(super) fn new(session: &'a Session) -> Self {
        let printer = &session.printer;
        let table = Form::Table { rows: BTreeMap::new(), reasons: Reasons::default(), count: 0 };
        let form = match session.global.output {
            Some(Format::Json) => Form::Array(Vec::new()),
            Some(Format::Table) => table,
            None if printer.is_table() => table,
            Some(Format::Jsonl) | None => Form::Lines,
        };
        Self { printer, form }
    }

    pub(super) fn add(&mut self, index: Index, item: Value) -> Result {
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
                    rows.retain(|_, item| is_unfinished(item));
                }
                if *count <= MAX_TABLE_ROWS || (is_unfinished(&item) && rows.len() < MAX_TABLE_ROWS)
                {
                    rows.insert(index, item);
                }
            }
        }
        Ok(())
    }

    /// Says in one line how many items did not fit into the limit, and which is the first line.
    pub(super) fn add_left_out(
        &mut self,
        count: usize,
        first_index: Index,
        first_line: u32,
        first: &str,
    ) -> Result {
        if let Form::Table { .. } = &self.form {
            let items = counted(count, "item");
            let verb = if count == 1 { "does" } else { "do" };
            self.printer.note(&format!(
                "not submitted: {items} {verb} not fit within --max-spend, the first is {first}"
            ));
            return Ok(());
        }
        let left_out = json!({
            "status": Status::NotSubmitted,
            "count": count,
            "first_line": first_line,
            "reason": "over_budget",
        });
        self.add(first_index, left_out)
    }

    pub(super) fn finish(&self) -> Result {
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
                let rows: Vec<Value> = rows.values().cloned().collect();
                if rows.is_empty() { Ok(()) } else { print_items(self.printer, &rows, reasons) }
            }
        }
    }
}

/// Prints a table of items, and below it why some did not complete.
pub(super) fn print_items(printer: &Printer, items: &[Value], reasons: &Reasons) -> Result {
    printer.print_list(items, items_table)?;
    let lines = reasons.lines();
    if lines.is_empty() {
        return Ok(());
    }
    printer.print_bytes(format!("\n{}\n", lines.join("\n")).as_bytes())
}

fn items_table(items: &[Value]) -> Table {
    // Of what is too wide for a narrow terminal, the last is left out first. URLs and ids are never cut.
    let mut table = Table::new([
        required("item"),
        status("status"),
        number("price"),
        whole("result"),
        whole("id"),
        cut("label").optional(),
    ]);
    for item in items {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut price = optional_money(text("price_usd").parse().ok());
        let status = status_words(text("status"));
        if price.is_empty() && text("status") == Status::Completed.as_str() {
            price = "unknown".to_owned();
        }
        table.row([text("item"), &status, &price, &result_of(item), text("id"), text("label")]);
    }
    table
}

fn result_of(item: &Value) -> String {
    let strings = |name: &str, field: &str| -> Vec<&str> {
        let values = item.get(name).and_then(Value::as_array).into_iter().flatten();
        values.filter_map(|value| value.get(field)?.as_str()).collect()
    };
    if let Some(code) = item.pointer("/error/code") {
        return code.as_str().unwrap_or_default().to_owned();
    }
    let files = strings("files", "path");
    if files.is_empty() { strings("artifacts", "url").join(" ") } else { files.join(" ") }
}

const MAX_REASONS: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Reasons {
    listed: Vec<Reason>,
    /// The number of items with a reason that is not listed.
    hidden: usize,
}

#[derive(Debug)]
struct Reason {
    text: String,
    count: usize,
    id: String,
}

impl Reasons {
    /// Adds an item of the output, if it has an error.
    pub(super) fn add(&mut self, item: &Value) {
        let Some(error) = item.get("error").filter(|error| !error.is_null()) else { return };
        let text = describe_error(error);
        if let Some(reason) = self.listed.iter_mut().find(|it| it.text == text) {
            reason.count += 1;
        } else if self.listed.len() < MAX_REASONS {
            let id = item.get("item").and_then(Value::as_str).unwrap_or_default();
            let id = id.to_owned();
            self.listed.push(Reason { text, count: 1, id });
        } else {
            self.hidden += 1;
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let line = |reason: &Reason| {
            let items = match reason.count {
                1 => format!("item {}", sanitize(&reason.id)),
                count => counted(count, "item"),
            };
            format!("{items}: {}", sanitize(&reason.text))
        };
        let mut lines: Vec<String> = self.listed.iter().map(line).collect();
        if self.hidden > 0 {
            let items = counted(self.hidden, "more item");
            lines.push(format!("{items} for other reasons (see them with -o json)"));
        }
        lines
    }
}

/// Describes the error of an item: its message, its code, and its idempotency key if it is ambiguous.
fn describe_error(error: &Value) -> String {
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let (code, message) = (text("code"), text("message"));
    match (message.contains(code), text("idempotency_key")) {
        (true, "") => message.to_owned(),
        (false, "") => format!("{message} ({code})"),
        (_, key) => format!("{message} (idempotency key {key})"),
    }
}
