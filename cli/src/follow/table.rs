//! The table of several jobs or runs.

use serde_json::{Value, json};

use crate::output::Table;
use crate::output::layout::{cut, number, required, status};
use crate::output::object::Shown;
use crate::output::values::optional_money;

/// Returns a table with the outputs, files and artifacts of several objects, as they are printed.
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
            rows.push((String::new(), code));
        }
        for (content, location) in &rows {
            table.row([text("id"), text("status"), &price, content, location]);
        }
    }
    table
}
