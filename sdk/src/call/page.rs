//! Lists: one page, all pages, all items.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::{Call, CallOptions, Core, Request};
use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::types::Page;

impl<T: DeserializeOwned + Send + Unpin + 'static> Call<Page<T>> {
    /// Sets the maximum number of items on a page.
    pub fn limit(self, limit: u64) -> Self {
        self.query("limit", limit)
    }

    /// Starts after an earlier page, given its [`next_cursor`](Page::next_cursor).
    pub fn cursor(self, cursor: impl AsRef<str>) -> Self {
        self.query("cursor", cursor.as_ref())
    }

    /// Returns a stream of all pages, from this one on.
    ///
    /// Each page is requested when the stream is polled for it.
    pub fn pages(self) -> Pages<T> {
        Pages::new(self)
    }

    /// Returns a stream of the items of all pages, from this one on.
    ///
    /// ```no_run
    /// use svc_sdk::contract::JobStatus;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let mut failed = client.jobs().list().status(JobStatus::Failed).items();
    /// while let Some(job) = failed.next().await {
    ///     println!("{}", job?.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn items(self) -> Items<T> {
        Items { pages: self.pages(), items: VecDeque::new() }
    }
}

/// A stream of the pages of a list.
///
/// Returned by [`Call::pages`]. It ends after the last page, or after the first error.
#[must_use = "streams do nothing unless polled"]
pub struct Pages<T> {
    core: Arc<Core>,
    options: CallOptions,
    /// The request of the page that is under way.
    request: Option<Request>,
    pending: Option<Call<Page<T>>>,
}

impl<T: DeserializeOwned + Send + Unpin + 'static> Pages<T> {
    fn new(call: Call<Page<T>>) -> Self {
        Self {
            core: Arc::clone(&call.core),
            options: call.options.clone(),
            request: call.request.as_deref().ok().cloned(),
            pending: Some(call),
        }
    }

    /// Returns the next page, or `None` after the last.
    pub async fn next(&mut self) -> Option<Result<Page<T>>> {
        poll_fn(|context| self.poll_page(context)).await
    }

    fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Page<T>>>> {
        let Some(pending) = &mut self.pending else { return Poll::Ready(None) };
        let page = ready!(Pin::new(pending).poll(context));
        self.pending = None;
        let page = match page {
            Ok(page) => page,
            Err(error) => return Poll::Ready(Some(Err(error))),
        };
        if let (Some(cursor), Some(request)) = (&page.next_cursor, &mut self.request) {
            if request.query_value("cursor") == Some(cursor) {
                let error = Error::repeated_cursor(request.operation, cursor);
                return Poll::Ready(Some(Err(error)));
            }
            request.set_query("cursor", cursor);
            let mut next = Call::with_decoder(&self.core, Ok(request.clone()), |_, response| {
                response.decode_page()
            });
            next.options = self.options.clone();
            self.pending = Some(next);
        }
        Poll::Ready(Some(Ok(page)))
    }
}

impl<T: DeserializeOwned + Send + Unpin + 'static> Stream for Pages<T> {
    type Item = Result<Page<T>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_page(context)
    }
}

debug_fields! { [T] Pages<T> as "Pages" { request } }

/// A stream of the items of a list, over all its pages.
///
/// Returned by [`Call::items`]. Items that cannot be decoded are skipped; [`Pages`] shows them.
#[must_use = "streams do nothing unless polled"]
pub struct Items<T> {
    pages: Pages<T>,
    items: VecDeque<T>,
}

impl<T: DeserializeOwned + Send + Unpin + 'static> Items<T> {
    /// Returns the next item, or `None` after the last.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|context| self.poll_item(context)).await
    }

    fn poll_item(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(self.pages.poll_page(context)) {
                Some(Ok(page)) => self.items = page.items.into(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<T: DeserializeOwned + Send + Unpin + 'static> Stream for Items<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(context)
    }
}

debug_fields! { [T] Items<T> as "Items" { pages } }
