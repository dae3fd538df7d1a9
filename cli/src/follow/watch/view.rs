//! Drawing of the screen, as lines with escape sequences for their styles: the totals, the list and the
//! details, and the keys or a message.

use console::{Alignment, measure_text_width, pad_str, style, truncate_str};
use svc_sdk::contract::JobStatus;
use svc_sdk::types::Usd;
use unicode_width::UnicodeWidthStr;

use crate::follow::watch::model::{ListState, Message, ViewModel};
use crate::follow::watch::row::{DownloadState, JobRow};
use crate::output::Table;
use crate::output::layout::{cut, number, required, status};
use crate::output::values::{date_and_time, error_text, money};
use crate::text::{counted, sanitize, shown, wrap};

/// The width from which the details stand beside the list.
const MIN_WIDTH_FOR_SIDE_PANEL: usize = 120;
const RESET: &str = "\x1b[0m";
const REVERSE: &str = "\x1b[7m";
const CLEAR_TO_END_OF_LINE: &str = "\x1b[K";

/// The keys, from the most to the least important one.
const KEYS: &str = "q quit  ? help  enter details  c cancel  d download  o open  / filter  ↑↓ move";

const KEY_HELP: [(&str, &str); 10] = [
    ("↑ ↓ k j", "select another job"),
    ("PgUp PgDn Home End", "move faster"),
    ("enter", "show or hide the details"),
    ("c", "cancel the job, after a question"),
    ("d", "download its files"),
    ("o", "open its files"),
    ("/", "show only jobs that contain a text; esc shows all"),
    ("?", "show this help"),
    ("q esc", "leave; the jobs continue"),
    ("ctrl-c", "leave, and print how to watch again"),
];

const MAX_MESSAGE_LINES: usize = 3;

pub(super) struct Context {
    pub(super) age: fn(&JobRow) -> String,
    pub(super) is_colored: bool,
    pub(super) folder: String,
}

/// `scroll` is the first row that is shown. It changes when the selected one would not be.
pub(super) fn draw(
    model: &ViewModel,
    scroll: &mut usize,
    context: &Context,
    (width, height): (u16, u16),
) -> Vec<String> {
    let (width, height) = (usize::from(width), usize::from(height));
    let bottom = bottom_lines(model, context, width);
    let body_height = height.saturating_sub(1 + bottom.len()).max(1);
    let mut lines = vec![bold(&title(model, width))];
    lines.extend(body(model, scroll, context, width, body_height));
    lines.resize(1 + body_height, String::new());
    lines.extend(bottom);
    let lines = lines.into_iter().take(height).map(|line| fit(&line, width));
    // A line that fills its row has nothing to clear, and its last character would be.
    let is_short = |line: &String| measure_text_width(line) < width;
    lines.map(|line| if is_short(&line) { line + CLEAR_TO_END_OF_LINE } else { line }).collect()
}

pub(super) fn page_size(height: u16) -> usize {
    usize::from(height.saturating_sub(3))
}

/// Returns what the locale can show of a line and fits the width.
fn fit(line: &str, width: usize) -> String {
    truncate_str(&shown(line), width, "").into_owned()
}

fn pad(line: &str, width: usize) -> String {
    pad_str(line, width, Alignment::Left, None).into_owned()
}

fn body(
    model: &ViewModel,
    scroll: &mut usize,
    context: &Context,
    width: usize,
    height: usize,
) -> Vec<String> {
    if model.shows_help {
        let keys = KEY_HELP.iter();
        return keys.flat_map(|(keys, what)| named(keys, 20, what, width)).collect();
    }
    let Some(row) = model.selected_row().filter(|_| model.shows_details) else {
        return list(model, scroll, context, width, height);
    };
    if width < MIN_WIDTH_FOR_SIDE_PANEL {
        let upper = height / 2;
        let mut lines = list(model, scroll, context, width, upper);
        lines.resize(upper, String::new());
        lines.push("─".repeat(width));
        lines.extend(details(row, model, context, width));
        return lines;
    }
    let left = width / 2;
    let mut list = list(model, scroll, context, left, height);
    list.resize(height, String::new());
    let mut details = details(row, model, context, width - left - 1);
    details.resize(height, String::new());
    let sides = list.iter().zip(&details);
    sides.map(|(list, detail)| format!("{}│{detail}", pad(&fit(list, left), left))).collect()
}

