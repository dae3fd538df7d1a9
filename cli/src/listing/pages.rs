//! Reading a list page by page.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use svc_sdk::Call;
use svc_sdk::types::Page;

use super::continuation::{Continuation, command_with_cursor};
use crate::args::ListArgs;
use crate::error::Failure;

/// The number of items that are requested at once at most.
const MAX_PAGE_SIZE: u64 = 100;

/// An item of a list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ListItem<T> {
    /// An item that was decoded.
    Decoded(T),
    /// The JSON of an item that could not be decoded.
    Undecoded(Value),
}

impl<T> ListItem<T> {
    /// Returns the item, if it could be decoded.
    pub(crate) fn decoded(&self) -> Option<&T> {
        match self {
            Self::Decoded(item) => Some(item),
            Self::Undecoded(_) => None,
        }
    }
}

/// A reader of pages, up to a number of items.
#[derive(Debug)]
pub(super) struct PageReader<'a> {
    args: &'a ListArgs,
    remaining: Option<u64>,
    is_page_size_sent: bool,
}

impl<'a> PageReader<'a> {
    pub(super) fn new(args: &'a ListArgs, max_items: Option<u64>, is_page_size_sent: bool) -> Self {
        Self {
            args,
            remaining: max_items,
            is_page_size_sent,
        }
    }

    /// Returns whether the maximum number of items has been read.
    pub(super) fn is_full(&self) -> bool {
        self.remaining == Some(0)
    }

    /// Reads the pages of a list.
    pub(super) async fn read<T>(
        &mut self,
        call: impl Fn() -> Call<Page<T>>,
        on_page: &mut impl FnMut(Vec<ListItem<T>>) -> Result<(), Failure>,
    ) -> Result<Continuation, Failure>
    where
        T: DeserializeOwned + Send + Unpin + 'static,
    {
        let mut cursor = self.args.page.cursor.clone();
        let mut seen: HashSet<String> = cursor.iter().cloned().collect();
        let mut is_first = true;
        loop {
            let page = self.request(call(), cursor.as_deref()).await;
            let mut page = page.map_err(|error| {
                let failure = Failure::from(error);
                match &cursor {
                    Some(cursor) if !is_first => {
                        let command = command_with_cursor(cursor);
                        failure.hint(format!("continue with: {command}"))
                    }
                    _ => failure,
                }
            })?;
            is_first = false;
            let next = page.next_cursor.take();
            let mut items = in_order(page);
            let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
            let is_cut = self.remaining.is_some_and(|remaining| count > remaining);
            if let Some(remaining) = &mut self.remaining {
                items.truncate(usize::try_from(*remaining).unwrap_or(usize::MAX));
                *remaining = remaining.saturating_sub(count);
            }
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

    fn request<T>(&self, call: Call<Page<T>>, cursor: Option<&str>) -> Call<Page<T>> {
        let mut call = self.args.query.apply(call);
        if let Some(remaining) = self.remaining
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecoded_items_keep_their_positions() {
        let json = serde_json::json!({"data": ["x", 1, null, 2, "y"]});
        let page: Page<u32> = serde_json::from_value(json.clone()).unwrap();
        let items = in_order(page);
        assert_eq!(serde_json::to_value(&items).unwrap(), json["data"]);
        let decoded: Vec<u32> = items
            .iter()
            .filter_map(ListItem::decoded)
            .copied()
            .collect();
        assert_eq!(decoded, [1, 2]);
    }
}
