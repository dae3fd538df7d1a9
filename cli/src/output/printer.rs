//! The printer, which writes all output.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use console::style;
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::Value;
use svc_sdk::ApiKey;
use svc_sdk::types::IdempotencyKey;

use crate::args::{Color, Format};
use crate::error::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::jq::Filter;
use crate::output::json::{self, to_json};
use crate::output::log::{self, LogFilter};
use crate::output::messages::{HeldMessages, Messages, is_dumb_terminal};
use crate::output::object::Shown;
use crate::output::table::Table;
use crate::resource::ObjectKind;
use crate::text::{escape_json, sanitize, shown};

/// The width of a terminal that does not report one.
const DEFAULT_WIDTH: usize = 80;

#[derive(Debug, Default)]
pub(crate) struct PrinterOptions<'a> {
    pub(crate) format: Option<Format>,
    pub(crate) jq: Option<&'a str>,
    pub(crate) quiet: bool,
    pub(crate) color: Color,
}

#[derive(Debug)]
pub(crate) struct Printer {
    format: Format,
    has_json_errors: bool,
    is_table_requested: bool,
    filter: Option<Filter>,
    quiet: bool,
    stdout: Stream,
    stderr: Stream,
    messages: Arc<Messages>,
    /// The statuses that were seen, by the ids of their resources.
    seen: RefCell<BTreeMap<String, String>>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    terminal: bool,
    colored: bool,
}

impl Printer {
    pub(crate) fn new(options: &PrinterOptions<'_>) -> Result<Self> {
        let stream = |terminal| Stream { terminal, colored: options.color.applies(terminal) };
        let stdout = stream(io::stdout().is_terminal());
        let default = if stdout.terminal { Format::Table } else { Format::Json };
        Ok(Self {
            format: options.format.unwrap_or(default),
            has_json_errors: options.format.is_some_and(|format| format != Format::Table),
            is_table_requested: options.format == Some(Format::Table),
            filter: options.jq.map(Filter::compile).transpose()?,
            quiet: options.quiet,
            stdout,
            stderr: stream(io::stderr().is_terminal()),
            messages: Arc::default(),
            seen: RefCell::default(),
        })
    }

    pub(crate) fn print_item<T: Serialize>(
        &self,
        value: &T,
        table: impl FnOnce(&T) -> Table,
    ) -> Result {
        if self.is_table() {
            let table = table(value);
            if !table.is_empty() {
                return self.table(&table);
            }
        }
        self.print_without_table(to_json(value))
    }

    fn print_without_table(&self, json: serde_json::Result<String>) -> Result {
        match self.is_table() {
            true => self.print_unexpected(&json::parse(json).map_err(serialize_failure)?),
            false => self.print_json(json, self.format),
        }
    }

    pub(crate) fn print_object<T: Serialize>(
        &self,
        kind: ObjectKind,
        resource: &T,
        table: impl FnOnce(&T) -> Table,
    ) -> Result {
        self.print_submitted(kind, resource, None, table)
    }

    pub(crate) fn print_submitted<T: Serialize>(
        &self,
        kind: ObjectKind,
        resource: &T,
        key: Option<&IdempotencyKey>,
        table: impl FnOnce(&T) -> Table,
    ) -> Result {
        let shown = Shown::new(kind, resource).with_key(key);
        self.note_status(&shown);
        match self.is_table() {
            true => self.print_item(resource, table),
            false => self.print_json(to_json(&shown), self.format),
        }
    }

    /// Remembers the status of a resource, for the history.
    pub(crate) fn note_status(&self, shown: &Shown) {
        if let Some((id, status)) = shown.id_and_status() {
            self.see(id, status);
        }
    }

    pub(crate) fn see(&self, id: &str, status: &str) {
        self.seen.borrow_mut().insert(id.to_owned(), status.to_owned());
    }

    pub(crate) fn take_seen(&self) -> BTreeMap<String, String> {
        self.seen.take()
    }

    pub(crate) fn print_list<T: Serialize>(
        &self,
        values: &[T],
        table: impl FnOnce(&[T]) -> Table,
    ) -> Result {
        match self.is_table() {
            true => self.table(&table(values)),
            false => self.print_json_list(values),
        }
    }

    /// Prints an array, or a line for each value.
    pub(crate) fn print_json_list<T: Serialize>(&self, values: &[T]) -> Result {
        let mut items = Vec::new();
        for value in values {
            items.push(to_json(value));
        }
        self.print_json_items(items)
    }

    fn print_json_items(&self, items: Vec<serde_json::Result<String>>) -> Result {
        let items: Result<Vec<_>, _> = items.into_iter().collect();
        let items = items.map_err(serialize_failure)?;
        match (&self.filter, self.format) {
            (Some(filter), Format::Jsonl) => {
                self.write(self.lines(filter.apply(&items)?).as_bytes())
            }
            (None, Format::Jsonl) => {
                items.into_iter().try_for_each(|item| self.print_json(Ok(item), Format::Jsonl))
            }
            _ => self.print_json(Ok(format!("[{}]", items.join(","))), self.format),
        }
    }

