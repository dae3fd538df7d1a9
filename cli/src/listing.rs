//! Lists: as many pages as `--limit` needs, and how to get the rest.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use svc_sdk::Call;
use svc_sdk::types::Page;

use crate::args::{ListArgs, PageArgs};
use crate::error::{Failure, Result, SuggestedCommand, Suggestion};
use crate::output::object::Shown;
use crate::output::{ObjectKind, Printer, Table};
use crate::session::Session;

pub(crate) trait Listed: DeserializeOwned + Serialize + Send + Unpin + 'static {}

impl<T: DeserializeOwned + Serialize + Send + Unpin + 'static> Listed for T {}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing<'a> {
    session: &'a Session,
    args: &'a ListArgs,
    nouns: &'static str,
    max_items: Option<u64>,
    is_page_size_sent: bool,
    /// Whether each page is printed before the next one is read.
    is_streamed: bool,
    kind: Option<ObjectKind>,
}

impl<'a> Listing<'a> {
    pub(crate) fn new(session: &'a Session, args: &'a ListArgs, nouns: &'static str) -> Self {
        let (max_items, is_page_size_sent) = (args.page.max_items(), true);
        Self { session, args, nouns, max_items, is_page_size_sent, is_streamed: false, kind: None }
    }

    pub(crate) fn of(mut self, kind: ObjectKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Leaves out the query parameter `limit`, which the operation does not have.
    pub(crate) fn without_limit_parameter(mut self) -> Self {
        self.is_page_size_sent = false;
        self
    }

    pub(crate) fn default_limit(mut self, limit: u64) -> Self {
        self.max_items = self.args.page.max_items_or(Some(limit));
        self
    }

    pub(crate) async fn print<T: Listed>(
        self,
        call: impl Fn() -> Call<Page<T>>,
        table: impl FnOnce(&[T]) -> Table,
    ) -> Result {
        self.print_joined(&[&call], table).await
    }

    pub(crate) async fn print_joined<T: Listed>(
        mut self,
        calls: &[&dyn Fn() -> Call<Page<T>>],
        table: impl FnOnce(&[T]) -> Table,
    ) -> Result {
        let printer = &self.session.printer;
        self.is_streamed = printer.prints_lines();
        let (mut count, mut items) = (0, Vec::new());
        let on_page = |page: Vec<ListItem<T>>| {
            count += page.len();
            if self.is_streamed {
                return self.print_json(&page);
            }
            items.extend(page);
            Ok(())
        };
        let continuation = self.read(calls, on_page).await?;
        if printer.is_table() {
            let (mut decoded, mut others) = (Vec::new(), Vec::new());
            for item in items {
                match item {
                    ListItem::Decoded(item) => decoded.push(item),
                    ListItem::Undecoded(json) => others.push(json),
                }
            }
            if !decoded.is_empty() {
                printer.print_list(&decoded, table)?;
            }
            if !others.is_empty() {
                self.print_undecoded(others, count)?;
            }
        } else if !self.is_streamed {
            self.print_json(&items)?;
        }
        continuation.report(printer, count, self.nouns);
        Ok(())
    }

    fn print_undecoded(&self, items: Vec<Value>, count: usize) -> Result {
        let (printer, undecoded, nouns) = (&self.session.printer, items.len(), self.nouns);
        printer.warn(&format!(
            "{undecoded} of {count} {nouns} could not be decoded; they are shown as received"
        ));
        printer.print_received(&Value::Array(items))
    }

    fn print_json<T: Serialize>(&self, items: &[T]) -> Result {
        let printer = &self.session.printer;
        let Some(kind) = self.kind else { return printer.print_json_list(items) };
        let shown: Vec<_> = items.iter().map(|item| Shown::new(kind, item)).collect();
        printer.print_json_list(&shown)
    }

    pub(crate) async fn collect<T: Listed>(
        self,
        call: impl Fn() -> Call<Page<T>>,
    ) -> Result<(Vec<ListItem<T>>, Continuation)> {
        let mut items = Vec::new();
        let on_page = |page: Vec<ListItem<T>>| {
            items.extend(page);
            Ok(())
        };
        let continuation = self.read(&[&call], on_page).await?;
        Ok((items, continuation))
    }

    async fn read<T: Listed>(
        mut self,
        calls: &[&dyn Fn() -> Call<Page<T>>],
        mut on_page: impl FnMut(Vec<ListItem<T>>) -> Result,
    ) -> Result<Continuation> {
        let mut calls = calls.iter().peekable();
        let is_joined = calls.len() > 1;
        while let Some(call) = calls.next() {
            let continuation = self.read_pages(call, &mut on_page).await?;
            match continuation {
                Continuation::None if calls.peek().is_none() => return Ok(Continuation::None),
                Continuation::None if self.is_full() => return Ok(Continuation::WithoutCursor),
                Continuation::None => {}
                // A cursor belongs to one of the lists.
                Continuation::Cursor(_) if is_joined => return Ok(Continuation::WithoutCursor),
                continuation => return Ok(continuation),
            }
        }
        Ok(Continuation::None)
    }

    fn is_full(&self) -> bool {
        self.max_items == Some(0)
    }

    async fn read_pages<T: Listed>(
        &mut self,
        call: impl Fn() -> Call<Page<T>>,
        on_page: &mut impl FnMut(Vec<ListItem<T>>) -> Result,
    ) -> Result<Continuation> {
        let mut cursor = self.args.page.cursor.clone();
        let mut seen: HashSet<String> = cursor.iter().cloned().collect();
        let mut is_first = true;
        loop {
            let page = self.request(call(), cursor.as_deref()).await;
            let mut page = match page {
                Ok(page) => page,
                Err(error) => return Err(self.failure(error, cursor.filter(|_| !is_first))),
            };
            is_first = false;
            let next = page.next_cursor.take();
            let mut items = in_order(page);
            let selected = self.select(items.len());
            let is_cut = selected < items.len();
            items.truncate(selected);
            on_page(items)?;
            match next {
                _ if is_cut => return Ok(Continuation::WithoutCursor),
                None => return Ok(Continuation::None),
                Some(next) if !seen.insert(next.clone()) => {
                    return Err(repeated_cursor(&next));
                }
                Some(next) if self.is_full() => return Ok(Continuation::Cursor(next)),
                Some(next) => cursor = Some(next),
            }
        }
    }

    fn failure(&self, error: svc_sdk::Error, cursor: Option<String>) -> Failure {
        let failure = Failure::from(error);
        match cursor {
            // Otherwise nothing is printed of the pages before.
            Some(cursor) if self.is_streamed => {
                let command = command_with_cursor(&cursor);
                failure.hint(Suggestion::from("continue with: ").command(command))
            }
            _ => failure,
        }
    }

    /// Returns how many items of a page are selected, which no longer remain.
    fn select(&mut self, count: usize) -> usize {
        let Some(remaining) = &mut self.max_items else { return count };
        let selected = usize::try_from(*remaining).unwrap_or(usize::MAX).min(count);
        *remaining = remaining.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
        selected
    }

    fn request<T>(&self, call: Call<Page<T>>, cursor: Option<&str>) -> Call<Page<T>> {
        let mut call = self.args.query.apply(call);
        if let Some(remaining) = self.max_items
            && self.is_page_size_sent
            && !self.args.query.contains("limit")
        {
            call = call.query("limit", remaining.min(MAX_PAGE_SIZE));
        }
        match cursor {
            Some(cursor) => call.query("cursor", cursor),
            None => call,
        }
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum Continuation {
    None,
    Cursor(String),
    WithoutCursor,
}

impl Continuation {
    pub(crate) fn report(&self, printer: &Printer, count: usize, nouns: &str) {
        match self {
            Self::None if count == 0 => printer.note(&format!("no {nouns} found")),
            Self::None => {}
            Self::Cursor(cursor) => {
                let command = command_with_cursor(cursor);
                printer.note(&format!("there are more {nouns}; list them with: {command}"));
            }
            Self::WithoutCursor => printer.note(&format!(
                "there are more {nouns}; list them with a higher --limit, or all with --all"
            )),
        }
    }

    pub(crate) fn report_totals(&self, printer: &Printer, count: usize) {
        if *self != Self::None {
            printer.note(&format!(
                "only the newest {count} entries are included; include all with --all"
            ));
        }
    }
}

fn command_with_cursor(cursor: &str) -> SuggestedCommand {
    SuggestedCommand::of_this_process(&["--cursor"], &[], &["--cursor", cursor])
}

/// Selects the items after the cursor, up to a number. The cursor is the key of an item.
pub(crate) fn select<T>(
    mut items: Vec<T>,
    page: &PageArgs,
    max_items: Option<u64>,
    key: impl Fn(&T) -> &str,
) -> Result<(Vec<T>, Continuation)> {
    if let Some(cursor) = &page.cursor {
        let position = items.iter().position(|item| key(item) == cursor);
        let position = position.ok_or_else(|| {
            Failure::usage(format!(
                "invalid --cursor `{cursor}`: expected one that this list has printed"
            ))
        })?;
        items.drain(..=position);
    }
    let max_items = max_items.and_then(|max_items| usize::try_from(max_items).ok());
    let Some(max_items) = max_items.filter(|max_items| items.len() > *max_items) else {
        return Ok((items, Continuation::None));
    };
    items.truncate(max_items);
    let cursor = items.last().map(|item| key(item).to_owned());
    Ok((items, cursor.map_or(Continuation::WithoutCursor, Continuation::Cursor)))
}

const MAX_PAGE_SIZE: u64 = 100;

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ListItem<T> {
    Decoded(T),
    /// The JSON of an item that could not be decoded.
    Undecoded(Value),
}

impl<T> ListItem<T> {
    pub(crate) fn decoded(&self) -> Option<&T> {
        match self {
            Self::Decoded(item) => Some(item),
            Self::Undecoded(_) => None,
        }
    }
}

fn repeated_cursor(cursor: &str) -> Failure {
    let why = format!(
        "the service returned the cursor `{cursor}` twice; stopped, because the list would never end"
    );
    let code = Some("unreadable_response".to_owned());
    Failure::other(why).with_response(code, None, None, None)
}

/// Returns the items of a page in the order of the service.
fn in_order<T>(page: Page<T>) -> Vec<ListItem<T>> {
    let mut all: Vec<ListItem<T>> = page.items.into_iter().map(ListItem::Decoded).collect();
    // In ascending order of their positions, each is inserted after those before it.
    for item in page.unreadable {
        all.insert(item.index.min(all.len()), ListItem::Undecoded(item.json));
    }
    all
}
