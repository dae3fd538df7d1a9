//! The live screen: the terminal, the keys, and the loop between them.

use std::collections::HashMap;
use std::io::{self, Write, stdout};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{panic, thread};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyEventKind};
use crossterm::style::Print;
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};
use crossterm::{execute, queue};
use svc_sdk::ClientSurface;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::args::SurfaceChoice;
use crate::batch;
use crate::error::{Exit, Failure, Result};
use crate::follow::watch::feed::{self, Feed, FeedEvent};
use crate::follow::watch::model::{KeyAction, ListState, ViewModel};
use crate::follow::watch::row::JobRow;
use crate::follow::watch::view::{self, Context};
use crate::follow::watch::{WatchOptions, resume_command};
use crate::session::{Access, Session, surface_choice};
use crate::text::sanitize;

const REDRAW_INTERVAL: Duration = Duration::from_secs(1);
/// The time after which the thread that reads keys notices that the screen is closed.
const KEY_POLL: Duration = Duration::from_millis(100);

pub(super) async fn run<S: ClientSurface>(
    session: &Session,
    access: &Access<S>,
    options: WatchOptions,
) -> Result {
    let resume = || resume_command::<S>(session, &options.ids, &HashMap::new());
    let terminal_failure =
        |error: io::Error| Failure::other(format!("cannot use the terminal: {error}"));
    let mut interrupted = pin!(session.interrupts.first());
    let mut timeout = pin!(async {
        match options.timeout {
            Some(timeout) => sleep(timeout).await,
            None => std::future::pending().await,
        }
    });
    let mut feed = match options.ids.is_empty() {
        true => Feed::of_newest(&access.client),
        false => Feed::of_jobs(&access.client, &options.ids, None),
    };
    let mut model = ViewModel::new(&options.ids);
    model.has_refunds = surface_choice::<S>() == SurfaceChoice::Open;
    model.add_labels(labels(session).await);
    let mut labeled_count = 0;
    let context = Context {
        age: JobRow::age,
        is_colored: session.printer.is_colored(),
        folder: options.folder.display().to_string(),
    };
    let (reports, mut task_events) = unbounded_channel();
    let mut running = JoinSet::new();
    let mut redraw = interval(REDRAW_INTERVAL);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut scroll = 0;
    let mut is_feed_open = true;
    let mut missing = Vec::new();

    // Dropped after the screen, so that the lines appear below what it covered.
    let _held = session.printer.hold_messages();
    let mut screen = Screen::open().map_err(terminal_failure)?;
    let mut keys = screen.keys();
    let ended = loop {
        let size = terminal::size().map_err(terminal_failure)?;
        let lines = view::draw(&model, &mut scroll, &context, size);
        screen.draw(lines).map_err(terminal_failure)?;
        tokio::select! {
            biased;
            _ = &mut interrupted => break Err(Failure::interrupted().with_resume(resume())),
            () = &mut timeout => {
                let failure = Failure::new(Exit::StillRunning, "timed out; the jobs continue");
                break Err(failure.with_resume(resume()));
            }
            event = keys.recv() => {
                let action = match event {
                    Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                        model.press(key, view::page_size(size.1))
                    }
                    // The terminal may have lost what was drawn.
                    Some(Event::Resize(..)) => {
                        screen.lines.clear();
                        KeyAction::None
                    }
                    Some(_) => KeyAction::None,
                    // The terminal was closed.
                    None => KeyAction::Quit,
                };
                match action {
                    KeyAction::None => {}
                    KeyAction::Quit => break Ok(()),
                    KeyAction::Interrupt => break Err(Failure::interrupted().with_resume(resume())),
                    KeyAction::Cancel(id) => {
                        model.set_message(format!("canceling {id}…"), false);
                        running.spawn(feed::cancel(access.client.clone(), id, reports.clone()));
                    }
                    KeyAction::Download { id, opens } => {
                        let (client, folder) = (access.client.clone(), options.folder.clone());
                        running.spawn(feed::download(client, id, folder, opens, reports.clone()));
                    }
                    KeyAction::Open(files) => for file in files {
                        running.spawn(feed::open(file, reports.clone()));
                    },
                }
            }
            Some(event) = task_events.recv() => {
                for file in feed::apply_task_event(&mut model, event, &options.folder) {
                    running.spawn(feed::open(file, reports.clone()));
                }
            }
            event = feed.events.recv(), if is_feed_open => match event {
                Some(event) => {
                    missing.extend(apply_feed_event(&mut model, event));
                    // Hundreds of jobs arrive at once: they are drawn once.
                    while let Ok(event) = feed.events.try_recv() {
                        missing.extend(apply_feed_event(&mut model, event));
                    }
                    if !missing.is_empty() && missing.len() == options.ids.len() {
                        let what = format!("none of the {} jobs was found", missing.len());
                        if let Some(failure) = Failure::first_of(what, std::mem::take(&mut missing)) {
                            break Err(failure);
                        }
                    }
                }
                None => is_feed_open = false,
            },
            _ = redraw.tick() => {}
        }
        while running.try_join_next().is_some() {}
        // Another command may have submitted what is new.
        if model.list == ListState::Read && model.rows().len() > labeled_count {
            labeled_count = model.rows().len();
            model.add_labels(labels(session).await);
        }
    };
    for file in model.downloaded_files() {
        session.printer.note(&format!("downloaded {}", sanitize(&file.display().to_string())));
    }
    ended
}