    /// Prints a JSON value. It is a table only with `--output table`.
    pub(crate) fn print_value(&self, value: &Value, table: impl FnOnce() -> Table) -> Result {
        match self.is_table() && self.is_table_requested {
            true => self.table(&table()),
            false => self.print_json(to_json(value), self.format),
        }
    }

    pub(crate) fn is_json_requested(&self) -> bool {
        self.filter.is_some() || self.has_json_errors
    }

    pub(crate) fn print_text_for_width(
        &self,
        render: impl FnOnce(usize, bool) -> String,
    ) -> Result {
        let width = self.width().unwrap_or(DEFAULT_WIDTH);
        self.write(shown(&render(width, self.stdout.colored)).as_bytes())
    }

    pub(crate) fn prints_lines(&self) -> bool {
        self.filter.is_none() && self.format == Format::Jsonl
    }

    /// Formats one line of a stream of values. The caller prints it with [`write_stdout()`].
    pub(crate) fn format_line<T: Serialize>(
        &self,
        value: &T,
        words: impl FnOnce(&T) -> String,
    ) -> Result<String> {
        match self.is_table() {
            true => Ok(format_words(&words(value))),
            false => self.json(to_json(value), Format::Jsonl),
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        self.format == Format::Table && self.filter.is_none()
    }

    /// Returns whether a table would be printed because standard output is a terminal.
    pub(crate) fn is_table_by_default(&self) -> bool {
        self.is_table() && !self.is_table_requested
    }

    pub(crate) fn print_text(&self, text: &str) -> Result {
        match self.is_json_requested() {
            true => self.print_json(to_json(text), Format::Jsonl),
            false => self.print_bytes(format!("{text}\n").as_bytes()),
        }
    }

    /// Prints an answer of the service whose fields are not the expected ones, and says so.
    pub(crate) fn print_unexpected(&self, answer: &Value) -> Result {
        let printed = self.print_received(answer);
        self.note("the answer does not have the expected fields; it is shown as received");
        printed
    }

    /// Prints JSON of the service. A table has the fields of an object, or the items of a list.
    pub(crate) fn print_received(&self, json: &Value) -> Result {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let column = |name: &str, values: &[Value]| {
            let mut table = Table::new([name]);
            values.iter().for_each(|value| table.row([&text(value)]));
            table
        };
        match json {
            Value::Array(items) => self.print_list(items, |items| column("item", items)),
            Value::Object(fields) if !fields.is_empty() => self.print_item(json, |_| {
                let mut table = Table::key_value();
                for (name, value) in fields {
                    table.field(name, Some(text(value)));
                }
                table
            }),
            other => self.print_value(other, || column("answer", std::slice::from_ref(other))),
        }
    }

    /// Leaves it as it is in a pipe, but for a line break at its end, and indents it on a terminal.
    pub(crate) fn print_document(&self, value: &Value, bytes: &[u8]) -> Result {
        if self.filter.is_some() || self.format == Format::Jsonl || self.stdout.terminal {
            return self.print_json(to_json(value), self.format);
        }
        let end: &[u8] = if bytes.ends_with(b"\n") { b"" } else { b"\n" };
        self.write(&[bytes, end].concat())
    }

    /// Leaves out control characters on a terminal. JSON ends with a line break.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> Result {
        if !self.stdout.terminal {
            if self.has_json_errors && !bytes.is_empty() && !bytes.ends_with(b"\n") {
                return self.write(&[bytes, b"\n"].concat());
            }
            return self.write(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        text.lines().try_for_each(|line| self.write(format!("{}\n", sanitize(line)).as_bytes()))
    }

    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.messages.write_line(text);
        }
    }

    pub(crate) fn warn(&self, text: &str) {
        if self.quiet {
            return;
        }
        let label = style("warning:").yellow().bold().force_styling(self.stderr.colored);
        self.messages.write_line(&format!("{label} {text}"));
    }

    pub(crate) fn print_failure(&self, failure: &Failure) {
        if !failure.is_silent() {
            self.messages.write_line(&self.failure_text(failure));
        }
    }

    fn failure_text(&self, failure: &Failure) -> String {
        if self.has_json_errors {
            let json = failure.to_json().to_string();
            return if self.stderr.terminal { escape_json(&json) } else { json };
        }
        let label = style("error:").red().bold().force_styling(self.stderr.colored);
        let mut text = format!("{label} {}", failure.headline());
        text.extend(failure.detail_lines().iter().map(|line| format!("\n  {line}")));
        text
    }

