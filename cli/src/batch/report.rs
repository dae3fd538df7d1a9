//! What a batch shows: a line for each item that ends, or an array or a table at the end, followed by the
//! whole reasons of items that did not complete, because table cells are cut; and on a terminal how far it is.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::{Value, json};
use svc_sdk::journal::Entry;
use svc_sdk::types::Usd;
use tokio::time::Instant;

use super::journal::{ItemResult, Spent, Status, resource_id, status_words};
use super::plan::Index;
use super::summary::Summary;
use crate::args::Format;
use crate::clock;
use crate::error::Result;
use crate::journal::LABEL;
use crate::output::json::to_value;
use crate::output::layout::{cut, number, required, status, whole};
use crate::output::object::Shown;
use crate::output::values::{money, optional_money};
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
    to_value(&Shown::new(kind, &item)).unwrap_or_default()
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

/// How long a batch runs before its rate says something.
const MIN_RATE_TIME: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    pub(super) in_flight: usize,
    /// What was charged for the items in flight.
    pub(super) charged: Spent,
    pub(super) is_slowed: bool,
}

/// A progress bar with counts. It is hidden unless standard error is a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    ended_before: usize,
    limit: Option<Usd>,
    started: Instant,
}

impl Progress {
    pub(super) fn new(printer: &Printer, summary: &Summary, limit: Option<Usd>) -> Self {
        let bar = printer.shows_progress().then(|| {
            let length = u64::try_from(summary.total).unwrap_or(u64::MAX);
            let bar = printer.add_progress_bar(ProgressBar::new(length));
            // A line that is broken cannot be cleared whole once the terminal shows Ctrl-C in it.
            let template = match console::Term::stderr().size().1 {
                ..80 => "{spinner} {pos} of {len}  {elapsed}  {wide_msg}",
                _ => "{spinner} {bar:24} {pos} of {len}  {elapsed}  {msg}",
            };
            bar.set_style(crate::output::progress_style(template));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar, ended_before: summary.ended(), limit, started: clock::monotonic() }
    }

    pub(super) fn update(&self, summary: &Summary, activity: Activity) {
        if let Some(bar) = &self.bar {
            bar.set_position(u64::try_from(summary.ended()).unwrap_or(u64::MAX));
            let elapsed = clock::monotonic().saturating_duration_since(self.started);
            bar.set_message(self.describe(summary, activity, elapsed));
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn describe(&self, summary: &Summary, activity: Activity, elapsed: Duration) -> String {
        let mut parts = vec![format!("{} in flight", activity.in_flight)];
        let count = |statuses: &[Status]| -> usize {
            statuses.iter().map(|status| summary.count(*status)).sum()
        };
        for (count, what) in [
            (count(&[Status::Failed, Status::Unknown]), "failed"),
            (count(&[Status::Canceled, Status::Skipped]), "canceled"),
            (count(&[Status::Ambiguous]), "ambiguous"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let spent: Spent = [summary.spent, activity.charged].into_iter().sum();
        parts.push(match self.limit {
            Some(limit) => format!("{spent} of {}", money(limit)),
            None => spent.to_string(),
        });
        parts.extend(self.rate(summary, elapsed));
        if activity.is_slowed {
            parts.push("service busy, slowing down".to_owned());
        }
        parts.join(", ")
    }

    /// Returns the items per minute and the time left, as soon as they say something.
    fn rate(&self, summary: &Summary, elapsed: Duration) -> Option<String> {
        let ended = u32::try_from(summary.ended().saturating_sub(self.ended_before)).ok()?;
        let left = u32::try_from(summary.total.saturating_sub(summary.ended())).ok()?;
        if ended == 0 || left == 0 || elapsed < MIN_RATE_TIME {
            return None;
        }
        let per_minute = u64::from(ended) * 60 / elapsed.as_secs().max(1);
        let left = clock::format_duration(elapsed.checked_mul(left)? / ended);
        Some(format!("{per_minute}/min, {left} left"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_counts_that_matter() {
        let mut summary = Summary::new(30, Some(Usd::from_micros(703_500)).into());
        let mut progress =
            Progress { bar: None, ended_before: 2, limit: None, started: clock::monotonic() };
        let mut activity = Activity { in_flight: 8, ..Activity::default() };
        let elapsed = Duration::from_secs(20);
        assert_eq!(progress.describe(&summary, activity, elapsed), "8 in flight, $0.7035");
        for (status, count) in [(Status::Completed, 9), (Status::Failed, 2), (Status::Canceled, 1)]
        {
            (0..count).for_each(|_| summary.add(status));
        }
        activity.is_slowed = true;
        progress.limit = Some(Usd::from_micros(5_000_000));
        assert_eq!(
            progress.describe(&summary, activity, elapsed),
            "8 in flight, 2 failed, 1 canceled, $0.7035 of $5.00, 30/min, 36 s left, service busy, \
             slowing down"
        );
    }
}
