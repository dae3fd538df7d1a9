//! Drawing of the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Block, Borders, Cell, Clear, Paragraph, Row as TableRow, Table, TableState, Wrap,
};
use svc_sdk::contract::JobStatus;
use unicode_width::UnicodeWidthStr;

use crate::follow::watch::bars::{self, Context, bold};
use crate::follow::watch::model::{DownloadState, JobRow, ListState, ViewModel};
use crate::output::values::{date_and_time, error_text, money};
use crate::text::{self, is_unicode, sanitize};

/// The width from which the details stand beside the list.
const MIN_WIDTH_FOR_SIDE_PANEL: u16 = 120;

/// A column: its heading, its content, and the least width of the screen at which it is shown.
struct JobColumn {
    heading: &'static str,
    text: fn(&JobRow, &Context) -> String,
    min_screen: u16,
    is_right_aligned: bool,
}

const COLUMNS: [JobColumn; 8] = [
    column("JOB", |row, _| sanitize(row.id.as_str()), 0, false),
    column("STATUS", |row, _| status(row), 0, false),
    column("PRICE", |row, _| price(row), 60, true),
    column("NAME", |row, _| row.name(), 80, false),
    column("AGE", |row, context| (context.age)(row), 72, true),
    column("MODEL", |row, _| model_name(row), 84, false),
    column("KIND", |row, _| kind(row), 104, false),
    column("FILES", |row, _| row.files(), 116, false),
];

const fn column(
    heading: &'static str,
    text: fn(&JobRow, &Context) -> String,
    min_screen: u16,
    is_right_aligned: bool,
) -> JobColumn {
    JobColumn { heading, text, min_screen, is_right_aligned }
}

pub(super) fn draw(
    frame: &mut Frame<'_>,
    model: &ViewModel,
    table: &mut TableState,
    context: &Context,
) {
    let width = frame.area().width;
    let bottom_lines = bars::bottom_lines(model, context, width);
    let height = u16::try_from(bottom_lines.len()).unwrap_or(1);
    let [title, body, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(height)])
            .areas(frame.area());
    frame.render_widget(Line::from(bars::title(model, width)).style(bold()), title);
    let (list, details) = split(body, model.shows_details);
    draw_list(frame, list, model, table, context);
    if let Some(area) = details {
        draw_details(frame, area, model, context);
    }
    frame.render_widget(Paragraph::new(bottom_lines), bottom);
    if model.shows_help {
        let lines = bars::KEY_HELP.map(|(keys, what)| {
            Line::from(vec![Span::styled(format!("{keys:<20}"), bold()), Span::raw(what)])
        });
        frame.render_widget(Clear, body);
        frame.render_widget(Paragraph::new(lines.to_vec()).wrap(Wrap { trim: false }), body);
    }
    if !is_unicode() {
        for cell in &mut frame.buffer_mut().content {
            let symbol = text::shown(cell.symbol()).chars().next().unwrap_or(' ');
            cell.set_char(symbol);
        }
    }
}

/// Returns the number of rows that fit on a screen of that height.
pub(super) fn page_size(height: u16) -> usize {
    usize::from(height.saturating_sub(3))
}

fn split(body: Rect, shows_details: bool) -> (Rect, Option<Rect>) {
    if !shows_details {
        return (body, None);
    }
    let halves = [Constraint::Percentage(50), Constraint::Percentage(50)];
    let [list, details] = match body.width >= MIN_WIDTH_FOR_SIDE_PANEL {
        true => Layout::horizontal(halves).areas(body),
        false => Layout::vertical(halves).areas(body),
    };
    (list, Some(details))
}

