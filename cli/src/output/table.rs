//! Tables, their columns and the colors of statuses.

use console::{Style, style};
use serde::Serialize;
use serde_json::Value;
use svc_sdk::types::{Timestamp, Usd};
use unicode_width::UnicodeWidthStr;

use crate::output::json::to_value;
use crate::output::layout::{self, Column, ColumnKind};
use crate::output::values::{money, time_ago, time_ago_and_date};
use crate::text::{is_unicode, sanitize, shown, wrap_words};

const GAP: &str = "  ";
/// The width below which the values of fields are not broken into lines.
const MIN_VALUE_WIDTH: usize = 12;

#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Cell {
    text: String,
    style: Option<Style>,
}

impl Table {
    pub(crate) fn new<C: Into<Column>, const N: usize>(columns: [C; N]) -> Self {
        let mut columns: Vec<Column> = columns.into_iter().map(Into::into).collect();
        if let Some(first) = columns.first_mut()
            && first.kind != ColumnKind::Number
        {
            first.kind = ColumnKind::Required;
        }
        Self { columns, rows: Vec::new() }
    }

    /// Creates a table with a name and a value per row, without a header. Nothing is truncated.
    pub(crate) fn key_value() -> Self {
        Self::default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.push(&cells);
    }

    fn push(&mut self, cells: &[&str]) {
        let cells = cells.iter().enumerate().map(|(index, text)| {
            let column = self.columns.get(index);
            let style = column
                .filter(|column| column.kind == ColumnKind::Status)
                .and_then(|_| status_style(text));
            Cell::new(text, style)
        });
        let cells = cells.collect();
        self.rows.push(cells);
    }

    pub(crate) fn field(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.row([name, &value.to_string()]);
        }
    }

    /// Adds a field whose value is a status, which is colored, if there is one.
    pub(crate) fn status_field(&mut self, name: &str, status: Option<impl ToString>) {
        let status = status.map(|status| status.to_string());
        if let Some(status) = status.filter(|status| !status.is_empty()) {
            let style = status_style(&status);
            self.rows.push(vec![Cell::new(name, None), Cell::new(&status, style)]);
        }
    }

    pub(crate) fn render(&self, width: Option<usize>, colored: bool) -> String {
        let natural_widths = self.natural_widths().into_iter().enumerate();
        let natural_widths: Vec<_> =
            natural_widths.map(|(index, width)| self.is_shown(index).then_some(width)).collect();
        let widths = match width {
            Some(width) if !self.columns.is_empty() => {
                layout::fit(&self.columns, &natural_widths, GAP.len(), width)
            }
            _ => natural_widths,
        };
        let mut text = String::new();
        if !self.columns.is_empty() {
            let names = self.columns.iter().map(|column| (&*column.name, None));
            let header = self.render_line(names, &widths, false);
            let header = style(header).bold().force_styling(colored);
            text.push_str(&format!("{header}\n"));
        }
        // The values of fields are broken between words, so that their names stay apart.
        let indent = widths.first().copied().flatten().unwrap_or_default() + GAP.len();
        let value_width = width.map_or(usize::MAX, |width| width.saturating_sub(indent));
        for row in &self.rows {
            if let ([name, value], true, MIN_VALUE_WIDTH..) =
                (row.as_slice(), self.columns.is_empty(), value_width)
                && value.style.is_none()
                && value.text.width() > value_width
            {
                let lines = wrap_words(&value.text, value_width);
                for (number, line) in lines.iter().enumerate() {
                    let name = if number == 0 { name.text.as_str() } else { "" };
                    let padding = indent - name.width();
                    text.push_str(&format!("{name}{:padding$}{line}\n", ""));
                }
                continue;
            }
            let cells = row.iter().map(|cell| (cell.text.as_str(), cell.style.as_ref()));
            text.push_str(&self.render_line(cells, &widths, colored));
            text.push('\n');
        }
        text
    }

    /// Returns whether a column is shown: an optional one is not if it is empty.
    fn is_shown(&self, index: usize) -> bool {
        let is_optional = self.columns.get(index).is_some_and(|column| column.is_optional);
        let has_text = |row: &Vec<Cell>| row.get(index).is_some_and(|it| !it.text.is_empty());
        !is_optional || self.rows.iter().any(has_text)
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|it| it.name.width()).collect();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        widths
    }

    fn render_line<'a>(
        &self,
        cells: impl Iterator<Item = (&'a str, Option<&'a Style>)>,
        widths: &[Option<usize>],
        colored: bool,
    ) -> String {
        let cells = cells.zip(widths).enumerate().filter_map(|(index, ((text, style), width))| {
            let width = (*width)?;
            let text = truncate(text, width);
            let padding = " ".repeat(width.saturating_sub(text.width()));
            let text = match style.filter(|_| colored) {
                Some(style) => style.clone().force_styling(true).apply_to(text).to_string(),
                None => text,
            };
            let column = self.columns.get(index);
            let is_number = column.is_some_and(|column| column.kind == ColumnKind::Number);
            Some(if is_number { padding + &text } else { text + &padding })
        });
        cells.collect::<Vec<_>>().join(GAP).trim_end_matches(' ').to_owned()
    }
}

