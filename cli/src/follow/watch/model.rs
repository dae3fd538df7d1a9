//! The state that the screen shows, and its changes by keys. No I/O, no terminal.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use svc_sdk::contract::JobStatus;
use svc_sdk::types::{Job, JobId, Usd};

use crate::follow::watch::row::{DownloadState, JobRow};

#[derive(Debug, Default)]
pub(super) struct ViewModel {
    rows: Vec<JobRow>,
    by_id: HashMap<JobId, usize>,
    /// The beginnings of the prompts of jobs that were submitted from this machine.
    labels: HashMap<String, String>,
    /// Whether the order is that of the command line, and not newest first.
    keeps_order: bool,
    selected: usize,
    pub(super) shows_details: bool,
    pub(super) shows_help: bool,
    /// What the shown rows contain.
    pub(super) filter: String,
    pub(super) is_typing: bool,
    /// Whether the service refunds failed and canceled jobs.
    pub(super) has_refunds: bool,
    /// The job that the user is asked about before it is canceled.
    pub(super) confirming: Option<JobId>,
    /// Whether the list of jobs was read, if no ids were given.
    pub(super) list: ListState,
    pub(super) message: Option<Message>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ListState {
    #[default]
    Loading,
    Read,
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) is_error: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyAction {
    None,
    Quit,
    /// Leave the screen as an interrupt does.
    Interrupt,
    Cancel(JobId),
    Download {
        id: JobId,
        opens: bool,
    },
    Open(Vec<PathBuf>),
}

impl ViewModel {
    /// Creates a screen that shows given jobs, or the newest ones if none are given.
    pub(super) fn new(ids: &[String]) -> Self {
        let mut model = Self { keeps_order: !ids.is_empty(), ..Self::default() };
        for id in ids {
            model.add_row(JobId::from(id.clone()));
        }
        model
    }

    pub(super) fn add_labels(&mut self, labels: impl IntoIterator<Item = (String, String)>) {
        self.labels.extend(labels);
        for row in &mut self.rows {
            row.label = self.labels.get(row.id.as_str()).cloned();
        }
    }

    pub(super) fn rows(&self) -> &[JobRow] {
        &self.rows
    }

    pub(super) fn visible(&self) -> Vec<&JobRow> {
        let text = self.filter.to_lowercase();
        self.rows.iter().filter(|row| text.is_empty() || row.contains(&text)).collect()
    }

    pub(super) fn selected(&self) -> usize {
        self.selected
    }

    pub(super) fn selected_row(&self) -> Option<&JobRow> {
        self.visible().get(self.selected).copied()
    }

    pub(super) fn row_mut(&mut self, id: &JobId) -> Option<&mut JobRow> {
        let index = *self.by_id.get(id)?;
        self.rows.get_mut(index)
    }

    pub(super) fn downloaded_files(&self) -> impl Iterator<Item = &Path> {
        let files = self.rows.iter().flat_map(|row| match &row.download {
            DownloadState::Done { files } => files.as_slice(),
            _ => &[],
        });
        files.map(PathBuf::as_path)
    }

    pub(super) fn total(&self, refunded: bool) -> Usd {
        let jobs = self.rows.iter().filter_map(|row| row.job.as_ref());
        jobs.filter(|job| self.is_refunded(job) == refunded)
            .filter_map(|job| job.price_usd)
            .fold(Usd::ZERO, |sum, price| sum.checked_add(price).unwrap_or(sum))
    }

    pub(super) fn is_refunded(&self, job: &Job) -> bool {
        self.has_refunds && matches!(job.status, JobStatus::Failed | JobStatus::Canceled)
    }

    pub(super) fn update(&mut self, job: Job) {
        if !self.by_id.contains_key(&job.id) {
            self.add_row(job.id.clone());
        }
        let has_time = job.created_at.is_some();
        if let Some(row) = self.row_mut(&job.id) {
            row.job = Some(job);
            row.error = None;
        }
        if has_time && !self.keeps_order {
            self.sort_newest_first();
        }
    }

    pub(super) fn set_message(&mut self, text: impl Into<String>, is_error: bool) {
        let text = text.into();
        self.message = Some(Message { text, is_error });
    }