fn draw_list(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &ViewModel,
    table: &mut TableState,
    context: &Context,
) {
    let visible = model.visible();
    if visible.is_empty() {
        let text = match model.list {
            _ if !model.filter.is_empty() => "No job contains the text.",
            ListState::Loading => "Loading jobs…",
            ListState::Read => "No jobs yet. New ones appear here.",
            // The bottom line says why.
            ListState::Failed(_) => "The jobs are not known.",
        };
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let has_names = visible.iter().any(|row| !row.name().is_empty());
    let columns: Vec<&JobColumn> = COLUMNS
        .iter()
        .filter(|column| area.width >= column.min_screen)
        .filter(|column| column.heading != "NAME" || has_names)
        .collect();
    let texts: Vec<Vec<String>> = visible
        .iter()
        .map(|row| columns.iter().map(|column| (column.text)(row, context)).collect())
        .collect();
    let width_of = |index: usize, column: &JobColumn| {
        let cells = texts.iter().filter_map(|row| row.get(index));
        let widest = cells.map(|text| text.width()).max().unwrap_or_default();
        widest.max(column.heading.len())
    };
    let widths: Vec<usize> =
        columns.iter().enumerate().map(|(index, column)| width_of(index, column)).collect();
    let aligned = |index: usize, text: &str| match columns.get(index) {
        Some(column) if column.is_right_aligned => {
            let width = widths.get(index).copied().unwrap_or_default();
            format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
        }
        _ => text.to_owned(),
    };
    let header = columns.iter().enumerate().map(|(index, column)| aligned(index, column.heading));
    let rows = visible.iter().zip(&texts).map(|(row, texts)| {
        let cells = texts.iter().enumerate().map(|(index, text)| {
            let cell = Cell::from(aligned(index, text));
            match columns.get(index).is_some_and(|column| column.heading == "STATUS") {
                true => cell.style(status_style(row, context)),
                false => cell,
            }
        });
        TableRow::new(cells.collect::<Vec<_>>())
    });
    let constraints =
        widths.iter().map(|width| Constraint::Length(u16::try_from(*width).unwrap_or(u16::MAX)));
    table.select(Some(model.selected()));
    let widget = Table::new(rows, constraints)
        .header(TableRow::new(header.collect::<Vec<_>>()).style(bold()))
        .column_spacing(2)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(widget, area, table);
}

fn draw_details(frame: &mut Frame<'_>, area: Rect, model: &ViewModel, context: &Context) {
    let Some(row) = model.selected_row() else { return };
    let mut lines = vec![detail("job", sanitize(row.id.as_str())), detail("status", status(row))];
    if let Some(job) = &row.job {
        let is_refunded = model.is_refunded(job) && job.price_usd.is_some();
        let refunded = if is_refunded { " (refunded)" } else { "" };
        let fields = [
            ("name", row.name()),
            ("kind", kind(row)),
            ("model", model_name(row)),
            ("price", price(row) + refunded),
            ("age", (context.age)(row)),
            (
                "created",
                job.created_at
                    .as_ref()
                    .map(|at| format!("{} UTC", date_and_time(at)))
                    .unwrap_or_default(),
            ),
        ];
        let present = fields.into_iter().filter(|(_, text)| !text.is_empty());
        lines.extend(present.map(|(name, text)| detail(name, text)));
        lines.extend(job.error.as_ref().map(|error| detail("error", sanitize(&error_text(error)))));
        let artifacts = job.result.iter().flat_map(|result| &result.artifacts);
        for artifact in artifacts {
            let url = artifact.url.as_deref().unwrap_or("no URL");
            lines.push(detail("file", sanitize(url)));
        }
    }
    if let DownloadState::Done { files } = &row.download {
        for file in files {
            lines.push(detail("saved", sanitize(&file.display().to_string())));
        }
    }
    lines.extend(row.error.as_ref().map(|error| detail("problem", sanitize(error))));
    let border = if area.width >= frame.area().width { Borders::TOP } else { Borders::LEFT };
    let details =
        Paragraph::new(lines).wrap(Wrap { trim: false }).block(Block::new().borders(border));
    frame.render_widget(Clear, area);
    frame.render_widget(details, area);
}

fn detail(name: &str, text: String) -> Line<'static> {
    Line::from(vec![Span::styled(format!("{name:<9}"), bold()), Span::raw(text)])
}

fn status(row: &JobRow) -> String {
    match (&row.job, &row.error) {
        (_, Some(_)) => "unknown".to_owned(),
        (Some(job), None) => sanitize(job.status.as_str()),
        (None, None) => "…".to_owned(),
    }
}

fn status_style(row: &JobRow, context: &Context) -> Style {
    let status = row.job.as_ref().map(|job| &job.status);
    if !context.is_colored {
        return Style::new();
    }
    match status {
        _ if row.error.is_some() => Style::new().fg(Color::Red),
        Some(JobStatus::Completed) => Style::new().fg(Color::Green),
        Some(JobStatus::Failed) => Style::new().fg(Color::Red),
        Some(JobStatus::Canceled) => Style::new().fg(Color::Yellow),
        _ => Style::new().fg(Color::Cyan),
    }
}

fn kind(row: &JobRow) -> String {
    let kind = row.job.as_ref().and_then(|job| job.job_type.as_ref());
    kind.map(|kind| sanitize(kind.as_str())).unwrap_or_default()
}

fn model_name(row: &JobRow) -> String {
    let model = row.job.as_ref().and_then(|job| job.model.as_deref());
    model.map(sanitize).unwrap_or_default()
}