impl Cell {
    fn new(text: &str, style: Option<Style>) -> Self {
        let text = shown(&sanitize(text)).into_owned();
        Self { text, style }
    }
}

fn truncate(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    for c in text.chars() {
        shown.push(c);
        // The width of a sequence can differ from the sum of the widths of its characters.
        if shown.width() + 1 > width {
            shown.pop();
            break;
        }
    }
    shown.push(if is_unicode() { '…' } else { '~' });
    shown
}

/// Returns the style of a status, or `None` for one that is shown as other text.
pub(super) fn status_style(status: &str) -> Option<Style> {
    let style = Style::new();
    Some(match status {
        "completed" | "succeeded" | "delivered" | "paid" | "active" | "ok" => style.green(),
        "failed" | "error" => style.red(),
        "canceled" | "skipped" | "expired" | "refused" | "abandoned" | "unknown" | "warning" => {
            style.yellow()
        }
        "processing" | "running" | "pending" => style.cyan(),
        _ => return None,
    })
}

/// Tables of answers. A field is given by its path, or by the name that is shown and its path: `id`,
/// `price=job.price_usd`. An amount is one that ends in `_usd`, and a time one that ends in `_at`.
impl Table {
    /// Creates a table with a row for each item, whose cells are the fields that the columns name.
    pub(crate) fn rows<T: Serialize, const N: usize>(items: &[T], columns: [Column; N]) -> Self {
        let mut table = Self::new(columns);
        for item in items {
            table.item(&to_value(item).unwrap_or_default());
        }
        table
    }

    fn item(&mut self, item: &Value) {
        let cells = self.columns.iter().map(|column| match column.kind {
            ColumnKind::Time => time_ago(time(item, &column.path).as_ref()),
            _ => text(item, &column.path).unwrap_or_default(),
        });
        let cells: Vec<String> = cells.collect();
        self.push(&cells.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// Creates a table of fields, separated by commas.
    pub(crate) fn of(value: &impl Serialize, fields: &str) -> Self {
        let mut table = Self::key_value();
        table.fields(value, fields);
        table
    }

    /// Adds fields, separated by commas. Those without a value are left out.
    pub(crate) fn fields(&mut self, value: &impl Serialize, fields: &str) {
        self.fields_of(&to_value(value).unwrap_or_default(), fields);
    }

    fn fields_of(&mut self, value: &Value, fields: &str) {
        for field in fields.split(", ") {
            let (name, path) = field.split_once('=').unwrap_or((field, field));
            match name {
                "status" => self.status_field(name, text(value, path)),
                _ if path.ends_with("_at") => {
                    self.field(name, time_ago_and_date(time(value, path).as_ref()));
                }
                _ => self.field(name, text(value, path)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = Table::new(["id", "name"]);
        table.row(["漢字", "x"]);
        assert_eq!(table.render(None, false), "ID    NAME\n漢字  x\n");
        let rows = [
            ("漢字漢字漢字", 8, "漢字漢…"),
            ("漢字漢字漢字", 7, "漢字漢…"),
            ("漢字漢字漢字", 6, "漢字…"),
            ("e\u{301}e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}…"),
            ("🦊🦊🦊", 4, "🦊…"),
        ];
        for (text, width, expected) in rows {
            assert_eq!(truncate(text, width), expected);
            assert!(expected.width() <= width);
        }
    }

    #[test]
    fn fields_without_a_value_are_omitted() {
        let mut table = Table::key_value();
        table.field("id", Some("job_1"));
        table.field("error", None::<&str>);
        assert_eq!(table.render(Some(5), false), "id  job_1\n");
        table.field("url", Some("https://media.example/a.png of two"));
        let expected = "id   job_1\nurl  https://media.example/a.png\n     of two\n";
        assert_eq!(table.render(Some(20), false), expected);
    }
}