fn list(
    model: &ViewModel,
    scroll: &mut usize,
    context: &Context,
    width: usize,
    height: usize,
) -> Vec<String> {
    let visible = model.visible();
    if visible.is_empty() {
        let text = match model.list {
            _ if !model.filter.is_empty() => "No job contains the text.",
            ListState::Loading => "Loading jobs…",
            ListState::Read => "No jobs yet. New ones appear here.",
            // The bottom line says why.
            ListState::Failed(_) => "The jobs are not known.",
        };
        return vec![text.to_owned()];
    }
    let mut table = Table::new([
        required("job"),
        status("status"),
        number("price"),
        cut("name").optional(),
        number("age"),
        cut("model"),
        cut("kind"),
        cut("files").optional(),
    ]);
    for row in &visible {
        table.row([
            row.id.as_str(),
            &row.status(),
            &row.price(),
            &row.name(),
            &(context.age)(row),
            &row.model(),
            &row.kind(),
            &row.files(),
        ]);
    }
    let (rows, selected) = (height.saturating_sub(1).max(1), model.selected());
    let last = visible.len().saturating_sub(rows);
    *scroll = (*scroll).clamp((selected + 1).saturating_sub(rows), selected).min(last);
    let text = table.render(Some(width), context.is_colored);
    let mut lines = text.lines();
    let header = lines.next().map(bold);
    let shown =
        lines.enumerate().skip(*scroll).take(rows).map(|(index, line)| match index == selected {
            // Styles within the line end the reversal.
            true => {
                let line = pad(line, width).replace(RESET, &format!("{RESET}{REVERSE}"));
                format!("{REVERSE}{line}{RESET}")
            }
            false => line.to_owned(),
        });
    header.into_iter().chain(shown).collect()
}

fn details(row: &JobRow, model: &ViewModel, context: &Context, width: usize) -> Vec<String> {
    let mut fields = vec![("job", row.id.to_string()), ("status", row.status())];
    if let Some(job) = &row.job {
        let is_refunded = model.is_refunded(job) && job.price_usd.is_some();
        let refunded = if is_refunded { " (refunded)" } else { "" };
        let created = job.created_at.as_ref().map(|at| format!("{} UTC", date_and_time(at)));
        fields.extend([
            ("name", row.name()),
            ("kind", row.kind()),
            ("model", row.model()),
            ("price", row.price() + refunded),
            ("age", (context.age)(row)),
            ("created", created.unwrap_or_default()),
            ("error", job.error.as_ref().map(error_text).unwrap_or_default()),
        ]);
        let artifacts = job.result.iter().flat_map(|result| &result.artifacts);
        let urls = artifacts.map(|artifact| artifact.url.as_deref().unwrap_or("no URL"));
        fields.extend(urls.map(|url| ("file", url.to_owned())));
    }
    if let DownloadState::Done { files } = &row.download {
        fields.extend(files.iter().map(|file| ("saved", file.display().to_string())));
    }
    fields.extend(row.error.iter().map(|error| ("problem", error.clone())));
    let fields = fields.iter().filter(|(_, text)| !text.is_empty());
    fields.flat_map(|(name, text)| named(name, 9, text, width)).collect()
}

/// Returns a text after its name, in lines of a width.
fn named(name: &str, column: usize, text: &str, width: usize) -> Vec<String> {
    let mut lines = wrap(&format!("{name:<column$}{}", sanitize(text)), width);
    if let Some(line) = lines.first_mut() {
        *line = line.replacen(name, &bold(name), 1);
    }
    lines
}

fn bold(text: &str) -> String {
    style(text).bold().force_styling(true).to_string()
}

/// Returns the totals. On a narrow screen the words around them are left out, and then the last ones.
fn title(model: &ViewModel, width: usize) -> String {
    let count = |is_counted: fn(&JobStatus) -> bool| {
        let jobs = model.rows().iter().filter_map(|row| row.job.as_ref());
        jobs.filter(|job| is_counted(&job.status)).count()
    };
    let jobs = counted(model.rows().len(), "job");
    let spent = money(model.total(false));
    let refunded = model.total(true);
    let active = count(|status| !status.is_terminal());
    let active = format!("{active} active");
    let completed = count(|status| *status == JobStatus::Completed);
    let rows = [
        (count(|status| *status == JobStatus::Failed), "failed"),
        (count(|status| *status == JobStatus::Canceled), "canceled"),
    ];
    let ended = rows.into_iter().filter(|(count, _)| *count > 0);
    let ended: Vec<String> = ended.map(|(count, what)| format!("{count} {what}")).collect();

    let mut full = vec![jobs.clone(), format!("{spent} spent"), active.clone()];
    full.push(format!("{completed} completed"));
    full.extend(ended.iter().cloned());
    if refunded > Usd::ZERO {
        full.push(format!("{} refunded", money(refunded)));
    }
    let full = full.join("  ");
    if full.width() <= width {
        return full;
    }
    let parts = [jobs, active].into_iter().chain(ended).chain([spent]);
    join_fitting(parts, width)
}

