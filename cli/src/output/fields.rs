//! Tables of answers, whose cells are fields of their JSON.
//!
//! A field is given by its path, or by the name that is shown and its path: `id`, `price=job.price_usd`. An amount
//! is one that ends in `_usd`, and a time one that ends in `_at`.

use serde::Serialize;
use serde_json::{Value, json};
use svc_sdk::types::{Timestamp, Usd};

use crate::output::Table;
use crate::output::layout::{Column, ColumnKind};
use crate::output::values::{money, time_ago, time_ago_and_date};

impl Table {
    /// Creates a table with a row for each item, whose cells are the fields that the columns name.
    pub(crate) fn rows<T: Serialize, const N: usize>(items: &[T], columns: [Column; N]) -> Self {
        let mut table = Self::new(columns.clone());
        for item in items {
            let item = json!(item);
            let cells = columns.each_ref().map(|column| match column.kind {
                ColumnKind::Time => time_ago(time(&item, &column.path).as_ref()),
                _ => text(&item, &column.path).unwrap_or_default(),
            });
            table.row(cells.each_ref().map(String::as_str));
        }
        table
    }

    /// Creates a table of fields, separated by commas.
    pub(crate) fn of(value: &impl Serialize, fields: &str) -> Self {
        let mut table = Self::key_value();
        table.fields(value, fields);
        table
    }

    /// Adds fields, separated by commas. Those without a value are left out.
    pub(crate) fn fields(&mut self, value: &impl Serialize, fields: &str) {
        let value = json!(value);
        for field in fields.split(", ") {
            let (name, path) = field.split_once('=').unwrap_or((field, field));
            match name {
                "status" => self.status_field(name, text(&value, path)),
                _ if path.ends_with("_at") => {
                    self.field(name, time_ago_and_date(time(&value, path).as_ref()));
                }
                _ => self.field(name, text(&value, path)),
            }
        }
    }
}

fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| value.get(name))
}

fn time(value: &Value, path: &str) -> Option<Timestamp> {
    find(value, path)?.as_str()?.parse().ok()
}

/// Returns the text of a field, as received if it is not of the expected type.
fn text(value: &Value, path: &str) -> Option<String> {
    match find(value, path)? {
        Value::Null => None,
        Value::String(text) => Some(match text.parse::<Usd>() {
            Ok(amount) if path.ends_with("_usd") => money(amount),
            _ => text.clone(),
        }),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            Some(items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
        }
        other => Some(other.to_string()),
    }
}