    /// Handles a key. `page` is the number of rows on the screen.
    pub(super) fn press(&mut self, key: KeyEvent, page: usize) -> KeyAction {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => KeyAction::Interrupt,
                _ => KeyAction::None,
            };
        }
        if self.is_typing {
            self.type_filter(key.code);
            return KeyAction::None;
        }
        if std::mem::take(&mut self.shows_help) {
            return KeyAction::None;
        }
        if let Some(id) = self.confirming.take() {
            return match key.code {
                KeyCode::Char('y' | 'Y') => KeyAction::Cancel(id),
                _ => {
                    self.message = None;
                    KeyAction::None
                }
            };
        }
        self.message = None;
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.select(self.selected.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select(self.selected + 1),
            KeyCode::PageUp => self.select(self.selected.saturating_sub(page.max(1))),
            KeyCode::PageDown => self.select(self.selected + page.max(1)),
            KeyCode::Home => self.select(0),
            KeyCode::End => self.select(usize::MAX),
            KeyCode::Enter => self.shows_details = !self.shows_details,
            KeyCode::Esc if self.shows_details => self.shows_details = false,
            KeyCode::Esc if !self.filter.is_empty() => self.set_filter(String::new()),
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('?') => self.shows_help = true,
            KeyCode::Esc | KeyCode::Char('q') => return KeyAction::Quit,
            KeyCode::Char('c') => self.ask_to_cancel(),
            KeyCode::Char('d') => return self.download(false),
            KeyCode::Char('o') => return self.download(true),
            _ => {}
        }
        KeyAction::None
    }

    fn type_filter(&mut self, key: KeyCode) {
        let mut filter = self.filter.clone();
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                filter.clear();
            }
            KeyCode::Backspace => drop(filter.pop()),
            KeyCode::Char(letter) => filter.push(letter),
            _ => {}
        }
        self.set_filter(filter);
    }

    fn set_filter(&mut self, filter: String) {
        if self.filter != filter {
            self.filter = filter;
            self.selected = 0;
        }
    }

    fn add_row(&mut self, id: JobId) {
        self.by_id.insert(id.clone(), self.rows.len());
        let label = self.labels.get(id.as_str()).cloned();
        self.rows.push(JobRow::new(id, label));
    }

    fn sort_newest_first(&mut self) {
        let selected = self.selected_row().map(|row| row.id.clone());
        let is_at_top = self.selected == 0;
        // Timestamps of the service are in UTC, so their texts compare as the times do.
        let created = |row: &JobRow| {
            let job = row.job.as_ref();
            job.and_then(|job| job.created_at.as_ref().map(|at| at.as_str().to_owned()))
        };
        self.rows.sort_by_cached_key(|row| std::cmp::Reverse(created(row)));
        let positions = self.rows.iter().enumerate();
        self.by_id = positions.map(|(index, row)| (row.id.clone(), index)).collect();
        // A user who has not moved sees new jobs as they come.
        if let (false, Some(id)) = (is_at_top, selected) {
            let position = self.visible().iter().position(|row| row.id == id);
            self.selected = position.unwrap_or_default();
        }
    }

    fn select(&mut self, index: usize) {
        self.selected = index.min(self.visible().len().saturating_sub(1));
    }

    fn ask_to_cancel(&mut self) {
        let Some(row) = self.selected_row() else { return };
        let id = row.id.clone();
        match &row.job {
            Some(job) if job.status.is_terminal() => {
                let status = job.status.clone();
                self.set_message(format!("{id} cannot be canceled: it is {status}"), true);
            }
            _ => self.confirming = Some(id),
        }
    }

    /// Begins to download the files of the selected job, unless they are only to be opened and are there.
    fn download(&mut self, opens: bool) -> KeyAction {
        let Some(id) = self.selected_row().map(|row| row.id.clone()) else {
            return KeyAction::None;
        };
        let Some(row) = self.row_mut(&id) else { return KeyAction::None };
        match (&row.download, row.job.as_ref().map(|job| job.status.clone())) {
            // The bottom line shows how far it is.
            (DownloadState::Running { .. }, _) | (_, None) => {}
            (DownloadState::Done { files }, _) if opens => return KeyAction::Open(files.clone()),
            (_, Some(JobStatus::Completed)) => {
                row.download = DownloadState::Running { bytes: 0, total: None };
                return KeyAction::Download { id, opens };
            }
            (_, Some(status)) => {
                self.set_message(format!("{id} has no files: it is {status}"), true);
            }
        }
        KeyAction::None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(id: &str, status: &str, created_at: &str, price: &str) -> Job {
        serde_json::from_value(json!({
            "id": id, "status": status, "type": "video_generation", "model": "video-h",
            "created_at": created_at, "price_usd": price,
        }))
        .unwrap()
    }

    fn with_jobs(jobs: &[(&str, &str)]) -> ViewModel {
        let mut model = ViewModel::new(&[]);
        for (number, (id, status)) in jobs.iter().enumerate() {
            model.update(job(id, status, &format!("2026-01-01T00:00:0{number}Z"), "0.2890"));
        }
        model
    }

    fn ids(model: &ViewModel) -> Vec<&str> {
        model.rows().iter().map(|row| row.id.as_str()).collect()
    }

    /// Presses keys, of which some are written as symbols. Returns what the last one does: the others do nothing
    /// beside the screen.
    fn press(model: &mut ViewModel, keys: &str) -> KeyAction {
        let code = |key| match key {
            '↓' => KeyCode::Down,
            '↑' => KeyCode::Up,
            '⇟' => KeyCode::PageDown,
            '⇱' => KeyCode::Home,
            '⇲' => KeyCode::End,
            '⏎' => KeyCode::Enter,
            '⌫' => KeyCode::Backspace,
            '⎋' => KeyCode::Esc,
            letter => KeyCode::Char(letter),
        };
        let mut actions: Vec<_> =
            keys.chars().map(|key| model.press(code(key).into(), 10)).collect();
        let last = actions.pop().unwrap();
        assert!(actions.iter().all(|action| *action == KeyAction::None), "{keys}: {actions:?}");
        last
    }

    #[test]
    fn new_jobs_appear_at_the_top_and_the_selection_stays_on_its_job() {
        let mut model = with_jobs(&[("job_1", "completed"), ("job_2", "queued")]);
        assert_eq!(ids(&model), ["job_2", "job_1"]);
        press(&mut model, "↓");
        model.update(job("job_3", "queued", "2026-01-01T00:00:03Z", "0.1000"));
        assert_eq!(ids(&model), ["job_3", "job_2", "job_1"]);
        assert_eq!(model.selected_row().unwrap().id.as_str(), "job_1");
    }

    #[test]
    fn given_jobs_keep_their_order() {
        let mut model = ViewModel::new(&["job_2".into(), "job_1".into()]);
        model.update(job("job_1", "queued", "2026-01-01T00:00:09Z", "0.1000"));
        assert_eq!(ids(&model), ["job_2", "job_1"]);
    }

    #[test]
    fn refunded_jobs_do_not_count_as_spent() {
        let mut model =
            with_jobs(&[("job_1", "completed"), ("job_2", "failed"), ("job_3", "processing")]);
        model.has_refunds = true;
        assert_eq!(model.total(false).to_string(), "0.5780");
        assert_eq!(model.total(true).to_string(), "0.2890");
        // The developer surface bills what a job used.
        model.has_refunds = false;
        assert_eq!(model.total(true), Usd::ZERO);
    }

    #[test]
    fn the_filter_selects_rows_while_it_is_typed() {
        let mut model =
            with_jobs(&[("job_1", "completed"), ("job_3", "failed"), ("job_2", "failed")]);
        let shown = |model: &ViewModel| model.visible().len();
        press(&mut model, "↓/Fail");
        assert_eq!((shown(&model), model.selected()), (2, 0));
        assert_eq!(model.selected_row().unwrap().id.as_str(), "job_2");
        // Keys are letters of the filter until it is ended.
        assert_eq!(press(&mut model, "q"), KeyAction::None);
        assert_eq!(shown(&model), 0);
        press(&mut model, "⌫⏎?");
        assert!(model.shows_help);
        assert_eq!(press(&mut model, "q⎋"), KeyAction::None);
        assert_eq!(shown(&model), 3);
        assert_eq!(press(&mut model, "q"), KeyAction::Quit);
    }

    #[test]
    fn a_cancellation_is_confirmed_first() {
        let mut model = with_jobs(&[("job_1", "queued")]);
        assert_eq!(press(&mut model, "cn"), KeyAction::None);
        assert_eq!(model.confirming, None);
        assert_eq!(press(&mut model, "cy"), KeyAction::Cancel("job_1".to_owned().into()));
        model.update(job("job_1", "completed", "2026-01-01T00:00:01Z", "0.1000"));
        press(&mut model, "c");
        assert_eq!(model.confirming, None);
        assert!(model.message.unwrap().is_error);
    }

    #[test]
    fn only_completed_jobs_are_downloaded_and_opened() {
        let mut model = with_jobs(&[("job_1", "processing")]);
        assert_eq!(press(&mut model, "d"), KeyAction::None);
        model.update(job("job_1", "completed", "2026-01-01T00:00:01Z", "0.1000"));
        let id = JobId::from("job_1".to_owned());
        let download = |opens| KeyAction::Download { id: id.clone(), opens };
        assert_eq!(press(&mut model, "o"), download(true));
        assert_eq!(press(&mut model, "d"), KeyAction::None, "it is running");
        let files = vec![PathBuf::from("a.png")];
        model.row_mut(&id).unwrap().download = DownloadState::Done { files: files.clone() };
        assert_eq!(press(&mut model, "o"), KeyAction::Open(files));
        assert_eq!(press(&mut model, "d"), download(false));
    }

    #[test]
    fn the_selection_stays_within_the_list() {
        let mut model = ViewModel::new(&[]);
        for keys in ["↓", "⇲", "↑", "⇟"] {
            press(&mut model, keys);
            assert_eq!(model.selected(), 0);
        }
        for number in 0..25 {
            let at = format!("2026-01-01T00:00:{number:02}Z");
            model.update(job(&format!("job_{number}"), "queued", &at, "0.1000"));
        }
        for (keys, selected) in [("⇟", 10), ("⇲", 24), ("⇱", 0)] {
            press(&mut model, keys);
            assert_eq!(model.selected(), selected);
        }
    }

    #[test]
    fn keys_leave_the_details_before_the_screen() {
        let mut model = ViewModel::new(&[]);
        press(&mut model, "⏎");
        assert!(model.shows_details);
        assert_eq!(press(&mut model, "⎋⎋"), KeyAction::Quit);
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(model.press(ctrl_c, 10), KeyAction::Interrupt);
    }
}
