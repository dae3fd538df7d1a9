//! Tables that are fitted to the terminal.

use console::style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::text::sanitize;

const GAP: &str = "  ";
const MIN_COLUMN_WIDTH: usize = 8;

/// A table with a header, or the fields of a single value.
#[derive(Debug, Default)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with a header. The first column is an identifier and is never truncated.
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self {
            header: header.iter().map(|name| name.to_uppercase()).collect(),
            rows: Vec::new(),
        }
    }

    /// Creates a table with a name and a value per row, without a header. Nothing is truncated.
    pub(crate) fn key_value() -> Self {
        Self::default()
    }

    /// Adds a row. Control characters are removed.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows
            .push(cells.iter().map(|cell| sanitize(cell)).collect());
    }

    /// Adds a field, if there is a value.
    pub(crate) fn field(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.row([name, &value.to_string()]);
        }
    }

    /// Renders the table. `width` is the width of the terminal, if there is one.
    pub(crate) fn render(&self, width: Option<usize>, colored: bool) -> String {
        let mut widths = self.natural_widths();
        if let Some(width) = width
            && !self.header.is_empty()
        {
            shrink(&mut widths, width);
        }
        let mut text = String::new();
        if !self.header.is_empty() {
            let line = render_line(&self.header, &widths);
            let line = style(line).bold().force_styling(colored);
            text.push_str(&format!("{line}\n"));
        }
        for row in &self.rows {
            text.push_str(&render_line(row, &widths));
            text.push('\n');
        }
        text
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }
}

/// Shrinks the widest columns until the row fits. The first column keeps its width.
fn shrink(widths: &mut [usize], available: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > available {
        let widest = widths
            .iter_mut()
            .skip(1)
            .filter(|width| **width > MIN_COLUMN_WIDTH)
            .max();
        match widest {
            Some(width) => *width -= 1,
            None => break,
        }
    }
}

fn render_line(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if index > 0 {
            line.push_str(GAP);
        }
        let shown = truncate_cell(cell, *width);
        let padding = width.saturating_sub(shown.width());
        line.push_str(&shown);
        line.extend(std::iter::repeat_n(' ', padding));
    }
    line.truncate(line.trim_end().len());
    line
}

fn truncate_cell(cell: &str, width: usize) -> String {
    if cell.width() <= width {
        return cell.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for c in cell.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        shown.push(c);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["id", "status", "prompt"]);
        table.row([
            "job_00000001",
            "completed",
            "a red fox in the snow, at dawn, from above",
        ]);
        table.row(["job_2", "queued", "\u{1b}[31mshort"]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        assert_eq!(
            table().render(None, false),
            "ID            STATUS     PROMPT\n\
             job_00000001  completed  a red fox in the snow, at dawn, from above\n\
             job_2         queued     [31mshort\n"
        );
    }

    #[test]
    fn a_table_fits_the_terminal_without_truncated_identifiers() {
        let text = table().render(Some(40), false);
        for line in text.lines() {
            assert!(line.width() <= 40, "{line}");
        }
        assert!(text.contains("job_00000001"));
        assert!(text.contains('…'));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = Table::new(["id", "name"]);
        table.row(["漢字", "x"]);
        assert_eq!(table.render(None, false), "ID    NAME\n漢字  x\n");
    }

    #[test]
    fn fields_without_a_value_are_omitted() {
        let mut table = Table::key_value();
        table.field("id", Some("job_1"));
        table.field("error", None::<&str>);
        assert_eq!(table.render(Some(5), false), "id  job_1\n");
    }
}
