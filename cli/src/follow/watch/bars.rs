//! The first line of the screen, with the totals, and the last ones, with the keys or a message.

use console::style;
use svc_sdk::contract::JobStatus;
use svc_sdk::types::Usd;
use unicode_width::UnicodeWidthStr;

use super::model::{DownloadState, JobRow, ListState, Message, ViewModel};
use crate::output::values::money;
use crate::text::{counted, sanitize, wrap};

/// The keys, from the most to the least important one.
const KEYS: &str = "q quit  ? help  enter details  c cancel  d download  o open  / filter  ↑↓ move";

pub(super) const KEY_HELP: [(&str, &str); 10] = [
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
    pub(super) age: Box<dyn Fn(&JobRow) -> String>,
    pub(super) is_colored: bool,
    pub(super) folder: String,
}

pub(super) fn bold(text: &str) -> String {
    style(text).bold().force_styling(true).to_string()
}

/// Returns the totals. On a narrow screen the words around them are left out, and then the last ones.
pub(super) fn title(model: &ViewModel, width: usize) -> String {
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
pub(super) fn bottom_lines(model: &ViewModel, context: &Context, width: usize) -> Vec<String> {
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