/// Returns the keys, or the question or the message in their place.
fn bottom_lines(model: &ViewModel, context: &Context, width: usize) -> Vec<String> {
    if let Some(id) = &model.confirming {
        return vec![bold(&format!("Cancel {}? y/n", sanitize(id.as_str())))];
    }
    if model.is_typing {
        let text = format!("/{}  enter keeps the filter, esc removes it", sanitize(&model.filter));
        return vec![bold(&text)];
    }
    if let Some(message) = model.message.clone().or_else(|| lasting_message(model)) {
        let is_red = message.is_error && context.is_colored;
        let lines = wrap(&sanitize(&message.text), width).into_iter().take(MAX_MESSAGE_LINES);
        return lines.map(|line| style(line).red().force_styling(is_red).to_string()).collect();
    }
    let count = model.visible().len();
    let position = match (count, model.filter.as_str()) {
        (0..2, "") => String::new(),
        (count, "") => format!("{} of {count}  ", model.selected() + 1),
        (0, filter) => format!("/{} matches none  ", sanitize(filter)),
        (count, filter) => format!("/{} {} of {count}  ", sanitize(filter), model.selected() + 1),
    };
    let mut text = KEYS.to_owned();
    let width = width.saturating_sub(position.width());
    if text.width() > width {
        let keys = KEYS.split("  ").map(|key| key.replace("enter", "⏎"));
        text = join_fitting(keys, width);
    }
    let folder = format!("  downloads to {}", context.folder);
    if text.width() + folder.width() <= width {
        text.push_str(&folder);
    }
    vec![style(position + &text).dim().force_styling(true).to_string()]
}

/// Returns what a key does not remove: that the list cannot be read, or the running downloads.
fn lasting_message(model: &ViewModel) -> Option<Message> {
    if let ListState::Failed(reason) = &model.list {
        return Some(Message { text: format!("cannot list jobs: {reason}"), is_error: true });
    }
    let is_running = |row: &&JobRow| matches!(row.download, DownloadState::Running { .. });
    let running: Vec<&JobRow> = model.rows().iter().filter(is_running).collect();
    let text = match running.as_slice() {
        [] => return None,
        [row] => format!("downloading {}: {}", row.id, row.files()),
        rows => format!("downloading {}", counted(rows.len(), "job")),
    };
    Some(Message { text, is_error: false })
}

fn join_fitting(parts: impl Iterator<Item = String>, width: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let separator = if text.is_empty() { "" } else { "  " };
        if text.width() + separator.len() + part.width() > width {
            break;
        }
        text.push_str(separator);
        text.push_str(&part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use console::strip_ansi_codes;
    use crossterm::event::KeyCode;
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
        let context =
            Context { age: |_| "3 min ago".to_owned(), is_colored: true, folder: ".".to_owned() };
        let lines = draw(model, &mut 0, &context, (width, height));
        assert!(lines.iter().all(|line| measure_text_width(line) <= usize::from(width)));
        let lines = lines.iter().map(|line| strip_ansi_codes(line));
        lines.map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn the_selected_job_of_500_is_on_the_screen() {
        let mut model = model(500);
        model.press(KeyCode::End.into(), 10);
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
    fn a_narrow_list_has_names_rather_than_models_and_kinds() {
        let mut model = model(1);
        let id = "job_00000000000000000000";
        model.add_labels([(id.to_owned(), "a red fox in the snow".to_owned())]);
        let row = |width| screen(&model, width, 6).remove(2);
        assert_eq!(row(70), format!("{id}  completed  $0.289  a red fox in …  3 min ago"));
        assert_eq!(row(60), format!("{id}  completed  $0.289  3 min ago"));
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
        model.press(KeyCode::Down.into(), 10);
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
        model.add_labels([("job_00000000000000000000".to_owned(), "漢字漢字漢字".to_owned())]);
        for shows_details in [false, true] {
            model.shows_details = shows_details;
            model.set_message("a message that is long", false);
            for (width, height) in [(1, 1), (2, 2), (5, 3), (39, 1), (1, 50), (69, 9), (120, 9)] {
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