/// Returns the labels of the jobs that this machine submitted, by their ids, as far as they can be read.
async fn labels(session: &Session) -> Vec<(String, String)> {
    let (items, _) = batch::known_items(session).await.unwrap_or_default();
    let entries = session.submitted().await.unwrap_or_default().into_iter();
    let of_items = items.into_iter().filter_map(|item| Some((item.id, item.label?)));
    let of_entries = entries.filter_map(|it| Some((it.resource?.id().to_owned(), it.label?)));
    of_items.chain(of_entries).collect()
}

/// Shows an event of the feed. Returns the failure of a job that does not exist.
fn apply_feed_event(model: &mut ViewModel, event: FeedEvent) -> Option<Failure> {
    match event {
        FeedEvent::Job(job) => model.update(*job),
        FeedEvent::JobError(id, error) => {
            let is_missing = error.is_not_found();
            let failure = Failure::from(*error);
            let reason = failure.headline();
            model.set_message(format!("cannot read the status of {id}: {reason}"), true);
            let row = model.row_mut(&id)?;
            row.error = Some(reason);
            if is_missing && row.job.is_none() {
                return Some(failure.for_job(id.as_str()));
            }
        }
        FeedEvent::ListRead => model.list = ListState::Read,
        FeedEvent::ListError(error) => {
            model.list = ListState::Failed(feed::reason(*error));
        }
    }
    None
}

/// The terminal in raw mode on its alternate screen, until this is dropped or a panic.
#[derive(Debug, Default)]
struct Screen {
    lines: Vec<String>,
    is_closed: Arc<AtomicBool>,
}

impl Screen {
    fn open() -> io::Result<Self> {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            hook(info);
        }));
        terminal::enable_raw_mode()?;
        let screen = Self::default();
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Writes the lines that differ from the shown ones, all at once.
    fn draw(&mut self, lines: Vec<String>) -> io::Result<()> {
        let mut frame = Vec::new();
        queue!(frame, BeginSynchronizedUpdate)?;
        for (row, line) in (0..).zip(&lines) {
            if self.lines.get(usize::from(row)) != Some(line) {
                queue!(frame, MoveTo(0, row), Print(line))?;
            }
        }
        queue!(frame, EndSynchronizedUpdate)?;
        self.lines = lines;
        stdout().write_all(&frame)?;
        stdout().flush()
    }

    fn keys(&self) -> UnboundedReceiver<Event> {
        let (sender, keys) = unbounded_channel();
        let is_closed = Arc::clone(&self.is_closed);
        thread::spawn(move || {
            while !is_closed.load(Ordering::Relaxed) {
                match event::poll(KEY_POLL) {
                    Ok(false) => {}
                    Ok(true) => match event::read() {
                        Ok(event) => {
                            if sender.send(event).is_err() {
                                return;
                            }
                        }
                        Err(_) => return,
                    },
                    Err(_) => return,
                }
            }
        });
        keys
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        restore();
    }
}

/// Makes the terminal what it was. Where that fails, nothing else can be done.
fn restore() {
    let _ = terminal::disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}