    pub(crate) fn interrupt_report(&self) -> impl FnOnce(Interrupt) + Send + 'static {
        let interrupts = [Interrupt::CtrlC, Interrupt::Terminate, Interrupt::HangUp];
        let texts = interrupts.map(|interrupt| {
            let failure = Failure::interrupted().interrupted_by(Some(interrupt.exit()));
            // The terminal shows Ctrl-C as `^C`, on the line of the cursor.
            let start = if self.stderr.terminal { "\n" } else { "" };
            (interrupt, format!("{start}{}", self.failure_text(&failure)))
        });
        let messages = Arc::clone(&self.messages);
        move |interrupt| {
            let found = texts.iter().find(|(it, _)| *it == interrupt);
            found.iter().for_each(|(_, text)| messages.write_line(text));
        }
    }

    /// Returns a function that writes a note, unless progress bars show what is going on.
    pub(crate) fn progress_note(&self, text: String) -> impl Fn() + Send + Sync + 'static {
        let messages = Arc::clone(&self.messages);
        move || {
            if !messages.has_bars() {
                messages.write_line(&text);
            }
        }
    }

    pub(crate) fn can_prompt(&self) -> bool {
        self.stderr.terminal && io::stdin().is_terminal()
    }

    /// Asks for confirmation. Everything except `y` and `yes` is a no.
    pub(crate) fn confirm(question: &str) -> io::Result<bool> {
        write!(io::stderr().lock(), "{} [y/N] ", shown(question))?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    pub(crate) fn end_prompt(&self) {
        if self.stderr.terminal {
            self.messages.write_line("");
        }
    }

    /// All three streams are terminals, and no other output than a table is asked for.
    pub(crate) fn can_show_screen(&self) -> bool {
        self.stdout.terminal && self.can_prompt() && !is_dumb_terminal() && self.is_table()
    }

    pub(crate) fn is_colored(&self) -> bool {
        self.stdout.colored
    }

    pub(crate) fn shows_progress(&self) -> bool {
        self.stderr.terminal && !self.quiet && !is_dumb_terminal()
    }

    /// Holds messages for the terminal back, while a screen covers it, until the result is dropped.
    pub(crate) fn hold_messages(&self) -> HeldMessages {
        self.messages.hold()
    }

    pub(crate) fn add_progress_bar(&self, bar: ProgressBar) -> ProgressBar {
        self.messages.add_progress_bar(bar)
    }

    fn print_json(&self, json: serde_json::Result<String>, format: Format) -> Result {
        self.write(self.json(json, format)?.as_bytes())
    }

    /// Returns what the filter makes of JSON, or else the JSON, in one line for JSON lines.
    fn json(&self, json: serde_json::Result<String>, format: Format) -> Result<String> {
        let json = json.map_err(serialize_failure)?;
        let json = match (&self.filter, format) {
            (Some(filter), _) => return Ok(self.lines(filter.apply(&[json])?)),
            (None, Format::Jsonl) => json,
            (None, Format::Json | Format::Table) => json::indent(&json),
        };
        Ok(if self.stdout.terminal { escape_json(&json) } else { json } + "\n")
    }

    fn lines(&self, lines: Vec<String>) -> String {
        let shown = |line: String| -> String {
            match self.stdout.terminal {
                true => line.lines().map(|line| sanitize(line) + "\n").collect(),
                false => line + "\n",
            }
        };
        lines.into_iter().map(shown).collect()
    }

    fn table(&self, table: &Table) -> Result {
        let text = table.render(self.width(), self.stdout.colored);
        self.write(text.as_bytes())
    }

    /// Returns the width of standard output: that of the terminal, or else the variable `COLUMNS`.
    fn width(&self) -> Option<usize> {
        let size = console::Term::stdout().size_checked().filter(|_| self.stdout.terminal);
        let columns = size.map(|(_, columns)| usize::from(columns)).filter(|it| *it > 0);
        let variable = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok().filter(|it| *it > 0);
        columns.or_else(variable).or_else(|| self.stdout.terminal.then_some(DEFAULT_WIDTH))
    }

    fn write(&self, bytes: &[u8]) -> Result {
        self.messages.above_bars(|| write_stdout(bytes))
    }

    /// Redacts a key in all messages, because the error page of a proxy may repeat request headers.
    pub(crate) fn redact(&self, secret: &ApiKey) {
        self.messages.redact(secret);
    }

    /// Without `--quiet`, each long pause before a retry is logged too.
    pub(crate) fn start_logging(&self, filter: Option<LogFilter>) {
        let messages = Arc::clone(&self.messages);
        log::start(filter, !self.quiet, self.shows_progress(), messages);
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.stdout.terminal && self.stderr.terminal
    }

    /// Returns whether the terminal can show lines only.
    pub(crate) fn is_dumb(&self) -> bool {
        self.is_terminal() && is_dumb_terminal()
    }

    /// Returns why no images can be shown, if they cannot.
    pub(crate) fn why_no_images(&self) -> Option<&'static str> {
        match self.is_terminal() {
            true => self.is_dumb().then_some("the terminal is a dumb one"),
            false => Some("stdout and stderr are not terminals"),
        }
    }

    #[cfg(feature = "preview")]
    pub(crate) fn print_image(&self, sequences: &str) -> Result {
        self.write(sequences.as_bytes())
    }
}

/// Writes to standard output. Blocks while the reader of a pipe is slow.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::broken_pipe(),
        _ => Failure::other(format!("cannot write to standard output: {error}")),
    })
}

fn format_words(words: &str) -> String {
    words.lines().map(|line| shown(&sanitize(line)).into_owned() + "\n").collect()
}

fn serialize_failure(error: serde_json::Error) -> Failure {
    Failure::other(format!("cannot write the output as JSON: {error}"))
}