fn price(row: &JobRow) -> String {
    let price = row.job.as_ref().and_then(|job| job.price_usd);
    price.map(money).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    fn model(count: usize) -> ViewModel {
        let mut model = ViewModel::new(&[]);
        model.has_refunds = true;
        for number in 0..count {
            let status = ["completed", "processing", "queued", "failed"][number % 4];
            let job = json!({
                "id": format!("job_{number:020}"), "status": status, "type": "video_generation",
                "model": "video-h", "price_usd": "0.2890",
                "created_at": format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60),
            });
            model.update(serde_json::from_value(job).unwrap());
        }
        model
    }

    fn screen(model: &ViewModel, width: u16, height: u16) -> Vec<String> {
        let context = Context {
            age: Box::new(|_| "3 min ago".to_owned()),
            is_colored: true,
            folder: ".".to_owned(),
        };
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut table = TableState::new();
        terminal.draw(|frame| draw(frame, model, &mut table, &context)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let lines = buffer.content.chunks(usize::from(width));
        lines
            .map(|cells| {
                let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
                line.trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn the_selected_job_of_500_is_on_the_screen() {
        let mut model = model(500);
        model.press(ratatui::crossterm::event::KeyCode::End.into(), 10);
        let lines = screen(&model, 80, 24);
        assert!(
            lines.iter().any(|line| line.starts_with("job_00000000000000000000")),
            "{lines:#?}"
        );
    }

    #[test]
    fn a_narrow_title_has_what_needs_attention() {
        let mut model = model(4);
        assert_eq!(screen(&model, 40, 6)[0], "4 jobs  2 active  1 failed  $0.867");
        assert_eq!(screen(&model, 20, 6)[0], "4 jobs  2 active");
        let job = json!({"id": "job_c", "status": "canceled"});
        model.update(serde_json::from_value(job).unwrap());
        assert_eq!(
            screen(&model, 90, 6)[0],
            "5 jobs  $0.867 spent  2 active  1 completed  1 failed  1 canceled  $0.289 refunded"
        );
        assert_eq!(screen(&model, 80, 6)[0], "5 jobs  2 active  1 failed  1 canceled  $0.867");
    }

    #[test]
    fn a_long_message_takes_more_lines() {
        let mut model = model(1);
        let id = "job_00000000000000000000";
        model.set_message(format!("could not cancel {id}: generation has already started"), true);
        assert_eq!(
            screen(&model, 40, 8)[5..],
            ["could not cancel", "job_00000000000000000000: generation has", "already started"]
        );
        model.set_message("x".repeat(500), true);
        assert_eq!(screen(&model, 40, 8)[5..], ["x".repeat(40), "x".repeat(40), "x".repeat(40)]);
    }

    #[test]
    fn an_empty_list_says_whether_it_was_read() {
        let mut model = ViewModel::new(&[]);
        assert_eq!(screen(&model, 80, 4)[1], "Loading jobs…");
        model.list = ListState::Read;
        assert_eq!(screen(&model, 80, 4)[1], "No jobs yet. New ones appear here.");
        model.list = ListState::Failed("invalid API key".to_owned());
        // A key does not remove why nothing is shown.
        model.press(ratatui::crossterm::event::KeyCode::Down.into(), 10);
        assert_eq!(
            screen(&model, 80, 4)[1..],
            ["The jobs are not known.", "", "cannot list jobs: invalid API key"]
        );
        model.update(serde_json::from_value(json!({"id": "job_1", "status": "queued"})).unwrap());
        assert_eq!(screen(&model, 80, 4)[3], "cannot list jobs: invalid API key");
    }

    #[test]
    fn a_narrow_screen_shows_the_progress_of_downloads() {
        let mut model = model(5);
        model.shows_details = true;
        let mut download = |number: usize, bytes, total| {
            let id = format!("job_{number:020}").into();
            model.row_mut(&id).unwrap().download = DownloadState::Running { bytes, total };
            screen(&model, 60, 20).pop().unwrap()
        };
        assert_eq!(download(0, 1, Some(4)), "downloading job_00000000000000000000: 25 %");
        assert_eq!(download(4, 0, None), "downloading 2 jobs");
    }

    #[test]
    fn any_size_is_drawn() {
        let mut model = model(5);
        for shows_details in [false, true] {
            model.shows_details = shows_details;
            model.set_message("a message that is long", false);
            for (width, height) in [(1, 1), (2, 2), (5, 3), (39, 1), (1, 50)] {
                screen(&model, width, height);
            }
        }
    }

    #[test]
    fn text_of_the_service_cannot_control_the_terminal() {
        let mut model = ViewModel::new(&[]);
        let job = json!({"id": "job_1", "status": "\u{1b}[2Jqueued", "model": "a\u{7}b"});
        model.update(serde_json::from_value(job).unwrap());
        let lines = screen(&model, 100, 4).join("\n");
        assert!(!lines.contains(['\u{1b}', '\u{7}']), "{lines:?}");
    }
}
