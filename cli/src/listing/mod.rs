//! Lists: as many pages as `--limit` needs, and how to get the rest.

mod continuation;
mod local;
mod pages;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use svc_sdk::Call;
use svc_sdk::types::Page;

pub(crate) use self::continuation::Continuation;
pub(crate) use self::local::select;
pub(crate) use self::pages::ListItem;
use self::pages::PageReader;
use crate::args::ListArgs;
use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;

/// A list of the service that a command prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing<'a> {
    session: &'a Session,
    args: &'a ListArgs,
    nouns: &'static str,
    max_items: Option<u64>,
    is_page_size_sent: bool,
}

impl<'a> Listing<'a> {
    /// Creates a list of items that messages call `nouns`.
    pub(crate) fn new(session: &'a Session, args: &'a ListArgs, nouns: &'static str) -> Self {
        Self {
            session,
            args,
            nouns,
            max_items: args.page.max_items(),
            is_page_size_sent: true,
        }
    }

    /// Leaves out the query parameter `limit`, which the operation does not have.
    pub(crate) fn without_limit_parameter(mut self) -> Self {
        self.is_page_size_sent = false;
        self
    }

    /// Sets the maximum number of items if no flag does.
    pub(crate) fn default_limit(mut self, limit: u64) -> Self {
        self.max_items = self.args.page.max_items_or(Some(limit));
        self
    }

    /// Prints the items of a list.
    ///
    /// # Errors
    ///
    /// Returns an error if a page cannot be read, or if its cursor repeats.
    pub(crate) async fn print<T>(
        self,
        call: impl Fn() -> Call<Page<T>>,
        table: impl FnOnce(&[T]) -> Table,
    ) -> Result<(), Failure>
    where
        T: DeserializeOwned + Serialize + Send + Unpin + 'static,
    {
        self.print_joined(&[&call], table).await
    }

    /// Prints the items of several lists, one after the other.
    ///
    /// # Errors
    ///
    /// Returns an error if a page cannot be read, or if its cursor repeats.
    pub(crate) async fn print_joined<T>(
        self,
        calls: &[&dyn Fn() -> Call<Page<T>>],
        table: impl FnOnce(&[T]) -> Table,
    ) -> Result<(), Failure>
    where
        T: DeserializeOwned + Serialize + Send + Unpin + 'static,
    {
        let printer = &self.session.printer;
        let streams = printer.prints_lines();
        let mut count = 0;
        let mut items = Vec::new();
        let continuation = self
            .read(calls, |page| {
                count += page.len();
                match streams {
                    true => printer.print_list(&page, |_| Table::default()),
                    false => {
                        items.extend(page);
                        Ok(())
                    }
                }
            })
            .await?;
        match (streams, printer.prints_tables()) {
            (true, _) => {}
            (false, false) => printer.print_list(&items, |_| Table::default())?,
            (false, true) => {
                let (items, others) = split(items);
                if !items.is_empty() {
                    printer.print_list(&items, table)?;
                }
                if !others.is_empty() {
                    printer.warn(&format!(
                        "{} of {count} {} could not be decoded; they are shown as received",
                        others.len(),
                        self.nouns
                    ));
                    printer.print_received(&Value::Array(others))?;
                }
            }
        }
        continuation.report(printer, count, self.nouns);
        Ok(())
    }

    /// Reads the items of a list.
    ///
    /// # Errors
    ///
    /// Returns an error if a page cannot be read, or if its cursor repeats.
    pub(crate) async fn collect<T>(
        self,
        call: impl Fn() -> Call<Page<T>>,
    ) -> Result<(Vec<ListItem<T>>, Continuation), Failure>
    where
        T: DeserializeOwned + Send + Unpin + 'static,
    {
        let mut items = Vec::new();
        let continuation = self
            .read(&[&call], |page| {
                items.extend(page);
                Ok(())
            })
            .await?;
        Ok((items, continuation))
    }

    async fn read<T>(
        self,
        calls: &[&dyn Fn() -> Call<Page<T>>],
        mut on_page: impl FnMut(Vec<ListItem<T>>) -> Result<(), Failure>,
    ) -> Result<Continuation, Failure>
    where
        T: DeserializeOwned + Send + Unpin + 'static,
    {
        let mut reader = PageReader::new(self.args, self.max_items, self.is_page_size_sent);
        let mut calls = calls.iter().peekable();
        let is_joined = calls.len() > 1;
        while let Some(call) = calls.next() {
            let continuation = reader.read(call, &mut on_page).await?;
            match continuation {
                Continuation::None if calls.peek().is_none() => return Ok(Continuation::None),
                Continuation::None if reader.is_full() => return Ok(Continuation::WithoutCursor),
                Continuation::None => {}
                // A cursor belongs to one of the lists.
                Continuation::Cursor(_) if is_joined => return Ok(Continuation::WithoutCursor),
                continuation => return Ok(continuation),
            }
        }
        Ok(Continuation::None)
    }
}

/// Returns the items that were decoded, and the JSON of the others.
fn split<T>(items: Vec<ListItem<T>>) -> (Vec<T>, Vec<Value>) {
    let (mut decoded, mut others) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            ListItem::Decoded(item) => decoded.push(item),
            ListItem::Undecoded(json) => others.push(json),
        }
    }
    (decoded, others)
}
