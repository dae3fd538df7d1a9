//! The intents of a journal, read from its store page by page.

use std::collections::VecDeque;

use super::record::Intent;
use super::store::{ListFilter, StoredIntent};
use super::{Journal, in_time};
use crate::error::Result;

const PAGE_SIZE: usize = 500;

/// The intents of a journal's namespace, oldest first.
#[derive(Debug)]
pub(super) struct Intents {
    pub(super) journal: Journal,
    filter: ListFilter,
    page: VecDeque<StoredIntent>,
    is_last: bool,
}

impl Intents {
    /// Creates the intents that are not acknowledged or released and made that resource.
    pub(super) fn of_resource(journal: &Journal, id: &str) -> Self {
        let mut intents = Self::new(journal, false);
        intents.filter.resource = Some(id.to_owned());
        intents
    }

    /// Creates the intents that are not acknowledged or released, or with `include_closed` all of them.
    pub(super) fn new(journal: &Journal, include_closed: bool) -> Self {
        Self {
            journal: journal.clone(),
            filter: ListFilter {
                namespace: Some(journal.namespace.to_string()),
                include_closed,
                limit: PAGE_SIZE,
                ..ListFilter::default()
            },
            page: VecDeque::new(),
            is_last: false,
        }
    }

    pub(super) async fn next(&mut self) -> Option<Result<Intent>> {
        while self.page.is_empty() && !self.is_last {
            match in_time(self.journal.shared.store.list(&self.filter)).await {
                Ok(page) => {
                    self.is_last = page.next.is_none();
                    self.filter.after = page.next;
                    self.page = page.intents.into();
                }
                Err(error) => {
                    self.is_last = true;
                    return Some(Err(error.into()));
                }
            }
        }
        self.page.pop_front().map(|it| Ok(Intent::read(it)))
    }
}
