//! What is printed of several jobs or runs, by commands that take one id or several.

use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::output::layout::{cut, number, required, status};
use crate::output::object::Shown;
use crate::output::values::optional_money;
use crate::output::{ObjectKind, Table};
use crate::session::Session;

/// The number of requests that are sent at the same time.
const MAX_CONCURRENT: usize = 8;

/// Does something to each id, and prints what that returns: one object for one id, and for several an
/// array in their order, in which a failure is `{"id", "error"}`. All are tried, and the first failure
/// decides the exit code.
pub(crate) async fn print_each<T: Serialize>(
    session: &Session,
    kind: ObjectKind,
    ids: Vec<String>,
    act: impl AsyncFn(&str) -> Result<T, Failure>,
    table: impl FnOnce(&T) -> Table,
) -> Result<(), Failure> {
    if let [id] = ids.as_slice() {
        return session.printer.print_object(kind, &act(id).await?, table);
    }
    let results: Vec<_> =
        stream::iter(&ids).map(|id| act(id)).buffered(MAX_CONCURRENT).collect().await;
    let (mut shown, mut failures) = (Vec::new(), Vec::new());
    for (id, result) in ids.iter().zip(results) {
        match result {
            Ok(item) => shown.push(Shown::new(kind, &item)),
            Err(failure) => {
                shown.push(Shown::failed(id, &failure));
                failures.push(failure);
            }
        }
    }
    shown.iter().for_each(|shown| session.printer.note_status(shown));
    session.printer.print_list(&shown, several)?;
    let (count, total) = (failures.len(), ids.len());
    Failure::first_of(
        format!("the command failed for {count} of {total} {}s", kind.as_str()),
        failures,
    )
    .map_or(Ok(()), Err)
}

pub(crate) fn several(objects: &[Shown]) -> Table {
    let columns =
        [required("id"), status("status"), number("price"), cut("content"), required("location")];
    let mut table = Table::new(columns);
    for object in objects {
        let object = json!(object);
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let price = optional_money(text("price_usd").parse().ok());
        let mut rows: Vec<(String, String)> = Vec::new();
        if let Some(output) = object.get("output").filter(|it| !it.is_null()) {
            rows.push(("output".to_owned(), output.to_string()));
        }
        let list = |name: &str| object.get(name).and_then(Value::as_array).into_iter().flatten();
        let member = |value: &Value, name: &str, other: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or(other).to_owned()
        };
        let files = list("files").map(|file| ("file".to_owned(), member(file, "path", "-")));
        rows.extend(files);
        if list("files").next().is_none() {
            let artifacts = list("artifacts");
            rows.extend(artifacts.map(|artifact| {
                (member(artifact, "content_type", "artifact"), member(artifact, "url", "-"))
            }));
        }
        if rows.is_empty() {
            let error = object.get("error").unwrap_or(&Value::Null);
            let code = member(error, "code", &member(error, "message", ""));
            let content = if code.is_empty() { "" } else { "error" };
            rows.push((content.to_owned(), code));
        }
        for (content, location) in &rows {
            table.row([text("id"), text("status"), &price, content, location]);
        }
    }
    table
}
