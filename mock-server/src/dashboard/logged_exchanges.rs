//! The request log with what is stored of the exchanges, read without holding the state.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::search::Search;
use super::values::{at, first_text, text};
use crate::engine::request_log::LoggedRequest;
use crate::exchanges::ExchangeTexts;
use crate::service::Service;

/// The places of the text that says what to make.
const PROMPTS: [&str; 8] = [
    "/prompt",
    "/instruction",
    "/script",
    "/input/prompt",
    "/video_inputs/0/script",
    "/video_inputs/0/text",
    "/params/arguments/prompt",
    "/params/arguments/instruction",
];

/// A request of the request log, with its body and that of its response.
#[derive(Clone, Debug)]
pub(super) struct LoggedExchange {
    pub(super) request: Arc<LoggedRequest>,
    pub(super) exchange: ExchangeTexts,
}

/// Returns the stored requests, newest first.
pub(super) fn entries(service: &Service) -> Vec<LoggedExchange> {
    service.read(|state| {
        let entries = state.simulator.state.request_log.newest_first();
        let entries = entries.map(|request| LoggedExchange {
            exchange: state.exchanges.texts(request.seq).unwrap_or_default(),
            request: request.clone(),
        });
        entries.collect()
    })
}

impl LoggedExchange {
    /// The properties by which requests are found.
    pub(super) const PROPERTIES: [&str; 9] =
        ["status", "op", "ws", "key", "code", "method", "surface", "fault", "id"];

    pub(super) fn matches(&self, search: &Search) -> bool {
        let request = &self.request;
        let status = request.status.map_or("closed".to_owned(), |status| status.to_string());
        let surface = json!(request.surface);
        let fault = json!(request.fault);
        let prompt = if search.needs_decoded_text() { self.prompt() } else { String::new() };
        let properties = [
            ("status", &*status),
            ("op", request.operation.as_deref().unwrap_or_default()),
            ("ws", request.workspace.as_deref().unwrap_or_default()),
            ("key", request.key.as_deref().unwrap_or_default()),
            ("key", request.idempotency_key().unwrap_or_default()),
            ("code", request.code.as_deref().unwrap_or_default()),
            ("method", &request.method),
            ("surface", surface.as_str().unwrap_or_default()),
            ("fault", fault.as_str().unwrap_or_default()),
            ("fault", request.fault_id.as_deref().unwrap_or_default()),
            ("id", &request.request_id),
        ];
        let ExchangeTexts { request: sent, response: received, .. } = &self.exchange;
        let [sent, received] = [sent, received].map(|body| body.as_deref().unwrap_or_default());
        search.matches(&properties, &[&request.path, sent, received, &prompt])
    }

    /// Returns the text of the request that says what to make; empty if there is none.
    pub(super) fn prompt(&self) -> String {
        self.exchange.request.as_deref().map(|body| prompt_of(body, None)).unwrap_or_default()
    }
}

/// The bodies of the stored requests by request id, for the prompts of the jobs that they submitted.
#[derive(Debug)]
pub(super) struct SubmitBodies(HashMap<String, Arc<str>>);

impl SubmitBodies {
    pub(super) fn of(service: &Service) -> Self {
        let entries = entries(service).into_iter();
        let bodies = entries.filter_map(|entry| {
            let body = entry.exchange.request.filter(|body| !body.is_empty())?;
            Some((entry.request.request_id.clone(), body))
        });
        Self(bodies.collect())
    }

    /// Returns the prompt of the request with an id, or of an item of a bulk queue in it; empty if
    /// the request is not stored.
    pub(super) fn prompt(&self, request_id: &str, item: Option<u64>) -> String {
        self.0.get(request_id).map(|body| prompt_of(body, item)).unwrap_or_default()
    }

    /// Returns the prompt of a job or run; empty if its submit is not stored.
    pub(super) fn prompt_of(&self, item: &Value) -> String {
        let index = at(item, "/item_index").and_then(Value::as_u64);
        self.prompt(text(item, "/request_id"), index)
    }
}

/// Returns the text of a body that says what to make, or of an item of a bulk queue in it; empty if
/// there is none.
pub(super) fn prompt_of(body: &str, item: Option<u64>) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let item = item.and_then(|index| body.pointer(&format!("/items/{index}")));
    first_text(item.unwrap_or(&body), &PROMPTS).to_owned()
}
