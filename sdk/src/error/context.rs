//! What is added to an error on its way to the caller, and what is removed from it.

use super::display::is_web_page;
use super::{Error, Kind, ResourceRef};
use crate::call::raw_response::RawResponse;
use crate::contract::{Operation, RetryClass};
use crate::types::{IdempotencyKey, RequestId};

impl Error {
    pub(crate) fn with_retry_class(mut self, class: RetryClass) -> Self {
        self.inner.retry_class = self.inner.retry_class.or(Some(class));
        self
    }

    /// Marks it as an error that does not say what became of an earlier attempt.
    pub(crate) fn with_unsettled_attempt(mut self) -> Self {
        self.inner.has_unsettled_attempt = true;
        self
    }

    pub(crate) fn with_ended_wait(mut self) -> Self {
        self.inner.ended_wait = true;
        self
    }

    pub(crate) fn with_operation(mut self, operation: Option<Operation>) -> Self {
        self.inner.operation = self.inner.operation.or(operation);
        self
    }

    pub(crate) fn with_request_id(mut self, id: Option<RequestId>) -> Self {
        self.inner.request_id = self.inner.request_id.or(id);
        self
    }

    pub(crate) fn with_base_url(mut self, url: &str) -> Self {
        self.inner.base_url = Some(url.to_owned());
        self
    }

    pub(crate) fn with_response(mut self, response: RawResponse) -> Self {
        self.inner.response = Some(response);
        self
    }

    /// Removes a prefix from the name of the field that the service refused.
    pub(crate) fn without_field_prefix(mut self, prefix: &str) -> Self {
        if let Kind::Api { body, .. } = &mut self.inner.kind
            && let Some(details) = &mut body.details
            && let Some(field) = &mut details.field
            && let Some(name) = field.strip_prefix(prefix)
        {
            body.message = body.message.replace(field.as_str(), name);
            *field = name.to_owned();
        }
        self
    }

    pub(crate) fn with_key(mut self, key: Option<&IdempotencyKey>) -> Self {
        if self.inner.idempotency_key.is_none() {
            self.inner.idempotency_key = key.cloned();
        }
        self
    }

    pub(crate) fn with_resource(mut self, resource: ResourceRef) -> Self {
        let known = &mut self.inner.resource;
        // An id alone says less than an id with its receipt.
        if matches!(known, None | Some(ResourceRef::Job(_, None) | ResourceRef::Run(_, None))) {
            *known = Some(resource);
        }
        self
    }

    /// Removes the text of the response, which may contain the secret that was requested.
    pub(crate) fn redacted(mut self) -> Self {
        const REDACTED: &str = "(redacted)";

        match &mut self.inner.kind {
            // That it is a web page tells what is wrong.
            Kind::NotJson { snippet, .. } if is_web_page(snippet) => {
                *snippet = format!("<html><title>{REDACTED}</title>");
            }
            Kind::NotJson { snippet, .. } => *snippet = REDACTED.to_owned(),
            Kind::Decode { snippet, reason, .. } => {
                *snippet = REDACTED.to_owned();
                *reason = "unexpected shape".to_owned();
            }
            _ => {}
        }
        self
    }
}
